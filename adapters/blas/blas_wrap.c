/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls of BLAS, by C or Fortran names, as scopes with their work.
 *
 * Once        one scope a call: a BLAS that calls itself (the reference's
 *             cblas_sgemm calls sgemm_) is passed on. Who is inside is told by
 *             where its frame lies, and by who called: one which was left by an
 *             exception is no longer inside when a frame above it calls, or the
 *             object that had called it. Who jumps (xerbla may be the program's,
 *             a handler is) is inside of none (common_jump.h).
 * Arguments   are passed on as they came, whole words, the lengths of strings
 *             that Fortran passes last among them; of a C caller that passes
 *             none what lies there is passed on, and nobody looks at it.
 * Small       calls that come too often are counted (blas_mute.h).
 * None        where no BLAS has the routine the program ends, as it would have
 *             when the loader had looked for it: it did not do what was asked.
 * Cost        of a product on a BLAS that does nothing: bench_run.py.
 */
#include <stdlib.h>

#include <axprof/axprof_adapter.h>

#include "blas_mute.h"
#include "blas_real.h"
#include "blas_signature.h"
#include "blas_work.h"
#include "adapters/common/common_jump.h"

#define WRAPPER __attribute__((visibility("default")))

/* Of each routine; both names of one have one text, so one name. */
static uint32_t sites[BLAS_CALLS];
static const char *const texts[] = {
#define SUB(symbol, signature, op, ...) op "\0",
#define FUN(symbol, result, signature, op, ...) op "\0",
#include "blas_calls.def"
};

/* The outermost wrapper that this thread is in: its frame, and who called it. */
struct inside {
    uintptr_t frame;
    const void *from;
};
static __thread struct inside inside __attribute__((tls_model("initial-exec")));

static void be_outside(void)
{
    inside.frame = 0;
}

__attribute__((constructor)) static void see_jumps(void)
{
    common_jump_tell(be_outside);
}

static inline __attribute__((always_inline)) bool may_begin(uintptr_t here,
                                                            const void *from)
{
    return axp_is_recording() &&
           (__builtin_expect(!inside.frame || here >= inside.frame, 1) ||
            blas_is_one_object(from, inside.from));
}

static inline __attribute__((always_inline)) uint64_t begin(
    enum blas_call call, struct inside here, struct blas_work work)
{
    axp_work done;
    inside = here;
    blas_put(&done, work);
    if (blas_is_muted(call, &done)) return 0;
    return axp_begin_site_work(&sites[call], texts[call], &done, sizeof done);
}

static inline void end(uint64_t token, uintptr_t here)
{
    if (inside.frame == here) inside.frame = 0;
    if (token) axp_end(token);
}

/* ---- wrappers -------------------------------------------------------------- */

#define DECLARE(symbol, result, signature)                                     \
    WRAPPER result symbol PARAMETERS_##signature;                              \
    WRAPPER result symbol PARAMETERS_##signature
/* What all begin with: the real routine, or the end. */
#define REAL(symbol, result, signature)                                        \
    result(*real) PARAMETERS_##signature;                                      \
    const void *from = __builtin_return_address(0);                            \
    void *found = blas_real(BLAS_##symbol, from);                              \
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);                    \
    if (__builtin_expect(!found, 0)) abort();                                  \
    __builtin_memcpy(&real, &found, sizeof real)

#define SUB(symbol, signature, op, work)                                       \
    DECLARE(symbol, void, signature)                                           \
    {                                                                          \
        REAL(symbol, void, signature);                                         \
        if (!may_begin(here, from)) {                                          \
            real ARGUMENTS_##signature;                                        \
            return;                                                            \
        }                                                                      \
        uint64_t token =                                                       \
            begin(BLAS_##symbol, (struct inside){here, from}, work);           \
        real ARGUMENTS_##signature;                                            \
        end(token, here);                                                      \
    }
#define FUN(symbol, result, signature, op, work)                               \
    DECLARE(symbol, result, signature)                                         \
    {                                                                          \
        REAL(symbol, result, signature);                                       \
        if (!may_begin(here, from)) return real ARGUMENTS_##signature;         \
        uint64_t token =                                                       \
            begin(BLAS_##symbol, (struct inside){here, from}, work);           \
        result value = real ARGUMENTS_##signature;                             \
        end(token, here);                                                      \
        return value;                                                          \
    }
#include "blas_calls.def"
