/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* See dnnl_stub.h. STUB_VERSION: 2 or 3. */
#include "dnnl_stub.h"

#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))
enum { NOT_REQUIRED = 6, EXECUTED = 0, MULTIPLIED = 42 };

EXPORT int stub_n_executed;
EXPORT void (*stub_on_execute)(void);

EXPORT int dnnl_primitive_execute(const struct stub_primitive *p, void *stream,
                                  int n, const struct stub_argument *a)
{
    (void)p, (void)stream, (void)n, (void)a;
    stub_n_executed++;
    if (stub_on_execute) stub_on_execute();
    return EXECUTED;
}

EXPORT int dnnl_sgemm(char transa, char transb, int64_t m, int64_t n, int64_t k,
                      float alpha, const float *a, int64_t lda, const float *b,
                      int64_t ldb, float beta, float *c, int64_t ldc)
{
    (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)a;
    (void)lda, (void)b, (void)ldb, (void)beta, (void)c, (void)ldc;
    return MULTIPLIED;
}

EXPORT int dnnl_primitive_get_primitive_desc(const void *p, const void **out);
EXPORT int dnnl_primitive_get_primitive_desc(const void *p, const void **out)
{
    *out = p;
    return 0;
}

EXPORT int dnnl_primitive_desc_query(const struct stub_primitive *p, int what,
                                     int index, void *out);
EXPORT int dnnl_primitive_desc_query(const struct stub_primitive *p, int what,
                                     int index, void *out)
{
    (void)index;
    switch (what) {
    case 1: *(const void **)out = p; return 0;
    case 2: *(int *)out = p->kind; return 0;
    case 8: *(const char **)out = p->implementation; return 0;
    case 11: *(int *)out = p->direction; return p->direction ? 0 : NOT_REQUIRED;
    default: return NOT_REQUIRED;
    }
}

EXPORT int dnnl_engine_get_kind(const struct stub_primitive *engine, int *out);
EXPORT int dnnl_engine_get_kind(const struct stub_primitive *engine, int *out)
{
    *out = engine->engine;
    return 0;
}

EXPORT int dnnl_memory_get_memory_desc(const struct stub_memory *m,
                                       const void **out);
EXPORT int dnnl_memory_get_memory_desc(const struct stub_memory *m,
                                       const void **out)
{
    *out = &m->about;
    return 0;
}

#if STUB_VERSION == 3
EXPORT int dnnl_memory_desc_query(const struct stub_tensor *t, int what,
                                  void *out);
EXPORT int dnnl_memory_desc_query(const struct stub_tensor *t, int what,
                                  void *out)
{
    switch (what) {
    case 256: *(int *)out = t->n_dims; return 0;
    case 257: *(const void **)out = &t->dims; return 0;
    case 258: *(int *)out = t->dtype; return 0;
    default: return NOT_REQUIRED;
    }
}
#endif
