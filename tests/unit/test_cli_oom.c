/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What control groups of both versions count, before and after a run: from files
 * as the kernel writes them, in a folder of our own. */
#include "test_support.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_oom.h"

static void texts_of_the_kernel(void **state)
{
    (void)state;
    uint64_t n = 99;
    assert_true(cli_oom_parse("low 0\nhigh 0\nmax 213\noom 4\noom_kill 3\n"
                              "oom_group_kill 1\n",
                              &n));
    assert_int_equal(n, 3);
    assert_true(
        cli_oom_parse("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n", &n));
    assert_int_equal(n, 7);
    assert_false(cli_oom_parse("oom_kill_disable 0\nunder_oom 0\n", &n));
    assert_false(cli_oom_parse("", &n));
    assert_false(cli_oom_parse("my oom_kill 3", &n));
    assert_int_equal(n, 7);
}

static char folder[64];

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* The file of a group, with so many kills. */
static void set_count(const char *group, const char *file, int n)
{
    char path[256], text[64];
    snprintf(path, sizeof path, "%s%s/%s", folder, group, file);
    snprintf(text, sizeof text, "oom 9\noom_kill %d\n", n);
    write_file(path, text);
}

static cli_oom seen(bool is_v1)
{
    cli_oom o = {.n = 1, .machine_before = UINT64_MAX};
    o.group[0] = (cli_oom_group){.limit_bytes = 1000, .before = 2};
    o.group[0].above_before = 5;
    o.group[0].group.is_v1 = is_v1;
    snprintf(o.group[0].group.folder, sizeof o.group[0].group.folder,
             "%s/group", folder);
    return o;
}

static void more_than_before(void **state)
{
    (void)state;
    static const char *const files[] = {"memory.events", "memory.oom_control"};
    for (int is_v1 = 0; is_v1 < 2; is_v1++) {
        cli_oom o = seen(is_v1);
        set_count("/group", files[is_v1], 2);
        assert_int_equal(cli_oom_end(&o, true).n, 0);
        set_count("/group", files[is_v1], 3);
        cli_oom_kills kills = cli_oom_end(&o, false);
        assert_int_equal(kills.n, 1);
        assert_int_equal(kills.limit_bytes, 1000);
    }
}

/* Of version 2 the one above knows. */
static void a_group_that_is_gone(void **state)
{
    (void)state;
    char path[128];
    set_count("", "memory.events", 6);
    snprintf(path, sizeof path, "%s/group/memory.events", folder);
    unlink(path);
    cli_oom o = seen(false);
    assert_int_equal(cli_oom_end(&o, true).n, 1);
    set_count("", "memory.events", 5);
    assert_int_equal(cli_oom_end(&o, true).n, 0);
}

/* No group counted it: it is the machine's, if it was a kill at all. */
static void the_machine(void **state)
{
    (void)state;
    cli_oom o = {0};
    uint64_t n = 0;
    char text[65536] = "";
    FILE *f = fopen("/proc/vmstat", "r");
    if (f) text[fread(text, 1, sizeof text - 1, f)] = 0;
    if (f) fclose(f);
    if (!cli_oom_parse(text, &n) || !n) return; /* it never killed any */
    o.machine_before = n - 1;
    assert_int_equal(cli_oom_end(&o, true).n, 1);
    assert_true(cli_oom_end(&o, true).limit_bytes == UINT64_MAX);
    assert_int_equal(cli_oom_end(&o, false).n, 0);
    o.machine_before = n;
    assert_int_equal(cli_oom_end(&o, true).n, 0);
}

static int begin(void **state)
{
    (void)state;
    char path[128];
    snprintf(folder, sizeof folder, "/tmp/axprof-test-oom-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/group", folder);
    return mkdir(path, 0700);
}

static int end(void **state)
{
    static const char *const files[] = {
        "/group/memory.events", "/group/memory.oom_control", "/memory.events"};
    char path[128];
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s%s", folder, files[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/group", folder);
    return rmdir(path) | rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_the_kernel),
        cmocka_unit_test_setup_teardown(more_than_before, begin, end),
        cmocka_unit_test_setup_teardown(a_group_that_is_gone, begin, end),
        cmocka_unit_test(the_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
