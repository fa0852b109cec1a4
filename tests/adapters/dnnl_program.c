/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Primitives of a oneDNN that does nothing (dnnl_stub.c), version 2 or 3, with the
 * adapter loaded: each execution is one scope with its kind, implementation, shape
 * and the work that loops over its tensors count.
 */
#undef NDEBUG
#include <assert.h>
#include <axprof/axprof_read.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dnnl_stub.h"

#if STUB_VERSION == 3
enum { INNER = 10, MATMUL = 14, SOFTMAX = 19, POOLING = 16 };
#else
enum { INNER = 13, MATMUL = 18, SOFTMAX = 23, POOLING = 20 };
#endif
enum { REORDER = 1, CONVOLUTION = 5, DECONVOLUTION = 6, ELTWISE = 7 };
enum { FORWARD = 64, BACKWARD_DATA = 160, BACKWARD_WEIGHTS = 192 };
enum { SRC = 1, DST = 17, WEIGHTS = 33, BIAS = 41, SCRATCH = 80, DIFF = 128 };
enum { F16 = 1, F32 = 3, S8 = 5 };

#define TENSOR(type, n, ...)                                                   \
    (&(struct stub_memory){{.n_dims = n, .dims = {__VA_ARGS__}, .dtype = type}})

static axp_view *view;

/* The one operation that was recorded since the last time, and its shape. */
static axp_op only(const char *name, const uint32_t dims[6])
{
    axp_op op;
    axp_shape shape[2];
    view = axp_snapshot(axp_global());
    assert(view && axp_view_ops(view, AXP_BY_SELF, &op, 1) == 1);
    if (strcmp(op.name, name) != 0) {
        fprintf(stderr, "\"%s\", but \"%s\" was expected\n", op.name, name);
        exit(1);
    }
    size_t n = axp_view_shapes(view, &op, shape, 2);
    assert(n == (dims[0] != 0));
    if (n) assert(!memcmp(shape[0].dims, dims, sizeof shape[0].dims));
    return op;
}

static void expect(const char *name, const uint32_t dims[6], double flops,
                   double bytes, axp_dtype dtype)
{
    axp_op op = only(name, dims);
    if (op.calls != 1 || op.flops != flops || op.bytes != bytes ||
        op.dtype != dtype) {
        fprintf(stderr, "%s: %.0f FLOPs, %.0f bytes; not %.0f, %.0f\n", name,
                op.flops, op.bytes, flops, bytes);
        exit(1);
    }
    axp_view_destroy(view);
    axp_reset(axp_global());
}
#define DIMS(...) ((const uint32_t[6]){__VA_ARGS__})

static void execute(int kind, int direction, const char *implementation,
                    const struct stub_argument *a, int n)
{
    struct stub_primitive p = {kind, direction, 1, implementation};
    int before = stub_n_executed;
    errno = 1234;
    assert(dnnl_primitive_execute(&p, NULL, n, a) == 0);
    assert(stub_n_executed == before + 1 && errno == 1234);
}
#define EXECUTE(kind, direction, implementation, ...)                          \
    execute(kind, direction, implementation,                                   \
            (struct stub_argument[]){__VA_ARGS__},                             \
            sizeof((struct stub_argument[]){__VA_ARGS__}) /                    \
                sizeof(struct stub_argument))

/* Multiply-adds of a convolution, by doing it: 2 x 6 x 8 x 7 to 4 channels in 2
 * groups, 3 x 2, output 6 x 6. */
static double taps(void)
{
    double n = 0;
    for (int b = 0; b < 2; b++)
        for (int o = 0; o < 4; o++)
            for (int y = 0; y < 6 * 6; y++)
                for (int c = 0; c < 6 / 2; c++)
                    for (int k = 0; k < 3 * 2; k++)
                        n++;
    return n;
}

