/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the exports are made of: numbers, lanes, async spans, blocks, against
 * the plainest way to do the same. */
#include "emit/emit_async.h"
#include "emit/emit_blocks.h"
#include "emit/emit_name_cache.h"
#include "emit/emit_lanes.h"
#include "emit/emit_live.h"
#include "emit/emit_number.h"
#include "emit/emit_short.h"

#include "test_support.h"

/* ---- numbers ------------------------------------------------------------------- */

static uint64_t any_number(uint64_t *seed)
{
    uint64_t x = ts_random(seed);
    return x >> (ts_random(seed) & 63);
}

static void check_number(uint64_t x)
{
    char got[64] = {0}, want[64], fast[64] = {0};
    *axp__print_u64(got, x) = 0;
    snprintf(want, sizeof want, "%llu", (unsigned long long)x);
    assert_string_equal(got, want);
    *axp__put_us(got, x) = 0;
    snprintf(want, sizeof want, "%llu.%03u", (unsigned long long)(x / 1000),
             (unsigned)(x % 1000));
    assert_string_equal(got, want);
    size_t n = (size_t)(axp__print_varint(got, x) - got);
    assert_int_equal(axp__put_varint_fast(fast, x) - fast, n);
    assert_memory_equal(got, fast, n);
    uint64_t back = 0;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal((unsigned char)got[i] >> 7, i + 1 < n);
        back |= (uint64_t)(got[i] & 127) << 7 * i;
    }
    assert_int_equal(back, x);
}

static void numbers_read_back(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252u, power = 1;
    for (int i = 0; i < 20; i++, power *= 10) {
        check_number(power - 1);
        check_number(power);
    }
    for (int i = 0; i < 64; i++) {
        check_number((uint64_t)1 << i);
        check_number(((uint64_t)1 << i) - 1);
    }
    check_number(UINT64_MAX);
    for (int i = 0; i < 20000; i++)
        check_number(any_number(&seed));
}

/* ---- lanes ------------------------------------------------------------------------ */

#define SPANS 2000

struct span {
    axp_ns begin, end;
    uint32_t lane;
};

static int by_begin(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    if (x->begin != y->begin) return x->begin > y->begin ? 1 : -1;
    return (x->end < y->end) - (x->end > y->end);
}

static int by_end(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->end > y->end) - (x->end < y->end);
}

static struct span *any_spans(uint64_t *seed)
{
    struct span *s = malloc(SPANS * sizeof *s);
    for (int i = 0; i < SPANS; i++) {
        s[i].begin = ts_random(seed) % 20000;
        s[i].end = s[i].begin + ts_random(seed) % 100;
    }
    return s;
}

static void spans_of_a_lane_nest(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252u;
    struct axp__span_lanes lanes = {0};
    struct span *s = any_spans(&seed);
    qsort(s, SPANS, sizeof *s, by_begin);
    for (int i = 0; i < SPANS; i++)
        s[i].lane = axp__span_lanes_add(&lanes, s[i].begin, s[i].end);
    for (int i = 0; i < SPANS; i++)
        for (int k = i + 1; k < SPANS && s[k].begin < s[i].end; k++)
            if (s[i].lane == s[k].lane) assert_true(s[k].end <= s[i].end);
    assert_true(lanes.n > 1 && lanes.n < 100);
    assert_false(lanes.has_failed);
    axp__span_lanes_fini(&lanes);
    free(s);
}

static void pairs_of_a_lane_do_not_overlap(void **state)
{
    (void)state;
    uint64_t seed = 362436069362436069u;
    struct axp__pair_lanes lanes = {0};
    struct span *s = any_spans(&seed);
    qsort(s, SPANS, sizeof *s, by_end);
    for (int i = 0; i < SPANS; i++)
        s[i].lane = axp__pair_lanes_add(&lanes, s[i].begin, s[i].end);
    for (int i = 0; i < SPANS; i++)
        for (int k = 0; k < i; k++)
            if (s[i].lane == s[k].lane) assert_true(s[k].end <= s[i].begin);
    assert_true(lanes.n > 1 && lanes.n < 100);
    axp__pair_lanes_fini(&lanes);
    free(s);
}

static void one_after_another_is_one_lane(void **state)
{
    (void)state;
    struct axp__pair_lanes pairs = {0};
    struct axp__span_lanes spans = {0};
    for (axp_ns t = 0; t < 1000; t += 10) {
        assert_int_equal(axp__pair_lanes_add(&pairs, t, t + 10), 0);
        assert_int_equal(axp__span_lanes_add(&spans, t, t + 10), 0);
    }
    axp__pair_lanes_fini(&pairs);
    axp__span_lanes_fini(&spans);
}

