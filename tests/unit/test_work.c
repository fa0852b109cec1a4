/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The work of layers by their shapes (axprof_work.h), against plain loops that
 * count each operation as they do it, and each tensor that they read or write
 * once. */
#include "test_support.h"

#include <math.h>
#include <stdlib.h>

/* ---- what counts --------------------------------------------------------------- */

static double n_flops;

static double add(double a, double b)
{
    n_flops++;
    return a + b;
}

static double sub(double a, double b)
{
    n_flops++;
    return a - b;
}

static double mul(double a, double b)
{
    n_flops++;
    return a * b;
}

static double divide(double a, double b)
{
    n_flops++;
    return a / b;
}

static double root(double a)
{
    n_flops++;
    return sqrt(a);
}

static double power(double a)
{
    n_flops++;
    return exp(a);
}

static double greater(double a, double b)
{
    n_flops++;
    return a > b ? a : b;
}

/* A tensor; at most 16 in a test. */
struct tensor {
    double *at;
    size_t n;
    int is_read, is_written;
};

static struct tensor tensors[16];
static size_t n_tensors;

static struct tensor *make(int64_t n)
{
    struct tensor *t = &tensors[n_tensors++];
    *t = (struct tensor){.at = calloc((size_t)n, sizeof(double)),
                         .n = (size_t)n};
    assert_non_null(t->at);
    for (size_t i = 0; i < t->n; i++)
        t->at[i] = 0.5 + (double)(i % 7);
    return t;
}

static double get(struct tensor *t, int64_t i)
{
    assert_true(i >= 0 && (size_t)i < t->n);
    t->is_read = 1;
    return t->at[i];
}

static void put(struct tensor *t, int64_t i, double v)
{
    assert_true(i >= 0 && (size_t)i < t->n);
    t->is_written = 1;
    t->at[i] = v;
}

/* Work that is kept in a tensor of its own, and is neither read nor written. */
static void put_sum(struct tensor *t, int64_t i, double v)
{
    put(t, i, add(t->at[i], v));
}

/* What the loops did since the last time is what the work says. */
static void check(axp_work work, unsigned element_bytes, double more_bytes)
{
    double elements = 0;
    for (size_t i = 0; i < n_tensors; i++) {
        const struct tensor *t = &tensors[i];
        elements += (double)t->n * (t->is_read + t->is_written);
        free(t->at);
    }
    n_tensors = 0;
    if (work.flops != n_flops)
        fail_msg("FLOPs: %.0f, counted %.0f", work.flops, n_flops);
    double bytes = elements * element_bytes + more_bytes;
    if (work.bytes != bytes)
        fail_msg("bytes: %.0f, counted %.0f", work.bytes, bytes);
    n_flops = 0;
}

/* ---- products ------------------------------------------------------------------ */

/* c += a b, by strides. */
static void product(struct tensor *c, struct tensor *a, struct tensor *b,
                    const int64_t size[3], const int64_t at[3],
                    const int64_t step[6])
{
    for (int64_t i = 0; i < size[0]; i++)
        for (int64_t j = 0; j < size[1]; j++) {
            double sum = 0;
            for (int64_t l = 0; l < size[2]; l++)
                sum = add(sum, mul(get(a, at[1] + i * step[2] + l * step[3]),
                                   get(b, at[2] + l * step[4] + j * step[5])));
            put(c, at[0] + i * step[0] + j * step[1], sum);
        }
}

