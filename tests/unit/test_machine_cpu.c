/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the machine is said to be, by files that are made for the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/machine_cpu.h"

static char root[] = "/tmp/axp_machine_XXXXXX";

/* Makes the folders too. */
static void put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *c = whole + 1; *c; c++)
        if (*c == '/') {
            *c = 0;
            mkdir(whole, 0700);
            *c = '/';
        }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int drop(const char *path, const struct stat *st, int flag,
                struct FTW *at)
{
    (void)st, (void)flag;
    return at->level ? remove(path) : 0;
}

static int empty(void **state)
{
    (void)state;
    return nftw(root, drop, 16, FTW_DEPTH | FTW_PHYS);
}

#define SECOND "1 1 0:1 / /sys/fs/cgroup rw - cgroup2 x rw\n"

static void quota_of_version_2(void **state)
{
    (void)state;
    assert_true(axp__cpu_quota(root) == 0);
    put("/proc/self/mountinfo", SECOND);
    put("/proc/self/cgroup", "0::/a/b\n");
    assert_true(axp__cpu_quota(root) == 0);
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    assert_true(axp__cpu_quota(root) == 0);
    put("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
    assert_true(axp__cpu_quota(root) == 2.5);
    put("/sys/fs/cgroup/a/b/cpu.max", "10000 100000\n");
    assert_true(axp__cpu_quota(root) == 0.1);
    put("/sys/fs/cgroup/a/b/cpu.max", "nonsense");
    assert_true(axp__cpu_quota(root) == 2.5);
    put("/sys/fs/cgroup/a/b/cpu.max", "5 0\n");
    assert_true(axp__cpu_quota(root) == 2.5);
    /* of a container, whose group is mounted as the root */
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    assert_true(axp__cpu_quota(root) == 1.5);
    put("/proc/self/cgroup", "0::/../../elsewhere\n");
    assert_true(axp__cpu_quota(root) == 1.5);
}

#define FIRST "2 1 0:2 / /sys/fs/cgroup/cpu rw - cgroup x rw,cpu,cpuacct\n"

static void quota_of_version_1(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", FIRST);
    put("/proc/self/cgroup", "3:cpuset:/c\n2:cpu,cpuacct:/x/y\n0::/z\n");
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "300000\n");
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
    assert_true(axp__cpu_quota(root) == 3);
    put("/sys/fs/cgroup/cpu/x/y/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/x/y/cpu.cfs_period_us", "100000\n");
    assert_true(axp__cpu_quota(root) == 3);
}

/* Where groups are mounted is said by the machine, of each version. */
static void quota_mounted_elsewhere(void **state)
{
    (void)state;
    put("/proc/self/mountinfo",
        "1 1 0:1 / /groups rw - cgroup2 x rw\n"
        "2 1 0:2 /box /first/cpu,cpuacct ro - cgroup x rw,cpu,cpuacct\n"
        "3 1 0:3 /box /first/cpuset ro - cgroup x rw,cpuset\n");
    put("/proc/self/cgroup", "3:cpuset:/box/c\n2:cpu,cpuacct:/box/x\n0::/a\n");
    put("/first/cpuset/c/cpu.cfs_quota_us", "100000\n");
    put("/first/cpuset/c/cpu.cfs_period_us", "100000\n");
    assert_true(axp__cpu_quota(root) == 0);
    put("/groups/a/cpu.max", "400000 100000\n");
    assert_true(axp__cpu_quota(root) == 4);
    put("/first/cpu,cpuacct/x/cpu.cfs_quota_us", "300000\n");
    put("/first/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    assert_true(axp__cpu_quota(root) == 3);
    put("/first/cpu,cpuacct/cpu.cfs_quota_us", "150000\n");
    put("/first/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    assert_true(axp__cpu_quota(root) == 1.5);
}

static void caches(void **state)
{
    struct axp__machine m = {0};
    int cpu;
    char path[128];
    const char *const files[][5] = {{"0", "1", "Data", "48K", "3,7"},
                                    {"1", "1", "Instruction", "32K", "3,7"},
                                    {"2", "2", "Unified", "2M", "3"},
                                    {"3", "3", "Unified", "36864K", "0-7,9"}};
    (void)state;
    assert_true(axp__cpu_allowed(&cpu, 1) == 1);
    for (int i = 0; i < 4; i++)
        for (int k = 1; k < 5; k++) {
            const char *const names[] = {"", "level", "type", "size",
                                         "shared_cpu_list"};
            snprintf(path, sizeof path,
                     "/sys/devices/system/cpu/cpu%d/cache/index%s/%s", cpu,
                     files[i][0], names[k]);
            put(path, files[i][k]);
        }
    put("/sys/devices/system/cpu/online", "0-9\n");
    put("/proc/cpuinfo", "processor: 0\nmodel name\t: Some \x01 CPU\n");
    axp__cpu_look(&m, root);
    assert_int_equal(m.n_cpus, 10);
    assert_string_equal(m.cpu, "Some ? CPU");
    assert_int_equal(m.n_memory, 4);
    assert_int_equal(m.memory[0].bytes, 48 * 1024);
    assert_int_equal(m.memory[0].shared, 2);
    assert_int_equal(m.memory[1].bytes, 2 << 20);
    assert_int_equal(m.memory[2].bytes, 36 << 20);
    assert_int_equal(m.memory[2].shared, 9);
    assert_int_equal(m.memory[3].level, AXP_LEVEL_MEMORY);
    put("/proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
    axp__cpu_look(&m, root);
    assert_string_equal(m.cpu, "Neoverse-V1");
}

/* Nothing that the kernel says: still a machine. */
static void without_files(void **state)
{
    struct axp__machine m = {0};
    (void)state;
    axp__cpu_look(&m, root);
    assert_string_equal(m.cpu, "unknown");
    assert_true(m.n_memory >= 3 && m.memory[0].bytes > 0);
    assert_true(m.n_cpus >= 1 && m.n_cores >= 1 && m.n_threads >= 1);
}

/* What is used for measuring is a small part of what may be used. */
static void room(void **state)
{
    (void)state;
    put("/proc/meminfo", "MemTotal: 8 kB\nMemAvailable:   8388608 kB\n");
    assert_int_equal(axp__cpu_room(root), 1024u << 20);
    put("/proc/self/cgroup", "0::/a\n");
    put("/proc/self/mountinfo", SECOND);
    put("/sys/fs/cgroup/a/memory.max", "268435456\n");
    assert_int_equal(axp__cpu_room(root), 16u << 20);
}

/* All threads are those that may run. */
static void affinity_and_quota(void **state)
{
    struct axp__machine m = {0};
    cpu_set_t before, one;
    int cpu;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    axp__cpu_allowed(&cpu, 1);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    axp__cpu_look(&m, root);
    assert_int_equal(m.n_allowed, 1);
    assert_int_equal(m.n_threads, 1);
    sched_setaffinity(0, sizeof before, &before);
    put("/proc/self/mountinfo", SECOND);
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.max", "10000 100000\n");
    axp__cpu_look(&m, root);
    assert_int_equal(m.n_threads, 1);
    assert_true(m.quota == 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(quota_of_version_2, empty),
        cmocka_unit_test_teardown(quota_of_version_1, empty),
        cmocka_unit_test_teardown(quota_mounted_elsewhere, empty),
        cmocka_unit_test_teardown(caches, empty),
        cmocka_unit_test_teardown(without_files, empty),
        cmocka_unit_test_teardown(room, empty),
        cmocka_unit_test_teardown(affinity_and_quota, empty),
    };
    if (!mkdtemp(root)) return 1;
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(root);
    return rc;
}
