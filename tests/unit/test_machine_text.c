/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A machine as text: what is written is read again, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"

static struct axp__machine sample(void)
{
    struct axp__machine m = {.cpu = "A processor, 2 @ 3 GHz",
                             .arch = "x86_64",
                             .n_cpus = 8,
                             .n_allowed = 6,
                             .n_threads = 4,
                             .n_cores = 4,
                             .n_sockets = 1,
                             .n_nodes = 1,
                             .quota = 4.5,
                             .load = 1.25,
                             .measured_s = 1700000000,
                             .is_short = true,
                             .hz = {3e9, 0.012},
                             .fork_join_ns = 5000,
                             .barrier_ns = 900,
                             .n_compute = 2,
                             .n_memory = 2,
                             .n_blas = 1,
                             .blas_name = "libblas.so.3 of somebody"};
    m.compute[0] = (struct axp__machine_compute){
        AXP_F32, "avx2", {96e9, 0.001}, {380e9, 0.25}};
    m.compute[1] = (struct axp__machine_compute){
        AXP_BF16, "amx", {3000e9, 0}, {11000e9, 0.01}};
    m.memory[0] = (struct axp__machine_memory){
        AXP_LEVEL_L1, 49152, 2, {200e9, 0}, {800e9, 0}, {220e9, 0}, {850e9, 0}};
    m.memory[1] = (struct axp__machine_memory){
        AXP_LEVEL_MEMORY, 64ull << 30, 8,          {12e9, 0},
        {40e9, 0},        {11e9, 0},   {38e9, 0.3}};
    m.blas[0] =
        (struct axp__machine_blas){64, 32, 16, {50e9, 0.002}, {70e9, 0.5}};
    return m;
}

static void reads_what_it_wrote(void **state)
{
    char text[AXP__MACHINE_TEXT], again[AXP__MACHINE_TEXT];
    struct axp__machine m = sample(), got;
    (void)state;
    size_t len = axp__machine_put(&m, text, sizeof text);
    assert_int_equal(len, strlen(text));
    assert_true(axp__machine_get(&got, text, len));
    assert_string_equal(got.cpu, m.cpu);
    assert_string_equal(got.blas_name, m.blas_name);
    assert_int_equal(got.n_threads, 4);
    assert_true(got.quota == 4.5 && got.load == 1.25 && got.hz.best == 3e9);
    assert_true(got.compute[1].all.best == 11000e9 &&
                got.compute[1].dtype == AXP_BF16);
    assert_true(got.memory[1].move_all.best == 38e9 &&
                got.memory[1].bytes == 64ull << 30);
    assert_true(got.is_short && !got.is_partial);
    assert_int_equal(axp__machine_put(&got, again, sizeof again), len);
    assert_string_equal(again, text);
}

/* Everything that can be in it fits a name of a recording. */
static void is_never_too_long(void **state)
{
    char text[AXP__MACHINE_TEXT + 100];
    struct axp__machine m = sample(), got;
    (void)state;
    m.n_compute = 24; /* the most that an architecture has is 14 */
    for (size_t i = 0; i < m.n_compute; i++)
        m.compute[i] = (struct axp__machine_compute){
            AXP_BF16, "avx512-something", {1e18, 1}, {1e18, 1}};
    m.n_memory = 4;
    for (size_t i = 0; i < m.n_memory; i++) {
        m.memory[i] = m.memory[1];
        m.memory[i].level = (axp_level)(AXP_LEVEL_L1 + i);
    }
    m.n_blas = AXP__MACHINE_BLAS;
    for (size_t i = 0; i < m.n_blas; i++)
        m.blas[i] = m.blas[0];
    size_t len = axp__machine_put(&m, text, sizeof text);
    assert_true(len < AXP__MACHINE_TEXT - 100);
    assert_true(axp__machine_get(&got, text, len));
    assert_int_equal(got.n_compute, m.n_compute);
}

static bool reads(const char *text)
{
    struct axp__machine m;
    return axp__machine_get(&m, text, strlen(text));
}

#define HEAD "axprof-machine 1\ncpu x\narch y\ncounts 1 1 1 1 1 1\n"

