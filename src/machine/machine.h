/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A machine as it was measured: what one thread and what all of them can
 * compute and move, with how far the trials lay apart.
 *
 *   what there is (machine_cpu) ─► threads (machine_crew) ─┬─► compute
 *                                                          ├─► memory
 *                                                          ├─► threads
 *                                                          └─► BLAS, apart
 *                     ─► axp__machine ◄─► text (machine_text)
 *
 * One flat struct without a pointer: it is copied, kept in a file of the user's
 * and in recordings, always as the same text.
 *
 * Rates      the best of several trials: whatever disturbs one makes it slower,
 *            never faster. The spread is how far half of the trials stayed
 *            below the best, or for which part of the best there was no
 *            processor, if that is more, 0…1.
 * All        as many threads as may run at once: the CPUs that the process may
 *            use, or what the control group's quota allows, if that is less.
 * Input      texts are read from files: they are not trusted.
 */
#ifndef AXP_MACHINE_H
#define AXP_MACHINE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "axprof/axprof_machine.h"

#define AXP__MACHINE_COMPUTE 48
#define AXP__MACHINE_MEMORY 8
#define AXP__MACHINE_BLAS 8
#define AXP__MACHINE_WORD 24   /* an instruction set, with its final 0 */
#define AXP__MACHINE_NAME 96   /* a processor, a library */
#define AXP__MACHINE_TEXT 4000 /* bytes; fits a name of a recording */
#define AXP__DOUBTFUL 0.2      /* a spread above it is said */

struct axp__figure {
    double best, spread; /* per second; best 0: not measured */
};

struct axp__machine_compute {
    axp_dtype dtype;
    char isa[AXP__MACHINE_WORD];
    struct axp__figure one, all; /* FLOP/s, or OP/s of whole numbers */
};

struct axp__machine_memory {
    axp_level level;
    uint64_t bytes;  /* of the level, as the kernel says; of memory: all */
    uint64_t shared; /* how many CPUs share one */
    struct axp__figure read_one, read_all, move_one, move_all; /* B/s */
};

struct axp__machine_blas {
    uint32_t m, n, k;
    struct axp__figure one, all; /* FLOP/s of single precision */
};

struct axp__machine {
    char cpu[AXP__MACHINE_NAME], arch[AXP__MACHINE_WORD];
    uint32_t n_cpus;    /* online */
    uint32_t n_allowed; /* of these, to this process */
    uint32_t n_threads; /* "all" */
    uint32_t n_cores, n_sockets, n_nodes;
    double quota;        /* CPUs; 0: none */
    double load;         /* of the system when it was measured */
    uint64_t measured_s; /* since 1970 */
    bool is_short;
    bool is_partial;                 /* time was up, or it was stopped */
    struct axp__figure hz;           /* of one thread */
    double fork_join_ns, barrier_ns; /* of all threads; 0: not measured */
    size_t n_compute, n_memory, n_blas;
    struct axp__machine_compute compute[AXP__MACHINE_COMPUTE];
    struct axp__machine_memory memory[AXP__MACHINE_MEMORY]; /* fastest first */
    struct axp__machine_blas blas[AXP__MACHINE_BLAS];
    char blas_name[AXP__MACHINE_NAME]; /* "": none was found */
};

/* Which this is: processor, architecture, threads; the rest is 0. */
void axp__machine_identify(struct axp__machine *m);

/* Measures: at most so many seconds, but for the trial that is under way. */
void axp__machine_measure(struct axp__machine *m,
                          const axp_machine_options *options);

/* As text: how long it is; it fits AXP__MACHINE_TEXT bytes. */
size_t axp__machine_put(const struct axp__machine *m, char *out, size_t size);
/* False: that is no text of a machine, or says what cannot be. */
bool axp__machine_get(struct axp__machine *m, const char *text, size_t len);

/* Of which the spread is above AXP__DOUBTFUL: how many figures. */
size_t axp__machine_doubtful(const struct axp__machine *m);

/* The highest rate of a type; NULL: it has none. A type that is not known is
 * taken for single precision. */
const struct axp__machine_compute *axp__machine_compute_of(
    const struct axp__machine *m, axp_dtype dtype);
/* What `threads` at once reach, by what one and what all do; 0: not known. */
double axp__machine_scaled(const struct axp__machine *m, double one, double all,
                           uint32_t threads);

const char *axp__machine_dtype_word(axp_dtype dtype); /* "f32"; NULL: none */
const char *axp__machine_level_word(axp_level level); /* "L1" … "memory" */

#endif