static void convolutions(void)
{
    struct stub_memory *x = TENSOR(F32, 4, 2, 6, 8, 7),
                       *w = TENSOR(F32, 5, 2, 2, 3, 3, 2),
                       *y = TENSOR(F32, 4, 2, 4, 6, 6), *b = TENSOR(F32, 1, 4);
    double nx = 2 * 6 * 8 * 7, nw = 4 * 3 * 6, ny = 2 * 4 * 36;
    EXECUTE(CONVOLUTION, FORWARD, "jit:neon", {SRC, x}, {WEIGHTS, w}, {DST, y},
            {BIAS, b}, {SCRATCH, TENSOR(F32, 1, 100000)});
    expect("convolution [jit:neon]", DIMS(2, 6, 8, 7, 4, 3), 2 * taps() + ny,
           4 * (nx + nw + ny + 4), AXP_F32);
    EXECUTE(CONVOLUTION, BACKWARD_DATA, "gemm:ref", {SRC + DIFF, x},
            {WEIGHTS, w}, {DST + DIFF, y});
    expect("convolution.backward_data [gemm:ref]", DIMS(2, 6, 8, 7, 4, 3),
           2 * taps(), 4 * (nx + nw + ny), AXP_F32);
    EXECUTE(CONVOLUTION, BACKWARD_WEIGHTS, "gemm:ref", {SRC, x},
            {WEIGHTS + DIFF, w}, {DST + DIFF, y}, {BIAS + DIFF, b});
    expect("convolution.backward_weights [gemm:ref]", DIMS(2, 6, 8, 7, 4, 3),
           2 * taps() + ny, 4 * (nx + nw + ny + 4), AXP_F32);
    /* the other way: what was the output is the input */
    EXECUTE(DECONVOLUTION, FORWARD, NULL, {SRC, y}, {WEIGHTS, w}, {DST, x});
    expect("deconvolution", DIMS(2, 4, 6, 6, 6, 3), 2 * taps(),
           4 * (nx + nw + ny), AXP_F32);
}

static void products(void)
{
    EXECUTE(MATMUL, 0, "brg:sve", {SRC, TENSOR(F16, 2, 7, 3)},
            {WEIGHTS, TENSOR(F16, 2, 3, 5)}, {DST, TENSOR(F32, 2, 7, 5)});
    expect("matmul [brg:sve]", DIMS(7, 5, 3), 2 * 105, 2 * (21 + 15) + 4 * 35,
           AXP_F16);
    EXECUTE(MATMUL, 0, "ref", {SRC, TENSOR(F32, 4, 2, 3, 7, 3)},
            {WEIGHTS, TENSOR(F32, 4, 2, 3, 3, 5)},
            {DST, TENSOR(F32, 4, 2, 3, 7, 5)});
    expect("matmul [ref]", DIMS(6, 7, 5, 3), 6 * 2 * 105,
           4 * 6 * (21 + 15 + 35), AXP_F32);
    EXECUTE(INNER, FORWARD, "gemm", {SRC, TENSOR(S8, 4, 9, 2, 3, 3)},
            {WEIGHTS, TENSOR(S8, 4, 11, 2, 3, 3)},
            {DST, TENSOR(F32, 2, 9, 11)});
    expect("inner_product [gemm]", DIMS(9, 11, 18), 2 * 9 * 11 * 18,
           9 * 18 + 11 * 18 + 4 * 99, AXP_I8);
    assert(dnnl_sgemm('N', 'N', 7, 5, 3, 1, NULL, 3, NULL, 5, 0, NULL, 5) ==
           42);
    expect("dnnl_sgemm", DIMS(7, 5, 3), 210, 4 * (21 + 15 + 35), AXP_F32);
    assert(dnnl_sgemm('N', 'N', 7, 5, 3, 1, NULL, 3, NULL, 5, 1, NULL, 5) ==
           42);
    expect("dnnl_sgemm", DIMS(7, 5, 3), 210, 4 * (21 + 15 + 70), AXP_F32);
}

