/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Profilers that come and go, with and without files, while threads come and
 * go, record, take snapshots and reset: memory and mappings stay flat.
 *
 * Each round makes a profiler, records on three threads that end before it
 * does, looks at it from the outside, resets it, records again, and destroys
 * it. Two workers do so at once; the main thread only measures. After a third
 * of the time what there is is the measure for the rest.
 *
 * Usage: attack_churn [SECONDS]. */
#include <pthread.h>
#include <time.h>

#include "stress_check.h"

#define WORKERS 2
#define THREADS 3

static char folder[] = "/tmp/axprof-churn-XXXXXX";
static uint32_t is_over;
static uint64_t n_rounds;

/* ---- rounds ------------------------------------------------------------------------- */

static void *record(void *arg)
{
    axp_profiler *p = arg;
    for (int i = 0; i < 300; i++) {
        AXP_SCOPE_IN(p, "outer");
        axp_start(p, "named");
        axp_record_alloc(p, "tensor", 100);
        axp_counter(p, "loss", i);
        axp_record_free(p, "tensor", 100);
        axp_stop(p, "named");
        if (i % 50 == 0) axp_step(p);
    }
    return NULL;
}

static void record_on_threads(axp_profiler *p)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&t[i], NULL, record, p));
    axp_view *v = axp_snapshot(p);
    CHECK(v != NULL);
    stress_check_view(v);
    axp_view_destroy(v);
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_join(t[i], NULL));
}

static void one_round(const char *path, unsigned turn)
{
    axp_options o = {.flags = AXP_OVERWRITE};
    if (turn % 2) o.path = path;
    if (turn % 5 == 4) o.flags |= AXP_NO_TIMELINE;
    axp_profiler *p = axp_profiler_create(&o);
    if (!p) dprintf(2, "%s\n", axp_last_error());
    CHECK(p != NULL);
    record_on_threads(p);
    CHECK_EQ(axp_call_count(p, "outer"), THREADS * 300);
    if (turn % 3 == 0) {
        axp_reset(p);
        if (axp_call_count(p, "outer"))
            dprintf(2, "not reset: %s (turn %u)\n", axp_last_error(), turn);
        record_on_threads(p);
        CHECK_EQ(axp_call_count(p, "outer"), THREADS * 300);
    }
    if (turn % 4 == 1) CHECK_EQ(axp_finish(p), AXP_OK);
    axp_profiler_destroy(p);
}

static void *work(void *arg)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%d.axp", folder, (int)(intptr_t)arg);
    for (unsigned i = 0; !__atomic_load_n(&is_over, __ATOMIC_RELAXED); i++) {
        one_round(path, i);
        __atomic_fetch_add(&n_rounds, 1, __ATOMIC_RELAXED);
    }
    unlink(path);
    return NULL;
}

/* ---- what it costs --------------------------------------------------------------------- */

struct cost { /* the largest that was seen */
    uint64_t n_maps, rss_kib, size_kib;
};

static uint64_t status_kib(const char *key)
{
    char line[256];
    uint64_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key)))
            kib = strtoull(line + strlen(key), NULL, 10);
    fclose(f);
    return kib;
}

static uint64_t count_lines(const char *path)
{
    uint64_t n = 0;
    int c;
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    while ((c = getc(f)) != EOF)
        n += c == '\n';
    fclose(f);
    return n;
}

static void raise_to(uint64_t *most, uint64_t now)
{
    if (now > *most) *most = now;
}

static void measure(struct cost *c)
{
    raise_to(&c->n_maps, count_lines("/proc/self/maps"));
    raise_to(&c->rss_kib, status_kib("VmRSS:"));
    raise_to(&c->size_kib, status_kib("VmSize:"));
}

static uint64_t now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static struct cost watch_until(uint64_t end_ms)
{
    struct cost c = {0};
    while (now_ms() < end_ms) {
        struct timespec pause = {0, 20000000};
        measure(&c);
        nanosleep(&pause, NULL);
    }
    return c;
}

/* Flat: what a few hundred rounds may add is what races leave, not what rounds
 * do. */
static void expect_flat(const struct cost *before, const struct cost *after,
                        uint64_t rounds)
{
    printf("%" PRIu64 " rounds; maps %" PRIu64 " then %" PRIu64
           ", resident KiB %" PRIu64 " then %" PRIu64 ", size KiB %" PRIu64
           " then %" PRIu64 "\n",
           rounds, before->n_maps, after->n_maps, before->rss_kib,
           after->rss_kib, before->size_kib, after->size_kib);
    fflush(stdout);
    if (STRESS_TSAN || STRESS_ASAN) return; /* whose memory it would be */
    CHECK(after->n_maps <= before->n_maps + 40);
    CHECK(after->rss_kib <= before->rss_kib + 16384);
    CHECK(after->size_kib <= before->size_kib + 65536);
}

int main(int argc, char **argv)
{
    uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 6;
    pthread_t t[WORKERS];
    CHECK(mkdtemp(folder));
    stress_watch((unsigned)seconds + 60);
    for (intptr_t i = 0; i < WORKERS; i++)
        CHECK(!pthread_create(&t[i], NULL, work, (void *)i));
    uint64_t begin = now_ms();
    watch_until(begin + seconds * 333);
    struct cost before = watch_until(begin + seconds * 666);
    uint64_t rounds = __atomic_load_n(&n_rounds, __ATOMIC_RELAXED);
    struct cost after = watch_until(begin + seconds * 1000);
    rounds = __atomic_load_n(&n_rounds, __ATOMIC_RELAXED) - rounds;
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < WORKERS; i++)
        CHECK(!pthread_join(t[i], NULL));
    expect_flat(&before, &after, rounds);
    CHECK(!rmdir(folder));
    return 0;
}