static void products(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {
        {1, 1, 1, 1}, {1, 5, 7, 3}, {3, 1, 9, 2}, {2, 8, 1, 4}, {4, 6, 5, 1}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        int64_t n_batch = shapes[s][0], m = shapes[s][1], n = shapes[s][2],
                k = shapes[s][3];
        for (int is_back = 0; is_back < 2; is_back++) {
            struct tensor *a = make(n_batch * m * k),
                          *b = make(n_batch * k * n),
                          *c = make(n_batch * m * n),
                          *da = make(n_batch * m * k),
                          *db = make(n_batch * k * n);
            /* dc, which the second product reads again */
            struct tensor *c2 = make(n_batch * m * n);

            for (int64_t i = 0; i < n_batch; i++) {
                int64_t at_a = i * m * k, at_b = i * k * n, at_c = i * m * n;
                if (!is_back) {
                    product(c, a, b, (int64_t[]){m, n, k},
                            (int64_t[]){at_c, at_a, at_b},
                            (int64_t[]){n, 1, k, 1, n, 1});
                    continue;
                }
                product(da, c, b, (int64_t[]){m, k, n},
                        (int64_t[]){at_a, at_c, at_b},
                        (int64_t[]){k, 1, n, 1, 1, n});
                product(db, a, c2, (int64_t[]){k, n, m},
                        (int64_t[]){at_b, at_a, at_c},
                        (int64_t[]){n, 1, 1, k, n, 1});
            }
            check(is_back ? axp_work_bmm_backward(n_batch, m, n, k, AXP_F32)
                          : axp_work_bmm(n_batch, m, n, k, AXP_F32),
                  4, 0);
            axp_work one = is_back ? axp_work_gemm_backward(m, n, k, AXP_F64)
                                   : axp_work_gemm(m, n, k, AXP_F64);
            axp_work all = is_back ? axp_work_bmm_backward(1, m, n, k, AXP_F64)
                                   : axp_work_bmm(1, m, n, k, AXP_F64);
            assert_true(one.flops == all.flops && one.bytes == all.bytes);
            assert_int_equal(one.dims[0], m);
            assert_int_equal(one.dims[1], n);
            assert_int_equal(one.dims[2], k);
            assert_int_equal(one.dims[3], 0);
        }
    }
}

/* (a + bi)(c + di) + (e + fi): 4 multiplications, 2 additions for the product,
 * 2 for the sum. */
static void complex_products(void **state)
{
    (void)state;
    assert_true(axp_work_gemm(2, 3, 5, AXP_C64).flops == 8.0 * 30);
    assert_true(axp_work_gemm(2, 3, 5, AXP_C64).bytes == 8.0 * 31);
    assert_true(axp_work_gemm(2, 3, 5, AXP_C128).bytes == 16.0 * 31);
}

/* ---- convolution --------------------------------------------------------------- */

static int64_t or_one(int64_t v)
{
    return v ? v : 1;
}

struct conv {
    const axp_conv2d *c;
    struct tensor *x, *w, *y, *bias; /* or their gradients */
};

/* One output: what = 0: y; 1: dx from y; 2: dw from y. */
static void convolve_at(struct conv *v, int what, const int64_t o[4],
                        int64_t at_y)
{
    const axp_conv2d *c = v->c;
    int64_t g = or_one(c->groups), per = c->channels / g;
    int64_t first = o[1] / (c->filters / g) * per;
    double sum = 0;
    for (int64_t ch = 0; ch < per; ch++)
        for (int64_t p = 0; p < c->kernel_height; p++)
            for (int64_t q = 0; q < c->kernel_width; q++) {
                int64_t i =
                    o[2] * or_one(c->stride) + p * or_one(c->dilation) - c->pad;
                int64_t j =
                    o[3] * or_one(c->stride) + q * or_one(c->dilation) - c->pad;
                int is_in = i >= 0 && j >= 0 && i < c->height && j < c->width;
                int64_t at_x =
                    ((o[0] * c->channels + first + ch) * c->height + i) *
                        c->width +
                    j;
                int64_t at_w = ((o[1] * per + ch) * c->kernel_height + p) *
                                   c->kernel_width +
                               q;
                double x = is_in && what != 1 ? get(v->x, at_x) : 0;
                if (what == 0) {
                    sum = add(sum, mul(x, get(v->w, at_w)));
                } else if (what == 1) {
                    double d = mul(get(v->y, at_y), get(v->w, at_w));
                    if (is_in)
                        put_sum(v->x, at_x, d);
                    else
                        n_flops++;
                } else {
                    put_sum(v->w, at_w, mul(get(v->y, at_y), x));
                }
            }
    if (what == 0)
        put(v->y, at_y, c->has_bias ? add(sum, get(v->bias, o[1])) : sum);
    else if (what == 2 && c->has_bias)
        put_sum(v->bias, o[1], v->y->at[at_y]);
}

