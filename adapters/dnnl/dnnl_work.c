/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Work of primitives; see dnnl_work.h. */
#include "dnnl_work.h"

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

/* The tensors by what they are, or their gradients; no dims: not there. */
struct tensors {
    struct dnnl_tensor x, w, y;
    bool has_bias;
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

static double bytes_of(const struct dnnl_library *library, int n,
                       const struct dnnl_argument *a, struct tensors *all)
{
    double bytes = 0;
    for (int i = 0; i < n; i++) {
        if (!is_tensor(a[i].number)) continue;
        struct dnnl_tensor t = dnnl_look_at(library, a[i].memory);
        bytes += elements_of(&t) * element_of(t.dtype).bytes;
        if (is_of(a[i].number, DNNL_SRC)) all->x = t;
        if (is_of(a[i].number, DNNL_DST)) all->y = t;
        if (is_of(a[i].number, DNNL_WEIGHTS)) all->w = t;
        if (is_of(a[i].number, DNNL_BIAS) && t.n_dims) all->has_bias = true;
    }
    return bytes;
}

/* Multiply-adds for each output, or input. */
static double taps_of(const struct tensors *t, const struct dnnl_tensor *whose)
{
    bool is_known = whose->n_dims > 1 && whose->dims[1] > 0;
    return is_known ? elements_of(&t->w) / (double)whose->dims[1] : 0;
}

static double flops_of(enum dnnl_does does, const struct tensors *t)
{
    double outputs = elements_of(&t->y);
    double bias = t->has_bias ? outputs : 0, flops = 0;
    int64_t k = t->x.n_dims ? t->x.dims[t->x.n_dims - 1] : 0;
    switch (does) {
    case DNNL_EACH: return outputs;
    case DNNL_SOFTMAX: return 5 * outputs;
    case DNNL_CONVOLUTION:
    case DNNL_INNER_PRODUCT: flops = 2 * outputs * taps_of(t, &t->y); break;
    case DNNL_DECONVOLUTION:
        flops = 2 * elements_of(&t->x) * taps_of(t, &t->x);
        break;
    case DNNL_MATMUL: flops = k > 0 ? 2 * outputs * (double)k : 0; break;
    default: return 0;
    }
    return flops > 0 ? flops + bias : 0;
}

/* ---- dims ---------------------------------------------------------------------- */

struct dims {
    uint32_t *at;
    unsigned n;
};

static void put(struct dims *d, int64_t extent)
{
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

static void put_dims(axp_work *work, enum dnnl_does does,
                     const struct tensors *t)
{
    struct dims d = {work->dims, 0};
    switch (does) {
    case DNNL_MATMUL: put_matmul(&d, t); return;
    case DNNL_INNER_PRODUCT:
        put_all(&d, &t->y); /* M, N */
        put(&d, (int64_t)taps_of(t, &t->y));
        return;
    case DNNL_CONVOLUTION:
    case DNNL_DECONVOLUTION:
        put_all(&d, &t->x);
        put(&d, t->y.n_dims > 1 ? t->y.dims[1] : 0);
        /* groups are one extent more, in front */
        if (t->w.n_dims >= t->x.n_dims && t->x.n_dims > 2)
            put(&d, t->w.dims[t->w.n_dims - t->x.n_dims + 2]);
        return;
    default: put_all(&d, t->y.n_dims ? &t->y : &t->x);
    }
}

axp_work dnnl_work(const struct dnnl_library *library, enum dnnl_does does,
                   int n, const struct dnnl_argument *arguments)
{
    struct tensors t = {.has_bias = false};
    axp_work work = {.bytes = bytes_of(library, n, arguments, &t)};
    work.flops = flops_of(does, &t);
    work.dtype = element_of(t.x.n_dims ? t.x.dtype : t.y.dtype).dtype;
    put_dims(&work, does, &t);
    return work;
}
