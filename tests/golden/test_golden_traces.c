/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The six runs are the same each time they are made, and are what they say. */
#include "golden/golden_traces.h"

#include "test_support.h"

struct lines {
    char *text;
    size_t len;
    FILE *to;
};

static int put_event(const axp_event_info *e, void *ctx)
{
    struct lines *l = ctx;
    fprintf(l->to, "%llu %d %llu %s %s %.17g\n", (unsigned long long)e->time_ns,
            (int)e->type, (unsigned long long)e->thread_id, e->name,
            e->metadata ? e->metadata : "-", e->value);
    return 0;
}

static char *events_of(size_t i)
{
    struct lines l = {0};
    axp_view *v = golden_view(i);
    l.to = open_memstream(&l.text, &l.len);
    assert_int_equal(axp_view_events(v, NULL, put_event, &l), AXP_OK);
    fclose(l.to);
    axp_view_destroy(v);
    return l.text;
}

static void the_same_each_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < GOLDEN_N; i++) {
        char *first = events_of(i), *second = events_of(i);
        assert_string_equal(first, second);
        free(first);
        free(second);
    }
}

static void what_they_hold(void **state)
{
    (void)state;
    const uint64_t duration[GOLDEN_N] = {0,      1000000, 2130000,
                                         850000, 300000,  2330000};
    const size_t n_threads[GOLDEN_N] = {0, 1, 1, 3, 1, 1};
    for (size_t i = 0; i < GOLDEN_N; i++) {
        axp_view *v = golden_view(i);
        assert_int_equal(axp_view_duration(v), duration[i]);
        assert_int_equal(axp_view_threads(v, NULL, 0), n_threads[i]);
        axp_view_destroy(v);
    }
}

int main(void)
{
    golden_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_each_time),
        cmocka_unit_test(what_they_hold),
    };
    return TS_RUN(tests);
}