/* The output by trying each place, not by a formula. */
static int64_t side_of(int64_t in, int64_t kernel, const axp_conv2d *c)
{
    int64_t n = 0;
    for (int64_t at = -c->pad;
         at + (kernel - 1) * or_one(c->dilation) < in + c->pad;
         at += or_one(c->stride))
        n++;
    return n;
}

static void convolve(const axp_conv2d *c, int what)
{
    int64_t height = side_of(c->height, c->kernel_height, c);
    int64_t width = side_of(c->width, c->kernel_width, c);
    int64_t per = c->channels / or_one(c->groups);
    struct conv v = {
        .c = c,
        .x = make(c->batch * c->channels * c->height * c->width),
        .w = make(c->filters * per * c->kernel_height * c->kernel_width),
        .y = make(c->batch * c->filters * height * width),
        .bias = make(c->filters)};
    for (int64_t b = 0, at = 0; b < c->batch; b++)
        for (int64_t f = 0; f < c->filters; f++)
            for (int64_t i = 0; i < height; i++)
                for (int64_t j = 0; j < width; j++)
                    convolve_at(&v, what, (int64_t[]){b, f, i, j}, at++);
}

static void convolutions(void **state)
{
    (void)state;
    static const axp_conv2d layers[] = {
        {.batch = 1,
         .channels = 1,
         .height = 1,
         .width = 1,
         .filters = 1,
         .kernel_height = 1,
         .kernel_width = 1,
         .dtype = AXP_F32},
        {.batch = 2,
         .channels = 3,
         .height = 7,
         .width = 5,
         .filters = 4,
         .kernel_height = 3,
         .kernel_width = 2,
         .has_bias = true,
         .dtype = AXP_F32},
        {.batch = 1,
         .channels = 4,
         .height = 9,
         .width = 8,
         .filters = 6,
         .kernel_height = 3,
         .kernel_width = 3,
         .stride = 2,
         .pad = 1,
         .groups = 2,
         .dtype = AXP_F32},
        {.batch = 1,
         .channels = 5,
         .height = 6,
         .width = 6,
         .filters = 5,
         .kernel_height = 2,
         .kernel_width = 3,
         .groups = 5,
         .dilation = 2,
         .pad = 2,
         .has_bias = true,
         .dtype = AXP_F32},
    };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        convolve(&layers[i], 0);
        check(axp_work_conv2d(&layers[i]), 4, 0);
        convolve(&layers[i], 1);
        convolve(&layers[i], 2);
        check(axp_work_conv2d_backward(&layers[i]), 4, 0);
    }
}

/* ---- attention ----------------------------------------------------------------- */

/* Whether query i sees key j, by the definition. */
static int sees(const axp_attention *a, int64_t i, int64_t j)
{
    return !a->is_causal || j - a->keys <= i - a->queries;
}

/* One dot product or one sum of vectors, of so many elements. */
static void pass(struct tensor *a, int64_t at_a, int64_t n)
{
    volatile double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum = add(sum, mul(get(a, at_a + i), 2));
}

