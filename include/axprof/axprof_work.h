/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof_work.h: the work of the usual layers, from their shapes. Include
 * axprof.h, which includes this.
 *
 *   AXP_SCOPE_WORK_OF("dense", axp_work_gemm(tokens, out, in, AXP_F32));
 *   AXP_SCOPE_WORK_OF("conv1", axp_work_conv2d(&(axp_conv2d){
 *       .batch = 8, .channels = 64, .height = 56, .width = 56, .filters = 64,
 *       .kernel_height = 3, .kernel_width = 3, .pad = 1, .dtype = AXP_F32}));
 *
 * FLOPs     each addition, multiplication, division, comparison, square root and
 *           exponential is one, so 1 multiply-add = 2; in complex types a
 *           multiply-add is 8. What is counted is what the plain loops of the
 *           layer do, as they stand beside each function.
 * Bytes     each tensor that is read or written counts once: what must cross
 *           memory with caches that are large enough. Unknown type: 0.
 * Backward  of the gradients of all inputs and weights, of a given gradient of
 *           the output. The work of the forward call is not in it.
 * Wrong     a shape with an extent of 0 or less, or one that no such layer can
 *           have, is no work: all is 0, which is shown as unknown. Sums are
 *           doubles: exact up to 2^53, rounded beyond, never overflowing. Extents
 *           past 2^32 - 1 stand as that in dims.
 */
#ifndef AXPROF_WORK_H
#define AXPROF_WORK_H
#include "axprof.h"

