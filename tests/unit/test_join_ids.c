/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ids of processes in other namespaces, when recordings are joined: what was seen
 * of them, who nobody saw, two namespaces with the same numbers, and claims. */
#include <stdlib.h>
#include <string.h>

#include "file/file_join.h"
#include "test_support.h"
#include "wire/wire_states.h"

#define MOST 64
#define OURS "1000" /* the namespace of who looked on … */
#define ID_A "00112233445566778899aabbccddeeff"
#define ID_B "a0b1c2d3e4f566778899aabbccddeeff"

struct made {
    struct axp__capture c;
    struct axp__file_head head;
    struct axp__cap_row rows[MOST];
    struct axp__thread_states states[MOST];
    struct axp__about_pair pairs[MOST];
    char texts[MOST][2][64];
    struct axp__about about;
};

static void make(struct made *m, uint64_t process, uint64_t name_space)
{
    memset(m, 0, sizeof *m);
    m->c.process_id = process;
    m->c.rows = m->rows;
    m->c.states = m->states;
    m->c.rate_mult = (uint64_t)1 << 32; /* a tick is a ns */
    m->c.about.pid_namespace = name_space;
    m->head.boot_id[0] = 1;
    m->about.pair = m->pairs;
}

static void put(struct made *m, const char *key, const char *value)
{
    size_t i = m->about.n++;
    snprintf(m->texts[i][0], 64, "%s", key);
    snprintf(m->texts[i][1], 64, "%s", value);
    m->pairs[i] =
        (struct axp__about_pair){m->texts[i][0], m->texts[i][1], strlen(value)};
}

static void add_row(struct made *m, uint64_t tid, uint64_t first, uint64_t last)
{
    m->rows[m->c.n_rows++] =
        (struct axp__cap_row){.tid = tid,
                              .process_id = m->c.process_id,
                              .first = first * 1000000,
                              .last = last * 1000000};
}

static void add_state(struct made *m, uint64_t process, uint64_t tid,
                      uint64_t begin, uint64_t end)
{
    m->states[m->c.n_states++] =
        (struct axp__thread_states){.process = process,
                                    .tid = tid,
                                    .begin_ticks = begin * 1000000,
                                    .end_ticks = end * 1000000};
}

static struct axp__join_part part_of(struct made *m, const char *id)
{
    return (struct axp__join_part){&m->c, &m->head, id, m->about};
}

static struct made a, b, looker;

static void join(void)
{
    struct axp__join_part parts[] = {part_of(&looker, NULL), part_of(&a, ID_A),
                                     part_of(&b, ID_B)};
    assert_true(axp__join_ids(parts, 3));
}

static void make_all(void)
{
    make(&looker, 900, 1000);
    make(&a, 1, 2000);
    make(&b, 1, 3000);
    add_state(&looker, 899, 899, 0, 100);
}

/* Process 1 of a namespace is 5000 outside, and its thread 7 is 5010. */
static void make_seen(void)
{
    make_all();
    put(&a, AXP__ABOUT_NAMESPACE, OURS);
    put(&a, AXP__ABOUT_PROCESS, "5000");
    put(&a, AXP__ABOUT_THREAD "1", "5000 0");
    put(&a, AXP__ABOUT_THREAD "7", "5010 0");
}

static void assert_tids(const struct made *m, size_t n, const uint64_t *tids)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(m->rows[i].tid, tids[i]);
}

static void who_was_seen_is_called_so(void **state)
{
    (void)state;
    make_seen();
    add_row(&a, 1, 10, 90);
    add_row(&a, 7, 20, 30);
    add_row(&a, 7, 10, 30);
    a.rows[2].track = 3;
    add_row(&a, 7, 10, 30);
    a.rows[3].process_id = 44; /* of a track of somebody else */
    add_row(&b, 1, 10, 90);
    join();
    assert_int_equal(a.c.process_id, 5000);
    assert_int_equal(a.c.about.pid_namespace, 1000);
    assert_tids(&a, 4, (uint64_t[]){5000, 5010, 7, 7});
    for (int i = 0; i < 4; i++)
        assert_int_equal(a.rows[i].process_id, i < 3 ? 5000 : 44);
    /* Nobody saw the other one, which has the same number. */
    assert_int_equal(b.c.process_id, 1);
    assert_int_equal(b.c.about.pid_namespace, 3000);
    assert_int_equal(b.rows[0].tid, 1);
}

