/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof doctor: what would give better data, and how to get it.
 *
 * Each check is a function that says one line. Nothing is changed, but for
 * --clean, and nothing needs rights.
 */
#include "cli/cli_doctor.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <axprof/axprof.h>

#include "cli/cli_adapter.h"
#include "cli/cli_proc.h"
#include "cli/cli_say.h"
#include "cli/cli_verbs.h"

enum { SHM_WANTED_MB = 256 };

static int n_better;

static void say_line(const char *mark, const char *what, const char *format,
                     va_list list)
{
    char *text = NULL;
    if (vasprintf(&text, format, list) < 0) return;
    printf("%-7s %-14s ", mark, what);
    cli_put(text);
    putchar('\n');
    free(text);
}

void cli_doctor_ok(const char *what, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say_line("ok", what, format, list);
    va_end(list);
}

void cli_doctor_better(const char *what, const char *advice, const char *format,
                       ...)
{
    va_list list;
    va_start(list, format);
    say_line("better", what, format, list);
    va_end(list);
    for (const char *line = advice; *line;) {
        size_t len = strcspn(line, "\n");
        printf("%22s %.*s\n", "", (int)len, line);
        line += len + (line[len] == '\n');
    }
    n_better++;
}

/* The first line of a small file; "" where there is none. */
static const char *first_line(const char *path, char *text, size_t size)
{
    FILE *f = fopen(path, "re");
    if (!f || !fgets(text, (int)size, f)) text[0] = 0;
    if (f) fclose(f);
    text[strcspn(text, "\n")] = 0;
    return text;
}

/* ---- the machine -------------------------------------------------------- */

/* Nanoseconds from one tick of the processor's counter to the next. */
static double tick_ns(void)
{
#if defined(__aarch64__)
    uint64_t per_second;
    __asm__("mrs %0, cntfrq_el0" : "=r"(per_second));
    return per_second ? 1e9 / (double)per_second : 1;
#else
    return 0; /* gigahertz and more */
#endif
}

static void check_clock(void)
{
    char source[64];
    first_line("/sys/devices/system/clocksource/clocksource0/"
               "current_clocksource",
               source, sizeof source);
    double step = tick_ns();
    bool is_direct =
        !strcmp(source, "tsc") || !strcmp(source, "arch_sys_counter");
    if (is_direct && step >= 10)
        cli_doctor_better("clock",
                          "nothing to be done: the machine's counter is slow",
                          "%s, a tick is %.0f ns: scopes under %.0f ns are "
                          "coarse",
                          source, step, step * 10);
    else if (is_direct || !*source)
        cli_doctor_ok("clock", "%s, read directly, a tick is %s%.0f ns",
                      *source ? source : "unknown source",
                      step < 1 ? "less than " : "", step < 1 ? 1 : step);
    else
        cli_doctor_better(
            "clock",
            "the kernel does not trust the processor's own counter; if "
            "\"dmesg | grep -i tsc\"\nshows no fault of the machine: boot with "
            "tsc=reliable",
            "%s, read by a system call: each scope costs more", source);
}

static void check_cpus(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    if (n > 1)
        cli_doctor_ok("processors",
                      "%d: recordings are written beside the "
                      "program",
                      n);
    else
        cli_doctor_better("processors",
                          "allow two: \"taskset -c 0,1 axprof run ...\"",
                          "only one may be used: recordings are written "
                          "instead of the program running");
}

static void check_shm(void)
{
    struct statvfs fs;
    if (statvfs("/dev/shm", &fs)) {
        cli_doctor_better("/dev/shm", "mount -t tmpfs tmpfs /dev/shm",
                          "not there: the spool goes beside the recording, "
                          "where a disk may slow the program");
        return;
    }
    uint64_t mb = (uint64_t)fs.f_bavail * fs.f_frsize >> 20;
    if (mb >= SHM_WANTED_MB)
        cli_doctor_ok("/dev/shm", "%llu MB free", (unsigned long long)mb);
    else
        cli_doctor_better("/dev/shm",
                          "mount -o remount,size=1g /dev/shm\n"
                          "in a container: docker run --shm-size=1g",
                          "%llu MB free: bursts of events may be cut",
                          (unsigned long long)mb);
}

