/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a program hears through options.log, when, and from whom. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "test_support.h"

#define MANY 300000

struct heard {
    int n, level[32];
    char text[32][600];
    void *ctx;
};
static struct heard heard;

static void listen(int level, const char *message, void *ctx)
{
    int i = __atomic_fetch_add(&heard.n, 1, __ATOMIC_SEQ_CST);
    if (i >= 32) return;
    heard.level[i] = level;
    snprintf(heard.text[i], sizeof heard.text[i], "%s", message);
    heard.ctx = ctx;
}

static int count(int level, const char *words)
{
    int n = 0;
    for (int i = 0; i < heard.n; i++)
        n += heard.level[i] == level && strstr(heard.text[i], words);
    return n;
}

static char path[64];

static int forget(void **state)
{
    (void)state;
    heard = (struct heard){0};
    snprintf(path, sizeof path, "/tmp/axprof-log-%ld.axp", (long)getpid());
    return 0;
}

static int clean(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static void a_file_begins_and_is_complete(void **state)
{
    (void)state;
    int mark;
    axp_profiler *p = axp_profiler_create(
        &(axp_options){.path = path, .log = listen, .log_ctx = &mark});
    assert_non_null(p);
    assert_int_equal(heard.n, 1);
    assert_int_equal(count(AXP_LOG_INFO, path), 1);
    assert_ptr_equal(heard.ctx, &mark);
    for (int i = 0; i < 100000; i++) {
        AXP_SCOPE_IN(p, "scope");
    }
    assert_int_equal(axp_flush(p), AXP_OK);
    assert_int_equal(heard.n, 1);
    assert_int_equal(axp_finish(p), AXP_OK);
    assert_int_equal(heard.n, 2);
    assert_int_equal(count(AXP_LOG_INFO, "is complete"), 1);
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_profiler_destroy(p);
    assert_int_equal(heard.n, 2);
}

/* Wrong calls are counted when they happen, and told when all is over. */
static void warnings_come_at_the_end(void **state)
{
    (void)state;
    for (int with_finish = 0; with_finish < 2; with_finish++) {
        forget(NULL);
        axp_profiler *p = axp_profiler_create(&(axp_options){.log = listen});
        axp_stop(p, "never started");
        axp_stop(p, "never started");
        axp_record_free(p, "never allocated", 8);
        axp_start(p, "open");
        assert_int_equal(heard.n, 0);
        if (with_finish) {
            axp_finish(p);
            assert_int_equal(heard.n, 2);
        }
        axp_profiler_destroy(p);
        assert_int_equal(heard.n, 2);
        assert_int_equal(count(AXP_LOG_WARNING, "stop_without_start: 2 "), 1);
        assert_int_equal(count(AXP_LOG_WARNING, "never started"), 1);
        assert_int_equal(count(AXP_LOG_WARNING, "free_unknown_name: 1 "), 1);
    }
}

static void what_cannot_be_made_says_why(void **state)
{
    (void)state;
    axp_options o = {.path = "/no/such/folder/x.axp", .log = listen};
    assert_null(axp_profiler_create(&o));
    assert_int_equal(heard.n, 1);
    assert_int_equal(count(AXP_LOG_ERROR, "/no/such/folder/x.axp"), 1);
    assert_string_equal(heard.text[0], axp_last_error());
    o.size = offsetof(axp_options, log); /* older than log is */
    assert_null(axp_profiler_create(&o));
    assert_int_equal(heard.n, 1);
}

static void some_scopes(axp_profiler *p, int n)
{
    for (int i = 0; i < n; i++) {
        AXP_SCOPE_IN(p, "scope");
    }
}

/* Of what was heard: one sentence when it happens, one at the end. */
static int check_told(axp_profiler *p, int n_scopes)
{
    if (axp_finish(p) != AXP_E_IO) return 2;
    if (axp_call_count(p, "scope") != (uint64_t)n_scopes) return 3;
    if (count(AXP_LOG_ERROR, "its timeline ends here") != 1) return 4;
    if (count(AXP_LOG_ERROR, "File too large") < 1) return 5;
    if (count(AXP_LOG_ERROR, "is not complete") != 1) return 6;
    if (count(AXP_LOG_WARNING, "write_failed") != 1) return 7;
    return 0;
}

/* The limit comes when the spool has its size: it is for the trace. */
static int record_past_a_limit(void)
{
    struct rlimit before, limit;
    axp_profiler *p = axp_profiler_create(
        &(axp_options){.path = path, .log = listen, .spool_limit = 4 << 20});
    if (!p) return 77; /* no room for a spool */
    some_scopes(p, MANY);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 1024;
    setrlimit(RLIMIT_FSIZE, &limit);
    some_scopes(p, MANY);
    int result = check_told(p, 2 * MANY);
    setrlimit(RLIMIT_FSIZE, &before);
    if (axp_file_pack(path, NULL) && !result) return 8; /* removes the spool */
    return result;
}

static void a_file_that_cannot_grow_is_told_once(void **state)
{
    (void)state;
    int status;
    if (AXP_EMULATED) skip(); /* no threads in the child */
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        alarm(240); /* a hang, and not a busy machine */
        _exit(record_past_a_limit());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, forget, clean)
        T(a_file_begins_and_is_complete),
        T(warnings_come_at_the_end),
        T(what_cannot_be_made_says_why),
        T(a_file_that_cannot_grow_is_told_once),
    };
    return TS_RUN(tests);
}
