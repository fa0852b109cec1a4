/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a drain from outside keeps of a timeline: the newest time or steps, or
 * slow steps. Chunks are made by hand, the clock is moved by hand, and the
 * file is read block by block. */
#include "test_support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "outside/outside_keep.h"
#include "wire/wire_block.h"

#define SECOND 1000000000ull
#define SCOPES_A_CHUNK 500u

static char path[64];

static struct axp__trace *open_trace(void)
{
    static struct axp__trace t;
    uint8_t head[AXP__FILE_HEAD];
    memset(&t, 0, sizeof t);
    strcpy(path, "/tmp/axprof-keep-XXXXXX");
    struct stat st;
    t.path = path;
    t.pen.fd = mkstemp(path);
    assert_true(t.pen.fd >= 0 && !fstat(t.pen.fd, &st));
    t.device = (uint64_t)st.st_dev;
    t.inode = (uint64_t)st.st_ino;
    axp__file_head_put(head, &t.head);
    assert_int_equal(pwrite(t.pen.fd, head, sizeof head, 0), (int)sizeof head);
    t.pen.end = AXP__FILE_HEAD;
    assert_true(axp__trace_prepare(&t));
    return &t;
}

static void close_trace(struct axp__trace *t)
{
    axp__trace_close(t);
    unlink(path);
}

/* Scopes from now on, over so many ns; a step's mark at the end if step_begin
 * is not 0. */
static struct axp__chunk *make_chunk(uint32_t row, uint64_t seq, uint64_t ns,
                                     uint64_t step_begin)
{
    static struct axp__chunk c;
    uint64_t base = axp__clock_ticks(), n = 0;
    memset(&c, 0, sizeof c);
    c.row = row;
    c.seq = seq;
    c.base_ticks = base;
    for (uint64_t i = 0; i < SCOPES_A_CHUNK; i++) {
        uint64_t at = ns * i / SCOPES_A_CHUNK;
        c.words[n++] = axp__word(AXP__W_BEGIN, 5, at);
        c.words[n++] = axp__word(AXP__W_END, 5, at + 1);
    }
    c.n_events = 2 * SCOPES_A_CHUNK;
    ts_tick(ns);
    if (step_begin) {
        c.words[n++] = axp__word(AXP__W_STEP, 0, axp__clock_ticks() - base);
        c.words[n++] = 0;          /* index: not looked at */
        c.words[n++] = 0;          /* live bytes */
        c.words[n++] = step_begin; /* where it began */
        c.n_events++;
    }
    c.n_words = n;
    return &c;
}

/* The oldest and newest base of the chunks in the file, and their number. */
struct found {
    uint64_t oldest, newest;
    unsigned n;
};

static struct found read_file(const struct axp__trace *t)
{
    struct found f = {UINT64_MAX, 0, 0};
    for (uint64_t at = AXP__FILE_HEAD; at < t->pen.end;) {
        uint8_t head[AXP__BLOCK_HEAD];
        struct axp__block b;
        assert_int_equal(pread(t->pen.fd, head, sizeof head, (off_t)at),
                         (int)sizeof head);
        assert_int_equal(axp__block_get(head, &b), AXP__BLOCK_OK);
        assert_int_equal(b.kind, AXP__B_CHUNK);
        if (b.base_ticks < f.oldest) f.oldest = b.base_ticks;
        if (b.base_ticks > f.newest) f.newest = b.base_ticks;
        f.n++;
        at += axp__block_span(&b);
    }
    return f;
}

/* 1000 s in chunks of 1 s, on two rows. */
static void test_newest_time(void **state)
{
    (void)state;
    struct axp__trace *t = open_trace();
    struct axp__keep *k =
        axp__keep_create(&(struct axp__keep_rule){.newest_ticks = 30 * SECOND});
    uint64_t most = 0;
    for (uint64_t i = 1; i <= 1000; i++) {
        struct axp__chunk *c = make_chunk((uint32_t)i % 2, i, SECOND, 0);
        axp__keep_take(k, t, &c, 1);
        if (t->pen.end > most) most = t->pen.end;
    }
    uint64_t now = axp__clock_ticks();
    axp__keep_finish(k, t);
    struct found f = read_file(t);
    assert_int_equal(f.newest, now - SECOND);
    assert_in_range(f.oldest, now - 32 * SECOND, now - 29 * SECOND);
    assert_in_range(f.n, 29, 32);
    /* Meanwhile it was never much longer than a MiB and twice what is kept. */
    assert_true(most < ((uint64_t)1 << 20) + 4 * 30 * 9000);
    assert_int_equal(t->n_cut_events, (1000 - f.n) * 2 * SCOPES_A_CHUNK);
    axp__keep_destroy(k);
    close_trace(t);
}

static void test_newest_steps(void **state)
{
    (void)state;
    struct axp__trace *t = open_trace();
    struct axp__keep *k =
        axp__keep_create(&(struct axp__keep_rule){.newest_steps = 20});
    uint64_t begins[600];
    for (uint64_t i = 1; i < 600; i++) {
        uint64_t begin = begins[i] = axp__clock_ticks();
        /* Steps of one to five seconds. */
        struct axp__chunk *c = make_chunk(1, i, (1 + i % 5) * SECOND, begin);
        axp__keep_take(k, t, &c, 1);
    }
    axp__keep_finish(k, t);
    struct found f = read_file(t);
    assert_int_equal(f.newest, begins[599]);
    assert_true(f.oldest <= begins[580]);
    assert_true(f.oldest >= begins[578]);
    axp__keep_destroy(k);
    close_trace(t);
}

