/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Samples of a program by timers of its own, one a thread, that count its
 * processor time: for where perf_event_open is not allowed (containers, often).
 * Only registers and stack are copied here, into the ring that axprof reads
 * (axprof_ring.h); what they mean is found out there.
 *
 * Signal     SIGURG, which does nothing by default: a program that takes its
 *            signals back is not killed. One that wants it for itself gets it,
 *            and no more samples are taken. SA_RESTART; a call that waits with a
 *            limit of its own may still return early, as after any signal.
 * Rate       the kernel looks at such timers with its clock tick: 250 to 1000
 *            times a second, whatever was asked for. A sample stands for the
 *            processor time since the one before it.
 * Handler    no lock, no allocation, errno kept; the stack is read up to its
 *            known end, or to the end of a page where it is not known.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <axprof/axprof_ring.h>

#include "timer_real.h"

#define WRAPPER __attribute__((visibility("default")))
#define THE_SIGNAL SIGURG
#define PAGE 4096u
#define MOST_TIMERS 4096u
enum { TAKEN = 1, RUNNING };

static axp_ring *ring; /* NULL: nothing is to be done */
static int is_given_up;

/* All that there are, so that whoever has to can delete them. */
static struct {
    timer_t timer;
    uint32_t is_used; /* 0, TAKEN or RUNNING */
} timers[MOST_TIMERS];

static __thread struct {
    uint32_t timer;      /* 1 + its place; 0: none */
    uintptr_t stack_end; /* 0: not known */
    uint64_t seen_ns;    /* processor time at the last sample */
} self __attribute__((tls_model("initial-exec")));

/* ---- samples ------------------------------------------------------------ */

static uint64_t ns_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The stack pointer. */
static uintptr_t copy_registers(uint64_t *to, const ucontext_t *from)
{
#if defined(__x86_64__)
    static const uint8_t order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI,
                                    REG_RDI, REG_RBP, REG_RSP, REG_RIP, REG_R8,
                                    REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13,
                                    REG_R14, REG_R15};
    for (size_t i = 0; i < sizeof order; i++)
        to[i] = (uint64_t)from->uc_mcontext.gregs[order[i]];
    return (uintptr_t)from->uc_mcontext.gregs[REG_RSP];
#else
    for (size_t i = 0; i < 31; i++)
        to[i] = from->uc_mcontext.regs[i];
    to[31] = from->uc_mcontext.sp;
    to[32] = from->uc_mcontext.pc;
    return (uintptr_t)from->uc_mcontext.sp;
#endif
}

static uint32_t bytes_from(uintptr_t sp)
{
    uintptr_t end = self.stack_end;
    bool is_known = sp < end && end - sp < (uintptr_t)1 << 32;
    if (!is_known) end = (sp | (PAGE - 1)) + 1;
    return end - sp < AXP_RING_STACK ? (uint32_t)(end - sp) : AXP_RING_STACK;
}

/* NULL: the reader is behind. */
static axp_ring_slot *take_slot(uint64_t *number)
{
    uint64_t taken = __atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE);
    uint64_t n = __atomic_load_n(&ring->next, __ATOMIC_RELAXED);
    do {
        if (n - taken < AXP_RING_SLOTS) continue;
        __atomic_fetch_add(&ring->lost, 1, __ATOMIC_RELAXED);
        return NULL;
    } while (!__atomic_compare_exchange_n(&ring->next, &n, n + 1, true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    *number = n;
    return &ring->slots[n % AXP_RING_SLOTS];
}

static void put(axp_ring_kind kind, const ucontext_t *context, uint64_t weight)
{
    uint64_t number;
    axp_ring_slot *slot = take_slot(&number);
    if (!slot) return;
    slot->time_ns = ns_of(CLOCK_MONOTONIC_RAW);
    slot->weight_ns = weight;
    slot->kind = (uint32_t)kind;
    slot->process_id = (uint32_t)getpid();
    slot->thread_id = (uint32_t)syscall(SYS_gettid);
    slot->n_stack = 0;
    slot->regs[0] = (uint64_t)getppid();
    if (context) {
        uintptr_t sp = copy_registers(slot->regs, context);
        slot->n_stack = bytes_from(sp);
        memcpy(slot->stack, (const void *)sp, slot->n_stack);
    }
    __atomic_store_n(&slot->number, number + 1, __ATOMIC_RELEASE);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int error = errno;
    (void)number;
    if (info->si_code == SI_TIMER && self.timer) {
        uint64_t now = ns_of(CLOCK_THREAD_CPUTIME_ID);
        put(AXP_RING_SAMPLE, context, now - self.seen_ns);
        self.seen_ns = now;
    }
    errno = error;
}

/* ---- threads ------------------------------------------------------------ */

static void find_stack(void)
{
    pthread_attr_t attr;
    void *low;
    size_t bytes;
    if (pthread_getattr_np(pthread_self(), &attr)) return;
    if (!pthread_attr_getstack(&attr, &low, &bytes))
        self.stack_end = (uintptr_t)low + bytes;
    pthread_attr_destroy(&attr);
}

/* 1 + a free place; 0: none. */
static uint32_t take_place(void)
{
    for (uint32_t i = 0; i < MOST_TIMERS; i++) {
        uint32_t none = 0;
        if (!__atomic_load_n(&timers[i].is_used, __ATOMIC_RELAXED) &&
            __atomic_compare_exchange_n(&timers[i].is_used, &none, TAKEN, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return i + 1;
    }
    return 0;
}

/* By whoever comes first. */
static void delete_timer(uint32_t place)
{
    uint32_t running = RUNNING;
    if (__atomic_compare_exchange_n(&timers[place].is_used, &running, TAKEN,
                                    false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
        timer_delete(timers[place].timer);
        __atomic_store_n(&timers[place].is_used, 0, __ATOMIC_RELEASE);
    }
}

static void start_timer(uint32_t place)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = THE_SIGNAL};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    struct timespec period = {.tv_nsec = (long)ring->period_ns};
    struct itimerspec when = {period, period};
    timer_t timer;
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer)) {
        __atomic_store_n(&timers[place].is_used, 0, __ATOMIC_RELEASE);
        return;
    }
    timers[place].timer = timer;
    self.timer = place + 1;
    timer_settime(timer, 0, &when, NULL);
    __atomic_store_n(&timers[place].is_used, RUNNING, __ATOMIC_RELEASE);
    if (__atomic_load_n(&is_given_up, __ATOMIC_SEQ_CST)) delete_timer(place);
}

