/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs that nobody marked, on timelines and samples written by hand: which time
 * nobody runs, and what another thread's sake is; what a lock is held for; what of
 * a library is called. */
#include "graph_script.h"
#include "finding_support.h"

#include "analyze/analyze_asker.h"
#include "analyze/analyze_still.h"
#include "model/model_functions.h"

#define ROUNDS 20u
#define MS 1000000u
#define LAG 10u

static struct axp__cap_sample seen[20 * ROUNDS];
static uint32_t n_seen;
static double loading_ns; /* us into programs */

static bool load_seen(const struct axp__cap_samples *from,
                      struct axp__cap_sample *out)
{
    memcpy(out, seen, from->n * sizeof *out);
    return true;
}

static void see(uint32_t row, uint64_t from, uint64_t to, axp_sample_kind kind)
{
    assert_true(n_seen < sizeof seen / sizeof *seen);
    seen[n_seen++] = (struct axp__cap_sample){.ticks = to,
                                              .tid = 100 + row,
                                              .weight = to - from,
                                              .kind = kind,
                                              .process = 100};
}

static axp_view *view_seen(struct script *s)
{
    static struct axp__cap_samples block = {.load = load_seen};
    block.n = n_seen;
    s->c.samples = &block;
    s->c.n_samples = 1;
    if (loading_ns > 0) script_took(s, SCRIPT_START, loading_ns);
    axp_view *v = script_view(s);
    v->n_sampled = n_seen;
    return v;
}

/* Rounds of two threads: the first reads for so long, then both meet and compute
 * for 6 ms. Or the second computes while the first is off its processor. */