/* A number that was given twice is each time another thread. */
static void numbers_are_used_again(void **state)
{
    (void)state;
    make_seen();
    put(&a, AXP__ABOUT_THREAD "7", "6123 50000000");
    add_row(&a, 7, 20, 30);
    add_row(&a, 7, 60, 70);
    join();
    assert_tids(&a, 2, (uint64_t[]){5010, 6123});
}

/* Between two that are as far apart in both there is one number for each. */
static void numbers_between_are_known(void **state)
{
    (void)state;
    make_seen();
    put(&a, AXP__ABOUT_THREAD "11", "5014 0");
    add_row(&a, 8, 20, 30);
    add_row(&a, 10, 20, 30);
    add_row(&a, 4, 20, 30);  /* 6 and 10 apart: nobody knows */
    add_row(&a, 12, 20, 30); /* after the last: likewise */
    join();
    assert_tids(&a, 4, (uint64_t[]){5011, 5013, 4, 12});
}

/* Threads come in one order; each has recorded while it lived. */
static void order_and_times_tell(void **state)
{
    (void)state;
    make_seen();
    add_state(&looker, 5000, 5000, 0, 100);
    add_state(&looker, 5000, 5003, 10, 20);
    add_state(&looker, 5000, 5004, 30, 40);
    add_state(&looker, 5000, 5006, 30, 40);
    add_state(&looker, 5001, 5007, 30, 60); /* another process's */
    add_state(&looker, 5000, 5008, 50, 60);
    add_state(&looker, 5000, 5012, 55, 90);
    add_row(&a, 2, 12, 18);
    add_row(&a, 3, 31, 39);
    add_row(&a, 4, 31, 32);
    add_row(&a, 4, 38, 39); /* the same thread */
    add_row(&a, 5, 51, 59);
    add_row(&a, 8, 60, 65);
    join();
    assert_tids(&a, 6, (uint64_t[]){5003, 5004, 5006, 5006, 5008, 5012});
}

/* Two that may each be one of three are not known, and those beside them are. */
static void who_may_be_several_is_not_known(void **state)
{
    (void)state;
    make_seen();
    add_state(&looker, 5000, 5003, 10, 20);
    add_state(&looker, 5000, 5004, 30, 40);
    add_state(&looker, 5000, 5005, 30, 40);
    add_state(&looker, 5000, 5006, 30, 40);
    add_state(&looker, 5000, 5008, 50, 60);
    add_row(&a, 2, 12, 18);
    add_row(&a, 3, 31, 39);
    add_row(&a, 4, 31, 39);
    add_row(&a, 5, 51, 59);
    join();
    assert_tids(&a, 4, (uint64_t[]){5003, 3, 4, 5008});
}

/* Where some threads have no states of their own, who is there is no reason. */
static void states_that_are_not_all_tell_nothing(void **state)
{
    (void)state;
    make_seen();
    add_state(&looker, 5000, 5003, 10, 20);
    add_state(&looker, 0, 0, 10, 20);
    add_row(&a, 2, 12, 18);
    join();
    assert_int_equal(a.rows[0].tid, 2);
}

/* Where numbers began again, their order is not that of who has them. */
static void numbers_begin_again(void **state)
{
    (void)state;
    make_seen();
    add_state(&looker, 5000, 5003, 50, 80);
    add_state(&looker, 5000, 5004, 10, 20);
    add_row(&a, 2, 12, 18);
    join();
    assert_int_equal(a.rows[0].tid, 2);
}

