/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What ran, where and when: as reports say it, live and from a file. */
#include <sys/utsname.h>
#include <time.h>

#include "emit/emit_run.h"
#include "file_support.h"
#include "model/model_view.h"

/* ---- words ------------------------------------------------------------------------ */

static void assert_command(const char *program, const char *arguments,
                           const char *want)
{
    struct axp__capture c = {
        .about = {.program = program, .arguments = arguments}};
    struct axp_view v = {.capture = &c};
    char *got = axp__run_command(&v);
    if (want)
        assert_string_equal(got, want);
    else
        assert_null(got);
    free(got);
}

static void test_commands_can_be_typed_again(void **state)
{
    (void)state;
    assert_command("/bin/train",
                   "./train\x1f--steps\x1f"
                   "20",
                   "./train --steps 20");
    assert_command(NULL, "a\x1f\x1ftwo words\x1f$x", "a '' 'two words' '$x'");
    assert_command(NULL, "it's", "'it'\\''s'");
    assert_command(NULL, "''''\x1f", "''\\'''\\'''\\'''\\''' ''");
    assert_command(NULL, "na\xc3\xafve=\xff", "na\xc3\xafve=\xff");
    assert_command("/opt/my tools/train", NULL, "'/opt/my tools/train'");
    assert_command(NULL, "", NULL);
    assert_command(NULL, NULL, NULL);
}

static void assert_started(uint64_t ns, const char *want)
{
    struct axp__capture c = {.about = {.started_ns = ns}};
    struct axp_view v = {.capture = &c};
    char got[32];
    axp__run_started(&v, got);
    assert_string_equal(got, want);
}

static void test_the_start_is_a_date(void **state)
{
    (void)state;
    assert_started(0, "");
    assert_started(1935929591999999999, "2031-05-07T14:13:11Z");
    assert_started(UINT64_MAX, "2554-07-21T23:34:33Z");
}

/* ---- runs -------------------------------------------------------------------------- */

static char *page_of(const axp_view *v)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    if (axp_report_write(v, AXP_FORMAT_HTML, f))
        fail_msg("%s", axp_last_error());
    fclose(f);
    return text;
}

static void assert_is_here_and_now(const axp_view *v, uint64_t before)
{
    const struct axp__cap_about *a = &v->capture->about;
    struct timespec now;
    struct utsname u;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t after = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    assert_int_equal(uname(&u), 0);
    assert_string_equal(a->host, u.nodename);
    assert_non_null(strstr(a->program, "test_run_about"));
    assert_non_null(strstr(a->arguments, "test_run_about"));
    /* a real-time clock may be set meanwhile; not by an hour */
    assert_in_range(a->started_ns, before - 3600000000000u,
                    after + 3600000000000u);
}

static void test_a_file_says_what_the_process_said(void **state)
{
    (void)state;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t before = (uint64_t)now.tv_sec * 1000000000u;
    axp_profiler *p = fs_record(fs_path("a.axp"), (axp_options){0});
    axp_start(p, "work");
    axp_stop(p, "work");
    axp_view *live = ts_snapshot(p);
    assert_is_here_and_now(live, before);
    axp_view_destroy(live);
    assert_int_equal(axp_finish(p), AXP_OK);
    live = ts_snapshot(p);
    axp_view *file = fs_open(fs_path("a.axp"));
    assert_is_here_and_now(live, before);
    assert_is_here_and_now(file, before);
    char *a = page_of(live), *b = page_of(file);
    assert_string_equal(a, b);
    assert_non_null(strstr(a, "\"command\":\""));
    assert_non_null(strstr(a, "\"host\":\""));
    assert_non_null(strstr(a, "\"started\":\"2"));
    free(a), free(b);
    axp_view_destroy(live);
    axp_view_destroy(file);
    axp_profiler_destroy(p);
}

static void test_joined_runs_have_one_start(void **state)
{
    (void)state;
    axp_profiler *p = fs_record(fs_path("a.axp"), (axp_options){0});
    axp_profiler *q = fs_record(fs_path("b.axp"), (axp_options){0});
    axp_start(p, "work"), axp_stop(p, "work");
    axp_start(q, "work"), axp_stop(q, "work");
    assert_int_equal(axp_finish(p), AXP_OK);
    assert_int_equal(axp_finish(q), AXP_OK);
    axp_view *first = fs_open(fs_path("a.axp")), *both = NULL;
    const char *paths[] = {fs_path("b.axp"), fs_path("a.axp")};
    assert_int_equal(axp_open(paths, 2, &both), AXP_OK);
    assert_string_equal(both->capture->about.host, first->capture->about.host);
    assert_int_equal(both->capture->about.started_ns,
                     first->capture->about.started_ns);
    axp_view_destroy(first);
    axp_view_destroy(both);
    axp_profiler_destroy(p);
    axp_profiler_destroy(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands_can_be_typed_again),
        cmocka_unit_test(test_the_start_is_a_date),
        FS_TEST(test_a_file_says_what_the_process_said),
        FS_TEST(test_joined_runs_have_one_start),
    };
    return TS_RUN(tests);
}