/* The products that touch each pair, over heads that share their keys. */
static void attend(const axp_attention *a, int is_back)
{
    int64_t n_q = a->batch * a->heads * a->queries;
    int64_t n_k = a->batch * a->kv_heads * a->keys;
    struct tensor *q = make(n_q * a->head_dim), *k = make(n_k * a->head_dim),
                  *v = make(n_k * a->value_dim), *o = make(n_q * a->value_dim);
    struct tensor *dq = NULL, *dk = NULL, *dv = NULL, *d_o = NULL;
    if (is_back) {
        dq = make((int64_t)q->n);
        dk = make((int64_t)k->n);
        dv = make((int64_t)v->n);
        d_o = make((int64_t)o->n);
    }
    for (int64_t h = 0; h < a->batch * a->heads; h++)
        for (int64_t i = 0; i < a->queries; i++)
            for (int64_t j = 0; j < a->keys; j++) {
                int64_t row = h * a->queries + i;
                int64_t kv = h / (a->heads / a->kv_heads) * a->keys + j;
                if (!sees(a, i, j)) continue;
                if (!is_back || !a->keeps_scores)
                    pass(q, row * a->head_dim, a->head_dim);
                if (!is_back) {
                    pass(v, kv * a->value_dim, a->value_dim);
                } else {
                    pass(d_o, row * a->value_dim, a->value_dim); /* dv */
                    pass(v, kv * a->value_dim, a->value_dim);    /* dp */
                    pass(k, kv * a->head_dim, a->head_dim);      /* dq */
                    pass(q, row * a->head_dim, a->head_dim);     /* dk */
                }
            }
    (void)get(k, 0);
    if (!is_back) {
        put(o, 0, 0);
        return;
    }
    (void)get(o, 0); /* the sum of o do, which softmax needs */
    put(dq, 0, 0);
    put(dk, 0, 0);
    put(dv, 0, 0);
}

static void attentions(void **state)
{
    (void)state;
    static const axp_attention layers[] = {
        {.batch = 1,
         .heads = 1,
         .queries = 1,
         .keys = 1,
         .kv_heads = 1,
         .head_dim = 1,
         .value_dim = 1,
         .dtype = AXP_F16},
        {.batch = 2,
         .heads = 3,
         .queries = 5,
         .keys = 5,
         .kv_heads = 3,
         .head_dim = 4,
         .value_dim = 4,
         .is_causal = true,
         .dtype = AXP_F16},
        {.batch = 1,
         .heads = 4,
         .queries = 3,
         .keys = 8,
         .kv_heads = 2,
         .head_dim = 3,
         .value_dim = 5,
         .is_causal = true,
         .dtype = AXP_F16},
        {.batch = 1,
         .heads = 2,
         .queries = 6,
         .keys = 4,
         .kv_heads = 1,
         .head_dim = 2,
         .value_dim = 2,
         .is_causal = true,
         .dtype = AXP_F16},
        {.batch = 2,
         .heads = 2,
         .queries = 4,
         .keys = 7,
         .kv_heads = 2,
         .head_dim = 6,
         .value_dim = 2,
         .keeps_scores = true,
         .dtype = AXP_F16},
    };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const axp_attention *a = &layers[i];
        double scores = (double)(a->batch * a->heads * a->queries * a->keys);
        double kept = a->keeps_scores ? 2 * scores : 0; /* bytes of one */
        attend(a, 0);
        check(axp_work_attention(a), 2, 4 * kept);
        attend(a, 1);
        check(axp_work_attention_backward(a), 2, 7 * kept);
    }
    axp_attention all = {.batch = 2,
                         .heads = 3,
                         .queries = 5,
                         .keys = 5,
                         .kv_heads = 3,
                         .head_dim = 4,
                         .value_dim = 4};
    axp_attention few = {.batch = 2, .heads = 3, .queries = 5, .head_dim = 4};
    assert_true(axp_work_attention(&all).flops ==
                axp_work_attention(&few).flops);
    assert_true(axp_work_attention_backward(&few).flops ==
                2.5 * axp_work_attention(&few).flops);
}

/* ---- rows ---------------------------------------------------------------------- */

