/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Thread id and names; see os_thread.h. Leaves errno as it was. */
#include "os/os_thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os_clock.h"

uint64_t axp__thread_id(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

/* The clock of a thread as the kernel numbers it: the C library tells it of a
 * pthread_t alone. */
uint64_t axp__thread_cpu_ns(uint64_t id)
{
    enum { OF_A_THREAD = 4, AS_SCHEDULED = 2 };
    clockid_t clock =
        (clockid_t)(~(uint32_t)id << 3 | OF_A_THREAD | AS_SCHEDULED);
    int keep = errno;
    struct timespec t;
    uint64_t ns = 0;
    if (id && !clock_gettime(clock, &t)) {
        ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
        ns += !ns; /* a thread of a busy virtual machine may have used none */
    }
    errno = keep;
    return ns;
}

void axp__thread_comm(char *buf, size_t size)
{
    char comm[17] = {0};
    int keep = errno;
    if (prctl(PR_GET_NAME, comm, 0, 0, 0)) comm[0] = 0;
    errno = keep;
    snprintf(buf, size, "%s", comm);
}

void axp__program_name(char *buf, size_t size)
{
    snprintf(buf, size, "%s",
             program_invocation_short_name ? program_invocation_short_name
                                           : "");
}

void axp__futex_wait(uint32_t *word, uint32_t value, long ns)
{
    int keep = errno;
    struct timespec ts = {ns / 1000000000, ns % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &ts : NULL, NULL,
            0);
    errno = keep;
}

void axp__futex_wake(uint32_t *word)
{
    int keep = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = keep;
}
