/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program with one fault, or its healthy twin, for test_run_found.py:
 *
 *   found_program work | temporary | pressure | fragments  1 | 0
 *   found_program io | io_plain | io_bare | naps | pages | fills | bytes  1 | 0
 *   found_program threads N | phases | pair | supervise
 *
 * It prints nothing, and takes a second, or six. */
#include <axprof/axprof.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static volatile double sum;

/* 2 FLOPs a turn, or a thousand times what any machine does. */
static void multiply(double flops)
{
    AXP_SCOPE_WORK("multiply", .flops = flops, .dtype = AXP_F64);
    for (int i = 0; i < 100000; i++)
        sum = sum * 0.5 + i;
}

static char *volatile scratch;

__attribute__((noinline)) static void take_scratch(void)
{
    scratch = malloc(200);
    scratch[0] = 1;
    free(scratch);
}

/* 131 MB, of which a sixteenth is kept: one block in every 16, or the first. */
__attribute__((noinline)) static void take_batches(bool is_faulty)
{
    enum { N = 65536 };
    static char *blocks[N];
    for (int i = 0; i < N; i++) {
        blocks[i] = malloc(2000);
        if (blocks[i]) memset(blocks[i], 1, 2000);
    }
    sleep(2); /* what is resident is read once a second */
    for (int i = N; i--;)
        if (is_faulty ? i % 16 != 0 : i >= N / 16) free(blocks[i]);
    sleep(4);
}

/* Alone, so that no other place holds as much. */
__attribute__((noinline)) static void take_memory(size_t bytes)
{
    scratch = malloc(bytes);
    if (scratch) scratch[bytes - 1] = 1;
}

/* Of processor time, however long that takes. */
__attribute__((noinline)) static void compute(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    double end = (double)t.tv_sec + (double)t.tv_nsec / 1e9 + seconds;
    do {
        for (int i = 0; i < 10000; i++)
            sum = sum * 0.5 + i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < end);
}

/* A file that has something to read 3 ms later. */
static void wait_for_file(const char *name, bool is_told)
{
    const struct itimerspec later = {.it_value = {.tv_nsec = 3000000}};
    uint64_t n;
    int file = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    AXP_SCOPE_IN(axp_global(), name);
    if (is_told) AXP_CATEGORY(AXP_CAT_IO);
    timerfd_settime(file, 0, &later, NULL);
    if (read(file, &n, sizeof n) != sizeof n) abort();
    close(file);
}

static void train(void)
{
    static const char *const parts[] = {"forward", "backward", "update"};
    for (int k = 0; k < 3; k++) {
        AXP_SCOPE_IN(axp_global(), parts[k]);
        compute(0.001);
    }
}

/* In every step, or once. */
static void read_and_train(bool is_faulty, bool is_told)
{
    for (int i = 0; i < 100; i++) {
        if (is_faulty || i == 0) wait_for_file("read_shard", is_told);
        train();
    }
}

/* 3 ms in which nobody runs. */
static __attribute__((noinline)) void fetch_shard(int timer)
{
    uint64_t n;
    struct itimerspec in = {.it_value = {0, 3000000}};
    if (timerfd_settime(timer, 0, &in, NULL)) abort();
    if (read(timer, &n, sizeof n) != sizeof n) abort();
}

/* Nobody marks anything. */
static void read_unmarked(bool is_faulty)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    for (int i = 0; i < 100; i++) {
        if (is_faulty || i == 0) fetch_shard(timer);
        compute(0.003);
    }
    close(timer);
}

static __attribute__((noinline)) void look_again_later(void)
{
    const struct timespec nap = {0, 10000000};
    nanosleep(&nap, NULL);
}

/* Sleeps between looks, or does not; another process of it does
 * nothing at all. */
static void nap(bool is_faulty)
{
    pid_t other = fork();
    while (!other)
        pause();
    for (int i = 0; i < 50; i++) {
        if (is_faulty) look_again_later();
        compute(0.003);
    }
    if (other > 0) {
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
    }
}

static __attribute__((noinline)) void touch_pages(char *block, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4096)
        block[i] = 1;
}

static __attribute__((noinline)) void fill_pages(char *block, size_t bytes)
{
    memset(block, 1, bytes);
    __asm__ volatile("" ::"r"(block) : "memory"); /* it is no last call */
}

/* A quarter of 40 MB, which the allocator gives back to the kernel at once, or are
 * kept. */