/* ---- maps, against a list ------------------------------------------------------------ */

#define KEYS 500

static void asyncs_are_remembered_until_they_end(void **state)
{
    (void)state;
    uint64_t seed = 521288629546311u;
    struct axp__asyncs a = {0};
    axp_ns begun[KEYS] = {0}; /* 0: not open */
    size_t n = 0;
    for (axp_ns t = 1; t < 20000; t++) {
        uint64_t k = ts_random(&seed) % KEYS;
        struct axp__record r = {
            .id = k / 5, .name = (uint32_t)(k % 5), .time_ns = t, .row = 9};
        struct axp__async before = {0};
        if (ts_random(&seed) & 1) {
            bool was_open = axp__asyncs_begin(&a, &r, 1, &before);
            assert_int_equal(was_open, begun[k] != 0);
            if (was_open) assert_int_equal(before.begin_ns, begun[k]);
            n += !begun[k];
            begun[k] = t;
        } else {
            r.row = 3;
            assert_int_equal(axp__asyncs_end(&a, &r, 1), begun[k] ? 9 : 3);
            n -= begun[k] != 0;
            begun[k] = 0;
        }
        assert_int_equal(a.n, n);
    }
    axp__asyncs_sort(&a);
    for (size_t i = 0; i < a.n; i++) {
        assert_int_equal(begun[a.at[i].id * 5 + a.at[i].name],
                         a.at[i].begin_ns);
        if (i) assert_true(a.at[i].begin_ns >= a.at[i - 1].begin_ns);
    }
    axp__asyncs_fini(&a);
}

static void blocks_are_found_by_address(void **state)
{
    (void)state;
    uint64_t seed = 987654321987654321u;
    struct axp__block_map m = {0};
    uint64_t bytes[KEYS] = {0};
    for (int i = 1; i < 20000; i++) {
        uint64_t k = ts_random(&seed) % KEYS;
        struct axp__block_at b = {.address = k << 12, .bytes = (uint64_t)i};
        if (ts_random(&seed) & 1) {
            assert_true(axp__block_map_add(&m, b));
            bytes[k] = (uint64_t)i;
        } else {
            assert_int_equal(axp__block_map_take(&m, k << 12, &b),
                             bytes[k] != 0);
            if (bytes[k]) assert_int_equal(b.bytes, bytes[k]);
            bytes[k] = 0;
        }
    }
    axp__block_map_sort(&m);
    size_t n = 0;
    for (uint64_t k = 0; k < KEYS; k++) {
        if (!bytes[k]) continue;
        assert_int_equal(m.at[n].address, k << 12);
        assert_int_equal(m.at[n++].bytes, bytes[k]);
    }
    assert_int_equal(m.n, n);
    axp__block_map_fini(&m);
}

static void made_addresses_are_used_again(void **state)
{
    (void)state;
    struct axp__made_blocks m = {0};
    const struct axp__record r = {.name = 5};
    struct axp__block_at b;
    uint64_t first = axp__made_blocks_add(&m, r.name, 1, 1000);
    uint64_t second = axp__made_blocks_add(&m, r.name, 2, 1000);
    assert_true(second >= first + 1000);
    assert_true(axp__made_blocks_take(&m, 5, &b)); /* the newest */
    assert_int_equal(b.address, second);
    assert_int_equal(b.path, 2);
    assert_false(axp__made_blocks_take(&m, 6, &b));
    assert_int_equal(axp__made_blocks_add(&m, r.name, 3, 1000), second);
    assert_true(axp__made_blocks_take(&m, 5, &b));
    assert_true(axp__made_blocks_take(&m, 5, &b));
    assert_int_equal(b.address, first);
    assert_false(axp__made_blocks_take(&m, 5, &b));
    axp__made_blocks_fini(&m);
}

#define UNITS 3000

static void regions_cover_what_was_added(void **state)
{
    (void)state;
    uint64_t seed = 1234567891234567891u;
    struct axp__regions r = {0};
    bool is_in[UNITS + 8] = {0};
    for (int i = 0; i < 400; i++) {
        uint64_t at = ts_random(&seed) % UNITS, n = 1 + ts_random(&seed) % 3;
        axp__regions_add(&r, at << AXP__BLOCKS_SHIFT, n << AXP__BLOCKS_SHIFT);
        for (uint64_t k = at; k < at + n; k++)
            is_in[k] = true;
    }
    size_t next = 0;
    for (uint64_t k = 0; k < UNITS + 4; k++) {
        while (next < r.n && r.at[next].to <= k)
            next++;
        bool got = next < r.n && r.at[next].from <= k;
        assert_int_equal(got, is_in[k]);
    }
    for (size_t i = 1; i < r.n; i++)
        assert_true(r.at[i].from > r.at[i - 1].to);
    axp__regions_add(&r, UINT64_MAX - 5, 100); /* past the end */
    axp__regions_add(&r, 7, 0);
    free(r.at);
}