static void begin_thread(void)
{
    int error = errno;
    find_stack();
    self.seen_ns = ns_of(CLOCK_THREAD_CPUTIME_ID);
    uint32_t place = take_place();
    if (place) start_timer(place - 1);
    errno = error;
}

static void end_thread(void *unused)
{
    int error = errno;
    (void)unused;
    if (self.timer) delete_timer(self.timer - 1);
    self.timer = 0;
    errno = error;
}

struct start {
    void *(*function)(void *);
    void *argument;
};

static void *thread_main(void *p)
{
    struct start start = *(struct start *)p;
    void *result;
    free(p);
    begin_thread();
    pthread_cleanup_push(end_thread, NULL);
    result = start.function(start.argument);
    pthread_cleanup_pop(1);
    return result;
}

WRAPPER int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                           void *(*function)(void *), void *argument)
{
    const struct timer_real *real = timer_real();
    struct start *start = ring ? malloc(sizeof *start) : NULL;
    if (!start) return real->pthread_create(thread, attr, function, argument);
    *start = (struct start){function, argument};
    int rc = real->pthread_create(thread, attr, thread_main, start);
    if (rc) free(start);
    return rc;
}

/* ---- the signal, if the program wants it -------------------------------- */

static void give_up(void)
{
    int error = errno;
    __atomic_store_n(&is_given_up, 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < MOST_TIMERS; i++)
        delete_timer(i);
    errno = error;
}

WRAPPER int sigaction(int signal_number, const struct sigaction *action,
                      struct sigaction *old)
{
    if (ring && signal_number == THE_SIGNAL && action) give_up();
    return timer_real()->sigaction(signal_number, action, old);
}

WRAPPER sighandler_t signal(int signal_number, sighandler_t handler)
{
    if (ring && signal_number == THE_SIGNAL) give_up();
    return timer_real()->signal(signal_number, handler);
}

/* ---- the beginning ------------------------------------------------------ */

static axp_ring *map_ring(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return NULL;
    axp_ring *m = MAP_FAILED;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        st.st_size == (off_t)sizeof *m)
        m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (m == MAP_FAILED) return NULL;
    bool is_good =
        m->magic == AXP_RING_MAGIC && m->period_ns && m->period_ns < 1000000000;
    if (!is_good) munmap(m, sizeof *m);
    return is_good ? m : NULL;
}

/* Timers are not a child's; the ring is. */
static void on_fork(void)
{
    self.timer = 0;
    memset(timers, 0, sizeof timers);
    if (!ring || is_given_up) return;
    put(AXP_RING_FORK, NULL, 0);
    begin_thread();
}

static bool is_free(void)
{
    struct sigaction now;
    return !timer_real()->sigaction(THE_SIGNAL, NULL, &now) &&
           now.sa_handler == SIG_DFL;
}

__attribute__((constructor)) static void begin(void)
{
    int error = errno;
    const char *path = secure_getenv("AXPROF_RING");
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags =
                                   SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    if (path && is_free()) ring = map_ring(path);
    if (ring) {
        sigfillset(&action.sa_mask);
        timer_real()->sigaction(THE_SIGNAL, &action, NULL);
        (void)pthread_atfork(NULL, NULL, on_fork);
        put(AXP_RING_BEGIN, NULL, 0);
        begin_thread();
    }
    errno = error;
}