/* One that nobody can be spoils what its neighbours might have been. */
static void who_can_be_nobody_is_not_known(void **state)
{
    (void)state;
    make_seen();
    add_state(&looker, 5000, 5003, 10, 20);
    add_row(&a, 2, 12, 18);
    add_row(&a, 3, 12, 28);
    join();
    assert_tids(&a, 2, (uint64_t[]){2, 3});
}

/* An own number that might be that of another thread of the process is none. */
static void a_number_that_may_be_anothers_is_none(void **state)
{
    (void)state;
    make_seen();
    add_row(&a, 5003, 20, 30);
    join();
    assert_int_equal(a.rows[0].tid, 0);
}

/* Of a process that was too quick for whoever looked, who sampled may have seen
 * how it began its recording. */
static void who_sampled_knows_the_process(void **state)
{
    (void)state;
    make_all();
    put(&looker, AXP__ABOUT_RECORDING "a0b1c2d3e4", "6000");
    add_state(&looker, 6000, 6000, 10, 40);
    add_state(&looker, 6000, 6002, 20, 30);
    add_row(&a, 1, 12, 38);
    add_row(&b, 1, 12, 38);
    add_row(&b, 2, 21, 29);
    join();
    assert_int_equal(a.c.process_id, 1);
    assert_int_equal(b.c.process_id, 6000);
    assert_int_equal(b.c.about.pid_namespace, 1000);
    assert_tids(&b, 2, (uint64_t[]){6000, 6002});
    /* who is where who looked on is has his own numbers */
    make_all();
    put(&looker, AXP__ABOUT_RECORDING "a0b1c2d3e4", "1");
    b.c.about.pid_namespace = 0;
    add_row(&b, 2, 21, 29);
    join();
    assert_int_equal(b.rows[0].tid, 2);
}

/* … and so its first thread, whoever else lived at that time. */
static void who_knows_the_process_knows_its_first_thread(void **state)
{
    (void)state;
    make_all();
    put(&looker, AXP__ABOUT_RECORDING "a0b1c2d3e4", "6000");
    add_state(&looker, 6000, 6000, 10, 40);
    add_state(&looker, 6000, 6002, 11, 39);
    add_row(&b, 1, 12, 38);
    join();
    assert_int_equal(b.rows[0].tid, 6000);
}

/* Where those that were seen are not in one order, nor are the others. */
static void numbers_that_fall_have_no_order(void **state)
{
    (void)state;
    for (unsigned falls = 0; falls < 2; falls++) {
        make_seen();
        put(&a, AXP__ABOUT_THREAD "20", falls ? "5008 0" : "5030 0");
        add_state(&looker, 5000, 5003, 10, 20);
        add_row(&a, 2, 12, 18);
        add_row(&a, 7, 12, 18);
        join();
        assert_tids(&a, 2, (uint64_t[]){falls ? 2 : 5003, 5010});
    }
}

/* More states than are looked at: a part of them is as good as none, for who is
 * the only one in it may not be. */
static void states_that_are_too_many_tell_nothing(void **state)
{
    (void)state;
    enum { STATES = 300000, PARTS = 60 };
    struct axp__thread_states *states = calloc(STATES, sizeof *states);
    struct made *made = calloc(PARTS, sizeof *made);
    struct axp__join_part parts[PARTS + 1];
    assert_non_null(states);
    assert_non_null(made);
    make_all();
    for (size_t i = 0; i < STATES; i++) {
        bool lives = i == 10 || i == STATES - 1;
        states[i] =
            (struct axp__thread_states){.process = 5000,
                                        .tid = 5001 + i,
                                        .end_ticks = lives ? 90000000 : 0};
    }
    looker.c.states = states;
    looker.c.n_states = STATES;
    parts[0] = part_of(&looker, NULL);
    for (size_t i = 0; i < PARTS; i++) {
        make(&made[i], 1, 2000);
        put(&made[i], AXP__ABOUT_NAMESPACE, OURS);
        put(&made[i], AXP__ABOUT_PROCESS, "5000");
        add_row(&made[i], 2, 10, 20);
        parts[i + 1] = part_of(&made[i], ID_A);
    }
    assert_true(axp__join_ids(parts, PARTS + 1));
    for (size_t i = 0; i < PARTS; i++)
        assert_int_equal(made[i].rows[0].tid, 2);
    free(made);
    free(states);
}