static void paths_are_told_apart(void **state)
{
    (void)state;
    struct axp__paths p = {0};
    uint32_t a = axp__paths_get(&p, 0, 1), b = axp__paths_get(&p, a, 1);
    assert_true(a && b && a != b);
    for (uint32_t i = 0; i < 5000; i++)
        axp__paths_get(&p, i % 3 ? a : b, i);
    assert_int_equal(axp__paths_get(&p, 0, 1), a);
    assert_int_equal(axp__paths_get(&p, a, 1), b);
    assert_int_equal(p.at[b].parent, a);
    axp__paths_fini(&p);
}

/* ---- live memory along a cut timeline --------------------------------------------------- */

static uint64_t last_live(const axp_view *v)
{
    struct axp__stream *s;
    struct axp__live live;
    const struct axp__record *r;
    uint64_t last = UINT64_MAX;
    assert_int_equal(axp__stream_open(v, 0, &s), AXP_OK);
    assert_true(axp__live_init(&live, v, s));
    while ((r = axp__stream_next(s)))
        if (r->kind == AXP__R_ALLOC || r->kind == AXP__R_FREE)
            last = axp__live_add(&live, r)->bytes;
    axp__live_fini(&live);
    axp__stream_close(s);
    return last;
}

static void live_memory_ends_where_the_view_says(void **state)
{
    (void)state;
    for (uint64_t capacity = 0; capacity <= 100; capacity += 100) {
        axp_profiler *p =
            axp_profiler_create(&(axp_options){.timeline_capacity = capacity});
        axp_record_alloc(p, "weights", 1000000);
        for (int i = 0; i < 500; i++) {
            axp_record_alloc(p, "activations", 300);
            axp_record_free(p, "activations", i % 5 ? 300 : 200);
        }
        axp_record_free(p, "never there", 77);
        axp_view *v = ts_snapshot(p);
        assert_int_equal(last_live(v), axp_view_memory(v).current_bytes);
        axp_view_destroy(v);
        axp_profiler_destroy(p);
    }
}

/* ---- bytes of names ---------------------------------------------------------------------- */

static void make(struct axp__name_cache *n, uint32_t id, struct axp__out *to)
{
    ++*(int *)n->ctx;
    axp__out_format(to, "name %u", id);
}

static void a_name_is_made_once(void **state)
{
    (void)state;
    int n_made = 0;
    struct axp__name_cache n;
    assert_true(axp__name_cache_init(&n, NULL, make, &n_made));
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t id = 0; id < 20000; id++) {
            char want[32];
            const struct axp__name_bytes *b = axp__name_cache_get(&n, id);
            int len = snprintf(want, sizeof want, "name %u", id);
            assert_int_equal(b->len, len);
            assert_memory_equal(b->at, want, (size_t)len);
        }
    assert_int_equal(n_made, 20000);
    assert_false(n.has_failed);
    axp__name_cache_fini(&n);
}

/* ---- warnings ---------------------------------------------------------------------- */

/* A name is the last of those that a warning counts, but for what is called
 * most often. */
static void names_of_warnings(void **state)
{
    (void)state;
    axp__cell many;
    axp_warning w = {.code = "bad_names", .text = "empty names", .count = 3};
    assert_string_equal(axp__short_many(many, &w), "3 ");
    assert_string_equal(axp__short_last(&w), "last: ");
    w.count = 1;
    assert_string_equal(axp__short_many(many, &w), "");
    assert_string_equal(axp__short_last(&w), "");
    w = (axp_warning){
        .code = "own_overhead", .text = "scopes: widen it", .count = 4000};
    assert_string_equal(axp__short_many(many, &w), "4,000 ");
    assert_string_equal(axp__short_last(&w), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_read_back),
        cmocka_unit_test(spans_of_a_lane_nest),
        cmocka_unit_test(pairs_of_a_lane_do_not_overlap),
        cmocka_unit_test(one_after_another_is_one_lane),
        cmocka_unit_test(asyncs_are_remembered_until_they_end),
        cmocka_unit_test(blocks_are_found_by_address),
        cmocka_unit_test(made_addresses_are_used_again),
        cmocka_unit_test(regions_cover_what_was_added),
        cmocka_unit_test(paths_are_told_apart),
        cmocka_unit_test(live_memory_ends_where_the_view_says),
        cmocka_unit_test(a_name_is_made_once),
        cmocka_unit_test(names_of_warnings),
    };
    return TS_RUN(tests);
}