#ifdef __cplusplus
#define AXP__CAST(type, value) static_cast<type>(value)
extern "C" {
#else
#define AXP__CAST(type, value) ((type)(value))
#endif

/* Bytes of an element; 0: unknown. */
static inline unsigned axp_dtype_bytes(axp_dtype dtype)
{
    switch (dtype) {
    case AXP_C128: return 16;
    case AXP_F64:
    case AXP_C64: return 8;
    case AXP_F32:
    case AXP_TF32: return 4;
    case AXP_F16:
    case AXP_BF16: return 2;
    case AXP_F8:
    case AXP_I8: return 1;
    default: return 0;
    }
}

static inline double axp__f64(int64_t v)
{
    return AXP__CAST(double, v);
}

static inline uint32_t axp__work_dim(int64_t extent)
{
    const int64_t most = UINT32_MAX;
    return AXP__CAST(uint32_t, extent < most ? extent : most);
}

/* elements: read and written. Any extent that is not above 0: no work. */
static inline axp_work axp__work_make(double flops, double elements,
                                      axp_dtype dtype, const int64_t *dims,
                                      unsigned n_dims)
{
    axp_work work = {0};
    for (unsigned i = 0; i < n_dims; i++)
        if (dims[i] <= 0) return work;
    work.flops = flops;
    work.bytes = elements * axp_dtype_bytes(dtype);
    work.dtype = dtype;
    for (unsigned i = 0; i < n_dims && i < 6; i++)
        work.dims[i] = axp__work_dim(dims[i]);
    return work;
}

/* Of a multiply-add. */
static inline double axp__work_mac(axp_dtype dtype)
{
    return dtype == AXP_C64 || dtype == AXP_C128 ? 8 : 2;
}

/* ---- products ------------------------------------------------------------- */
/* C[m][n] = sum over k of A[m][k] * B[k][n]: 2 mnk. A bias is one elementwise
 * operation more. */
static inline axp_work axp_work_gemm(int64_t m, int64_t n, int64_t k,
                                     axp_dtype dtype)
{
    const int64_t dims[3] = {m, n, k};
    double M = axp__f64(m), N = axp__f64(n), K = axp__f64(k);
    return axp__work_make(axp__work_mac(dtype) * M * N * K,
                          M * K + K * N + M * N, dtype, dims, 3);
}
/* dA = dC B', dB = A' dC: two such products. */
static inline axp_work axp_work_gemm_backward(int64_t m, int64_t n, int64_t k,
                                              axp_dtype dtype)
{
    axp_work work = axp_work_gemm(m, n, k, dtype);
    work.flops *= 2;
    work.bytes *= 2;
    return work;
}

/* So many of them, each with matrices of its own; dims are batch, m, n, k. */
static inline axp_work axp_work_bmm(int64_t batch, int64_t m, int64_t n,
                                    int64_t k, axp_dtype dtype)
{
    const int64_t dims[4] = {batch, m, n, k};
    double M = axp__f64(m), N = axp__f64(n), K = axp__f64(k),
           B = axp__f64(batch);
    return axp__work_make(axp__work_mac(dtype) * B * M * N * K,
                          B * (M * K + K * N + M * N), dtype, dims, 4);
}
static inline axp_work axp_work_bmm_backward(int64_t batch, int64_t m,
                                             int64_t n, int64_t k,
                                             axp_dtype dtype)
{
    axp_work work = axp_work_bmm(batch, m, n, k, dtype);
    work.flops *= 2;
    work.bytes *= 2;
    return work;
}

/* ---- convolution ---------------------------------------------------------- */
typedef struct axp_conv2d {
    int64_t batch, channels, height, width; /* of the input */
    int64_t filters;                        /* channels of the output */
    int64_t kernel_height, kernel_width;
    int64_t stride, dilation, groups; /* 0: 1 */
    int64_t pad;                      /* on each side */
    bool has_bias;
    axp_dtype dtype;
} axp_conv2d;

/* One side of the output; 0: the kernel does not fit, or it is past 2^63. */
static inline int64_t axp__work_conv_side(int64_t in, int64_t kernel,
                                          const axp_conv2d *c)
{
    int64_t stride = c->stride ? c->stride : 1;
    int64_t dilation = c->dilation ? c->dilation : 1, wide, padded, reach;
    if (in <= 0 || kernel <= 0 || stride < 0 || dilation < 0 || c->pad < 0)
        return 0;
    if (__builtin_mul_overflow(c->pad, 2, &wide) ||
        __builtin_add_overflow(in, wide, &padded) ||
        __builtin_mul_overflow(dilation, kernel - 1, &reach) || padded <= reach)
        return 0;
    return (padded - reach - 1) / stride + 1;
}

static inline axp_work axp__work_conv2d(const axp_conv2d *c, int times)
{
    int64_t groups = c->groups ? c->groups : 1;
    const int64_t out_height =
        axp__work_conv_side(c->height, c->kernel_height, c);
    const int64_t out_width = axp__work_conv_side(c->width, c->kernel_width, c);
    bool is_right =
        groups > 0 && c->channels % groups == 0 && c->filters % groups == 0;
    const int64_t dims[8] = {
        c->batch,   c->channels,      c->height, c->width,
        c->filters, c->kernel_height, out_width, is_right ? out_height : 0};
    double in = axp__f64(c->batch) * axp__f64(c->channels) *
                axp__f64(c->height) * axp__f64(c->width);
    double out = axp__f64(c->batch) * axp__f64(c->filters) *
                 axp__f64(out_height) * axp__f64(out_width);
    double taps = axp__f64(c->channels) / axp__f64(groups > 0 ? groups : 1) *
                  axp__f64(c->kernel_height) * axp__f64(c->kernel_width);
    double bias = c->has_bias ? 1 : 0;
    return axp__work_make(times * axp__work_mac(c->dtype) * out * taps +
                              bias * out,
                          times * (in + out + axp__f64(c->filters) * taps) +
                              bias * axp__f64(c->filters),
                          c->dtype, dims, 8);
}

/* y[b][f][i][j] = sum over channels of the group and taps of x * w (+ bias): 2
 * a tap, zeroes of the padding as well; of a bias one addition more an output.
 * dims are batch, channels, height, width, filters, kernel_height. */
static inline axp_work axp_work_conv2d(const axp_conv2d *c)
{
    return axp__work_conv2d(c, 1);
}
/* dx and dw: as many again each; db is the sum of dy. */
static inline axp_work axp_work_conv2d_backward(const axp_conv2d *c)
{
    return axp__work_conv2d(c, 2);
}

/* ---- attention ------------------------------------------------------------ */
typedef struct axp_attention {
    int64_t batch, heads, queries;
    int64_t keys;      /* 0: as many as queries */
    int64_t kv_heads;  /* 0: heads; fewer, which heads share */
    int64_t head_dim;  /* of a query and a key … */
    int64_t value_dim; /* … and of a value; 0: head_dim */
    /* Query i sees the keys up to keys - queries + i: the last queries of a
     * sequence, as with a cache of keys. */
    bool is_causal;
    bool keeps_scores; /* they are in memory between the products */
    axp_dtype dtype;
} axp_attention;

/* a with what 0 stands for; pairs of a query and a key that it sees. */
static inline axp_attention axp__work_attention(const axp_attention *given,
                                                double *pairs)
{
    axp_attention a = *given;
    if (!a.keys) a.keys = a.queries;
    if (!a.kv_heads) a.kv_heads = a.heads;
    if (!a.value_dim) a.value_dim = a.head_dim;
    double q = axp__f64(a.queries), k = axp__f64(a.keys);
    *pairs = q * k;
    if (a.is_causal)
        *pairs =
            a.queries <= a.keys ? q * k - q * (q - 1) / 2 : k * (k + 1) / 2;
    *pairs *= axp__f64(a.batch) * axp__f64(a.heads);
    return a;
}

/* vectors: how often each of a query's and of a key's passes; scores: how often
 * they do, where they are kept. */
static inline axp_work axp__work_attention_make(const axp_attention *a,
                                                double flops, double vectors,
                                                double scores)
{
    const int64_t dims[7] = {a->batch,    a->heads,     a->queries, a->keys,
                             a->head_dim, a->value_dim, a->kv_heads};
    double B = axp__f64(a->batch);
    double each = axp__f64(a->head_dim) + axp__f64(a->value_dim);
    double elements = vectors * each * B *
                      (axp__f64(a->heads) * axp__f64(a->queries) +
                       axp__f64(a->kv_heads) * axp__f64(a->keys));
    if (a->keeps_scores)
        elements += scores * B * axp__f64(a->heads) * axp__f64(a->queries) *
                    axp__f64(a->keys);
    return axp__work_make(flops, elements, a->dtype, dims, 7);
}

/* S = Q K', O = softmax(S) V: 2 (head_dim + value_dim) for each pair of a query
 * and a key. The products alone: softmax is not counted, as nobody does. Causal:
 * the pairs that the mask leaves, n (n + 1) / 2 of n². (Others count n² / 2, or
 * all of them: torch's counter.) Bytes are those of Q, K, V and O; where scores
 * are kept, S and its softmax are written and read too, whole. dims are batch,
 * heads, queries, keys, head_dim, value_dim. */
static inline axp_work axp_work_attention(const axp_attention *given)
{
    double pairs;
    const axp_attention a = axp__work_attention(given, &pairs);
    double flops = 2 * pairs * (axp__f64(a.head_dim) + axp__f64(a.value_dim));
    return axp__work_attention_make(&a, flops, 1, 4);
}
/* dV = P' dO, dP = dO V', dQ = dS K, dK = dS' Q; and S again, unless it is kept.
 * Kept: P is read twice, dP written and read, dS written and read twice. */
static inline axp_work axp_work_attention_backward(const axp_attention *given)
{
    double pairs;
    const axp_attention a = axp__work_attention(given, &pairs);
    double flops = 2 * pairs *
                   ((a.keeps_scores ? 2 : 3) * axp__f64(a.head_dim) +
                    2 * axp__f64(a.value_dim));
    return axp__work_attention_make(&a, flops, 2, 7);
}

/* ---- rows ----------------------------------------------------------------- */
/* x[rows][width], with a scale and a shift for each column: sum of x; d = x -
 * mean, sum of d²; d * r * scale + shift: 7 an element. A row: two divisions by
 * width, + epsilon, square root, 1 / it. */
static inline axp_work axp_work_layernorm(int64_t rows, int64_t width,
                                          axp_dtype dtype)
{
    const int64_t dims[2] = {rows, width};
    double R = axp__f64(rows), W = axp__f64(width);
    return axp__work_make(7 * R * W + 5 * R, 2 * R * W + 2 * W, dtype, dims, 2);
}
/* h = (x - mean) r; dscale += dy h, dshift += dy; g = dy scale; sums of g and of
 * g h; dx = r (g - sum / width - h sum / width): 13 an element, two divisions a
 * row. x and dy are read, dx written; mean and r are there. */
static inline axp_work axp_work_layernorm_backward(int64_t rows, int64_t width,
                                                   axp_dtype dtype)
{
    const int64_t dims[2] = {rows, width};
    double R = axp__f64(rows), W = axp__f64(width);
    return axp__work_make(13 * R * W + 2 * R, 3 * R * W + 2 * R + 3 * W, dtype,
                          dims, 2);
}

/* The greatest of a row, x - it, its exponential, their sum, and a division. */
static inline axp_work axp_work_softmax(int64_t rows, int64_t width,
                                        axp_dtype dtype)
{
    const int64_t dims[2] = {rows, width};
    double R = axp__f64(rows), W = axp__f64(width);
    return axp__work_make(5 * R * W - 2 * R, 2 * R * W, dtype, dims, 2);
}
/* dx = y (dy - sum of y dy). */
static inline axp_work axp_work_softmax_backward(int64_t rows, int64_t width,
                                                 axp_dtype dtype)
{
    const int64_t dims[2] = {rows, width};
    double R = axp__f64(rows), W = axp__f64(width);
    return axp__work_make(4 * R * W - R, 3 * R * W, dtype, dims, 2);
}

/* ---- elements ------------------------------------------------------------- */
/* y[i] = f(a[i], b[i], …): so many inputs, so many FLOPs an element. */
static inline axp_work axp_work_elementwise(int64_t n, int inputs, double flops,
                                            axp_dtype dtype)
{
    const int64_t dims[1] = {n};
    double each = inputs > 0 ? inputs : 0;
    return axp__work_make(flops > 0 ? flops * axp__f64(n) : 0,
                          axp__f64(n) * (each + 1), dtype, dims, 1);
}
/* The gradients of all inputs: the inputs and dy are read. flops: of all of an
 * element's. */
static inline axp_work axp_work_elementwise_backward(int64_t n, int inputs,
                                                     double flops,
                                                     axp_dtype dtype)
{
    const int64_t dims[1] = {n};
    double each = inputs > 0 ? inputs : 0;
    return axp__work_make(flops > 0 ? flops * axp__f64(n) : 0,
                          axp__f64(n) * (2 * each + 1), dtype, dims, 1);
}

/* Rows of a table, by number: nothing is computed. A number has 8 bytes. */
static inline axp_work axp_work_embedding(int64_t tokens, int64_t width,
                                          axp_dtype dtype)
{
    const int64_t dims[2] = {tokens, width};
    axp_work work = axp__work_make(0, 2 * axp__f64(tokens) * axp__f64(width),
                                   dtype, dims, 2);
    if (work.bytes > 0) work.bytes += 8 * axp__f64(tokens);
    return work;
}
/* Each row of dy is added to one of the table's gradient. */
static inline axp_work axp_work_embedding_backward(int64_t tokens,
                                                   int64_t width,
                                                   axp_dtype dtype)
{
    const int64_t dims[2] = {tokens, width};
    double n = axp__f64(tokens) * axp__f64(width);
    axp_work work = axp__work_make(n, 3 * n, dtype, dims, 2);
    if (work.bytes > 0) work.bytes += 8 * axp__f64(tokens);
    return work;
}

/* ---- optimizers ----------------------------------------------------------- */
/* Of all parameters at once, states of the same type. What is the same for all
 * (a rate with its corrections) is not counted. */
/* p -= rate g */
static inline axp_work axp_work_sgd(int64_t n, axp_dtype dtype)
{
    const int64_t dims[1] = {n};
    return axp__work_make(2 * axp__f64(n), 3 * axp__f64(n), dtype, dims, 1);
}
/* m = momentum m + g; p -= rate m */
static inline axp_work axp_work_momentum(int64_t n, axp_dtype dtype)
{
    const int64_t dims[1] = {n};
    return axp__work_make(4 * axp__f64(n), 5 * axp__f64(n), dtype, dims, 1);
}
/* m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g g;
 * p -= rate m / (sqrt(v) + epsilon) */
static inline axp_work axp_work_adam(int64_t n, axp_dtype dtype)
{
    const int64_t dims[1] = {n};
    return axp__work_make(12 * axp__f64(n), 7 * axp__f64(n), dtype, dims, 1);
}
/* The same after p *= 1 - rate decay */
static inline axp_work axp_work_adamw(int64_t n, axp_dtype dtype)
{
    const int64_t dims[1] = {n};
    return axp__work_make(13 * axp__f64(n), 7 * axp__f64(n), dtype, dims, 1);
}

#ifdef __cplusplus
}
#endif
#endif