/* Of another machine nothing is known. */
static void another_host_is_another(void **state)
{
    (void)state;
    make_seen();
    looker.head.boot_id[0] = 2;
    add_state(&looker, 5000, 5003, 10, 20);
    put(&looker, AXP__ABOUT_RECORDING "a0b1c2d3e4", "6000");
    add_row(&a, 2, 12, 18);
    add_row(&b, 1, 12, 18);
    join();
    assert_int_equal(a.rows[0].tid, 2);
    assert_int_equal(b.c.process_id, 1);
}

/* What no one would write. */
static void claims_are_numbers_or_nothing(void **state)
{
    (void)state;
    static const char *const keys[] = {AXP__ABOUT_THREAD, AXP__ABOUT_THREAD "x",
                                       AXP__ABOUT_THREAD "7 ",
                                       AXP__ABOUT_THREAD "99999999999999999999",
                                       AXP__ABOUT_THREAD "4294967296"};
    static const char *const values[] = {"",
                                         "5",
                                         "5 ",
                                         " 5 6",
                                         "0 0",
                                         "4294967296 1",
                                         "5 18446744073709551616",
                                         "-5 1",
                                         "5 1x"};
    make_all();
    put(&a, AXP__ABOUT_NAMESPACE, OURS);
    put(&a, AXP__ABOUT_PROCESS, "5000");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        put(&a, keys[i], "5 6");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        put(&a, AXP__ABOUT_THREAD "7", values[i]);
    put(&a, AXP__ABOUT_THREAD "4294967295", "4294967295 18446744073709551615");
    put(&a, AXP__ABOUT_THREAD "1", "4294967295 0");
    add_row(&a, 7, 20, 30);
    add_row(&a, 1, 20, 30);
    add_row(&a, 4294967295, 20, 30);
    add_row(&a, UINT64_MAX, UINT64_MAX / 1000000, 0);
    add_state(&looker, 5000, UINT64_MAX, UINT64_MAX / 1000000, 0);
    join();
    assert_tids(&a, 4, (uint64_t[]){7, 4294967295, 4294967295, UINT64_MAX});
    static const char *const processes[] = {"", "0", "x", "4294967296",
                                            "99999999999999999999"};
    for (size_t i = 0; i < sizeof processes / sizeof *processes; i++) {
        make_all();
        put(&a, AXP__ABOUT_NAMESPACE, OURS);
        put(&a, AXP__ABOUT_PROCESS, processes[i]);
        put(&looker, AXP__ABOUT_RECORDING "0011223344", processes[i]);
        add_row(&a, 7, 20, 30);
        join();
        assert_int_equal(a.c.process_id, 1);
        assert_int_equal(a.rows[0].tid, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_seen_is_called_so),
        cmocka_unit_test(numbers_are_used_again),
        cmocka_unit_test(numbers_between_are_known),
        cmocka_unit_test(order_and_times_tell),
        cmocka_unit_test(who_may_be_several_is_not_known),
        cmocka_unit_test(states_that_are_not_all_tell_nothing),
        cmocka_unit_test(numbers_begin_again),
        cmocka_unit_test(who_can_be_nobody_is_not_known),
        cmocka_unit_test(a_number_that_may_be_anothers_is_none),
        cmocka_unit_test(who_sampled_knows_the_process),
        cmocka_unit_test(who_knows_the_process_knows_its_first_thread),
        cmocka_unit_test(numbers_that_fall_have_no_order),
        cmocka_unit_test(states_that_are_too_many_tell_nothing),
        cmocka_unit_test(another_host_is_another),
        cmocka_unit_test(claims_are_numbers_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