static void others(void)
{
    EXECUTE(ELTWISE, FORWARD, "jit", {SRC, TENSOR(F32, 2, 4, 5)},
            {DST, TENSOR(F32, 2, 4, 5)});
    expect("eltwise [jit]", DIMS(4, 5), 20, 160, AXP_F32);
    EXECUTE(SOFTMAX, FORWARD, "jit", {SRC, TENSOR(F32, 2, 4, 5)},
            {DST, TENSOR(F32, 2, 4, 5)});
    expect("softmax [jit]", DIMS(4, 5), 100, 160, AXP_F32);
    EXECUTE(REORDER, 0, "simple:any", {SRC, TENSOR(F32, 2, 4, 5)},
            {DST, TENSOR(F16, 2, 4, 5)});
    expect("reorder [simple:any]", DIMS(4, 5), 0, 80 + 40, AXP_F32);
    EXECUTE(POOLING, FORWARD, "ref", {SRC, TENSOR(F32, 4, 1, 2, 8, 8)},
            {DST, TENSOR(F32, 4, 1, 2, 4, 4)});
    expect("pooling [ref]", DIMS(1, 2, 4, 4), 0, 4 * (128 + 32), AXP_F32);
    EXECUTE(1000, 0, NULL, {DST, TENSOR(77, 1, 3)});
    expect("primitive", DIMS(3), 0, 0, AXP_DTYPE_UNKNOWN);
}

/* Extents that are only known later, that are none, and no tensor at all. */
static void bad_tensors(void)
{
    EXECUTE(MATMUL, 0, "ref", {SRC, TENSOR(F32, 2, INT64_MIN, 3)},
            {WEIGHTS, TENSOR(F32, 2, 3, 5)},
            {DST, TENSOR(F32, 2, INT64_MIN, 5)});
    axp_op op = only("matmul [ref]", DIMS(5, 3));
    assert(op.calls == 1 && op.flops == 0);
    axp_view_destroy(view);
    axp_reset(axp_global());
    EXECUTE(CONVOLUTION, FORWARD, "ref", {SRC, TENSOR(F32, 13, 1)},
            {DST, TENSOR(F32, -1, 1)}, {WEIGHTS, NULL});
    expect("convolution [ref]", DIMS(0), 0, 0, AXP_DTYPE_UNKNOWN);
    EXECUTE(MATMUL, 0, "ref",
            {SRC, TENSOR(F32, 3, INT64_MAX, INT64_MAX, INT64_MAX)},
            {DST, TENSOR(F32, 3, INT64_MAX, INT64_MAX, INT64_MAX)});
    op = only("matmul [ref]",
              DIMS(UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX));
    assert(op.flops > 1e70 && op.flops < 1e80);
    axp_view_destroy(view);
    axp_reset(axp_global());
}

static void execute_inner(void)
{
    void (*again)(void) = stub_on_execute;
    stub_on_execute = NULL;
    struct stub_primitive p = {ELTWISE, FORWARD, 1, "jit"};
    dnnl_primitive_execute(&p, NULL, 0, NULL);
    stub_on_execute = again;
}

/* What a primitive executes within itself is its own; on a device nothing is
 * known of the work here. */
static void once_and_elsewhere(void)
{
    stub_on_execute = execute_inner;
    struct stub_primitive p = {ELTWISE, FORWARD, 1, "outer"};
    dnnl_primitive_execute(&p, NULL, 0, NULL);
    stub_on_execute = NULL;
    expect("eltwise [outer]", DIMS(0), 0, 0, AXP_DTYPE_UNKNOWN);
    p.engine = 2;
    struct stub_argument a = {DST, TENSOR(F32, 1, 9)};
    dnnl_primitive_execute(&p, NULL, 1, &a);
    expect("eltwise [outer]", DIMS(0), 0, 0, AXP_DTYPE_UNKNOWN);
}

int main(void)
{
    axp_reset(axp_global());
    convolutions();
    products();
    others();
    bad_tensors();
    once_and_elsewhere();
    puts("all as expected");
    return 0;
}