static void layernorm(int64_t rows, int64_t n)
{
    struct tensor *x = make(rows * n), *y = make(rows * n), *scale = make(n),
                  *shift = make(n);
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < n; i++)
            sum = add(sum, get(x, r * n + i));
        double mean = divide(sum, (double)n);
        for (int64_t i = 0; i < n; i++) {
            double d = sub(get(x, r * n + i), mean);
            y->at[r * n + i] = d; /* where it is needed next */
            squares = add(squares, mul(d, d));
        }
        double variance = divide(squares, (double)n);
        double back = divide(1, root(add(variance, 1e-5)));
        for (int64_t i = 0; i < n; i++)
            put(y, r * n + i,
                add(mul(mul(y->at[r * n + i], back), get(scale, i)),
                    get(shift, i)));
    }
}

static void layernorm_backward(int64_t rows, int64_t n)
{
    struct tensor *x = make(rows * n), *dy = make(rows * n),
                  *dx = make(rows * n), *scale = make(n), *dscale = make(n),
                  *dshift = make(n), *mean = make(rows), *back = make(rows);
    for (int64_t r = 0; r < rows; r++) {
        double sum_g = 0, sum_gh = 0, h[16], g[16];
        for (int64_t i = 0; i < n; i++) {
            double d = get(dy, r * n + i);
            h[i] = mul(sub(get(x, r * n + i), get(mean, r)), get(back, r));
            put_sum(dscale, i, mul(d, h[i]));
            put_sum(dshift, i, d);
            g[i] = mul(d, get(scale, i));
            sum_g = add(sum_g, g[i]);
            sum_gh = add(sum_gh, mul(g[i], h[i]));
        }
        double mean_g = divide(sum_g, (double)n);
        double mean_gh = divide(sum_gh, (double)n);
        for (int64_t i = 0; i < n; i++)
            put(dx, r * n + i,
                mul(get(back, r), sub(sub(g[i], mean_g), mul(h[i], mean_gh))));
    }
}

static void softmax(int64_t rows, int64_t n)
{
    struct tensor *x = make(rows * n), *y = make(rows * n);
    for (int64_t r = 0; r < rows; r++) {
        double most = get(x, r * n), sum = 0;
        for (int64_t i = 1; i < n; i++)
            most = greater(most, get(x, r * n + i));
        for (int64_t i = 0; i < n; i++) {
            double e = power(sub(get(x, r * n + i), most));
            sum = i ? add(sum, e) : e;
            y->at[r * n + i] = e;
        }
        for (int64_t i = 0; i < n; i++)
            put(y, r * n + i, divide(y->at[r * n + i], sum));
    }
}

static void softmax_backward(int64_t rows, int64_t n)
{
    struct tensor *y = make(rows * n), *dy = make(rows * n),
                  *dx = make(rows * n);
    for (int64_t r = 0; r < rows; r++) {
        double sum = mul(get(y, r * n), get(dy, r * n));
        for (int64_t i = 1; i < n; i++)
            sum = add(sum, mul(get(y, r * n + i), get(dy, r * n + i)));
        for (int64_t i = 0; i < n; i++)
            put(dx, r * n + i,
                mul(get(y, r * n + i), sub(get(dy, r * n + i), sum)));
    }
}

static void rows(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{1, 1}, {1, 9}, {5, 1}, {4, 16}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        int64_t r = shapes[s][0], n = shapes[s][1];
        layernorm(r, n);
        check(axp_work_layernorm(r, n, AXP_BF16), 2, 0);
        layernorm_backward(r, n);
        check(axp_work_layernorm_backward(r, n, AXP_F64), 8, 0);
        softmax(r, n);
        check(axp_work_softmax(r, n, AXP_F32), 4, 0);
        softmax_backward(r, n);
        check(axp_work_softmax_backward(r, n, AXP_F32), 4, 0);
    }
}

/* ---- elements ------------------------------------------------------------------ */

