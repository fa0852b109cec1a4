/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls of a BLAS that does nothing (blas_stub.c), with the adapter loaded: each
 * routine gets what its caller passed, is one scope whatever it calls, and its
 * work is what loops over its matrices count.
 */
#undef NDEBUG
#include <assert.h>
#include <axprof/axprof_read.h>
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapters/blas/blas_work.h"
#include "blas_stub.h"

#define SUB(symbol, signature, op, work)                                       \
    extern void symbol PARAMETERS_##signature;
#define FUN(symbol, result, signature, op, work)                               \
    extern result symbol PARAMETERS_##signature;
#include "adapters/blas/blas_calls.def"

/* ---- arguments ------------------------------------------------------------- */

/* What pointers point to: an int, a letter, a number, whatever is read. */
static int32_t there[64] = {1, 1, 1, 1};

static W word(int i)
{
    return (W)(there + i);
}

/* The 15th is how many groups a batch has: none, in a word that is not 0. */
static W word_at(int i)
{
    return i == 14 ? (W)5 << 32 : word(i);
}

/* Each word must arrive whole, and in its place. */
static void check_seen(const char *symbol, const W *words, size_t n,
                       const void *s, size_t s_bytes, const void *t,
                       size_t t_bytes)
{
    uint64_t scalar[2] = {0, 0};
    if (s) memcpy(&scalar[0], s, s_bytes);
    if (t) memcpy(&scalar[1], t, t_bytes);
    if (strcmp(blas_seen.symbol, symbol) != 0 || blas_seen.n_words != n ||
        memcmp(blas_seen.word, words, n * sizeof *words) != 0 ||
        memcmp(blas_seen.scalar, scalar, sizeof scalar) != 0) {
        fprintf(stderr, "%s: other arguments than were passed\n", symbol);
        exit(1);
    }
}

#define L_1(i) word_at(i)
#define L_2(i) L_1(i), word_at(i + 1)
#define L_3(i) L_2(i), word_at(i + 2)
#define L_4(i) L_3(i), word_at(i + 3)
#define L_5(i) L_4(i), word_at(i + 4)
#define L_6(i) L_5(i), word_at(i + 5)
#define L_7(i) L_6(i), word_at(i + 6)
#define L_8(i) L_7(i), word_at(i + 7)
#define L_9(i) L_8(i), word_at(i + 8)
#define L_10(i) L_9(i), word_at(i + 9)
#define L_11(i) L_10(i), word_at(i + 10)
#define L_12(i) L_11(i), word_at(i + 11)
#define L_13(i) L_12(i), word_at(i + 12)
#define L_14(i) L_13(i), word_at(i + 13)
#define L_15(i) L_14(i), word_at(i + 14)
#define L_16(i) L_15(i), word_at(i + 15)
#define L_17(i) L_16(i), word_at(i + 16)
#define L_18(i) L_17(i), word_at(i + 17)
#define L_19(i) L_18(i), word_at(i + 18)

#define IS_W(S) _Generic((S)0, W : 1, default : 0)
/* A scalar: by pointer, or a number. */
#define SCALAR(S) (IS_W(S) ? (S)word(0) : (S)-1.25)