/* One pass of the drain brings many chunks, in the order of memory. */
static void test_passes_out_of_order(void **state)
{
    enum { N = 32 };
    (void)state;
    struct axp__trace *t = open_trace();
    struct axp__keep *k =
        axp__keep_create(&(struct axp__keep_rule){.newest_steps = N / 2});
    static struct axp__chunk copies[N];
    uint64_t begins[2 * N + 1];
    for (uint64_t pass = 0; pass < 2; pass++) {
        struct axp__chunk *list[N];
        for (uint64_t i = 0; i < N; i++) {
            uint64_t n = pass * N + i, begin = begins[n] = axp__clock_ticks();
            copies[i] = *make_chunk(1, n + 1, SECOND, begin);
            list[N - 1 - i] = &copies[i];
        }
        axp__keep_take(k, t, list, N);
    }
    assert_int_equal(axp__keep_wanted_from(k), begins[N + N / 2]);
    axp__keep_finish(k, t);
    assert_int_equal(read_file(t).newest, begins[2 * N - 1]);
    axp__keep_destroy(k);
    close_trace(t);
}

/* Every 50th step takes five times as long: those, and what another thread did
 * meanwhile, are kept, and nothing else. */
static void test_slow_steps(void **state)
{
    (void)state;
    struct axp__trace *t = open_trace();
    struct axp__keep *k =
        axp__keep_create(&(struct axp__keep_rule){.slow_times = 3});
    uint64_t slow_begins[20], n_slow = 0, n_all = 0;
    for (uint64_t i = 1; i <= 500; i++) {
        bool is_slow = i % 50 == 0;
        uint64_t ns = is_slow ? 5000000 : 1000000, begin = axp__clock_ticks();
        if (is_slow) slow_begins[n_slow++] = begin;
        struct axp__chunk *c = make_chunk(2, i, ns / 2, 0);
        axp__keep_take(k, t, &c, 1);
        c = make_chunk(1, i, ns / 2, begin);
        axp__keep_take(k, t, &c, 1);
        n_all += 2;
    }
    axp__keep_finish(k, t);
    struct found f = read_file(t);
    /* A chunk that only touches a slow step's edge is kept as well. */
    assert_in_range(f.n, 2 * n_slow, 4 * n_slow);
    assert_true(f.oldest <= slow_begins[0]);
    assert_true(f.oldest >= slow_begins[0] - 1000000);
    assert_true(f.newest >= slow_begins[n_slow - 1]);
    assert_int_equal(t->n_cut_events / (2 * SCOPES_A_CHUNK), n_all - f.n);
    axp__keep_destroy(k);
    close_trace(t);
}

static void test_slow_by_time(void **state)
{
    (void)state;
    struct axp__trace *t = open_trace();
    struct axp__keep *k =
        axp__keep_create(&(struct axp__keep_rule){.slow_ticks = 2000000});
    for (uint64_t i = 1; i <= 40; i++) {
        struct axp__chunk *c =
            make_chunk(1, i, i == 3 ? 3000000 : 1000000, axp__clock_ticks());
        axp__keep_take(k, t, &c, 1);
    }
    axp__keep_finish(k, t);
    /* The third, and its neighbours, which share a moment with it. */
    assert_in_range(read_file(t).n, 1, 3);
    axp__keep_destroy(k);
    close_trace(t);
}

/* Steps that never come: what waits is bounded, and dropped at the end. */
static void test_no_steps(void **state)
{
    (void)state;
    struct axp__trace *t = open_trace();
    struct axp__keep *k =
        axp__keep_create(&(struct axp__keep_rule){.slow_times = 2});
    for (uint64_t i = 1; i <= 5000; i++) {
        struct axp__chunk *c = make_chunk(1, i, 1000, 0);
        axp__keep_take(k, t, &c, 1);
    }
    axp__keep_finish(k, t);
    assert_int_equal(read_file(t).n, 0);
    assert_int_equal(t->n_cut_events, 5000 * 2 * SCOPES_A_CHUNK);
    axp__keep_destroy(k);
    close_trace(t);
}

/* A full disk: what was not written is not taken, so that the spool keeps it. */
static void test_write_error(void **state)
{
    (void)state;
    struct axp__trace *t = open_trace();
    struct axp__keep *k =
        axp__keep_create(&(struct axp__keep_rule){.newest_ticks = 1u << 30});
    struct axp__chunk *c = make_chunk(1, 1, 1000, 0);
    assert_int_equal(axp__keep_take(k, t, &c, 1), 1);
    t->pen.error = ENOSPC;
    c = make_chunk(1, 2, 1000, 0);
    assert_int_equal(axp__keep_take(k, t, &c, 1), 0);
    t->pen.error = 0;
    axp__keep_finish(k, t);
    assert_int_equal(read_file(t).n, 1);
    axp__keep_destroy(k);
    close_trace(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_error),
        cmocka_unit_test(test_newest_time),
        cmocka_unit_test(test_newest_steps),
        cmocka_unit_test(test_passes_out_of_order),
        cmocka_unit_test(test_slow_steps),
        cmocka_unit_test(test_slow_by_time),
        cmocka_unit_test(test_no_steps),
    };
    ts_use_fake_clock();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
