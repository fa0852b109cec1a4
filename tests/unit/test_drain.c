/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A drain that never catches up still does what it is asked to: here packing
 * lasts until another thread has recorded more than was packed. */
#include <semaphore.h>
#include <unistd.h>

#include "record/record_trace.h"
#include "test_support.h"

#define SCOPES 160000u /* more than the 128 chunks of a block */
#define SOON 40u       /* blocks */
#define MOST 200u      /* until it may catch up after all */

static axp_profiler *prof;
static sem_t go, fed;
static bool is_feeding;
static unsigned n_packs;

static void *open_packer(void)
{
    return &prof;
}

static size_t pack(void *packer, const struct axp__chunk *const *chunks,
                   size_t n, void *out, size_t cap)
{
    (void)packer, (void)chunks, (void)n, (void)out, (void)cap;
    if (axp__add(&n_packs, 1) > MOST || !axp__get(&is_feeding)) return 0;
    sem_post(&go);
    while (sem_wait(&fed))
        ;
    return 0; /* it is written as it is */
}

static void close_packer(void *packer)
{
    (void)packer;
}

static const struct axp__packing slow = {open_packer, pack, close_packer};

static void record_some(void)
{
    for (unsigned i = 0; i < SCOPES; i++) {
        AXP_SCOPE_IN(prof, "scope");
    }
}

static void *feed(void *arg)
{
    (void)arg;
    for (;;) {
        while (sem_wait(&go))
            ;
        if (!axp__get(&is_feeding)) return NULL;
        record_some();
        sem_post(&fed);
    }
}

static void orders_do_not_wait_until_it_has_caught_up(void **state)
{
    if (AXP_EMULATED) skip(); /* no drain */
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/axprof-drain-%ld.axp", (long)getpid());
    axp__trace_set_packing(&slow);
    prof = axp_profiler_create(&(axp_options){.path = path});
    assert_non_null(prof);
    sem_init(&go, 0, 0);
    sem_init(&fed, 0, 0);
    axp__put(&is_feeding, true);
    pthread_t feeder = ts_spawn(feed, NULL);
    record_some();
    while (axp__get(&n_packs) < 3)
        usleep(1000);
    unsigned before = axp__get(&n_packs);
    axp_view_destroy(ts_snapshot(prof));
    assert_in_range(axp__get(&n_packs) - before, 0, SOON);
    before = axp__get(&n_packs);
    assert_int_equal(axp_flush(prof), AXP_OK);
    assert_in_range(axp__get(&n_packs) - before, 1, SOON);
    axp__put(&is_feeding, false);
    sem_post(&fed);
    sem_post(&go);
    ts_join(feeder);
    axp_profiler_destroy(prof);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_do_not_wait_until_it_has_caught_up),
    };
    return TS_RUN(tests);
}