static void check_cgroup(void)
{
    cli_cgroup group;
    uint64_t bytes, limit;
    char now[32], most[32];
    cli_cgroup_find(getpid(), &group);
    if (!cli_cgroup_read(&group, &bytes, &limit) || limit == UINT64_MAX) {
        cli_doctor_ok("memory limit", "none");
        return;
    }
    axp_format_bytes(now, sizeof now, bytes);
    axp_format_bytes(most, sizeof most, limit);
    if (limit >= (uint64_t)1 << 30)
        cli_doctor_ok("memory limit", "%s of %s used in this control group",
                      now, most);
    else
        cli_doctor_better("memory limit",
                          "give the control group more memory, or record less "
                          "of the timeline",
                          "%s: the spool may use a twentieth of it", most);
}

static bool can_sample(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1,
                                   .disabled = 1};
    long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0ul);
    if (fd >= 0) close((int)fd);
    return fd >= 0;
}

static void check_perf(void)
{
    char level[32];
    first_line("/proc/sys/kernel/perf_event_paranoid", level, sizeof level);
    if (can_sample())
        cli_doctor_ok("perf events", "may be used (perf_event_paranoid %s)",
                      level);
    else if (errno == EACCES || errno == EPERM)
        cli_doctor_better("perf events",
                          "sudo sysctl kernel.perf_event_paranoid=1\n"
                          "in a container: docker run --cap-add PERFMON",
                          "not allowed (perf_event_paranoid %s): no sampling",
                          *level ? level : "unknown");
    else
        cli_doctor_better("perf events", "use a kernel with CONFIG_PERF_EVENTS",
                          "not there: %s", strerror(errno));
}

static void check_ptrace(void)
{
    char scope[32];
    first_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
    if (!*scope || scope[0] <= '1')
        cli_doctor_ok("ptrace", "memory of a program's processes can be looked "
                                "at");
    else
        cli_doctor_better("ptrace", "sudo sysctl kernel.yama.ptrace_scope=1",
                          "ptrace_scope is %s: no proportional memory (PSS)",
                          scope);
}

static void check_library(const char *what, const char *library,
                          const char *advice, const char *lack)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (handle)
        cli_doctor_ok(what, "%s is there", library);
    else
        cli_doctor_better(what, advice, "%s is not there: %s", library, lack);
}

static void check_adapters(void)
{
    for (size_t i = 0; i < cli_n_adapters; i++) {
        const char *why;
        char *path = cli_adapter_path(&cli_adapters[i], &why);
        if (path)
            cli_doctor_ok("adapter", "%s: %s", cli_adapters[i].name,
                          cli_adapters[i].text);
        else
            cli_doctor_better("adapter",
                              "install axprof with its libraries, in a folder "
                              "whose name has no space",
                              "%s: %s", cli_adapters[i].name, why);
        free(path);
    }
}

int cli_doctor_main(const cli_args *args)
{
    n_better = 0;
    if (cli_args_has(args, OPT_doctor_clean)) return cli_doctor_clean();
    if (args->n_rest > 1)
        return cli_wrong("one program at a time, and without its arguments");
    int rc = args->n_rest ? cli_doctor_program(args->rest) : CLI_OK;
    if (rc != CLI_OK) return rc;
    check_clock();
    check_cpus();
    check_shm();
    check_cgroup();
    check_perf();
    check_ptrace();
    check_library("symbols", "libdw.so.1", "sudo apt install libdw1",
                  "functions have no names");
    check_library("C++ names", "libstdc++.so.6", "sudo apt install libstdc++6",
                  "they stay mangled");
    check_adapters();
    cli_doctor_left();
    return n_better ? CLI_FAILED : CLI_OK;
}
