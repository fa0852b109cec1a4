/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Traces and spools changed at random, and read by every reader: none crashes
 * (build it with sanitizers), and none costs more than its bound.
 *
 *   attack_mutate [COUNT [trace|spool|both [SEED]]]
 *
 * An input is made from the one that was recorded here by the number of its
 * seed, so that one that fails is made again by COUNT 1 and that seed. Readers
 * run in a process of their own; when it dies, the next goes on behind the
 * input that killed it. CPU time is counted, not the clock's. The worst ratios
 * of time and memory to size are said at the end.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../fuzz/fuzz_repair.h"
#include "axprof/axprof_file.h"
#include "axprof/axprof_read.h"
#include "model/model_view.h"
#include "os/os_space.h"
#include "outside/outside_recover.h"
#include "record/record_profiler.h"
#include "record/record_tape.h"

#ifdef __SANITIZE_ADDRESS__
#define SLOW 10
#else
#define SLOW 1
#endif
#define MOST_SECONDS (2.0 * SLOW) /* of CPU, for an input of some 100 KB */
#define MOST_GROWTH ((long)256 * 1024 * SLOW) /* KiB of memory, by one */

enum what { TRACE, SPOOL };

struct input {
    uint8_t *bytes;
    size_t n;
};

/* What the reading process tells the one that waits. */
struct shared {
    uint64_t seed;    /* of the input that is being read */
    uint64_t n_read;  /* inputs that were not refused */
    double seconds;   /* the longest … */
    uint64_t slowest; /* … and its seed */
    long growth;      /* of memory, in KiB */
    uint64_t largest;
};

static struct shared *shared;
static struct input recorded[2];
static char folder[64];

/* ---- random numbers --------------------------------------------------------- */

static uint64_t next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* ---- what is changed ---------------------------------------------------------- */

static void *another(void *arg)
{
    axp_profiler *p = arg;
    axp_thread_name(p, "another");
    for (int i = 0; i < 40; i++) {
        AXP_SCOPE_IN(p, "work");
        axp_record_alloc(p, "buffer", 64);
        axp_record_free(p, "buffer", 32);
        void *frames[3] = {(void *)0x1000, (void *)(0x2000 + (uintptr_t)i),
                           (void *)0x3000};
        axp_record_alloc_ex(p, &(axp_alloc){.name = "buffer",
                                            .bytes = 10,
                                            .stack = frames,
                                            .n_frames = 3});
    }
    axp_stop(p, "handed over");
    axp_async_end(p, "request", 7);
    return NULL;
}

static void record_some(axp_profiler *p)
{
    pthread_t thread;
    axp_track *track = axp_track_create(p, "queue");
    axp_start(p, "handed over");
    axp_async_begin(p, "request", 7);
    for (unsigned i = 0; i < 60; i++) {
        char name[24];
        snprintf(name, sizeof name, "name %u", i % 20);
        AXP_SCOPE_IN(p, "step");
        axp_start_work(p, name, (axp_work){.flops = 1e6 + i, .dims = {4, 5}});
        axp_start(p, "overlaps");
        axp_stop(p, name);
        axp_counter(p, "loss", 1.0 / (1 + i));
        axp_event(p, "note", AXP_EVENT_CUSTOM, i % 2 ? "text" : NULL);
        axp_stop(p, "overlaps");
        axp_flow_out(p, i);
        axp_flow_in(p, i);
        axp_ns now = axp_now(p);
        axp_track_span(track, "kernel", now, now + 100, NULL);
        axp_track_alloc_at(track, "device", i, 512, now);
        axp_step(p);
    }
    if (pthread_create(&thread, NULL, another, p)) exit(1);
    pthread_join(thread, NULL);
    axp_start(p, "open");
}

static struct input read_file(const char *path, size_t most)
{
    FILE *f = fopen(path, "rb");
    struct input i = {malloc(most), 0};
    if (!f || !i.bytes) exit(1);
    i.n = fread(i.bytes, 1, most, f);
    fclose(f);
    return i;
}

static void record_both(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/seed.axp", folder);
    axp_profiler *p = axp_profiler_create(&(axp_options){.path = path});
    if (!p) exit(1);
    record_some(p);
    struct axp__prof *prof = axp__prof_of(p);
    recorded[SPOOL] =
        read_file(prof->tape->spool_path, prof->budget.space->end_bytes);
    axp_profiler_destroy(p);
    recorded[TRACE] = read_file(path, (size_t)1 << 22);
    unlink(path);
    if (recorded[TRACE].n < 1000 || recorded[SPOOL].n < 1000) exit(1);
}

/* ---- changes ------------------------------------------------------------------ */

static uint64_t some_value(const struct input *i, uint64_t *state, size_t at)
{
    uint64_t x = next(state);
    switch (x % 8) {
    case 0: return next(state) % 256;
    case 1: return next(state);
    case 2: return UINT64_MAX - next(state) % 4;
    case 3: return (uint64_t)1 << next(state) % 64;
    case 4: return i->n + next(state) % 64 - 32;
    case 5:
        memcpy(&x, i->bytes + (next(state) % (i->n - 8) & ~7ull), 8);
        return x; /* another word of it */
    case 6: memcpy(&x, i->bytes + at, 8); return x + next(state) % 17 - 8;
    default: memcpy(&x, i->bytes + at, 8); return x ^ 1ull << next(state) % 64;
    }
}

/* Where something is: most of a spool is not used. */
static size_t some_place(const struct input *i, uint64_t *state)
{
    size_t at = 0;
    for (int turn = 0; turn < 64; turn++) {
        at = next(state) % (i->n - 8) & ~(size_t)7;
        if (next(state) % 4 == 0) at %= 8192;
        uint64_t word;
        memcpy(&word, i->bytes + at, 8);
        if (word) break;
    }
    return at;
}

