/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof_machine.h: what this machine can do, measured: arithmetic by type and
 * instruction set, bandwidth by level of memory, what threads cost.
 *
 *   axp_machine *m = axp_machine_measure(NULL);
 *   axp_machine_record(m);       this process's recordings know it
 *   axp_machine_destroy(m);
 *
 * Link with -laxprof. `axprof machine` and `axprof run` do this by themselves;
 * with the machine in it a recording says how near an operation whose work is
 * declared comes to what is possible, wherever it is read.
 *
 * Rates      the best of several trials, for whatever disturbs one makes it
 *            slower; a spread says how far half of the trials stayed below, or
 *            how much of its time the best had no processor.
 * All        threads that may run at once: the CPUs that this process may use,
 *            or fewer where its control group has a quota.
 * Input      files are not trusted: what cannot be is AXP_E_FORMAT.
 */
#ifndef AXPROF_MACHINE_H
#define AXPROF_MACHINE_H
#include <stdio.h>

#include "axprof_read.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum axp_level AXP__INT {
    AXP_LEVEL_NONE,
    AXP_LEVEL_L1,
    AXP_LEVEL_L2,
    AXP_LEVEL_L3,
    AXP_LEVEL_MEMORY
} axp_level;

typedef struct axp_machine axp_machine;
/* part: 0…1 of it is done. Non-zero stops: what is known by then is kept. */
typedef int (*axp_progress_fn)(double part, const char *what, void *ctx);
typedef struct axp_machine_options { /* zero = default */
    size_t size;                     /* sizeof(axp_machine_options), or 0 */
    bool is_short;            /* at most 3 s, without BLAS; default 10 s */
    axp_progress_fn progress; /* NULL: none */
    void *ctx;
} axp_machine_options;
/* Starts threads of its own and waits for them. options may be NULL. NULL: no
 * memory, or it was stopped before anything was known. */
AXP__NODISCARD AXP_API axp_machine *axp_machine_measure(
    const axp_machine_options *options);
AXP_API void axp_machine_destroy(axp_machine *m); /* NULL allowed */

/* Kept in a file, which appears whole or not at all. */
AXP_API axp_status axp_machine_save(const axp_machine *m, const char *path);
AXP_API axp_status axp_machine_load(const char *path, axp_machine **out);
/* A name for that file: of the processor and how many threads are all. */
AXP_API void axp_machine_file_name(char *out, size_t size);
/* Whether it is this processor, with as many threads; not if it had less than a
 * CPU when it was measured and has more now. */
AXP_API bool axp_machine_is_here(const axp_machine *m);
/* Whether all was measured, and not in the short form. */
AXP_API bool axp_machine_is_whole(const axp_machine *m);

/* From now on recordings of this process, those that end later, know it. */
AXP_API axp_status axp_machine_record(const axp_machine *m);

/* AXP_FORMAT_TEXT, 80 columns, or AXP_FORMAT_JSON. */
AXP_API axp_status axp_machine_write(const axp_machine *m, axp_format format,
                                     FILE *to);

/* How many threads are all; cycles a second that one was seen to have. */
AXP_API uint32_t axp_machine_threads(const axp_machine *m);
AXP_API double axp_machine_hz(const axp_machine *m);

/* ---- what was measured ------------------------------------------------------ */
typedef struct axp_peak {
    axp_dtype dtype;
    const char *isa;             /* the machine's */
    double one_flops, all_flops; /* a second; of I8: operations */
    double one_spread, all_spread;
} axp_peak;
typedef struct axp_bandwidth {
    axp_level level;
    uint64_t size_bytes;         /* as the system says; 0: not known */
    double one_bytes, all_bytes; /* a second; the best of reading and moving */
    double one_spread, all_spread;
} axp_bandwidth;
/* How many there are; as many as fit. */
AXP_API size_t axp_machine_peaks_sized(const axp_machine *m, axp_peak *out,
                                       size_t cap, size_t size);
AXP_API size_t axp_machine_bandwidths_sized(const axp_machine *m,
                                            axp_bandwidth *out, size_t cap,
                                            size_t size);
static inline size_t axp_machine_peaks(const axp_machine *m, axp_peak *out,
                                       size_t cap)
{
    return axp_machine_peaks_sized(m, out, cap, sizeof *out);
}
static inline size_t axp_machine_bandwidths(const axp_machine *m,
                                            axp_bandwidth *out, size_t cap)
{
    return axp_machine_bandwidths_sized(m, out, cap, sizeof *out);
}

#ifdef __cplusplus
}
#endif
#endif
