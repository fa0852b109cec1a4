/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof_file.h: recordings as files: what is in them, whether they are
 * sound, and one clean file of what a killed program left behind.
 *
 * Link with -laxprof. Views of files are axp_open's, in axprof_read.h.
 *
 * Input      files are not trusted: any bytes lead to an answer.
 */
#ifndef AXPROF_FILE_H
#define AXPROF_FILE_H
#include <stdio.h>

#include "axprof.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Run, processes, threads, events by kind, bytes an event, cuts, duration:
 * what `axprof info` prints. AXP_E_DAMAGED: it did, but parts are missing. */
AXP_API axp_status axp_file_info_write(const char *const *paths, size_t n,
                                       FILE *to);
/* Every block; the timeline folded again agrees with the stored statistics.
 * AXP_OK: sound; else what is wrong, on `to`. AXP_E_DAMAGED: the file is, but
 * what it was packed from was not whole. */
AXP_API axp_status axp_file_check(const char *path, FILE *to);
/* Spool and file into one clean file; out NULL: in place. AXP_E_DAMAGED: that
 * was done, but parts of the recording are missing; in place it is done only
 * where nothing but the end is, so that no block is given up. */
AXP_API axp_status axp_file_pack(const char *path, const char *out);
/* Several recordings, as a rule the processes of a run, in one file, in this
 * order; reading it is reading them together. Complete ones are copied as they
 * are, others are packed; all of them stay where they are. */
AXP_API axp_status axp_file_join(const char *const *paths, size_t n,
                                 const char *out, bool may_replace);
/* What a profiler without a file holds in memory, as a recording that is complete:
 * its statistics, and of its timeline what it still has. No file of that name may
 * be there. AXP_E_STATE: the profiler is gone, or there is a file. */
AXP_API axp_status axp_file_save(axp_profiler *p, const char *path);
/* Whether nothing was recorded into a file: its program was killed while it
 * made it. */
AXP_API bool axp_file_is_empty(const char *path);

/* ---- what killed programs leave ------------------------------------------
 * The spool of a program that was killed stays in /dev/shm, since it has what
 * its recording has not. axp_file_pack of the recording moves it there. */
typedef struct axp_spool_info {
    const char *path;
    const char *recording; /* that it belongs to; "": not known */
    uint64_t process_id, bytes;
    bool is_in_use; /* its process is still there */
} axp_spool_info;
/* Every spool of this user in /dev/shm; a return value other than 0 ends the
 * list. The strings are valid during the call. */
AXP_API axp_status axp_spools_list(int (*fn)(const axp_spool_info *s,
                                             void *ctx),
                                   void *ctx);
/* Removes one that was listed, unless it is in use. */
AXP_API axp_status axp_spool_remove(const char *path);

/* ---- draining another process -------------------------------------------
 * A process that was started with AXPROF_DRAIN=parent has no drain of its own:
 * its parent moves what it records from its spool into its trace, and
 * completes the trace when the process is gone. Whatever happens to the
 * parent, the process goes on, and what it recorded can be read. */
typedef struct axp_drain axp_drain;
typedef struct axp_drain_info {
    /* process_id: as the caller knows it, who may be in another namespace of such
     * ids; 0: it was not found there (yet). */
    uint64_t process_id, events, steps, file_bytes;
    /* Of memory: ours, though the process has it; shared with who drains it, and
     * its alone. */
    uint64_t spool_bytes, private_bytes;
} axp_drain_info;
/* How much of the timeline stays; all zero: everything. Statistics are whole
 * in any case. */
typedef struct axp_drain_keep {
    size_t size;           /* sizeof(axp_drain_keep), or 0 */
    axp_ns newest_ns;      /* the last so long, */
    uint64_t newest_steps; /* or the last so many steps, */
    double slow_times;     /* or steps that took so many times the median, */
    axp_ns slow_ns;        /* or longer than that */
} axp_drain_keep;
/* A trace that its process has begun; NULL: axp_last_error(). It appears with
 * the first event: trying again a little later is right. */
AXP__NODISCARD AXP_API axp_drain *axp_drain_open(const char *path);
/* Moves what is full, once that is 64 chunks (fewer in a small spool) or a second
 * old; returns how many that was, at most 256. */
AXP_API size_t axp_drain_step(axp_drain *d);
AXP_API axp_status axp_drain_set_keep(axp_drain *d, const axp_drain_keep *keep);
/* From now on the process records nothing more. */
AXP_API void axp_drain_stop(axp_drain *d);
AXP_API void axp_drain_info_sized(const axp_drain *d, axp_drain_info *out,
                                  size_t size);
static inline axp_drain_info axp_drain_info_of(const axp_drain *d)
{
    axp_drain_info out;
    axp_drain_info_sized(d, &out, sizeof out);
    return out;
}
/* Whether the process has let its spool go: it has ended, or has become
 * another program. */
AXP_API bool axp_drain_is_over(const axp_drain *d);
/* Lets go. is_over: the process is gone, the trace becomes complete. NULL
 * allowed. */
AXP_API axp_status axp_drain_close(axp_drain *d, bool is_over);

/* ---- sampling another process -------------------------------------------
 * What a process and all that it starts do, looked at some hundred times a
 * second of processor time, by the kernel: where each thread is, and who called
 * that. Nothing runs in the process, which need not know axprof. It becomes a
 * recording of its own, and whoever opens it together with those of the
 * processes themselves finds each sample in the scopes that were open then
 * (axp_view_samples). */
typedef struct axp_sampling axp_sampling;
typedef struct axp_sampling_options {
    size_t size;         /* sizeof(axp_sampling_options), or 0 */
    const char *path;    /* of the recording, which is not there yet */
    const char *title;   /* NULL: none */
    uint64_t process_id; /* a child that is going to call exec: from then on */
    double hz;           /* samples in a second of a thread; 0: 997 */
    /* Paths of libraries that are the profiler's, beside libaxprof_rt: their
     * code is called "[axprof]". */
    const char *const *own;
    size_t n_own;
    /* Where perf_event_open is not allowed: a file, which is not there yet, for
     * samples that the program's processes take of themselves, with
     * AXPROF_RING=PATH in their environment and libaxprof_timer.so loaded. */
    const char *ring;
} axp_sampling_options;
typedef struct axp_sampling_info {
    uint64_t samples;
    uint64_t lost;      /* that the kernel had no room for */
    uint64_t unknown;   /* in code that nobody knows */
    bool has_kernel;    /* time in the kernel is seen too */
    uint64_t threads;   /* whose states were seen */
    axp_ns followed_ns; /* whoever started threads and processes took so much
                         * longer for it that they are followed; told when they
                         * are very many */
} axp_sampling_info;
/* NULL: axp_last_error(); where the kernel does not allow it AXP_E_STATE. */
AXP__NODISCARD AXP_API axp_sampling *axp_sampling_start(
    const axp_sampling_options *options, axp_status *status);
/* Takes what is there; returns after how many ns to come again. */
AXP_API axp_ns axp_sampling_step(axp_sampling *s);
/* The rest; the recording becomes complete. NULL allowed. seen, if not NULL, is
 * what there was in all. */
AXP_API axp_status axp_sampling_stop_sized(axp_sampling *s,
                                           axp_sampling_info *seen,
                                           size_t size);
static inline axp_status axp_sampling_stop(axp_sampling *s,
                                           axp_sampling_info *seen)
{
    return axp_sampling_stop_sized(s, seen, sizeof *seen);
}

#ifdef __cplusplus
}
#endif
#endif