static axp_view *rounds(uint64_t reads, bool is_other_busy)
{
    struct script *s = script_create();
    uint64_t now = 0;
    n_seen = 0;
    script_word(s, 0, now, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        uint64_t met = now + reads, end = met + 6 * MS;
        see(0, now, met - LAG, AXP_SAMPLE_WAITED);
        see(1, now, met - LAG,
            is_other_busy ? AXP_SAMPLE_CPU : AXP_SAMPLE_WAITED);
        if (!is_other_busy) {
            script_gave(s, 1, now, AXP_SYNC_BARRIER, 1, i);
            script_gave(s, 0, met, AXP_SYNC_BARRIER, 1, i);
            script_waited(s, 1, met + LAG,
                          (struct script_wait){AXP_SYNC_BARRIER, 1, i, now, met,
                                               0, 0, true});
        }
        for (uint32_t k = 0; k < 2; k++)
            see(k, met, end, AXP_SAMPLE_CPU);
        now = end;
    }
    for (uint32_t k = 0; k < 2; k++)
        script_word(s, k, now, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    return view_seen(s);
}

/* Nobody's operation, and the others wait for it: it is no work of the one. */
static void who_blocks_while_others_wait(void **state)
{
    (void)state;
    axp_findings *f = ts_analyze_view(rounds(4 * MS, false));
    const axp_finding *x = ts_find(f, AXP_IO_WAIT);
    assert_non_null(x);
    assert_string_equal(x->name, "(no scope)");
    assert_true(x->saving_is_bound);
    ts_assert_between(ROUNDS * 3.99 * MS, (double)x->saving_ns,
                      ROUNDS * 4.01 * MS);
    assert_null(ts_find(f, AXP_SERIAL_PHASE));
    assert_null(ts_find(f, AXP_LOAD_IMBALANCE));
    axp_findings_destroy(f);
    f = ts_analyze_view(rounds(MS / 4, false)); /* 4 % */
    assert_null(ts_find(f, AXP_IO_WAIT));
    axp_findings_destroy(f);
}

/* What another thread does meanwhile may be what it waits for. */
static void who_is_off_while_others_run(void **state)
{
    (void)state;
    axp_findings *f = ts_analyze_view(rounds(4 * MS, true));
    assert_null(ts_find(f, AXP_IO_WAIT));
    axp_findings_destroy(f);
}

static axp_ns still_of(void)
{
    struct script *s = script_create();
    axp_ns ns = 0;
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    script_word(s, 0, 100 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    axp_view *v = view_seen(s);
    assert_true(axp__still_find(v, &ns));
    axp_view_destroy(v);
    return ns;
}

static void what_of_a_run_is_still(void **state)
{
    (void)state;
    n_seen = 0;
    assert_int_equal(still_of(), 0);
    see(0, 10 * MS, 40 * MS, AXP_SAMPLE_WAITED);
    see(0, 40 * MS, 50 * MS, AXP_SAMPLE_CPU);
    assert_int_equal(still_of(), 30 * MS);
    see(1, 20 * MS, 25 * MS, AXP_SAMPLE_CPU); /* is known from 20 to 35 */
    see(1, 25 * MS, 35 * MS, AXP_SAMPLE_READY);
    assert_int_equal(still_of(), 15 * MS);
    see(2, 0, 90 * MS, AXP_SAMPLE_WAITED); /* the only one from 50 on */
    assert_int_equal(still_of(), 10 * MS + 15 * MS + 40 * MS);
    see(3, 101 * MS, 100 * MS,
        AXP_SAMPLE_WAITED); /* longer than there is time */
    ts_assert_between(0, (double)still_of(), 100.0 * MS);
}

/* Where only processor time is sampled the scheduler tells how much there was. */
static void what_is_left_is_still(void **state)
{
    (void)state;
    for (unsigned is_told = 0; is_told < 2; is_told++) {
        struct script *s = script_create();
        axp_ns ns = 0;
        n_seen = 0;
        see(0, 40 * MS, 50 * MS, AXP_SAMPLE_CPU);
        script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
        script_word(s, 0, 100 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
        axp_view *v = view_seen(s);
        v->ran_ns = 20 * MS;
        v->ready_ns = 5 * MS;
        for (size_t i = 0; i < v->n_threads; i++)
            v->threads[i].is_scheduled = is_told;
        assert_true(axp__still_find(v, &ns));
        assert_int_equal(ns, is_told ? 75 * MS : 0);
        axp_view_destroy(v);
    }
}

static double slow_ms(const axp_findings *f, const char *name)
{
    for (size_t i = 0; i < axp_findings_count(f); i++) {
        const axp_finding *x = axp_findings_at(f, i);
        if (x->type == AXP_SLOW_OPERATION && strstr(x->name, name))
            return (double)x->saving_ns / MS;
    }
    return 0;
}

/* ---- what a lock is held for ---------------------------------------------------------- */

static void see_in(struct script *s, uint64_t at, uint32_t i)
{
    see(0, at - MS, at, AXP_SAMPLE_CPU);
    seen[n_seen - 1].stack = script_function(s, i);
}

/* A round from then on: both want a lock for 4 ms, the first after 6 ms; then they
 * meet. When the next one begins. */
static uint64_t lock_and_meet(struct script *s, uint64_t now, unsigned round)
{
    uint64_t taken = now + 6 * MS, given = taken + 4 * MS;
    uint64_t end = given + LAG + 4 * MS;
    script_gave(s, 0, given, AXP_SYNC_LOCK, 2, 0);
    script_waited(
        s, 1, given + LAG,
        (struct script_wait){AXP_SYNC_LOCK, 2, 0, taken, given, 0, 0, true});
    script_gave(s, 0, given + 1, AXP_SYNC_BARRIER, 1, round);
    script_gave(s, 1, end, AXP_SYNC_BARRIER, 1, round);
    script_waited(s, 0, end + LAG,
                  (struct script_wait){AXP_SYNC_BARRIER, 1, round, given + 1,
                                       end, 1, 0, true});
    return end + LAG;
}

/* Both want a lock for 4 ms, the first after 6 ms of the first function, in which it
 * is seen in each round; with the lock, in the second, once in five, or in op5.
 * Another may look out for signals until the end, or until it is told to end, by a
 * pipe. */
enum idle { NO_IDLE, KILLED, JOINED };

static uint64_t
    n_cpus; /* that were busy for as long as the run; 0: not known */

static axp_findings *contend(bool is_marked, enum idle idle)
{
    struct script *s = script_create();
    s->c.about.n_cpus = n_cpus;
    uint64_t now = 0;
    n_seen = 0;
    script_word(s, 0, now, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        uint64_t taken = now + 6 * MS, given = taken + 4 * MS;
        see_in(s, taken - MS, 0);
        if (i % 5 == 0 && !is_marked) see_in(s, given - MS, 1);
        if (is_marked) script_op(s, 0, taken, 4 * MS - LAG, 5);
        now = lock_and_meet(s, now, i);
    }
    if (idle) {
        script_word(s, 2, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
        see(2, LAG, now + MS / 2, AXP_SAMPLE_WAITED);
    }
    if (idle == KILLED)
        script_word(s, 2, now + MS / 2 + LAG, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    if (idle == JOINED) {
        uint64_t end = now + MS / 2 + LAG;
        script_gave(s, 2, end, AXP_SYNC_THREAD_END, 60, 0);
        script_waited(s, 0, end + LAG,
                      (struct script_wait){AXP_SYNC_THREAD_END, 60, 0, now, end,
                                           2, 0, true});
    }
    axp_view *v = view_seen(s);
    if (n_cpus) v->ran_ns = v->duration_ns;
    return ts_analyze_view(v);
}

static void what_a_lock_is_held_for(void **state)
{
    (void)state;
    for (int is_marked = 0; is_marked < 2; is_marked++) {
        axp_findings *f = contend(is_marked, NO_IDLE);
        const axp_finding *x = ts_find(f, AXP_LOCK_CONTENTION);
        assert_non_null(x);
        assert_non_null(strstr(x->name, is_marked ? "op5" : "2000"));
        axp_findings_destroy(f);
    }
}

/* While one waits the other has the only processor: nothing is lost. Of two
 * processors one is free. */
static void a_lock_beside_no_processor(void **state)
{
    (void)state;
    for (n_cpus = 1; n_cpus <= 2; n_cpus++) {
        axp_findings *f = contend(false, NO_IDLE);
        assert_int_equal(!!ts_find(f, AXP_LOCK_CONTENTION), n_cpus == 2);
        axp_findings_destroy(f);
    }
    n_cpus = 0;
}

/* ---- what nobody saw -------------------------------------------------------------------- */

/* The first begins a region after 8 ms alone; then both work for 10 ms, and meet.
 * When the next round begins. */
static uint64_t region_after_8ms(struct script *s, uint64_t now, unsigned round)
{
    uint64_t given = now + 8 * MS, end = given + 10 * MS;
    script_gave(s, 0, given, AXP_SYNC_REGION, 7, 0);
    script_waited(
        s, 1, given + LAG,
        (struct script_wait){AXP_SYNC_REGION, 7, 0, now, given, 0, 0, true});
    script_gave(s, 0, end, AXP_SYNC_BARRIER, 1, round);
    script_gave(s, 1, end + LAG, AXP_SYNC_BARRIER, 1, round);
    script_waited(s, 0, end + 2 * LAG,
                  (struct script_wait){AXP_SYNC_BARRIER, 1, round, end,
                                       end + LAG, 1, 0, true});
    return end + 2 * LAG;
}

/* The first begins a region after 8 ms alone, in which it is seen in the second
 * function, once in so many rounds (0: never); then both work for 10 ms, where the
 * first is seen in the first function each time, and meet. */
static axp_findings *begin_regions(unsigned once_in)
{
    struct script *s = script_create();
    uint64_t now = 0;
    n_seen = 0;
    script_word(s, 0, now, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        if (once_in && i % once_in == 0) see_in(s, now + MS, 1);
        see_in(s, now + 17 * MS, 0);
        now = region_after_8ms(s, now, i);
    }
    return ts_analyze_view(view_seen(s));
}

/* Which function runs in a stretch that no sample fell into is not known: it is
 * not what was seen before it, long as that may be. */
static void who_was_not_seen_is_not_named(void **state)
{
    (void)state;
    static const struct {
        unsigned once_in;
        const char *name;
    } cases[] = {{1, "2000"}, {5, "2000"}, {0, "(no scope)"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        axp_findings *f = begin_regions(cases[i].once_in);
        const axp_finding *x = ts_find(f, AXP_SERIAL_PHASE);
        assert_non_null(x);
        if (!strstr(x->name, cases[i].name))
            fail_msg("seen once in %u: %s", cases[i].once_in, x->name);
        ts_assert_between(ROUNDS * 3.99 * MS, (double)x->saving_ns,
                          ROUNDS * 4.01 * MS);
        axp_findings_destroy(f);
    }
}

/* Nobody waits for a thread that is off until the process, or somebody, ends it. */
static void an_idle_thread_changes_nothing(void **state)
{
    (void)state;
    for (int is_marked = 0; is_marked < 2; is_marked++) {
        axp_ns saving[JOINED + 1];
        for (int idle = NO_IDLE; idle <= JOINED; idle++) {
            axp_findings *f = contend(is_marked, (enum idle)idle);
            const axp_finding *x = ts_find(f, AXP_LOCK_CONTENTION);
            assert_non_null(x);
            saving[idle] = x->saving_ns;
            axp_findings_destroy(f);
            ts_assert_between(0.99 * (double)saving[NO_IDLE],
                              (double)saving[idle],
                              1.01 * (double)saving[NO_IDLE]);
        }
    }
}

/* ---- who asks the kernel ---------------------------------------------------------- */

#define IN_KERNEL 0xf100
#define IN_LIBRARY 0x8100

static struct axp__cap_module modules[] = {
    {0, 0x1000, 0x4000, "/bin/program", NULL},
    {0, 0x8000, 0x9000, "/lib/libc.so.6", NULL},
    {0, 0xf000, 0xffff, "[kernel]", NULL}};

static void see_stack(uint32_t row, uint64_t from, uint64_t to, uint32_t stack)
{
    see(row, from, to, AXP_SAMPLE_CPU);
    seen[n_seen - 1].stack = AXP__STACKS_OUTSIDE + stack;
}

/* Of each round's 4 ms with the lock the first is in the kernel for 3, below who
 * holds it at 0x2100 or below who does the rest at 0x3100, or does not ask it. The
 * second may have been in the kernel for 6 ms below the same. */
enum asks { NOBODY, THE_HOLDER, BOTH, ANOTHER };

static axp_findings *hand_over(enum asks who)
{
    static uint8_t bytes[3][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[] = {bytes[0], bytes[1], bytes[2]};
    struct script *s = script_create();
    uint64_t asker = who == ANOTHER ? 0x3100 : 0x2100, now = 0;
    axp__stack_put(bytes[0], (uint64_t[]){0x3100, 0x1100}, 2);
    axp__stack_put(bytes[1], (uint64_t[]){0x2100, 0x1100}, 2);
    axp__stack_put(bytes[2], (uint64_t[]){IN_KERNEL, IN_LIBRARY, asker, 0x1100},
                   4);
    s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, 3};
    s->c.modules = modules;
    s->c.n_modules = 3;
    n_seen = 0;
    script_word(s, 0, now, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        uint64_t taken = now + 6 * MS, given = taken + 4 * MS;
        see_stack(0, now, taken, 0);
        see_stack(0, taken, taken + 3 * MS, who == NOBODY ? 1 : 2);
        see_stack(0, taken + 3 * MS, given - LAG, 1);
        see_stack(1, now, taken, who == BOTH ? 2 : 0);
        now = lock_and_meet(s, now, i);
    }
    axp_view *v = view_seen(s);
    v->n_sampled = 0; /* it is counted here */
    assert_true(axp__view_add_functions(v));
    return ts_analyze_view(v);
}

/* ns that LockContention says would be saved, and whether it names the kernel. */
static double handed_over(enum asks who, bool is_kernel)
{
    axp_findings *f = hand_over(who);
    const axp_finding *x = ts_find(f, AXP_LOCK_CONTENTION);
    assert_non_null(x);
    assert_non_null(strstr(x->name, "program+0x2100"));
    assert_int_equal(!!strstr(x->description, "is the kernel's"), is_kernel);
    /* Of that nobody knows how much was with the lock. */
    assert_null(strstr(x->description, "of all processor time"));
    double ns = (double)x->saving_ns;
    axp_findings_destroy(f);
    return ns;
}

/* One has the lock and one waits: half of it is each one's. */
static void handing_a_lock_over_is_the_kernels(void **state)
{
    (void)state;
    double waits = handed_over(NOBODY, false);
    ts_assert_between(ROUNDS * 3.99 * MS, waits, ROUNDS * 4.01 * MS);
    assert_true(handed_over(THE_HOLDER, true) == waits + ROUNDS * 1.5 * MS);
    assert_true(handed_over(ANOTHER, false) == waits);
    assert_true(handed_over(BOTH, true) == 2 * waits); /* at most */
}

/* The first begins a region after 8 ms alone: 5 in the kernel, with that stack, 2 in
 * the profiler, and one in the program. */
static axp_findings *alone_in_kernel(const uint64_t *in_kernel, size_t n)
{
    static uint8_t bytes[3][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[] = {bytes[0], bytes[1], bytes[2]};
    static struct axp__cap_module all[] = {
        {0, 0x1000, 0x4000, "/bin/program", NULL},
        {0, 0x8000, 0x9000, AXP__OWN_CODE, NULL},
        {0, 0xf000, 0xffff, "[kernel]", NULL}};
    struct script *s = script_create();
    uint64_t now = 0;
    axp__stack_put(bytes[0], (uint64_t[]){0x2100, 0x1100}, 2);
    axp__stack_put(bytes[1], (uint64_t[]){0x8100, 0x2100, 0x1100}, 3);
    axp__stack_put(bytes[2], in_kernel, n);
    s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, 3};
    s->c.modules = all;
    s->c.n_modules = 3;
    n_seen = 0;
    script_word(s, 0, now, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        uint64_t given = now + 8 * MS;
        see_stack(0, now, now + 5 * MS, 2);
        see_stack(0, now + 5 * MS, now + 7 * MS, 1);
        see_stack(0, now + 7 * MS, given - LAG, 0);
        see_stack(0, given, given + 10 * MS - LAG, 0);
        now = region_after_8ms(s, now, i);
    }
    return ts_analyze_view(view_seen(s));
}

/* Of what is in nobody's function one ms is left. */
static void what_nobody_divides_names_nothing(void **state)
{
    (void)state;
    axp_findings *f = alone_in_kernel((uint64_t[]){IN_KERNEL}, 1);
    const axp_finding *x = ts_find(f, AXP_SERIAL_PHASE);
    assert_non_null(x);
    assert_string_equal(x->name, "(several)");
    ts_assert_between(12, ts_metric(x, "part_percentage"), 13);
    assert_non_null(strstr(x->description, " %, is program+0x2100"));
    assert_non_null(strstr(x->suggestion, "divide what it does then among"));
    assert_non_null(strstr(axp_findings_verdict(f),
                           "dividing what one thread does while others wait"));
    axp_findings_destroy(f);
}

/* 5 and 1 of 8 ms: who divides the function divides what it asks for. */
static void what_the_kernel_does_for_a_function_is_its_own(void **state)
{
    (void)state;
    axp_findings *f =
        alone_in_kernel((uint64_t[]){IN_KERNEL, 0x2100, 0x1100}, 3);
    const axp_finding *x = ts_find(f, AXP_SERIAL_PHASE);
    assert_non_null(x);
    assert_string_equal(x->name, "program+0x2100");
    ts_assert_between(74.9, ts_metric(x, "part_percentage"), 75.1);
    assert_non_null(strstr(x->description, "75 % of that is this"));
    assert_non_null(strstr(x->suggestion, "divide it among the 2 threads"));
    axp_findings_destroy(f);
}

/* With the lock the first is seen in the profiler, in a library or in the kernel,
 * below 0x2100, or is off its processor there. Before it computes at 0x3100. */
enum inside { IN_PROFILER, IN_LIBC, IN_FUTEX, ASLEEP, N_INSIDE };

static axp_findings *hold_inside(enum inside where)
{
    static struct axp__cap_module all[] = {
        {0, 0x1000, 0x4000, "/bin/program", NULL},
        {0, 0x8000, 0x9000, "/lib/libc.so.6", NULL},
        {0, 0xa000, 0xb000, "[axprof]", NULL},
        {0, 0xf000, 0xffff, "[kernel]", NULL}};
    static const uint64_t held[N_INSIDE][4] = {
        {0xa100, 0x2100, 0x1100},
        {IN_LIBRARY, 0x2100, 0x1100},
        {IN_KERNEL, IN_LIBRARY, 0x2100, 0x1100},
        {IN_KERNEL, IN_LIBRARY, 0x2100, 0x1100}};
    static uint8_t bytes[2][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[] = {bytes[0], bytes[1]};
    struct script *s = script_create();
    uint64_t now = 0;
    axp__stack_put(bytes[0], (uint64_t[]){0x3100, 0x1100}, 2);
    axp__stack_put(bytes[1], held[where], where < IN_FUTEX ? 3 : 4);
    s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, 2};
    s->c.modules = all;
    s->c.n_modules = 4;
    n_seen = 0;
    script_word(s, 0, now, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        uint64_t taken = now + 6 * MS, given = taken + 4 * MS;
        see_stack(0, now, taken, 0);
        see_stack(0, taken, given - LAG, 1);
        if (where == ASLEEP) seen[n_seen - 1].kind = AXP_SAMPLE_WAITED;
        now = lock_and_meet(s, now, i);
    }
    axp_view *v = view_seen(s);
    v->n_sampled = 0; /* it is counted here */
    assert_true(axp__view_add_functions(v));
    return ts_analyze_view(v);
}

/* Of 100 ms 60 are ours, and the rest is many small functions: nobody is told that
 * there is nothing to gain. */
static void much_of_ours_is_no_verdict(void **state)
{
    static uint8_t bytes[21][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[21];
    static struct axp__cap_module all[] = {
        {0, 0x1000, 0x4000, "/bin/program", NULL},
        {0, 0x8000, 0x9000, AXP__OWN_CODE, NULL}};
    struct script *s = script_create();
    (void)state;
    for (uint64_t i = 0; i < 21; i++) {
        uint64_t stack[] = {i < 20 ? 0x2100 + 16 * i : 0x8100, 0x1100};
        axp__stack_put(bytes[i], stack, 2);
        at[i] = bytes[i];
    }
    s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, 21};
    s->c.modules = all;
    s->c.n_modules = 2;
    n_seen = 0;
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    for (uint32_t i = 0; i < 100; i++)
        see_stack(0, i * MS, (i + 1) * MS, i % 5 < 3 ? 20 : i / 5);
    script_word(s, 0, 100 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    axp_view *v = view_seen(s);
    v->n_sampled = 0; /* it is counted here */
    assert_true(axp__view_add_functions(v));
    axp_findings *f = ts_analyze_view(v);
    const char *verdict = axp_findings_verdict(f);
    if (!strstr(verdict, "60 % of the processor time is axprof's own"))
        fail_msg("%s", verdict);
    axp_findings_destroy(f);
}

/* What can be changed is the program's own: nobody holds the profiler's code for
 * less. And who sleeps with the lock has it, too. */
static void who_holds_a_lock_is_the_programs(void **state)
{
    (void)state;
    for (int where = 0; where < N_INSIDE; where++) {
        axp_findings *f = hold_inside((enum inside)where);
        const axp_finding *x = ts_find(f, AXP_LOCK_CONTENTION);
        assert_non_null(x);
        if (!strstr(x->name, "program+0x2100"))
            fail_msg("held inside %d: %s", where, x->name);
        assert_true(slow_ms(f, "[axprof]") == 0);
        axp_findings_destroy(f);
    }
}

/* One thread, each ms: 6 tenths off its processor, the rest in the kernel, below
 * the library's function that the program's calls, from 0x2000; or computing. Of
 * the times off every so many may have the stack of 0x3000, which calls the same.
 * Another thread may be off all the time. */
static axp_findings *write_and_wait(bool is_kernel, unsigned stack_every,
                                    bool has_other)
{
    static uint8_t bytes[3][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[] = {bytes[0], bytes[1], bytes[2]};
    struct script *s = script_create();
    uint64_t stack[] = {IN_KERNEL, IN_LIBRARY, 0x2100, 0x1100};
    axp__stack_put(bytes[0], is_kernel ? stack : stack + 2, is_kernel ? 4 : 2);
    axp__stack_put(bytes[1],
                   (uint64_t[]){IN_KERNEL, IN_LIBRARY, 0x3100, 0x1100}, 4);
    axp__stack_put(bytes[2], (uint64_t[]){IN_KERNEL, IN_LIBRARY, 0x1100}, 3);
    s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, 3};
    s->c.modules = modules;
    s->c.n_modules = 3;
    n_seen = 0;
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    for (uint64_t i = 0; i < 100; i++) {
        see(0, i * MS, i * MS + 6 * MS / 10, AXP_SAMPLE_WAITED);
        if (stack_every && i % stack_every == 0)
            seen[n_seen - 1].stack = AXP__STACKS_OUTSIDE + 1;
        see_stack(0, i * MS + 6 * MS / 10, (i + 1) * MS, 0);
    }
    if (has_other) {
        see(1, 0, 100 * MS, AXP_SAMPLE_WAITED);
        seen[n_seen - 1].stack = AXP__STACKS_OUTSIDE + 2;
        script_word(s, 1, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    }
    script_word(s, 0, 100 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    axp_view *v = view_seen(s);
    assert_true(axp__view_add_functions(v));
    return ts_analyze_view(v);
}

/* It is the program's function that waits, and what the kernel does for it is no
 * operation of its own. All of both may be regained: there is nothing else. */
static void who_asks_the_kernel_is_named(void **state)
{
    (void)state;
    axp_findings *f = write_and_wait(true, 0, false);
    const axp_finding *x = ts_find(f, AXP_IO_WAIT);
    assert_non_null(x);
    assert_non_null(strstr(x->name, "program+0x2100"));
    assert_true(x->saving_is_bound);
    ts_assert_between(99.0 * MS, (double)x->saving_ns, 100.0 * MS);
    assert_null(ts_find(f, AXP_SLOW_OPERATION));
    axp_findings_destroy(f);
    f = write_and_wait(false, 0, false);
    x = ts_find(f, AXP_IO_WAIT);
    assert_non_null(x);
    assert_string_equal(x->name, "(no scope)");
    ts_assert_between(59.0 * MS, (double)x->saving_ns,
                      61.0 * MS); /* a sleep? */
    axp_findings_destroy(f);
    for (int has_other = 0; has_other < 2; has_other++) {
        f = write_and_wait(true, 8, has_other); /* where it waits */
        x = ts_find(f, AXP_IO_WAIT);
        assert_non_null(x);
        assert_non_null(strstr(x->name, "program+0x3100"));
        axp_findings_destroy(f);
    }
    f = write_and_wait(false, 40, false); /* three of a hundred: no sample */
    x = ts_find(f, AXP_IO_WAIT);
    assert_non_null(x);
    assert_string_equal(x->name, "(no scope)");
    axp_findings_destroy(f);
}

/* One thread is off its processor for 90 of 100 ms, with no stack, computes at
 * 0x3100, and the kernel is seen once, below 0x2100: it may not be who waits. A pool's
 * thread may wait for it all the time, beside a scope. */
static void who_is_seen_once_is_not_blamed(void **state)
{
    static uint8_t bytes[2][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[] = {bytes[0], bytes[1]};
    (void)state;
    axp__stack_put(bytes[0], (uint64_t[]){0x3100, 0x1100}, 2);
    axp__stack_put(bytes[1],
                   (uint64_t[]){IN_KERNEL, IN_LIBRARY, 0x2100, 0x1100}, 4);
    for (int has_pool = 0; has_pool < 2; has_pool++) {
        struct script *s = script_create();
        s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, 2};
        s->c.modules = modules;
        s->c.n_modules = 3;
        n_seen = 0;
        script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
        for (uint64_t i = 0; i < 100; i++) {
            see(0, i * MS, i * MS + 9 * MS / 10, AXP_SAMPLE_WAITED);
            see_stack(0, i * MS + 9 * MS / 10, (i + 1) * MS, i == 50);
        }
        if (has_pool) {
            see(1, 0, 100 * MS, AXP_SAMPLE_WAITED);
            script_gave(s, 0, 100 * MS, AXP_SYNC_CONDITION, 7, 0);
            script_waited(s, 1, 100 * MS + LAG,
                          (struct script_wait){AXP_SYNC_CONDITION, 7, 0, 0,
                                               100 * MS, 0, 0, true});
            script_op(s, 0, 100 * MS, MS, 5);
        }
        script_word(s, 0, 101 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
        axp_view *v = view_seen(s);
        assert_true(axp__view_add_functions(v));
        axp_findings *f = ts_analyze_view(v);
        const axp_finding *x = ts_find(f, AXP_IO_WAIT);
        assert_non_null(x);
        assert_string_equal(x->name, "(no scope)");
        ts_assert_between(89, ts_metric(x, "blocked_ms"), 91);
        if (!has_pool)
            ts_assert_between(89.0 * MS, (double)x->saving_ns, 92.0 * MS);
        axp_findings_destroy(f);
    }
}

/* ---- libraries ----------------------------------------------------------------------- */

/* One thread is seen with the first three stacks, one after the other, each for so
 * many ms. */
static axp_view *three_seen(struct script *s, const int ms[3])
{
    uint64_t now = 0;
    s->c.modules = modules;
    s->c.n_modules = 3;
    n_seen = 0;
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    for (uint32_t i = 0; i < 3; i++)
        for (int k = 0; k < ms[i]; k++, now += MS)
            see_stack(0, now, now + MS, i);
    script_word(s, 0, now, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    axp_view *v = view_seen(s);
    v->n_sampled = 0; /* it is counted here */
    assert_true(axp__view_add_functions(v));
    return v;
}

static axp_findings *see_three(struct script *s, const int ms[3])
{
    return ts_analyze_view(three_seen(s, ms));
}

/* 100 ms of one thread: 30 in what the program calls of a library, 40 in what
 * that calls there, 30 in the library below nobody; or all of it in the program's
 * own library. */
static axp_findings *call_library(bool is_system)
{
    static uint8_t bytes[3][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[] = {bytes[0], bytes[1], bytes[2]};
    static const int ms[] = {30, 40, 30};
    struct script *s = script_create();
    axp__stack_put(bytes[0], (uint64_t[]){0x8100, 0x2100, 0x1100}, 3);
    axp__stack_put(bytes[1], (uint64_t[]){0x8200, 0x8100, 0x2100, 0x1100}, 4);
    axp__stack_put(bytes[2], (uint64_t[]){0x8300, 0x8400}, 2);
    s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, 3};
    modules[1].path = is_system ? "/lib/libc.so.6" : "/home/me/libnet.so";
    return see_three(s, ms);
}

/* What can be changed is the call. */
static void a_library_is_what_is_called_of_it(void **state)
{
    (void)state;
    axp_findings *f = call_library(true);
    assert_true(slow_ms(f, "0x8100") == 70);
    assert_true(slow_ms(f, "0x8200") == 0);
    assert_true(slow_ms(f, "0x8300") == 30);
    assert_non_null(strstr(axp_findings_verdict(f), "70 % of the processor"));
    const axp_finding *x = ts_find(f, AXP_SLOW_OPERATION);
    assert_non_null(x);
    assert_non_null(strstr(x->description, "the program calls it for most"));
    axp_findings_destroy(f);
    f = call_library(false); /* there it is the function */
    assert_true(slow_ms(f, "0x8100") == 30);
    assert_true(slow_ms(f, "0x8200") == 40);
    axp_findings_destroy(f);
}

/* 60 ms in the kernel, 15 in the library's function that asks it, which 0x2100 calls,
 * and 25 in the program. */
static axp_findings *ask_by_library(void)
{
    static uint8_t bytes[3][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[] = {bytes[0], bytes[1], bytes[2]};
    static const int ms[] = {60, 15, 25};
    struct script *s = script_create();
    axp__stack_put(bytes[0],
                   (uint64_t[]){IN_KERNEL, IN_LIBRARY, 0x2100, 0x1100}, 4);
    axp__stack_put(bytes[1], (uint64_t[]){IN_LIBRARY, 0x2100, 0x1100}, 3);
    axp__stack_put(bytes[2], (uint64_t[]){0x3100, 0x1100}, 2);
    s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, 3};
    modules[1].path = "/lib/libc.so.6";
    return see_three(s, ms);
}

/* Who asks the kernel less often calls what asks it less often, too. */
static void the_call_goes_with_the_kernel(void **state)
{
    (void)state;
    axp_findings *f = ask_by_library();
    ts_assert_between(74, slow_ms(f, "[kernel]"), 76);
    ts_assert_between(24, slow_ms(f, "0x3100"), 26);
    axp_findings_destroy(f);
}

/* Of the kernel's 60 ms of 100, 30 go to loading us into programs, and 50: then it
 * is no finding. */
static void loading_is_not_the_kernels(void **state)
{
    (void)state;
    loading_ns = 30 * MS;
    axp_findings *f = ask_by_library();
    ts_assert_between(37, slow_ms(f, "[kernel]"), 45); /* half of 75 */
    axp_findings_destroy(f);
    loading_ns = 50 * MS;
    f = ask_by_library();
    assert_true(slow_ms(f, "[kernel]") <= 0);
    axp_findings_destroy(f);
    loading_ns = 0;
}

/* What the kernel does of its own accord, as when it ends a process. */
static void what_nobody_asked_for_is_nobodys(void **state)
{
    (void)state;
    static uint8_t bytes[2][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[] = {bytes[0], bytes[1]};
    struct script *s = script_create();
    struct axp__asker asker;
    axp__stack_put(bytes[0],
                   (uint64_t[]){IN_KERNEL, IN_LIBRARY, 0x2100, 0x1100}, 4);
    axp__stack_put(bytes[1], (uint64_t[]){IN_KERNEL}, 1);
    s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, 2};
    modules[1].path = "/lib/libc.so.6";
    axp_view *v = three_seen(s, (int[]){30, 70, 0});
    assert_true(axp__asker_find(v, &asker));
    assert_non_null(asker.name);
    assert_non_null(strstr(asker.name, "program+0x2100"));
    assert_int_equal(asker.kernel_ns, 30 * MS);
    axp_view_destroy(v);
}

/* ---- what scopes say nothing of -------------------------------------------------- */

/* 40 ms in a scope, and 60 in none: in a function of the program's, of a
 * library's own thread, or of a library that the program calls. Or 4 and 96, in six
 * functions of the program's. */
enum rest { REST_OWN, REST_THREAD, REST_CALLED, REST_MANY };

static axp_findings *mark_a_part(enum rest rest)
{
    static uint64_t many[][2] = {{0x1200}, {0x1300}, {0x1400},
                                 {0x1500}, {0x1600}, {0x1700}};
    static uint8_t bytes[8][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[8];
    static struct axp__cap_node nodes[] = {
        {0}, {.name = SCRIPT_FIRST + 5, .calls = 1}};
    static struct axp__cap_op op = {.name = SCRIPT_FIRST + 5,
                                    .lifetime_ticks = 100 * MS};
    static struct axp__cap_lane lane = {
        .ops = &op, .nodes = nodes, .n_ops = 1, .n_nodes = 2};
    struct script *s = script_create();
    uint32_t marked = rest == REST_MANY ? 4 : 40;
    nodes[1].total_ticks = nodes[1].self_ticks = marked * MS;
    s->c.lanes = &lane;
    s->c.n_lanes = 1;
    axp__stack_put(bytes[0], (uint64_t[]){0x1100}, 1);
    axp__stack_put(bytes[1], (uint64_t[]){0x8100, 0x8200}, 2);
    if (rest == REST_CALLED)
        axp__stack_put(bytes[1], (uint64_t[]){0x8300, 0x8100, 0x1100}, 3);
    for (int i = 0; i < 6; i++)
        axp__stack_put(bytes[2 + i], many[i], 1);
    for (int i = 0; i < 8; i++)
        at[i] = bytes[i];
    s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, 8};
    modules[1].path =
        rest != REST_OWN ? "/usr/lib/libblas.so" : "/home/me/libnet.so";
    s->c.modules = modules;
    s->c.n_modules = 3;
    n_seen = 0;
    script_op(s, 0, 0, marked * MS, 5);
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t other = rest == REST_MANY ? 2 + i % 6 : 1;
        see_stack(0, i * MS, (i + 1) * MS - 1, i >= marked ? other : 0);
    }
    script_word(s, 0, 100 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    axp_view *v = view_seen(s);
    v->n_sampled = 0; /* it is counted here */
    assert_true(axp__view_add_functions(v));
    return ts_analyze_view(v);
}

/* A scope speaks for what is below it, and nobody for the rest. */
static void functions_in_no_scope(void **state)
{
    (void)state;
    axp_findings *f = mark_a_part(REST_OWN);
    ts_assert_between(59, slow_ms(f, "0x8100"), 61);
    assert_true(slow_ms(f, "0x1100") == 0);
    axp_findings_destroy(f);
    f = mark_a_part(
        REST_THREAD); /* it works for whoever called it, in a scope */
    assert_true(slow_ms(f, "0x8100") == 0);
    axp_findings_destroy(f);
}

/* One scope somewhere does not make the rest of a run vanish: what is called of a
 * library is named, and what is spread over many is no nothing. */
static void libraries_in_no_scope(void **state)
{
    (void)state;
    axp_findings *f = mark_a_part(REST_CALLED);
    ts_assert_between(59, slow_ms(f, "0x8100"), 61);
    assert_true(slow_ms(f, "0x8300") == 0);
    axp_findings_destroy(f);
    f = mark_a_part(REST_MANY);
    assert_int_equal(axp_findings_count(f), 0);
    assert_non_null(strstr(axp_findings_verdict(f),
                           "No one function gives back more than 16 %"));
    axp_findings_destroy(f);
}

/* 40 ms of computing and 60 of reading, below 0x3100: the first in a scope, or
 * both. */
static axp_findings *read_beside_scopes(bool is_all)
{
    static uint8_t bytes[2][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[] = {bytes[0], bytes[1]};
    static struct axp__cap_node nodes[] = {
        {0}, {.name = SCRIPT_FIRST + 5, .calls = 1}};
    static struct axp__cap_op op = {.name = SCRIPT_FIRST + 5,
                                    .lifetime_ticks = 100 * MS};
    static struct axp__cap_lane lane = {
        .ops = &op, .nodes = nodes, .n_ops = 1, .n_nodes = 2};
    struct script *s = script_create();
    nodes[1].total_ticks = nodes[1].self_ticks = (is_all ? 100 : 40) * MS;
    s->c.lanes = &lane;
    s->c.n_lanes = 1;
    axp__stack_put(bytes[0], (uint64_t[]){0x1100}, 1);
    axp__stack_put(bytes[1],
                   (uint64_t[]){IN_KERNEL, IN_LIBRARY, 0x3100, 0x1100}, 4);
    s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, 2};
    s->c.modules = modules;
    s->c.n_modules = 3;
    n_seen = 0;
    script_op(s, 0, 0, (is_all ? 100 : 40) * MS - 1, 5);
    for (uint64_t i = 0; i < 100; i++) {
        see(0, i * MS, (i + 1) * MS - 2,
            i < 40 ? AXP_SAMPLE_CPU : AXP_SAMPLE_WAITED);
        seen[n_seen - 1].stack = AXP__STACKS_OUTSIDE + (i >= 40);
    }
    script_word(s, 0, 100 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    axp_view *v = view_seen(s);
    v->n_sampled = 0; /* it is counted here */
    assert_true(axp__view_add_functions(v));
    return ts_analyze_view(v);
}

/* Time in no scope is no less of the run for the scopes elsewhere in it. */
static void a_standstill_in_no_scope(void **state)
{
    (void)state;
    axp_findings *f = read_beside_scopes(false);
    const axp_finding *x = ts_find(f, AXP_IO_WAIT);
    assert_non_null(x);
    assert_non_null(strstr(x->name, "program+0x3100"));
    ts_assert_between(39.0 * MS, (double)x->saving_ns, 41.0 * MS);
    axp_findings_destroy(f);
    f = read_beside_scopes(true);
    x = ts_find(f, AXP_IO_WAIT);
    assert_true(!x || !strstr(x->name, "program"));
    axp_findings_destroy(f);
}

/* ---- many functions -------------------------------------------------------------------- */

#define N_SMALL 10u

/* None is a finding, and each is a tenth of the run. */
static void a_tenth_each_is_no_nothing(void **state)
{
    static uint8_t bytes[N_SMALL][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[N_SMALL];
    struct script *s = script_create();
    (void)state;
    n_seen = 0;
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    for (uint32_t i = 0; i < 10 * N_SMALL; i++) {
        at[i / 10] = bytes[i / 10];
        axp__stack_put(bytes[i / 10], (uint64_t[]){0x1000 + i / 10 * 0x100}, 1);
        see(0, i * MS, (i + 1) * MS, AXP_SAMPLE_CPU);
        seen[n_seen - 1].stack = AXP__STACKS_OUTSIDE + i / 10;
    }
    s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, N_SMALL};
    s->c.modules = modules;
    s->c.n_modules = 3;
    script_word(s, 0, 10 * N_SMALL * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    axp_view *v = view_seen(s);
    v->n_sampled = 0; /* it is counted here */
    assert_true(axp__view_add_functions(v));
    axp_findings *f = ts_analyze_view(v);
    assert_int_equal(axp_findings_count(f), 0);
    assert_non_null(strstr(axp_findings_verdict(f),
                           "No one function gives back more than 10 %"));
    axp_findings_destroy(f);
}

/* ---- what no sample is of ------------------------------------------------------------- */

/* 100 ms in which one thread ran for half the time, at 0x2100 for 30 ms and at
 * 0x3100 for the rest; where it had no processor its work took as much longer, and
 * so it is where that ran for longer than samples stand for. */
static axp_findings *see_half(bool is_starved)
{
    static uint8_t bytes[2][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[] = {bytes[0], bytes[1]};
    struct script *s = script_create();
    uint64_t now = 0;
    axp__stack_put(bytes[0], (uint64_t[]){0x2100, 0x1100}, 2);
    axp__stack_put(bytes[1], (uint64_t[]){0x3100, 0x1100}, 2);
    s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, 2};
    s->c.modules = modules;
    s->c.n_modules = 3;
    n_seen = 0;
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    for (uint32_t i = 0; i < 50; i++, now += 2 * MS)
        see_stack(0, now, now + MS, i % 5 > 2);
    script_word(s, 0, now, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    axp_view *v = view_seen(s);
    v->n_sampled = 0; /* it is counted here */
    assert_true(axp__view_add_functions(v));
    assert_int_equal(v->n_threads, 1);
    v->threads[0].cpu_ns = is_starved ? 50 * MS : 100 * MS;
    v->threads[0].ready_ns = 100 * MS - v->threads[0].cpu_ns;
    return ts_analyze_view(v);
}

/* What is not done needs no processor, and waits for none. */
static void a_bound_has_what_stands_beside_it(void **state)
{
    (void)state;
    for (unsigned is_starved = 0; is_starved < 2; is_starved++) {
        axp_findings *f = see_half(is_starved);
        ts_assert_between(59, slow_ms(f, "0x2100"), 61);
        ts_assert_between(39, slow_ms(f, "0x3100"), 41);
        const axp_finding *x = ts_find(f, AXP_SLOW_OPERATION);
        assert_non_null(strstr(x->description, "its share of"));
        axp_findings_destroy(f);
    }
}

/* ---- waits that nobody saw ---------------------------------------------------------- */

/* A client asks every 10 ms, and is off its processor until the server, which
 * computes for 3 ms of that, has answered by a pipe. */
static axp_findings *ask_and_answer(void)
{
    struct script *s = script_create();
    n_seen = 0;
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    script_gave(s, 0, 0, AXP_SYNC_BARRIER, 1, 1);
    script_gave(s, 1, MS / 2, AXP_SYNC_BARRIER, 1, 1);
    script_waited(
        s, 0, MS / 2 + LAG,
        (struct script_wait){AXP_SYNC_BARRIER, 1, 1, 0, MS / 2, 1, 0, true});
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t now = MS + 10 * MS * i;
        see(0, now, now + 10 * MS - LAG, AXP_SAMPLE_WAITED);
        see(1, now, now + 7 * MS - LAG, AXP_SAMPLE_WAITED);
        for (uint64_t k = 8; k <= 10; k++) {
            see(1, now + (k - 1) * MS, now + k * MS, AXP_SAMPLE_CPU);
            seen[n_seen - 1].stack = script_function(s, 1);
        }
    }
    for (uint32_t k = 0; k < 2; k++)
        script_word(s, k, MS + 10 * MS * ROUNDS, AXP__W_INSTANT,
                    SCRIPT_FIRST + 9);
    axp_view *v = view_seen(s);
    v->n_sampled = 0; /* it is counted here */
    assert_true(axp__view_add_functions(v));
    return ts_analyze_view(v);
}

/* A faster server would have answered sooner: a bound has that in it. */
static void a_bound_holds_where_waits_are_unseen(void **state)
{
    (void)state;
    axp_findings *f = ask_and_answer();
    ts_assert_between(59, slow_ms(f, "2000"), 61);
    axp_findings_destroy(f);
}

/* ---- processors that a thread keeps from others ------------------------------------------ */

/* Two threads compute at 0x3100 while the first looks again and again whether they
 * have ended, at 0x2100, on two processors: each runs for two of three turns. */
static axp_findings *spin_beside(void)
{
    static uint8_t bytes[2][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[] = {bytes[0], bytes[1]};
    struct script *s = script_create();
    uint64_t now = 0, turn = 3 * MS;
    axp__stack_put(bytes[0], (uint64_t[]){0x2100, 0x1100}, 2);
    axp__stack_put(bytes[1], (uint64_t[]){0x3100, 0x1100}, 2);
    s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, 2};
    s->c.modules = modules;
    s->c.n_modules = 3;
    s->c.about.n_cpus = 2;
    n_seen = 0;
    for (uint32_t k = 0; k < 3; k++)
        script_word(s, k, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    for (uint32_t i = 0; i < 90; i++, now += turn)
        for (uint32_t k = 0; k < 3; k++) {
            see_stack(k, now, now + turn, k > 0);
            if (i % 3 == k) seen[n_seen - 1].kind = AXP_SAMPLE_READY;
        }
    for (uint32_t k = 1; k < 3; k++) {
        script_gave(s, k, now, AXP_SYNC_THREAD_END, 60 + k, 0);
        script_waited(s, 0, now + k * LAG,
                      (struct script_wait){AXP_SYNC_THREAD_END, 60 + k, 0,
                                           now + k * LAG - 1, now, k, 0, true});
    }
    axp_view *v = view_seen(s);
    v->n_sampled = 0; /* it is counted here */
    assert_true(axp__view_add_functions(v));
    v->ran_ns = 180 * turn;
    v->ready_ns = 90 * turn;
    return ts_analyze_view(v);
}

/* Nobody waits for it, and yet without it the others would have had its processor:
 * of 90 turns, 60 do for what they compute. */
static void who_spins_keeps_a_processor(void **state)
{
    (void)state;
    axp_findings *f = spin_beside();
    assert_true(slow_ms(f, "0x2100") >= 90);
    axp_findings_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_blocks_while_others_wait),
        cmocka_unit_test(who_is_off_while_others_run),
        cmocka_unit_test(what_of_a_run_is_still),
        cmocka_unit_test(what_is_left_is_still),
        cmocka_unit_test(what_a_lock_is_held_for),
        cmocka_unit_test(a_lock_beside_no_processor),
        cmocka_unit_test(who_was_not_seen_is_not_named),
        cmocka_unit_test(handing_a_lock_over_is_the_kernels),
        cmocka_unit_test(what_nobody_divides_names_nothing),
        cmocka_unit_test(what_the_kernel_does_for_a_function_is_its_own),
        cmocka_unit_test(much_of_ours_is_no_verdict),
        cmocka_unit_test(who_holds_a_lock_is_the_programs),
        cmocka_unit_test(an_idle_thread_changes_nothing),
        cmocka_unit_test(who_asks_the_kernel_is_named),
        cmocka_unit_test(who_is_seen_once_is_not_blamed),
        cmocka_unit_test(a_library_is_what_is_called_of_it),
        cmocka_unit_test(the_call_goes_with_the_kernel),
        cmocka_unit_test(loading_is_not_the_kernels),
        cmocka_unit_test(what_nobody_asked_for_is_nobodys),
        cmocka_unit_test(functions_in_no_scope),
        cmocka_unit_test(libraries_in_no_scope),
        cmocka_unit_test(a_standstill_in_no_scope),
        cmocka_unit_test(a_tenth_each_is_no_nothing),
        cmocka_unit_test(a_bound_has_what_stands_beside_it),
        cmocka_unit_test(a_bound_holds_where_waits_are_unseen),
        cmocka_unit_test(who_spins_keeps_a_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