static void elements(void **state)
{
    (void)state;
    struct tensor *a = make(11), *b = make(11), *y = make(11);
    for (int64_t i = 0; i < 11; i++)
        put(y, i, mul(get(a, i), get(b, i)));
    check(axp_work_elementwise(11, 2, 1, AXP_F32), 4, 0);
    a = make(11), b = make(11), y = make(11);
    struct tensor *da = make(11), *db = make(11);
    for (int64_t i = 0; i < 11; i++) {
        put(da, i, mul(get(y, i), get(b, i)));
        put(db, i, mul(get(y, i), get(a, i)));
    }
    check(axp_work_elementwise_backward(11, 2, 2, AXP_F32), 4, 0);
}

static void embedding(void **state)
{
    (void)state;
    /* As large as the table, so that all of it is looked at once. */
    struct tensor *table = make(3 * 5), *out = make(3 * 5);
    for (int64_t i = 0; i < 15; i++)
        put(out, i, get(table, i));
    check(axp_work_embedding(3, 5, AXP_F32), 4, 3 * 8);
    struct tensor *dy = make(3 * 5), *gradient = make(3 * 5);
    for (int64_t i = 0; i < 15; i++)
        put(gradient, i, add(get(gradient, i), get(dy, i)));
    check(axp_work_embedding_backward(3, 5, AXP_F32), 4, 3 * 8);
}

static void optimizers(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct tensor *p = make(7), *g = make(7), *m = make(7), *v = make(7);
        for (int64_t i = 0; i < 7; i++) {
            double grad = get(g, i);
            if (kind == 3) put(p, i, mul(get(p, i), 0.999));
            if (kind == 0) {
                put(p, i, sub(get(p, i), mul(0.1, grad)));
            } else if (kind == 1) {
                put(m, i, add(mul(0.9, get(m, i)), grad));
                put(p, i, sub(get(p, i), mul(0.1, get(m, i))));
            } else {
                put(m, i, add(mul(0.9, get(m, i)), mul(0.1, grad)));
                put(v, i,
                    add(mul(0.99, get(v, i)), mul(mul(0.01, grad), grad)));
                double by =
                    divide(mul(0.1, get(m, i)), add(root(get(v, i)), 1e-8));
                put(p, i, sub(get(p, i), by));
            }
        }
        check(kind == 0   ? axp_work_sgd(7, AXP_F32)
              : kind == 1 ? axp_work_momentum(7, AXP_F32)
              : kind == 2 ? axp_work_adam(7, AXP_F32)
                          : axp_work_adamw(7, AXP_F32),
              4, 0);
    }
}

/* ---- shapes that are none ------------------------------------------------------ */

static void is_none(axp_work work)
{
    assert_true(work.flops == 0 && work.bytes == 0);
    assert_int_equal(work.dtype, 0);
    for (int i = 0; i < 6; i++)
        assert_int_equal(work.dims[i], 0);
}

static void shapes_that_are_none(void **state)
{
    (void)state;
    is_none(axp_work_gemm(0, 1, 1, AXP_F32));
    is_none(axp_work_gemm(1, -1, 1, AXP_F32));
    is_none(axp_work_gemm_backward(1, 1, INT64_MIN, AXP_F32));
    is_none(axp_work_bmm(0, 1, 1, 1, AXP_F32));
    is_none(axp_work_layernorm(4, 0, AXP_F32));
    is_none(axp_work_softmax_backward(-4, 2, AXP_F32));
    is_none(axp_work_embedding(0, 5, AXP_F32));
    is_none(axp_work_adam(-1, AXP_F32));
    is_none(axp_work_elementwise(0, 1, 1, AXP_F32));
    axp_conv2d c = {.batch = 1,
                    .channels = 4,
                    .height = 3,
                    .width = 3,
                    .filters = 4,
                    .kernel_height = 5,
                    .kernel_width = 1};
    is_none(axp_work_conv2d(&c)); /* the kernel is larger than the input */
    c.pad = 1;
    assert_true(axp_work_conv2d(&c).flops > 0);
    c.pad = INT64_MAX;
    is_none(axp_work_conv2d(&c));
    c = (axp_conv2d){.batch = 1,
                     .channels = 4,
                     .height = 3,
                     .width = 3,
                     .filters = 4,
                     .kernel_height = 1,
                     .kernel_width = 1,
                     .groups = 3};
    is_none(axp_work_conv2d(&c)); /* 4 channels in 3 groups */
    c.groups = -1;
    is_none(axp_work_conv2d(&c));
    c.groups = 1;
    c.stride = -2;
    is_none(axp_work_conv2d_backward(&c));
    axp_attention a = {.batch = 1, .heads = 1, .queries = 4, .head_dim = 0};
    is_none(axp_work_attention(&a));
}

