/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The process's table of names: equal texts have equal ids, on any thread;
 * nothing of the caller's memory is kept. */
#include <signal.h>
#include <sys/wait.h>

#include "axprof/axprof_macros.h"
#include "file_support.h"

#include "base/base_text.h"
#include "record/record_name.h"

static void equal_texts_have_equal_ids(void **state)
{
    (void)state;
    char a[] = "some name", b[] = "some name";
    uint32_t id = axp__name_register(a, NULL);
    assert_int_equal(axp__name_register(b, NULL), id);
    assert_int_equal(axp__name_find(b), id);
    assert_int_not_equal(axp__name_register("some other", NULL), id);
    memset(a, 'x', sizeof a - 1);
    assert_string_equal(axp__name_at(id)->text, "some name");
    assert_int_equal(axp__name_find("not there at all"), 0);
    assert_true(id < axp__name_count());
}

static void the_first_place_is_kept(void **state)
{
    (void)state;
    uint32_t id = axp__name_register("placed", "dir/file.c\0"
                                               "123");
    axp__name_register("placed", "other.c\0"
                                 "9");
    assert_string_equal(axp__name_at(id)->file, "dir/file.c");
    assert_int_equal(axp__name_at(id)->line, 123);
    uint32_t plain = axp__name_register("unplaced", NULL);
    assert_null(axp__name_at(plain)->file);
    assert_int_equal(axp__name_at(plain)->line, 0);
}

/* A thread, or a counter, has no place and may come first. */
static void a_place_may_come_later(void **state)
{
    (void)state;
    uint32_t id = axp__name_of_thread("worker");
    assert_null(axp__name_at(id)->file);
    assert_int_equal(axp__name_register("worker", "loop.c\0"
                                                  "7"),
                     id);
    assert_int_equal(axp__name_register("worker", "other.c\0"
                                                  "9"),
                     id);
    assert_string_equal(axp__name_at(id)->file, "loop.c");
    assert_int_equal(axp__name_at(id)->line, 7);
}

/* The thread's name is in the file before the scope's place is known. */
static void record_late(const char *path, bool is_killed)
{
    if (axp_global_open(path)) _exit(1);
    AXP_THREAD_NAME("late");
    for (int i = 0; i < 300000; i++) {
        AXP_SCOPE("early");
    }
    usleep(300000);
    for (int i = 0; i < 1000; i++) {
        AXP_SCOPE("late");
    }
    if (is_killed) raise(SIGKILL);
    exit(0);
}

static void a_late_place_is_in_the_file(void **state)
{
    (void)state;
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        const char *path = fs_path(is_killed ? "killed.axp" : "ended.axp");
        int status;
        pid_t pid = fork();
        if (!pid) record_late(path, is_killed);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, is_killed ? SIGKILL : 0);
        axp_view *v = fs_open(path);
        axp_op op;
        assert_int_equal(axp_view_op(v, "late", &op), AXP_OK);
        assert_int_equal(op.calls, 1000);
        assert_non_null(op.file);
        assert_non_null(strstr(op.file, "test_names.c"));
        axp_view_destroy(v);
        if (!is_killed) fs_assert_sound(path);
    }
}

static void lengths_around_the_limit(void **state)
{
    (void)state;
    char text[AXP__NAME_MAX_LEN + 3];
    uint32_t ids[4];
    for (size_t i = 0; i < 4; i++) {
        size_t len = AXP__NAME_MAX_LEN - 1 + i;
        memset(text, 'q', len);
        text[len] = 0;
        ids[i] = axp__name_register(text, NULL);
        assert_int_equal(axp__name_find(text), ids[i]);
        const struct axp__name *n = axp__name_at(ids[i]);
        assert_int_equal(n->len, strlen(n->text));
        assert_true(n->len <= AXP__NAME_MAX_LEN);
        assert_int_equal(n->flags, len > AXP__NAME_MAX_LEN ? AXP__NAME_CUT : 0);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(ids[i], ids[k]);
    }
}

/* Cut between characters, not within one. */
static void long_utf8_stays_utf8(void **state)
{
    (void)state;
    static char text[3 * 2000 + 8];
    for (size_t shift = 0; shift < 3; shift++) {
        char *at = text;
        memset(at, 'a', shift);
        at += shift;
        for (int i = 0; i < 2000; i++, at += 3)
            memcpy(at, "\xe2\x82\xac", 3);
        *at = 0;
        uint32_t id = axp__name_register(text, NULL);
        const struct axp__name *n = axp__name_at(id);
        assert_true(axp__text_is_utf8(n->text, n->len));
        assert_int_equal(n->flags, AXP__NAME_CUT);
    }
}

#define N 5000
struct ids {
    pthread_barrier_t *go;
    uint32_t of[N];
};

static void *register_all(void *arg)
{
    struct ids *x = arg;
    char text[32];
    pthread_barrier_wait(x->go);
    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "shared %d", i);
        x->of[i] = axp__name_register(text, NULL);
    }
    return NULL;
}

static void threads_agree(void **state)
{
    (void)state;
    static struct ids x[4];
    pthread_barrier_t go;
    pthread_t t[4];
    pthread_barrier_init(&go, NULL, 4);
    for (int i = 0; i < 4; i++) {
        x[i].go = &go;
        t[i] = ts_spawn(register_all, &x[i]);
    }
    for (int i = 0; i < 4; i++)
        ts_join(t[i]);
    pthread_barrier_destroy(&go);
    for (int i = 0; i < N; i++) {
        char text[32];
        snprintf(text, sizeof text, "shared %d", i);
        assert_string_equal(axp__name_at(x[0].of[i])->text, text);
        for (int k = 1; k < 4; k++)
            assert_int_equal(x[k].of[i], x[0].of[i]);
    }
}

static void utf8_as_the_standard_has_it(void **state)
{
    (void)state;
    static const char *const good[] = {"",
                                       "a",
                                       "\xc3\xa9",
                                       "\xe2\x82\xac",
                                       "\xf0\x9f\x98\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",
                                      "\xc3",
                                      "\xc0\x80",
                                      "\xe0\x80\x80",
                                      "\xed\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf8\x88\x80\x80\x80",
                                      "a\xe2\x82"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(axp__text_is_utf8(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(axp__text_is_utf8(bad[i], strlen(bad[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_have_equal_ids),
        cmocka_unit_test(the_first_place_is_kept),
        cmocka_unit_test(a_place_may_come_later),
        FS_TEST(a_late_place_is_in_the_file),
        cmocka_unit_test(lengths_around_the_limit),
        cmocka_unit_test(long_utf8_stays_utf8),
        cmocka_unit_test(threads_agree),
        cmocka_unit_test(utf8_as_the_standard_has_it),
    };
    return TS_RUN(tests);
}
