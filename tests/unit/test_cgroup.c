/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Limits of control groups, of both versions, from files that a test made. */
#include "file_support.h"

#include "os/os_cgroup.h"

static void make_file(const char *path, const char *text)
{
    char whole[1024];
    snprintf(whole, sizeof whole, "%s%s", fs_folder, path);
    for (char *p = whole + strlen(fs_folder) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(whole, 0700);
        *p = '/';
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    fclose(f);
}

static char own[AXP__CGROUP_PATH];

static uint64_t read_limit(void)
{
    own[0] = 0;
    return axp__cgroup_read_memory(fs_folder, own);
}

static int remove_all(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", fs_folder);
    return system(command);
}

static void nothing_there(void **state)
{
    (void)state;
    assert_true(read_limit() == UINT64_MAX);
    make_file("/proc/self/cgroup", "0::/a\n");
    assert_true(read_limit() == UINT64_MAX);
    assert_string_equal(own, "");
}

#define SECOND                                                                 \
    "22 1 8:1 / / rw - ext4 /dev/sda rw\n"                                     \
    "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"

/* The least along the path counts, not the process's own. */
static void second_version_nested(void **state)
{
    (void)state;
    make_file("/proc/self/cgroup", "0::/job/step\n");
    make_file("/proc/self/mountinfo", SECOND);
    make_file("/sys/fs/cgroup/job/step/memory.max", "max\n");
    assert_true(read_limit() == UINT64_MAX);
    make_file("/sys/fs/cgroup/job/memory.max", "62914560\n");
    assert_int_equal(read_limit(), 62914560);
    make_file("/sys/fs/cgroup/job/step/memory.max", "1000000000\n");
    assert_int_equal(read_limit(), 62914560);
    make_file("/sys/fs/cgroup/job/step/memory.max", "5000000\n");
    assert_int_equal(read_limit(), 5000000);
    make_file("/sys/fs/cgroup/memory.max", "4000000\n");
    assert_int_equal(read_limit(), 4000000);
    assert_string_equal(own, "/sys/fs/cgroup/job/step");
}

#define FIRST                                                                  \
    "22 1 8:1 / / rw - ext4 /dev/sda rw\n"                                     \
    "31 22 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"      \
    "32 22 0:28 / /cg/memory rw - cgroup cgroup rw,memory\n"

static void first_version(void **state)
{
    (void)state;
    make_file("/proc/self/cgroup", "5:cpu,cpuacct:/other\n"
                                   "4:hugetlb,memory:/job/step\n"
                                   "0::/\n");
    make_file("/proc/self/mountinfo", FIRST);
    make_file("/cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
    make_file("/cg/memory/other/memory.limit_in_bytes", "1000\n");
    assert_true(read_limit() == UINT64_MAX);
    make_file("/cg/memory/job/step/memory.limit_in_bytes", "62914560\n");
    assert_int_equal(read_limit(), 62914560);
    make_file("/cg/memory/job/memory.limit_in_bytes", "52428800\n");
    assert_int_equal(read_limit(), 52428800);
}

/* A container sees its group as the root of the mount, but by its name on the
 * machine in /proc. */
static void mounted_in_a_container(void **state)
{
    (void)state;
    make_file("/proc/self/cgroup", "4:memory:/docker/abc/inner\n");
    make_file("/proc/self/mountinfo", "32 22 0:28 /docker/abc "
                                      "/sys/fs/cgroup/memory ro - cgroup "
                                      "cgroup rw,memory\n");
    make_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "70000000\n");
    assert_int_equal(read_limit(), 70000000);
    make_file("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes",
              "60000000\n");
    assert_int_equal(read_limit(), 60000000);
    /* a group that is not below what is mounted */
    make_file("/proc/self/cgroup", "4:memory:/docker/abcdef\n");
    assert_int_equal(read_limit(), 70000000);
    make_file("/proc/self/cgroup", "4:memory:/../elsewhere\n");
    assert_int_equal(read_limit(), 70000000);
}

static void what_is_no_limit(void **state)
{
    static const char *const texts[] = {
        "", "\n", "max", "-1", "x", "99999999999999999999999999999"};
    (void)state;
    make_file("/proc/self/cgroup", "0::/\n");
    make_file("/proc/self/mountinfo", SECOND);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        make_file("/sys/fs/cgroup/memory.max", texts[i]);
        assert_true(read_limit() == UINT64_MAX);
    }
    make_file("/proc/self/mountinfo", "- \n - cgroup2\n1 - cgroup2 a\n\n");
    make_file("/proc/self/cgroup", "0\n0:\n:::\n0::\n");
    assert_true(read_limit() == UINT64_MAX);
}

/* Lines longer than any buffer are passed over. */
static void long_lines(void **state)
{
    (void)state;
    char *text = calloc(1, 40000);
    assert_non_null(text);
    memset(text, 'x', 20000);
    strcat(text, "\n" SECOND);
    make_file("/proc/self/mountinfo", text);
    make_file("/proc/self/cgroup", "0::/\n");
    make_file("/sys/fs/cgroup/memory.max", "12345678\n");
    assert_int_equal(read_limit(), 12345678);
    free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fs_setup, remove_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_there),    TEST(second_version_nested),
        TEST(first_version),    TEST(mounted_in_a_container),
        TEST(what_is_no_limit), TEST(long_lines),
    };
    return TS_RUN(tests);
}
