/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For how long of its waits a thread had been woken, and had no processor. The
 * kernel's records say when it left and when it ran again; a look at /proc says
 * how long it has wanted to run in all. What the records do not account for of that
 * is at the ends of its waits since the look before:
 *
 *   record   left ├───────────────────────────┤ ran
 *   told          ├ waited ───────┼─ ready ───┤
 *
 * and the same in each, but for those that were shorter: nobody was ready for
 * longer than he was away.
 *
 * Memory   of the waits between two looks, up to AXP__WOKEN_MOST of all threads
 *          together; those of more are told as they are.
 */
#ifndef AXP_SAMPLING_WOKEN_H
#define AXP_SAMPLING_WOKEN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct axp__off;

#define AXP__WOKEN_MOST ((size_t)32768)

/* Of one thread; all 0 at its beginning. */
struct axp__woken {
    struct axp__off
        *waits; /* that are not told of yet; their frames are ours */
    size_t n, cap;
    uint64_t n_short, short_ns;      /* waits that nobody is told of */
    uint64_t ready_ns;               /* what the records account for */
    uint64_t look_ns, look_ready_ns; /* the last look; 0: none */
    uint64_t base_ready_ns;          /* what was wanted at the one before it */
    bool is_unknown; /* records are missing since the look before */
};

typedef void axp__off_fn(void *ctx, const struct axp__off *off);
struct axp__woken_to {
    uint64_t least_ns; /* of a time that is told */
    size_t *n_kept;    /* waits of all threads, until they are told */
    axp__off_fn *give;
    void *ctx;
};

/* A time off, of any length. */
void axp__woken_off(struct axp__woken *w, const struct axp__off *off,
                    const struct axp__woken_to *to);
/* How long it had wanted to run in all, at a moment. */
void axp__woken_look(struct axp__woken *w, uint64_t now_ns, uint64_t ready_ns,
                     const struct axp__woken_to *to);
/* Records are missing: what is known is told, until the next look but one. */
void axp__woken_forget(struct axp__woken *w, const struct axp__woken_to *to);
/* No record follows: all is told. */
void axp__woken_end(struct axp__woken *w, const struct axp__woken_to *to);
/* Nobody is told of what is left. */
void axp__woken_drop(struct axp__woken *w);

#endif