static void refuses_what_cannot_be(void **state)
{
    static const char *const bad[] = {
        "",
        "end\n",
        "axprof-machine 2\ncpu x\narch y\ncounts 1 1 1 1 1 1\nend\n",
        "axprof-machine 1\nend\n",
        HEAD,               /* cut */
        HEAD "end",         /* cut */
        HEAD "end\nmore\n", /* what comes after it */
        "axprof-machine 1\ncpu \narch y\ncounts 1 1 1 1 1 1\nend\n",
        "axprof-machine 1\ncpu a\x1b[31m\narch y\ncounts 1 1 1 1 1 1\nend\n",
        "axprof-machine 1\ncpu x\narch y\ncounts 0 0 0 0 0 0\nend\n",
        "axprof-machine 1\ncpu x\narch y\ncounts 1 1 -1 1 1 1\nend\n",
        HEAD "hz nan 0\nend\n",
        HEAD "hz -5 0\nend\n",
        HEAD "hz 1e9 0\nend\n",
        HEAD "hz 5\nend\n",
        HEAD "hz 5 1001\nend\n",
        HEAD "hz 99999999999999999999999999 0\nend\n",
        HEAD "compute f99 neon 1 0 1 0\nend\n",
        HEAD "compute f32 neon 1 0 1\nend\n",
        HEAD "compute f32 a-name-that-is-much-too-long-for-it 1 0 1 0\nend\n",
        HEAD "memory L9 1 1 1 0 1 0 1 0 1 0\nend\n",
        HEAD "memory L2 1 1 1 0 1 0 1 0 1 0\n" /* twice */
             "memory L2 1 1 1 0 1 0 1 0 1 0\nend\n",
        HEAD "memory L2 1 0 1 0 1 0 1 0 1 0\nend\n",
        HEAD "blas 0 1 1 1 0 1 0\nend\n",
    };
    (void)state;
    assert_true(reads(HEAD "end\n"));
    assert_true(reads(HEAD "something new 1 2 3\nend\n"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (reads(bad[i])) fail_msg("took %s", bad[i]);
    /* 0 bytes, and more than there may be */
    struct axp__machine m;
    assert_false(axp__machine_get(&m, HEAD "\0end\n", sizeof HEAD + 4));
    char *much = calloc(1, 10000);
    memset(much, ' ', 9999);
    assert_false(axp__machine_get(&m, much, 9999));
    free(much);
}

/* Lists that have more than there is room for. */
static void refuses_too_many(void **state)
{
    char text[AXP__MACHINE_TEXT] = HEAD;
    (void)state;
    for (int i = 0; i <= AXP__MACHINE_COMPUTE; i++)
        strcat(text, "compute f32 a 1 0 1 0\n");
    strcat(text, "end\n");
    assert_false(reads(text));
    strcpy(text, HEAD);
    for (int i = 0; i <= AXP__MACHINE_BLAS; i++)
        strcat(text, "blas 1 1 1 1 0 1 0\n");
    strcat(text, "end\n");
    assert_false(reads(text));
}

/* Any bytes lead to an answer, and to one that is written and read again. */
static void takes_any_bytes(void **state)
{
    char text[AXP__MACHINE_TEXT], again[AXP__MACHINE_TEXT];
    struct axp__machine m = sample(), got, third;
    size_t len = axp__machine_put(&m, text, sizeof text);
    uint64_t seed = 1, taken = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        char copy[AXP__MACHINE_TEXT];
        memcpy(copy, text, len);
        for (int k = 0; k < 1 + i % 3; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            copy[(seed >> 33) % len] = (char)(seed >> 20);
        }
        if (!axp__machine_get(&got, copy, len)) continue;
        taken++;
        size_t n = axp__machine_put(&got, again, sizeof again);
        assert_true(axp__machine_get(&third, again, n));
    }
    assert_true(taken > 100);
}

static void scales_with_threads(void **state)
{
    struct axp__machine m = sample();
    (void)state;
    assert_true(axp__machine_scaled(&m, 10, 35, 1) == 10);
    assert_true(axp__machine_scaled(&m, 10, 35, 2) == 20);
    assert_true(axp__machine_scaled(&m, 10, 35, 4) == 35);
    assert_true(axp__machine_scaled(&m, 10, 35, 400) == 35);
    assert_true(axp__machine_scaled(&m, 10, 8, 4) == 10); /* a noisy trial */
    assert_true(axp__machine_scaled(&m, 10, 0, 4) == 0);  /* not known */
    assert_ptr_equal(axp__machine_compute_of(&m, AXP_BF16), &m.compute[1]);
    assert_ptr_equal(axp__machine_compute_of(&m, AXP_DTYPE_UNKNOWN),
                     &m.compute[0]);
    /* It has no such type: as single precision. */
    assert_ptr_equal(axp__machine_compute_of(&m, AXP_F16), &m.compute[0]);
    assert_int_equal(axp__machine_doubtful(&m), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_wrote),
        cmocka_unit_test(is_never_too_long),
        cmocka_unit_test(refuses_what_cannot_be),
        cmocka_unit_test(refuses_too_many),
        cmocka_unit_test(takes_any_bytes),
        cmocka_unit_test(scales_with_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
