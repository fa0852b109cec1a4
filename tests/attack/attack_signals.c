/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A storm of signals whose handlers record, on threads that record to a file.
 *
 * A sender hits the threads with three signals, one of which interrupts the
 * others' handlers. A handler's event is recorded or, where it found its
 * thread inside an event, dropped and counted: both together are as many as
 * there were. What the threads record is all there, and the file is sound.
 *
 * Usage: attack_signals [SECONDS]. */
#include <pthread.h>
#include <time.h>

#include "axprof/axprof_file.h"
#include "stress_check.h"

#define THREADS 4

static char folder[] = "/tmp/axprof-signals-XXXXXX", path[300];
static axp_profiler *prof;
static uint32_t is_over;
static uint64_t n_scopes, n_handled[3];
static const char *const kinds[3] = {"handler 0", "handler 1", "handler 2"};

static void handle(int sig)
{
    int k = sig - SIGRTMIN;
    {
        AXP_SCOPE_IN(prof, kinds[k]);
        AXP_SCOPE("global");
        axp_counter(prof, "in handler", k);
    }
    axp_record_alloc(prof, "in handler", 8);
    axp_record_free(prof, "in handler", 8);
    __atomic_fetch_add(&n_handled[k], 1, __ATOMIC_RELAXED);
}

static void install(void)
{
    for (int k = 0; k < 3; k++) {
        struct sigaction a = {.sa_handler = handle};
        sigfillset(&a.sa_mask);
        if (k) sigdelset(&a.sa_mask, SIGRTMIN); /* which comes in between */
        a.sa_flags = SA_RESTART;
        CHECK(!sigaction(SIGRTMIN + k, &a, NULL));
    }
}

static void *record(void *arg)
{
    uint64_t n = 0;
    (void)arg;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        {
            AXP_SCOPE_IN(prof, "outer");
            AXP_SCOPE("inner");
            axp_start(prof, "named");
            axp_record_alloc(prof, "tensor", 64);
            axp_stop(prof, "named");
            axp_record_free(prof, "tensor", 64);
        }
        n++;
    }
    __atomic_fetch_add(&n_scopes, n, __ATOMIC_RELAXED);
    return NULL;
}

static void storm(pthread_t *t, uint64_t seconds)
{
    struct timespec begin, now;
    unsigned draw = 12345;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (int i = 0; i < 200; i++) {
            draw = draw * 1103515245 + 12345;
            /* a queue that is full refuses: as good */
            (void)pthread_kill(t[(draw >> 16) % THREADS],
                               SIGRTMIN + (int)((draw >> 20) % 3));
        }
        struct timespec pause = {0, 200000};
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((uint64_t)(now.tv_sec - begin.tv_sec) < seconds);
}

static uint64_t calls_of(const axp_view *v, const char *name)
{
    axp_op op;
    return axp_view_op(v, name, &op) ? 0 : op.calls;
}

static void check_counts(void)
{
    axp_view *v = axp_snapshot(prof);
    CHECK(v != NULL);
    CHECK_EQ(calls_of(v, "outer"), n_scopes);
    CHECK_EQ(calls_of(v, "named"), n_scopes);
    uint64_t n = 0, recorded = 0;
    for (int k = 0; k < 3; k++) {
        n += n_handled[k];
        recorded += calls_of(v, kinds[k]);
        CHECK(calls_of(v, kinds[k]) <= n_handled[k]);
    }
    uint64_t dropped = stress_view_warning(v, "signal_drops");
    printf("%" PRIu64 " scopes, %" PRIu64 " signals handled, %" PRIu64
           " of them recorded whole, %" PRIu64 " events dropped\n",
           n_scopes, n, recorded, dropped);
    /* of a handler's events each may be dropped: scope, counter, alloc, free */
    CHECK(n - recorded <= dropped);
    axp_view_destroy(v);
}

int main(int argc, char **argv)
{
    uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 3;
    pthread_t t[THREADS];
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run.axp", folder);
    stress_watch((unsigned)seconds + 60);
    prof = axp_profiler_create(&(axp_options){.path = path});
    CHECK(prof != NULL);
    install();
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&t[i], NULL, record, NULL));
    storm(t, seconds);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_join(t[i], NULL));
    check_counts();
    CHECK_EQ(axp_finish(prof), AXP_OK);
    axp_profiler_destroy(prof);
    CHECK_EQ(axp_file_check(path, stdout), AXP_OK);
    CHECK(!unlink(path));
    CHECK(!rmdir(folder));
    return 0;
}