static void change(struct input *i, uint64_t *state, enum what what)
{
    for (unsigned n = 1 + next(state) % 6; n--;) {
        size_t at = some_place(i, state);
        uint64_t value = some_value(i, state, at);
        size_t len = what == TRACE && next(state) % 2 ? 1 : 8;
        if (len == 1) at += next(state) % 8;
        memcpy(i->bytes + at, &value, len);
    }
    if (next(state) % 16 == 0) i->n = 64 + next(state) % (i->n - 64);
    if (what == TRACE && next(state) % 3) fuzz_repair(i->bytes, i->n);
}

/* ---- readers ------------------------------------------------------------------- */

static int count_event(const axp_event_info *e, void *ctx)
{
    (void)e;
    ++*(uint64_t *)ctx;
    return 0;
}

static void read_view(axp_view *v, FILE *nowhere)
{
    uint64_t n = 0;
    axp_view_events(v, NULL, count_event, &n);
    axp_report_write(v, AXP_FORMAT_TEXT, nowhere);
    axp_report_write(v, AXP_FORMAT_HTML, nowhere);
    for (int f = 0; axp_export_format_name((axp_export_format)f, NULL); f++)
        axp_export_write(v, (axp_export_format)f, nowhere);
    axp_view_destroy(v);
}

static bool read_trace(int fd, FILE *nowhere)
{
    char path[64], out[96];
    const char *list = path;
    axp_view *v = NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    snprintf(out, sizeof out, "%s/packed-%d.axp", folder, (int)getpid());
    bool is_read = axp_open(&list, 1, &v) == AXP_OK;
    if (is_read) read_view(v, nowhere);
    (void)axp_file_check(path, nowhere);
    (void)axp_file_info_write(&list, 1, nowhere);
    (void)axp_file_pack(path, out);
    unlink(out);
    return is_read;
}

static bool read_spool(int fd, FILE *nowhere)
{
    struct axp__recovered r;
    if (axp__spool_recover(dup(fd), &r)) return false;
    axp_view *v = axp__view_make(r.capture);
    if (v) read_view(v, nowhere);
    return true;
}

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long memory_now(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss;
}

static void read_one(enum what what, uint64_t seed, FILE *nowhere)
{
    static bool is_first = true; /* what every reader needs comes with it */
    struct input i = {malloc(recorded[what].n), recorded[what].n};
    uint64_t state = seed;
    int fd = memfd_create("input", MFD_CLOEXEC);
    memcpy(i.bytes, recorded[what].bytes, i.n);
    change(&i, &state, what);
    if (fd < 0 || write(fd, i.bytes, i.n) != (ssize_t)i.n) exit(1);
    /* ends this process where it takes too long */
    struct itimerval limit = {.it_value.tv_sec = (time_t)(2 * MOST_SECONDS)};
    setitimer(ITIMER_PROF, &limit, NULL);
    double begin = cpu_now();
    long before = memory_now();
    shared->n_read +=
        what == TRACE ? read_trace(fd, nowhere) : read_spool(fd, nowhere);
    double took = cpu_now() - begin;
    long growth = memory_now() - before;
    if (took > shared->seconds) {
        shared->seconds = took;
        shared->slowest = seed;
    }
    if (growth > shared->growth && !is_first) {
        shared->growth = growth;
        shared->largest = seed;
    }
    is_first = false;
    close(fd);
    free(i.bytes);
}

/* ---- all of them --------------------------------------------------------------- */

static void read_range(enum what what, uint64_t from, uint64_t end)
{
    FILE *nowhere = fopen("/dev/null", "w");
    if (!nowhere) exit(1);
    for (uint64_t seed = from; seed < end; seed++) {
        shared->seed = seed;
        read_one(what, seed, nowhere);
    }
    fclose(nowhere);
}

static int attack(enum what what, uint64_t from, uint64_t count)
{
    const char *name = what == TRACE ? "trace" : "spool";
    int n_failed = 0;
    memset(shared, 0, sizeof *shared);
    for (uint64_t at = from; at < from + count && n_failed < 20;) {
        int status;
        pid_t pid = fork();
        if (!pid) {
            read_range(what, at, from + count);
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid) return 1;
        if (!status) break;
        n_failed++;
        printf("attack_mutate 1 %s %llu: status %d\n", name,
               (unsigned long long)shared->seed, status);
        at = shared->seed + 1;
    }
    bool is_slow = shared->seconds > MOST_SECONDS;
    bool is_large = shared->growth > MOST_GROWTH;
    printf("%llu of a %s of %zu bytes, %llu read, %d failed; the slowest took "
           "%.3f s%s (seed %llu), one took %ld KiB%s (seed %llu)\n",
           (unsigned long long)count, name, recorded[what].n,
           (unsigned long long)shared->n_read, n_failed, shared->seconds,
           is_slow ? ", TOO LONG" : "", (unsigned long long)shared->slowest,
           shared->growth, is_large ? ", TOO MUCH" : "",
           (unsigned long long)shared->largest);
    return n_failed || is_slow || is_large;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 100;
    const char *what = argc > 2 ? argv[2] : "both";
    uint64_t seed = argc > 3
                        ? strtoull(argv[3], NULL, 0)
                        : (uint64_t)time(NULL) << 24 ^ (uint64_t)getpid() << 40;
    int failed = 0;
    snprintf(folder, sizeof folder, "/dev/shm/axprof-mutate-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    record_both();
    if (strcmp(what, "spool") != 0) failed |= attack(TRACE, seed, count);
    if (strcmp(what, "trace") != 0) failed |= attack(SPOOL, seed, count);
    rmdir(folder);
    return failed;
}
