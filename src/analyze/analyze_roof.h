/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The roofline: what the machine allows an operation with its ratio of FLOPs to
 * bytes, what it reaches, and what binds it.
 *
 *   allowed = min(arithmetic of its type, FLOPs ÷ bytes × bandwidth)
 *
 * Level      the data of a call is taken to be in the first cache that holds all
 *            of it, and else in memory. Who is faster than that had it in a
 *            faster one.
 * Bandwidth  work says how many bytes, not how many of them are written, and
 *            reading alone is slower than moving on some machines: the lesser of
 *            the two counts, and the greater for who is faster than that, if only
 *            in his fastest call.
 * Threads    those that work on it at once: threads that call it, times the team
 *            of an OpenMP region below a call. Who does more than so many can has
 *            more, as far as there are any and they explain it: those that were
 *            seen, or the machine's where nobody looked from outside. Rates are
 *            of all of them together.
 * Peaks      the recording's machine; or those that the user gave, which are
 *            what a call can reach and know no threads.
 * Input      work and machine as a file says them: any doubles.
 */
#ifndef AXP_ANALYZE_ROOF_H
#define AXP_ANALYZE_ROOF_H
#include "machine/machine.h"
#include "model/model_view.h"

/* Above it the declared work is wrong, or the peak. */
#define AXP__ROOF_MOST 1.05

struct axp__roof {
    bool is_known;       /* else all of it is 0 */
    bool is_impossible;  /* it reaches more than AXP__ROOF_MOST of a peak */
    bool is_raised;      /* threads: for fewer could not do that */
    uint32_t threads;    /* 0: the peaks were given */
    uint32_t at_once;    /* of these, threads that call it */
    axp_dtype dtype;     /* that the peak is of */
    axp_level level;     /* that binds it; AXP_LEVEL_NONE: arithmetic */
    double flops, bytes; /* reached, a second; 0: not declared */
    double roof_flops, roof_bytes; /* allowed; one of them may be 0 */
    double share;                  /* of what is allowed */
    double peak_flops;             /* of arithmetic, whatever binds it */
    /* Of the time that the program's threads wanted a processor, what they had
     * one; and the share that it reaches of what is allowed in that time, up to
     * 1. By this it is judged: what others took is not its fault. */
    double ran, ran_share;
    uint32_t n_dims, dims[6]; /* of the shape that took longest … */
    double call_flops, call_bytes, call_ns; /* … and of a call of it; 0: not
                                             * known */
};

struct axp__roof_run {
    double flops; /* declared by the outermost scopes that declared any */
    double flops_per_s;
    axp_dtype dtype;  /* of most of them */
    double peak;      /* of that type, with all threads; 0: not known */
    const char *isa;  /* the machine's; NULL: given */
    uint32_t threads; /* 0: given */
};

struct axp__roofs {
    struct axp__roof_run run;
    double given_flops, given_bytes; /* a second, by the user; 0: not */
    uint32_t most_threads;           /* that an operation may be raised to */
    size_t n;
    struct axp__roof at[]; /* of the view's ops, in their order */
};

/* peak_gflops, peak_gbps: given by the user; 0: measured ones. NULL: no
 * memory. */
struct axp__roofs *axp__roofs_create(const axp_view *v, double peak_gflops,
                                     double peak_gbps);

/* Of a shape of the op that is at that place in v, which is the view of the
 * roofs; on as many threads as its operation. Others together have none. */
struct axp__roof axp__roof_of_shape(const struct axp__roofs *roofs,
                                    const axp_view *v, size_t op,
                                    const axp_shape *s);

/* "arithmetic", "L2", "memory"; "": not known. */
const char *axp__roof_bound(const struct axp__roof *r);

#endif