static void huge_shapes_saturate(void **state)
{
    (void)state;
    axp_work work =
        axp_work_bmm(INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, AXP_C128);
    assert_true(isfinite(work.flops) && work.flops > 1e76);
    assert_true(isfinite(work.bytes) && work.bytes > 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(work.dims[i], UINT32_MAX);
    axp_conv2d c = {.batch = INT64_MAX,
                    .channels = INT64_MAX,
                    .height = INT64_MAX,
                    .width = INT64_MAX,
                    .filters = INT64_MAX,
                    .kernel_height = INT64_MAX,
                    .kernel_width = INT64_MAX,
                    .dtype = AXP_F64};
    assert_true(isfinite(axp_work_conv2d_backward(&c).flops));
    axp_attention a = {.batch = INT64_MAX,
                       .heads = INT64_MAX,
                       .queries = INT64_MAX,
                       .head_dim = INT64_MAX,
                       .is_causal = true,
                       .dtype = AXP_F64};
    assert_true(isfinite(axp_work_attention_backward(&a).bytes));
}

/* FLOPs are known without a type, bytes are not. */
static void types(void **state)
{
    (void)state;
    axp_work work = axp_work_gemm(2, 2, 2, AXP_DTYPE_UNKNOWN);
    assert_true(work.flops == 16 && work.bytes == 0);
    assert_true(axp_work_gemm(2, 2, 2, (axp_dtype)1000).bytes == 0);
    static const unsigned bytes[] = {0, 8, 4, 4, 2, 2, 1, 1, 8, 16};
    for (unsigned i = 0; i < sizeof bytes / sizeof *bytes; i++)
        assert_int_equal(axp_dtype_bytes((axp_dtype)i), bytes[i]);
}

/* Declared as any other work. */
static void scopes_declare_it(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        AXP_SCOPE_WORK_OF("layer", axp_work_gemm(4, 5, 6, AXP_F32));
    }
    AXP_START_WORK_OF("conv", axp_work_conv2d(&(axp_conv2d){.batch = 1,
                                                            .channels = 2,
                                                            .height = 3,
                                                            .width = 3,
                                                            .filters = 1,
                                                            .kernel_height = 3,
                                                            .kernel_width = 3,
                                                            .dtype = AXP_F32}));
    AXP_ADD_WORK_OF(axp_work_sgd(10, AXP_F32));
    AXP_STOP("conv");
    axp_view *v = axp_snapshot(axp_global());
    axp_op op;
    assert_int_equal(axp_view_op(v, "layer", &op), AXP_OK);
    assert_true(op.flops == 3 * 240.0 && op.bytes == 3 * 4 * 74.0);
    assert_int_equal(axp_view_op(v, "conv", &op), AXP_OK);
    assert_true(op.flops == 36 + 20);
    axp_view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(complex_products),
        cmocka_unit_test(convolutions),
        cmocka_unit_test(attentions),
        cmocka_unit_test(rows),
        cmocka_unit_test(elements),
        cmocka_unit_test(embedding),
        cmocka_unit_test(optimizers),
        cmocka_unit_test(shapes_that_are_none),
        cmocka_unit_test(huge_shapes_saturate),
        cmocka_unit_test(types),
        cmocka_unit_test(scopes_declare_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
