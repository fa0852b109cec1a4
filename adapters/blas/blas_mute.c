/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who has counted how many small calls; see blas_mute.h. */
#include "blas_mute.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <axprof/axprof_adapter.h>

#include "adapters/common/common_clock.h"
#include "adapters/common/common_exit.h"
#include "adapters/common/common_map.h"

#define TOO_OFTEN_NS 250000u
#define MUTED_PS 4000u /* of a counted call: bench_run.py */

__thread struct blas_counts *blas_own
    __attribute__((tls_model("initial-exec")));
static struct blas_counts *all; /* grows at its head */
static uint64_t told[BLAS_CALLS];
static pthread_key_t key;
static bool has_key;

static const char *const symbols[] = {
#define SUB(symbol, ...) #symbol,
#define FUN(symbol, ...) #symbol,
#include "blas_calls.def"
};

void blas_judge(struct blas_small *small)
{
    uint64_t now = common_clock_ns(CLOCK_MONOTONIC), since = small->since_ns;
    small->since_ns = now;
    if (small->n_calls > BLAS_FREE && now - since < TOO_OFTEN_NS)
        small->is_muted = true;
}

void blas_tell(struct blas_counts *c, enum blas_call call)
{
    uint64_t n = __atomic_exchange_n(&c->of[call].n_muted, 0, __ATOMIC_RELAXED);
    if (!n) return;
    axp_muted(symbols[call], n,
              __atomic_add_fetch(&told[call], n, __ATOMIC_RELAXED),
              n * MUTED_PS / 1000);
}

static void tell_all(struct blas_counts *c)
{
    for (int i = 0; i < BLAS_CALLS; i++)
        blas_tell(c, (enum blas_call)i);
}

/* What it knows of routines is right for the next thread too. */
static void give(void *p)
{
    struct blas_counts *c = p;
    blas_own = NULL;
    tell_all(c);
    __atomic_store_n(&c->is_taken, 0, __ATOMIC_RELEASE);
}

struct blas_counts *blas_counts_take(void)
{
    int error = errno;
    struct blas_counts *c = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
    while (c && __atomic_exchange_n(&c->is_taken, 1, __ATOMIC_ACQUIRE))
        c = c->next;
    if (!c && (c = common_map(sizeof *c))) {
        c->is_taken = 1;
        c->next = __atomic_load_n(&all, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&all, &c->next, c, 0,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            ;
    }
    blas_own = c;
    if (c && has_key) pthread_setspecific(key, c);
    errno = error;
    return c;
}

/* What the parent counted is the parent's. */
static void forget_in_child(void)
{
    memset(told, 0, sizeof told);
    for (struct blas_counts *c = all; c; c = c->next)
        for (int i = 0; i < BLAS_CALLS; i++)
            c->of[i].n_muted = 0;
}

/* Before the recorder's own, which ends the file. */
__attribute__((destructor)) static void tell_at_end(void)
{
    int error = errno;
    struct blas_counts *c = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
    for (; c; c = c->next)
        tell_all(c);
    errno = error;
}

__attribute__((constructor)) static void begin(void)
{
    has_key = !pthread_key_create(&key, give);
    pthread_atfork(NULL, NULL, forget_in_child);
    common_exit_tell(tell_at_end);
}