static void touch_scratch(bool is_faulty,
                          void (*touch)(char *block, size_t bytes))
{
    enum { BYTES = 40 << 20, N = 160 };
    char *block = NULL;
    for (int i = 0; i < N; i++) {
        if (!block) block = malloc(BYTES);
        if (!block) abort();
        touch(block, BYTES / 4);
        compute(0.1 / N);
        if (!is_faulty) continue;
        free(block);
        block = NULL;
    }
    free(block);
}

/* As many bytes, one at a time or many. */
static __attribute__((noinline)) void read_bytes(int file, size_t each)
{
    static char to[1 << 16];
    for (size_t i = 0; i < 1 << 22; i += each)
        if (read(file, to, each) != (ssize_t)each) abort();
}

static void read_zeroes(bool is_faulty)
{
    int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    read_bytes(file, is_faulty ? 1 : 1 << 16);
    compute(0.1);
    close(file);
}

/* Steps that read, and then as many that write: faults of a part each. */
static void read_then_write(void)
{
    for (int i = 0; i < 80; i++) {
        wait_for_file(i < 40 ? "read_shard" : "write_log", true);
        train();
        AXP_STEP();
    }
}

static void *work(void *seconds)
{
    AXP_SCOPE("work");
    compute(*(double *)seconds);
    return NULL;
}

/* 0.8 s of work for each of two processors, divided. */
static void share_among(int n)
{
    pthread_t threads[64];
    double each = 1.6 / n;
    if (n < 1 || n > 64) abort();
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, work, &each)) abort();
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

static void on_tick(int signal)
{
    (void)signal;
}

/* Threads that are joined, and then a child that sleeps: its parent waits for it,
 * and a timer wakes the parent now and then. */
static void supervise(void)
{
    const struct itimerval tick = {{0, 20000}, {0, 20000}};
    const struct sigaction action = {.sa_handler = on_tick};
    share_among(2);
    if (sigaction(SIGALRM, &action, NULL)) abort();
    if (fork() == 0) {
        sleep(1);
        _exit(0);
    }
    setitimer(ITIMER_REAL, &tick, NULL);
    while (wait(NULL) < 0 && errno == EINTR)
        continue;
}

static pthread_barrier_t both;

static void *only_wait(void *unused)
{
    for (int i = 0; i < 40; i++)
        pthread_barrier_wait(&both);
    return unused;
}

/* Steps of 5 ms, in which another thread does nothing but wait. */
static void step_beside(void)
{
    pthread_t other;
    pthread_barrier_init(&both, NULL, 2);
    if (pthread_create(&other, NULL, only_wait, NULL)) abort();
    for (int i = 0; i < 40; i++) {
        {
            AXP_SCOPE("forward");
            compute(0.005);
        }
        AXP_STEP();
        pthread_barrier_wait(&both);
    }
    pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int is_faulty = argc > 2 && argv[2][0] == '1';
    double end = now_s() + 0.3;
    if (!strcmp(what, "work"))
        for (int i = 0; i < 100; i++)
            multiply(is_faulty ? 1e15 : 2e5);
    /* A place that allocates 20,000 times a second costs nothing. */
    while (!strcmp(what, "temporary") && now_s() < end) {
        double next = now_s() + 50e-6;
        take_scratch();
        while (!is_faulty && now_s() < next)
            ;
    }
    if (!strcmp(what, "pressure")) /* of 8 GB (ulimit -v) */
        take_memory((size_t)(is_faulty ? 7700 : 4000) << 20);
    if (!strcmp(what, "fragments")) take_batches(is_faulty);
    if (!strcmp(what, "io")) read_and_train(is_faulty, true);
    if (!strcmp(what, "io_plain")) read_and_train(is_faulty, false);
    if (!strcmp(what, "io_bare")) read_unmarked(is_faulty);
    if (!strcmp(what, "naps")) nap(is_faulty);
    if (!strcmp(what, "pages")) touch_scratch(is_faulty, touch_pages);
    if (!strcmp(what, "fills")) touch_scratch(is_faulty, fill_pages);
    if (!strcmp(what, "bytes")) read_zeroes(is_faulty);
    if (!strcmp(what, "phases")) read_then_write();
    if (!strcmp(what, "pair")) step_beside();
    if (!strcmp(what, "supervise")) supervise();
    if (!strcmp(what, "threads")) share_among(argc > 2 ? atoi(argv[2]) : 1);
    return 0;
}
