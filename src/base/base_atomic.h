/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names for the few memory orders the recorder uses.
 *
 * Place    everything that one thread writes while another may read.
 * Rule     a shared field is written by its owner with axp__put and read by
 *          others with axp__get: relaxed, the same instruction as a plain
 *          access, but whole. Its owner reads it as it is. Order comes from axp__put_release with
 *          axp__get_acquire, or from a version (axp__version_*).
 * Version  odd while its owner changes what it guards. Costs two stores and,
 *          on aarch64, one store barrier and one store-release.
 */
#ifndef AXP_BASE_ATOMIC_H
#define AXP_BASE_ATOMIC_H
#include <stdbool.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define AXP__TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define AXP__TSAN 1
#endif
#endif

#ifdef AXP__TSAN
#define AXP__IS_TSAN 1
#else
#define AXP__IS_TSAN 0
#endif

#if defined(AXP__ALONE)
/* In a file that says so nobody else looks at what it changes: a reader that
 * folds words into accumulators of its own. */
#define AXP__IS_ALONE 1
#define axp__get(p) (*(p))
#define axp__put(p, v) ((void)(*(p) = (v)))
#define axp__set(p, v) axp__put(p, v)
#elif defined(AXP__TSAN)
#define axp__get(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define axp__put(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define axp__set(p, v) axp__put(p, v)
#else
/* Volatile, as aligned words are whole on our machines, and compilers fold an
 * offset into a volatile access but not (gcc 12) into a relaxed atomic one:
 * worth a third of a scope's instructions. */
#define axp__get(p) (*(const volatile __typeof__(*(p)) *)(p))
#define axp__put(p, v) ((void)(*(volatile __typeof__(*(p)) *)(p) = (v)))
/* Within a version: the order among these does not matter. */
#define axp__set(p, v) ((void)(*(p) = (v)))
#endif
#ifndef AXP__IS_ALONE
#define AXP__IS_ALONE 0
#endif
/* A value that is compared once, after a fence, and not kept: gcc folds a
 * plain load into the comparison, and no volatile one. */
#ifdef AXP__TSAN
#define axp__peek(p) axp__get(p)
#else
#define axp__peek(p) (*(p))
#endif
/* A pointer that is followed next: the address orders that by itself, which
 * the race detector does not know. */
#ifdef AXP__TSAN
#define axp__get_pointer(p) axp__get_acquire(p)
#define axp__set_pointer(p, v) axp__put_release(p, v)
#else
#define axp__get_pointer(p) axp__get(p)
#define axp__set_pointer(p, v) axp__set(p, v)
#endif
#define axp__get_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#if defined(AXP__ALONE)
#define axp__put_release(p, v) axp__put(p, v)
#else
#define axp__put_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#endif
#define axp__add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
/* For a field that only its owner writes: no locked instruction. */
#define axp__bump(p, v) axp__set((p), *(p) + (v))

#define axp__likely(x) __builtin_expect(!!(x), 1)
#define axp__unlikely(x) __builtin_expect(!!(x), 0)

static inline double axp__get_f64(const double *p)
{
    double v;
    __atomic_load(p, &v, __ATOMIC_RELAXED);
    return v;
}

static inline void axp__put_f64(double *p, double v)
{
#ifdef AXP__TSAN
    __atomic_store(p, &v, __ATOMIC_RELAXED);
#else
    *(volatile double *)p = v;
#endif
}

#define axp__cas(p, expected, desired)                                         \
    __atomic_compare_exchange_n((p), (expected), (desired), false,             \
                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* Raises *p to v if it is lower; returns whether it did. */
static inline bool axp__raise(uint64_t *p, uint64_t v)
{
    uint64_t old = axp__get(p);
    while (old < v)
        if (axp__cas(p, &old, v)) return true;
    return false;
}

/* The owner's earlier stores become visible before its later ones. */
static inline void axp__store_barrier(void)
{
#if defined(AXP__ALONE)
    /* nobody looks */
#elif defined(__aarch64__)
    __asm__ volatile("dmb ishst" ::: "memory");
#else
    __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

static inline void axp__version_begin(uint32_t *version)
{
    axp__put(version, *version + 1);
    axp__store_barrier();
}

static inline void axp__version_end(uint32_t *version)
{
    axp__put_release(version, *version + 1);
}

/* How often a reader tries again before it takes what it finds. */
#define AXP__MAX_TRIES 100000u

/* A signal handler on this thread sees the stores in program order. */
static inline void axp__signal_fence(void)
{
    if (!AXP__IS_ALONE) __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#endif