#define PASS_S0(n)                                                             \
    CALL(call(L_##n(0)));                                                      \
    check_seen(symbol, (W[]){L_##n(0)}, n, NULL, 0, NULL, 0)
#define PASS_S1(n, S, k)                                                       \
    S s = SCALAR(S);                                                           \
    CALL(call(L_##n(0), s, L_##k(n)));                                         \
    check_seen(symbol, (W[]){L_##n(0), L_##k(n)}, n + k, &s, sizeof s, NULL, 0)
#define PASS_S2(n, S, k, T, l)                                                 \
    S s = SCALAR(S);                                                           \
    T t = SCALAR(T);                                                           \
    CALL(call(L_##n(0), s, L_##k(n), t, L_##l(n + k)));                        \
    check_seen(symbol, (W[]){L_##n(0), L_##k(n), L_##l(n + k)}, n + k + l, &s, \
               sizeof s, &t, sizeof t)
#define PASS_S3(n, S, T)                                                       \
    S s = SCALAR(S);                                                           \
    T t = SCALAR(T);                                                           \
    CALL(call(L_##n(0), s, t));                                                \
    check_seen(symbol, (W[]){L_##n(0)}, n, &s, sizeof s, &t, sizeof t)

#define CALL(call) call
#define SUB(name, signature, op, work)                                         \
    static void pass_##name(void)                                              \
    {                                                                          \
        void(*call) PARAMETERS_##signature = name;                             \
        const char *symbol = #name;                                            \
        PASS_##signature;                                                      \
    }
#define FUN(name, result, signature, op, work)
#include "adapters/blas/blas_calls.def"
#undef CALL

#define CALL(call) assert((int)call == BLAS_STUB_RESULT)
#define SUB(name, signature, op, work)
#define FUN(name, result, signature, op, work)                                 \
    static void pass_##name(void)                                              \
    {                                                                          \
        result(*call) PARAMETERS_##signature = name;                           \
        const char *symbol = #name;                                            \
        PASS_##signature;                                                      \
    }
#include "adapters/blas/blas_calls.def"
#undef CALL

static void arguments_arrive(void)
{
    static void (*const passes[])(void) = {
#define SUB(name, ...) pass_##name,
#define FUN(name, ...) pass_##name,
#include "adapters/blas/blas_calls.def"
    };
    errno = 1234;
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        passes[i]();
    assert(errno == 1234);
    axp_reset(axp_global());
}

/* ---- work ------------------------------------------------------------------ */

static axp_op op_of(const char *name)
{
    axp_view *v = axp_snapshot(axp_global());
    axp_op op;
    memset(&op, 0, sizeof op);
    assert(v);
    (void)axp_view_op(v, name, &op);
    axp_view_destroy(v);
    op.name = NULL; /* the view's */
    return op;
}

/* What was recorded since the last time is this, and nothing else. */
static void expect(const char *name, uint64_t calls, double flops, double bytes,
                   axp_dtype dtype)
{
    axp_op op = op_of(name);
    if (op.calls != calls || op.flops != flops || op.bytes != bytes ||
        op.dtype != dtype) {
        fprintf(stderr, "%s: %llu calls, %.0f FLOPs, %.0f bytes, type %d\n",
                name, (unsigned long long)op.calls, op.flops, op.bytes,
                (int)op.dtype);
        fprintf(stderr, "  but %llu calls, %.0f FLOPs, %.0f bytes, type %d\n",
                (unsigned long long)calls, flops, bytes, (int)dtype);
        exit(1);
    }
    axp_reset(axp_global());
}

static float f_one[2] = {1, 0}, f_none[2] = {0, 0};
static double d_one[2] = {1, 0}, d_none[2] = {0, 0};
static W at(const void *p)
{
    return (W)p;
}
#define I(v) at(&(int32_t){v})
enum { ROW = 101, PLAIN_ = 111, TURNED = 112, LEFT_ = 141, RIGHT_ = 142 };

/* Multiplications of a product of m x k and k x n, by doing it. */
static double products(int m, int n, int k)
{
    double count = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int l = 0; l < k; l++)
                count++;
    return count;
}

/* Elements of one half of a matrix and its diagonal. */
static double half(int n)
{
    double count = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            count++;
    return count;
}

static void products_count(void)
{
    double flops = 2 * products(7, 5, 3), in = 7 * 3 + 3 * 5, out = 7 * 5;
    cblas_sgemm(ROW, PLAIN_, PLAIN_, 7, 5, 3, 1, 0, 3, 0, 5, 0, 0, 5);
    expect("sgemm", 1, flops, 4 * (in + out), AXP_F32);
    cblas_sgemm(ROW, PLAIN_, PLAIN_, 7, 5, 3, 1, 0, 3, 0, 5, 0.5f, 0, 5);
    expect("sgemm", 1, flops, 4 * (in + 2 * out), AXP_F32);
    dgemm_(at("N"), at("T"), I(7), I(5), I(3), at(d_one), 0, I(7), 0, I(5),
           at(d_none), 0, I(7), 1, 1);
    expect("dgemm", 1, flops, 8 * (in + out), AXP_F64);
    cblas_cgemm(ROW, PLAIN_, TURNED, 7, 5, 3, at(f_one), 0, 3, 0, 3, at(f_one),
                0, 5);
    expect("cgemm", 1, 4 * flops, 8 * (in + 2 * out), AXP_C64);
    zgemm_(at("N"), at("T"), I(7), I(5), I(3), at(d_one), 0, I(7), 0, I(5),
           at(d_one), 0, I(7), 1, 1);
    expect("zgemm", 1, 4 * flops, 16 * (in + 2 * out), AXP_C128);
    zgemm3m_(at("N"), at("T"), I(7), I(5), I(3), at(d_one), 0, I(7), 0, I(5),
             at(d_none), 0, I(7), 1, 1);
    expect("zgemm3m", 1, 4 * flops, 16 * (in + out), AXP_C128);
    sbgemm_(at("N"), at("T"), I(7), I(5), I(3), at(f_one), 0, I(7), 0, I(5),
            at(f_none), 0, I(7), 1, 1);
    expect("sbgemm", 1, flops, 2 * in + 4 * out, AXP_BF16);
    /* nothing to do, and what no BLAS would do */
    cblas_sgemm(ROW, PLAIN_, PLAIN_, 0, 5, 3, 1, 0, 3, 0, 5, 0, 0, 5);
    cblas_sgemm(ROW, PLAIN_, PLAIN_, 7, -5, 3, 1, 0, 3, 0, 5, 0, 0, 5);
    expect("sgemm", 2, 0, 0, AXP_DTYPE_UNKNOWN);
    /* the upper half of an int in a register is anybody's */
    cblas_sgemm(ROW, PLAIN_, PLAIN_, 7 + ((W)1 << 40), 5, 3 + ((W)9 << 32), 1,
                0, 3, 0, 5, 0, 0, 5);
    expect("sgemm", 1, flops, 4 * (in + out), AXP_F32);
}

/* Whether beta is 0: of a C that may be -0, or no number, which raises no flag of
 * the program's. */
static void betas_are_looked_at(void)
{
    static const float f[] = {-0.0f, -0.0f}, f_nan[] = {NAN, 0};
    static const double d[] = {-0.0, -0.0}, d_nan[] = {0, NAN};
    double flops = 2 * products(7, 5, 3), in = 7 * 3 + 3 * 5, out = 7 * 5;
    feclearexcept(FE_ALL_EXCEPT);
    for (int i = 0; i < 2; i++) {
        const float *f_beta = i ? f_nan : f;
        const double *d_beta = i ? d_nan : d;
        sgemm_(at("N"), at("T"), I(7), I(5), I(3), at(f_one), 0, I(7), 0, I(5),
               at(f_beta), 0, I(7), 1, 1);
        assert(!fetestexcept(FE_ALL_EXCEPT));
        expect("sgemm", 1, flops, 4 * (in + (1 + i) * out), AXP_F32);
        feclearexcept(FE_ALL_EXCEPT);
        zgemm_(at("N"), at("T"), I(7), I(5), I(3), at(d_one), 0, I(7), 0, I(5),
               at(d_beta), 0, I(7), 1, 1);
        assert(!fetestexcept(FE_ALL_EXCEPT));
        expect("zgemm", 1, 4 * flops, 16 * (in + (1 + i) * out), AXP_C128);
        feclearexcept(FE_ALL_EXCEPT);
    }
}

static void batches_count(void)
{
    int32_t m[] = {2, 3}, n[] = {4, 5}, k[] = {6, 7}, sizes[] = {10, 20};
    cblas_sgemm_batch(ROW, 0, 0, at(m), at(n), at(k), 0, 0, 0, 0, 0, 0, 0, 0, 2,
                      at(sizes));
    expect("sgemm_batch", 1,
           2 * (10 * products(2, 4, 6) + 20 * products(3, 5, 7)),
           4 * (10 * (12 + 24 + 16) + 20 * (21 + 35 + 30)), AXP_F32);
    cblas_dgemm_batch(ROW, 0, 0, at(m), at(n), at(k), 0, 0, 0, 0, 0, 0, 0, 0, 1,
                      at(sizes));
    expect("dgemm_batch", 1, 2 * 10 * products(2, 4, 6),
           8 * 10 * (12 + 24 + 16), AXP_F64);
    cblas_sgemm_batch_strided(ROW, PLAIN_, PLAIN_, 2, 4, 6, 1, 0, 6, 12, 0, 4,
                              24, 0, 0, 4, 8, 9);
    expect("sgemm_batch", 1, 2 * 9 * products(2, 4, 6), 4 * 9 * (12 + 24 + 8),
           AXP_F32);
}

static void level_3_counts(void)
{
    int m = 6, n = 4, k = 5;
    cblas_ssymm(ROW, RIGHT_, 121, m, n, 1, 0, n, 0, n, 0, 0, n);
    expect("ssymm", 1, 2 * products(m, n, n), 4 * (half(n) + 2 * m * n),
           AXP_F32);
    dsymm_(at("L"), at("U"), I(m), I(n), at(d_one), 0, I(m), 0, I(m), at(d_one),
           0, I(m), 1, 1);
    expect("dsymm", 1, 2 * products(m, n, m), 8 * (half(m) + 3 * m * n),
           AXP_F64);
    /* each element of the half: k multiply-adds */
    cblas_ssyrk(ROW, 121, PLAIN_, n, k, 1, 0, k, 0, 0, n);
    expect("ssyrk", 1, 2 * k * half(n), 4 * (n * k + half(n)), AXP_F32);
    cblas_cherk(ROW, 121, PLAIN_, n, k, 1, 0, k, 0, 0, n);
    expect("cherk", 1, 8 * k * half(n), 8 * (n * k + half(n)), AXP_C64);
    dsyr2k_(at("U"), at("N"), I(n), I(k), at(d_one), 0, I(n), 0, I(n),
            at(d_one), 0, I(n), 1, 1);
    expect("dsyr2k", 1, 4 * k * half(n), 8 * (2 * n * k + 2 * half(n)),
           AXP_F64);
    /* of column i: i multiply-adds and one multiplication */
    strsm_(at("l"), at("U"), at("N"), at("N"), I(m), I(n), at(f_one), 0, I(m),
           0, I(m), 1, 1, 1, 1);
    expect("strsm", 1, n * (2 * half(m) - m), 4 * (half(m) + 2 * m * n),
           AXP_F32);
    cblas_dtrmm(ROW, RIGHT_, 121, PLAIN_, 131, m, n, 1, 0, n, 0, n);
    expect("dtrmm", 1, m * (2 * half(n) - n), 8 * (half(n) + 2 * m * n),
           AXP_F64);
}

static void level_2_counts(void)
{
    int m = 6, n = 4;
    cblas_sgemv(ROW, TURNED, m, n, 1, 0, n, 0, 1, 0.5f, 0, 1);
    expect("sgemv", 1, 2 * products(m, n, 1), 4 * (m * n + m + 2 * n), AXP_F32);
    sgemv_(at("N"), I(m), I(n), at(f_one), 0, I(m), 0, I(1), at(f_one), 0, I(1),
           1);
    expect("sgemv", 1, 2 * products(m, n, 1), 4 * (m * n + n + 2 * m), AXP_F32);
    cblas_dger(ROW, m, n, 1, 0, 1, 0, 1, 0, n);
    expect("dger", 1, 2 * m * n, 8 * (2 * m * n + m + n), AXP_F64);
    dsymv_(at("U"), I(n), at(d_one), 0, I(n), 0, I(1), at(d_none), 0, I(1), 1);
    expect("dsymv", 1, 2 * n * n, 8 * (half(n) + 2 * n), AXP_F64);
    cblas_ssyr(ROW, 121, n, 1, 0, 1, 0, n);
    expect("ssyr", 1, 2 * half(n), 4 * (2 * half(n) + n), AXP_F32);
    cblas_zher2(ROW, 121, n, at(d_one), 0, 1, 0, 1, 0, n);
    expect("zher2", 1, 16 * half(n), 16 * (2 * half(n) + 2 * n), AXP_C128);
    strsv_(at("U"), at("N"), at("N"), I(n), 0, I(n), 0, I(1), 1, 1, 1);
    expect("strsv", 1, 2 * half(n) - n, 4 * (half(n) + 2 * n), AXP_F32);
}

static void level_1_counts(void)
{
    cblas_saxpy(9, 2, 0, 1, 0, 1);
    expect("saxpy", 1, 18, 4 * 27, AXP_F32);
    caxpy_(I(9), at(f_one), 0, I(1), 0, I(1));
    expect("caxpy", 1, 72, 8 * 27, AXP_C64);
    assert(cblas_ddot(9, 0, 1, 0, 1) == BLAS_STUB_RESULT);
    expect("ddot", 1, 18, 8 * 18, AXP_F64);
    cblas_zdotc_sub(9, 0, 1, 0, 1, 0);
    expect("zdotc", 1, 72, 16 * 18, AXP_C128);
    sscal_(I(9), at(f_one), 0, I(1));
    expect("sscal", 1, 9, 4 * 18, AXP_F32);
    cblas_zdscal(9, 2, 0, 1);
    expect("zdscal", 1, 18, 16 * 18, AXP_C128);
    cblas_dcopy(9, 0, 1, 0, 1);
    expect("dcopy", 1, 0, 8 * 18, AXP_F64);
    assert(snrm2_(I(9), 0, I(1)) == BLAS_STUB_RESULT);
    expect("snrm2", 1, 18, 4 * 9, AXP_F32);
    assert(cblas_dzasum(9, 0, 1) == BLAS_STUB_RESULT);
    expect("dzasum", 1, 18, 16 * 9, AXP_C128);
    assert(cblas_isamax(9, 0, 1) == BLAS_STUB_RESULT);
    expect("isamax", 1, 9, 4 * 9, AXP_F32);
    cblas_srot(9, 0, 1, 0, 1, 1, 0);
    expect("srot", 1, 54, 4 * 36, AXP_F32);
}

/* ---- one call, one scope ------------------------------------------------------ */

static void call_sgemm(int m, int n, int k)
{
    sgemm_(at("N"), at("N"), I(m), I(n), I(k), at(f_one), 0, I(m), 0, I(k),
           at(f_none), 0, I(m), 1, 1);
}

static void calls_itself(void)
{
    blas_is_reference = 1;
    cblas_sgemm(ROW, PLAIN_, PLAIN_, 7, 5, 3, 1, 0, 3, 0, 5, 0, 0, 5);
    blas_is_reference = 0;
    assert(!strcmp(blas_seen.symbol, "sgemm_"));
    expect("sgemm", 1, 2 * 105, 4 * (21 + 15 + 35), AXP_F32);
}

static jmp_buf out;
static void jump(const char *symbol)
{
    (void)symbol;
    longjmp(out, 1);
}

static __attribute__((noinline)) void call_from_below(void)
{
    char room[4096];
    __asm__ volatile("" ::"r"(room) : "memory");
    call_sgemm(2, 2, 2);
    __asm__ volatile("" ::"r"(room) : "memory");
}

/* In another object, which has its own frame: blas_library.c. */
extern void call_from_elsewhere(void);

/* Who was left by a jump is not inside any more, wherever the next one calls. */
static void left_by_a_jump(void)
{
    blas_on_call = jump;
    if (!setjmp(out)) call_sgemm(2, 2, 2);
    blas_on_call = NULL;
    for (int i = 0; i < 3; i++)
        call_from_elsewhere();
    expect("sgemm", 4, 4 * 16, 4 * 4 * 12, AXP_F32);
    blas_on_call = jump;
    if (!setjmp(out)) call_sgemm(2, 2, 2);
    blas_on_call = NULL;
    for (int i = 0; i < 3; i++)
        call_sgemm(2, 2, 2);
    expect("sgemm", 4, 4 * 16, 4 * 4 * 12, AXP_F32);
    blas_on_call = jump;
    if (!setjmp(out)) call_sgemm(2, 2, 2);
    blas_on_call = NULL;
    for (int i = 0; i < 3; i++)
        call_from_below();
    expect("sgemm", 4, 4 * 16, 4 * 4 * 12, AXP_F32);
}

static void *thread_main(void *unused)
{
    for (int i = 0; i < 1000; i++)
        call_sgemm(2, 2, 2);
    return unused;
}

static void threads(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        assert(!pthread_create(&t[i], NULL, thread_main, NULL));
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    expect("sgemm", 4000, 4000.0 * 16, 4000.0 * 48, AXP_F32);
}

static void forked(void)
{
    int status;
    pid_t child = fork();
    if (!child) {
        call_sgemm(2, 2, 2);
        expect("sgemm", 1, 16, 48, AXP_F32);
        _exit(0);
    }
    assert(waitpid(child, &status, 0) == child && status == 0);
    axp_reset(axp_global());
}

/* A million dot products of 3 numbers, and a large one among them. */
static void small_ones_are_muted(void)
{
    enum { N = 1000000 };
    for (int i = 0; i < N; i++)
        cblas_sdot(3, 0, 1, 0, 1);
    cblas_sdot(100000, 0, 1, 0, 1);
    axp_op op = op_of("sdot");
    assert(op.calls >= 16384 + 1 && op.calls < N);
    assert(op.flops == 6.0 * (double)(op.calls - 1) + 200000);
    call_sgemm(2, 2, 2);
    assert(op_of("sgemm").calls == 1);
    /* counted exactly: told every 2^20 calls, here by one thread at its end */
    axp_reset(axp_global());
}

static void *many_dots(void *calls)
{
    for (int i = 0; i < 200000; i++)
        cblas_ddot(3, 0, 1, 0, 1);
    *(uint64_t *)calls = op_of("ddot").calls;
    return NULL;
}

static int find_muted(const axp_counter_info *c, size_t n, double *value)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(c[i].name, "cblas_ddot")) {
            *value = c[i].last;
            return 1;
        }
    return 0;
}

static void muted_ones_are_told(void)
{
    uint64_t recorded = 0;
    pthread_t t;
    assert(!pthread_create(&t, NULL, many_dots, &recorded));
    pthread_join(t, NULL);
    axp_view *v = axp_snapshot(axp_global());
    axp_counter_info counters[64];
    size_t n = axp_view_counters(v, counters, 64);
    double muted = 0;
    assert(n <= 64 && find_muted(counters, n, &muted));
    assert((double)recorded + muted == 200000);
    axp_view_destroy(v);
    axp_reset(axp_global());
}

static void off(void)
{
    axp_set_enabled(axp_global(), false);
    call_sgemm(2, 2, 2);
    axp_set_enabled(axp_global(), true);
    expect("sgemm", 0, 0, 0, AXP_DTYPE_UNKNOWN);
}

int main(void)
{
    arguments_arrive();
    products_count();
    betas_are_looked_at();
    batches_count();
    level_3_counts();
    level_2_counts();
    level_1_counts();
    calls_itself();
    left_by_a_jump();
    threads();
    forked();
    off();
    small_ones_are_muted();
    muted_ones_are_told();
    puts("all as expected");
    return 0;
}
