/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Primitives of oneDNN, as scopes with their work: "KIND.DIRECTION
 * [IMPLEMENTATION]", and dnnl_sgemm, which is no primitive.
 *
 * Asked     everything, at each execution, of the primitive and of the tensors that
 *           it gets: an address may be another primitive's the next time, and
 *           shapes may be known only now. Some 0.2 us, where an execution takes
 *           microseconds.
 * Once      what a primitive executes within itself is passed on, and the task
 *           that oneDNN gives ITT for it is left out (itt_hooks.c).
 * Elsewhere on a device execution only begins here: a scope without work.
 * None      where there is no oneDNN the program is told what a oneDNN says that
 *           cannot do it.
 */
#include <string.h>

#include <axprof/axprof_adapter.h>

#include "dnnl_library.h"
#include "dnnl_work.h"
#include "adapters/common/common_jump.h"
#include "adapters/common/common_text.h"

#define WRAPPER __attribute__((visibility("default")))
#define MOST_NAMES 256u
#define NAME_BYTES 96u
#define UNIMPLEMENTED 3 /* dnnl_status_t */

/* ---- names ---------------------------------------------------------------- */

struct name {
    char text[NAME_BYTES]; /* and two 0 more: no file, no line */
    uint32_t site;
};
static struct name names[MOST_NAMES];
static uint32_t n_names;
static int is_locked;

static const char *direction_of(int direction)
{
    switch (direction) {
    case DNNL_BACKWARD: return ".backward";
    case DNNL_BACKWARD_DATA: return ".backward_data";
    case DNNL_BACKWARD_WEIGHTS: return ".backward_weights";
    case DNNL_BACKWARD_BIAS: return ".backward_bias";
    default: return "";
    }
}

static void make_text(char text[NAME_BYTES], const struct dnnl_primitive *p,
                      const char *kind)
{
    const char *end = text + NAME_BYTES - 4;
    char *at = common_put(text, end, kind ? kind : "primitive");
    at = common_put(at, end, direction_of(p->direction));
    if (!p->implementation) return;
    at = common_put(at, end, " [");
    at = common_put(at, end, p->implementation);
    common_put(at, end + 1, "]");
}

/* Where a text has its site; NULL: there is no room. */
static struct name *name_of(const char *text)
{
    uint32_t n = __atomic_load_n(&n_names, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(names[i].text, text)) return &names[i];
    if (__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE)) return NULL;
    struct name *name = NULL;
    n = n_names;
    if (n < MOST_NAMES) {
        name = &names[n];
        strcpy(name->text, text);
        __atomic_store_n(&n_names, n + 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&is_locked, 0, __ATOMIC_RELEASE);
    return name;
}

/* ---- scopes --------------------------------------------------------------- */

/* The outermost wrapper that this thread is in, by its frame: one that was left
 * by an exception is no longer inside when a frame above it calls. */
static __thread uintptr_t inside __attribute__((tls_model("initial-exec")));

static void be_outside(void)
{
    inside = 0;
}

__attribute__((constructor)) static void see_jumps(void)
{
    common_jump_tell(be_outside);
}

/* Asked by the adapter of ITT's. */
WRAPPER bool axprof_dnnl_is_inside(void);
WRAPPER bool axprof_dnnl_is_inside(void)
{
    return inside != 0;
}

static inline bool may_begin(uintptr_t here)
{
    return axp_is_recording() && (!inside || here >= inside);
}

static inline void end(uint64_t token, uintptr_t here)
{
    if (inside == here) inside = 0;
    if (token) axp_end(token);
}

/* Zeroed: what is behind its text is the file and the line, both empty. */
struct begun {
    axp_work work;
    struct name room, *name;
};

static void describe(const struct dnnl_library *library, const void *primitive,
                     int n, const struct dnnl_argument *arguments,
                     struct begun *b)
{
    enum dnnl_does does = DNNL_OTHER;
    struct dnnl_primitive p = dnnl_describe(library, primitive);
    const char *kind = dnnl_kind_name(&p, &does);
    make_text(b->room.text, &p, kind);
    b->name = name_of(b->room.text);
    if (!b->name) b->name = &b->room;
    if (!p.is_elsewhere)
        b->work = dnnl_work(library, does, p.direction, n, arguments);
}

WRAPPER int dnnl_primitive_execute(const void *primitive, void *stream, int n,
                                   const struct dnnl_argument *arguments);
WRAPPER int dnnl_primitive_execute(const void *primitive, void *stream, int n,
                                   const struct dnnl_argument *arguments)
{
    struct dnnl_library room = {0};
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const struct dnnl_library *l =
        dnnl_library(__builtin_return_address(0), &room);
    if (!l && !room.primitive_execute) return UNIMPLEMENTED;
    if (!l || !primitive || !may_begin(here))
        return (l ? l : &room)
            ->primitive_execute(primitive, stream, n, arguments);
    struct begun b = {0};
    inside = here;
    describe(l, primitive, n, arguments, &b);
    uint64_t token = axp_begin_site_work(&b.name->site, b.name->text, &b.work,
                                         sizeof b.work);
    int status = l->primitive_execute(primitive, stream, n, arguments);
    end(token, here);
    return status;
}

WRAPPER int dnnl_sgemm(char transa, char transb, int64_t m, int64_t n,
                       int64_t k, float alpha, const float *a, int64_t lda,
                       const float *b, int64_t ldb, float beta, float *c,
                       int64_t ldc);
WRAPPER int dnnl_sgemm(char transa, char transb, int64_t m, int64_t n,
                       int64_t k, float alpha, const float *a, int64_t lda,
                       const float *b, int64_t ldb, float beta, float *c,
                       int64_t ldc)
{
    static uint32_t site;
    struct dnnl_library room = {0};
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const struct dnnl_library *l =
        dnnl_library(__builtin_return_address(0), &room);
    if (!l) l = &room;
    if (!l->sgemm) return UNIMPLEMENTED;
    uint64_t token = 0;
    if (may_begin(here)) {
        axp_work work = axp_work_gemm(m, n, k, AXP_F32);
        if (work.flops > 0 && !(beta == 0))
            work.bytes += 4 * (double)m * (double)n;
        inside = here;
        token = axp_begin_site_work(&site, "dnnl_sgemm\0", &work, sizeof work);
    }
    int status =
        l->sgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    end(token, here);
    return status;
}
