/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Work of primitives; see dnnl_work.h. */
#include "dnnl_work.h"

#include <string.h>

const char *dnnl_kind_name(const struct dnnl_primitive *p, enum dnnl_does *does)
{
    static const struct {
        int v2, v3;
        const char *name;
        enum dnnl_does does;
    } kinds[] = {
#define KIND(v2, v3, name, does) {v2, v3, name, DNNL_##does},
#include "dnnl_kinds.def"
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((p->is_v3 ? kinds[i].v3 : kinds[i].v2) == p->kind) {
            *does = kinds[i].does;
            return kinds[i].name;
        }
    return NULL;
}

/* Of dnnl_data_type_t: a type and bytes of an element; both 0: not known. */
struct element {
    axp_dtype dtype;
    unsigned bytes;
};

static struct element element_of(int dtype)
{
    static const struct element elements[] = {
        [1] = {AXP_F16, 2}, [2] = {AXP_BF16, 2}, [3] = {AXP_F32, 4},
        [4] = {0, 4},       [5] = {AXP_I8, 1},   [6] = {AXP_I8, 1},
        [7] = {AXP_F64, 8}, [8] = {0, 1},        [9] = {AXP_F8, 1},
        [10] = {AXP_F8, 1}};
    const int n = sizeof elements / sizeof *elements;
    return dtype > 0 && dtype < n ? elements[dtype] : (struct element){0, 0};
}

/* The tensors by what they are, or their gradients; no dims: not there. Of those
 * that only normalizations, sums and RNNs have, what is counted by. */
struct tensors {
    struct dnnl_tensor x, w, y, mean;
    bool has_bias, has_scale, has_shift;
    int n_sources;
    double state_weights;
};

/* 0: an extent is not known, or there is none. */
static double elements_of(const struct dnnl_tensor *t)
{
    double n = t->n_dims > 0;
    for (int i = 0; i < t->n_dims; i++)
        n *= t->dims[i] > 0 ? (double)t->dims[i] : 0;
    return n;
}

static bool is_tensor(int number)
{
    return number > 0 && number != DNNL_SCRATCHPAD &&
           (number < DNNL_FIRST_ATTRIBUTE ||
            (number >= DNNL_MANY_SRC && number < DNNL_MANY_END));
}

/* What an argument is: as itself, or as a gradient. */
static bool is_of(int number, int what)
{
    return number == what || number == what + DNNL_DIFF;
}

static void sort_in(struct tensors *all, int number,
                    const struct dnnl_tensor *t)
{
    if (is_of(number, DNNL_SRC)) all->x = *t;
    if (is_of(number, DNNL_DST)) all->y = *t;
    if (is_of(number, DNNL_WEIGHTS)) all->w = *t;
    if (is_of(number, DNNL_BIAS) && t->n_dims) all->has_bias = true;
    if (number == DNNL_MEAN) all->mean = *t;
    if (number == DNNL_SCALE || number == DNNL_WEIGHTS) all->has_scale = true;
    if (number == DNNL_SHIFT || number == DNNL_WEIGHTS) all->has_shift = true;
    if (number == DNNL_WEIGHTS_ITER || number == DNNL_WEIGHTS_PROJECTION)
        all->state_weights += elements_of(t);
    if (number >= DNNL_MANY_SRC && number < DNNL_MANY_DST) all->n_sources++;
}

static double bytes_of(const struct dnnl_library *library, int n,
                       const struct dnnl_argument *a, struct tensors *all)
{
    double bytes = 0;
    for (int i = 0; i < n; i++) {
        if (!is_tensor(a[i].number)) continue;
        struct dnnl_tensor t = dnnl_look_at(library, a[i].memory);
        bytes += elements_of(&t) * element_of(t.dtype).bytes;
        sort_in(all, a[i].number, &t);
    }
    return bytes;
}

/* Multiply-adds for each output, or input. */
static double taps_of(const struct tensors *t, const struct dnnl_tensor *whose)
{
    bool is_known = whose->n_dims > 1 && whose->dims[1] > 0;
    return is_known ? elements_of(&t->w) / (double)whose->dims[1] : 0;
}

/* How many means there are. 0: not known. */
static double means_of(enum dnnl_does does, const struct tensors *t)
{
    const struct dnnl_tensor *y = &t->y;
    double n = elements_of(y);
    if (t->mean.n_dims) return elements_of(&t->mean);
    if (does == DNNL_BATCH_NORM) return y->n_dims > 1 ? (double)y->dims[1] : 0;
    if (does != DNNL_LAYER_NORM || !(n > 0)) return 0;
    return n / (double)y->dims[y->n_dims - 1];
}

/* As axp_work_layernorm and its backward count them, each part where it is done.
 * Inference that gets a mean does not look for it. */
static double normalization(enum dnnl_does does, int direction,
                            const struct tensors *t)
{
    double n = elements_of(&t->y), means = means_of(does, t);
    if (!(n > 0)) return 0;
    if (direction == DNNL_BACKWARD || direction == DNNL_BACKWARD_DATA) {
        int sums = direction == DNNL_BACKWARD && t->has_scale ? 3 : 0;
        return n * (9 + t->has_scale + sums) + 2 * means;
    }
    bool is_given = direction == DNNL_INFERENCE && t->mean.n_dims;
    return n * ((is_given ? 2 : 5) + t->has_scale + t->has_shift) +
           means * (is_given ? 3 : 5);
}

/* The products of every step with all weights; twice as many backward. */
static double recurrence(int direction, const struct tensors *t)
{
    if (t->x.n_dims < 2 || t->x.dims[0] <= 0 || t->x.dims[1] <= 0) return 0;
    double rows = (double)t->x.dims[0] * (double)t->x.dims[1];
    return (direction == DNNL_BACKWARD ? 4 : 2) * rows *
           (elements_of(&t->w) + t->state_weights);
}

static double product(enum dnnl_does does, const struct tensors *t)
{
    double outputs = elements_of(&t->y), flops;
    int64_t k = t->x.n_dims ? t->x.dims[t->x.n_dims - 1] : 0;
    if (does == DNNL_MATMUL)
        flops = k > 0 ? 2 * outputs * (double)k : 0;
    else if (does == DNNL_DECONVOLUTION)
        flops = 2 * elements_of(&t->x) * taps_of(t, &t->x);
    else
        flops = 2 * outputs * taps_of(t, &t->y);
    return flops > 0 && t->has_bias ? flops + outputs : flops;
}

static double flops_of(enum dnnl_does does, int direction,
                       const struct tensors *t)
{
    double outputs = elements_of(&t->y);
    switch (does) {
    case DNNL_EACH: return outputs;
    case DNNL_SOFTMAX:
        return (direction == DNNL_BACKWARD_DATA ? 4 : 5) * outputs;
    case DNNL_SUM:
        return t->n_sources > 0 ? (2 * t->n_sources - 1) * outputs : 0;
    case DNNL_REDUCTION: return elements_of(&t->x);
    case DNNL_BATCH_NORM:
    case DNNL_LAYER_NORM:
    case DNNL_GROUP_NORM: return normalization(does, direction, t);
    case DNNL_RNN: return recurrence(direction, t);
    case DNNL_CONVOLUTION:
    case DNNL_DECONVOLUTION:
    case DNNL_INNER_PRODUCT:
    case DNNL_MATMUL: return product(does, t);
    default: return 0;
    }
}

/* ---- dims ---------------------------------------------------------------------- */

struct dims {
    uint32_t *at;
    unsigned n;
    bool has_none; /* an extent is 0, or not known: so is the shape */
};

static void put(struct dims *d, int64_t extent)
{
    if (extent <= 0) d->has_none = true;
    if (d->n < 6 && extent > 0)
        d->at[d->n++] =
            extent < UINT32_MAX ? (uint32_t)extent : (uint32_t)UINT32_MAX;
}

static void put_all(struct dims *d, const struct dnnl_tensor *t)
{
    for (int i = 0; i < t->n_dims; i++)
        put(d, t->dims[i]);
}

static void put_matmul(struct dims *d, const struct tensors *t)
{
    int n = t->y.n_dims;
    int64_t batch = 1;
    if (n < 2 || t->x.n_dims != n) return;
    for (int i = 0; i < n - 2; i++)
        if (__builtin_mul_overflow(batch, t->y.dims[i], &batch)) return;
    if (n > 2) put(d, batch);
    put(d, t->y.dims[n - 2]);
    put(d, t->y.dims[n - 1]);
    put(d, t->x.dims[n - 1]);
}

static void put_convolution(struct dims *d, const struct tensors *t)
{
    put_all(d, &t->x);
    if (t->y.n_dims > 1) put(d, t->y.dims[1]);
    /* groups are one extent more, in front */
    if (t->w.n_dims >= t->x.n_dims && t->x.n_dims > 2)
        put(d, t->w.dims[t->w.n_dims - t->x.n_dims + 2]);
}

static void put_dims(axp_work *work, enum dnnl_does does,
                     const struct tensors *t)
{
    struct dims d = {work->dims, 0, false};
    switch (does) {
    case DNNL_MATMUL: put_matmul(&d, t); break;
    case DNNL_INNER_PRODUCT:
        put_all(&d, &t->y); /* M, N */
        put(&d, (int64_t)taps_of(t, &t->y));
        break;
    case DNNL_CONVOLUTION:
    case DNNL_DECONVOLUTION: put_convolution(&d, t); break;
    default: put_all(&d, t->y.n_dims ? &t->y : &t->x);
    }
    if (d.has_none) memset(work->dims, 0, sizeof work->dims);
}

axp_work dnnl_work(const struct dnnl_library *library, enum dnnl_does does,
                   int direction, int n, const struct dnnl_argument *arguments)
{
    struct tensors t = {.has_bias = false};
    axp_work work = {.bytes = bytes_of(library, n, arguments, &t)};
    work.flops = flops_of(does, direction, &t);
    work.dtype = element_of(t.x.n_dims ? t.x.dtype : t.y.dtype).dtype;
    put_dims(&work, does, &t);
    return work;
}
