/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof_whatif.h: why a run took as long as it did, and how long it would have
 * taken otherwise.
 *
 *   axp_graph *g = axp_graph_create(view);
 *   const char *const half[] = {"matmul=0.5"};
 *   axp_replay *r = NULL;
 *   if (axp_whatif(g, &(axp_whatif_options){.scale = half, .n_scale = 1},
 *                  &r) == AXP_OK)
 *       printf("%.1f ms\n", (double)axp_replay_total(r).wall_ns / 1e6);
 *   axp_replay_destroy(r);
 *   axp_graph_destroy(g);
 *
 * A graph knows what each thread and device did between synchronisations, and
 * who had to do what before whom: who started, woke, signalled or launched whom.
 * A replay runs it again with other times. What it says is the program's own
 * order of things: who had a lock before whom stays.
 *
 * Link with -laxprof.
 *
 * Ownership  the view outlives the graph, the graph its replays; strings are the
 *            view's.
 * Threads    a graph is frozen once made: any thread may replay it, several at
 *            once.
 * Timeline   as far as it goes back (axp_view_cut_count).
 */
#ifndef AXPROF_WHATIF_H
#define AXPROF_WHATIF_H
#include "axprof_read.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct axp_graph axp_graph;
/* Reads the timeline. NULL: axp_last_error() */
AXP__NODISCARD AXP_API axp_graph *axp_graph_create(const axp_view *v);
AXP_API void axp_graph_destroy(axp_graph *g); /* NULL allowed */

typedef struct axp_whatif_options { /* zero = nothing changes */
    size_t size;                    /* sizeof(axp_whatif_options), or 0 */
    /* "NAME=FACTOR": all own time of the operation times that; 0: it takes no
     * time. What it calls is its own operation. */
    const char *const *scale;
    size_t n_scale;
    /* "data=0": of all operations of a category. */
    const char *const *scale_category;
    size_t n_scale_category;
    /* Threads that meet at barriers, or are joined together, share what they do
     * evenly. */
    bool even_threads;
} axp_whatif_options;
typedef struct axp_replay axp_replay;
/* options NULL: nothing changes, and the replay is the run as it was.
 * AXP_E_NOT_FOUND: there is no such operation in the timeline. */
AXP_API axp_status axp_whatif(const axp_graph *g,
                              const axp_whatif_options *options,
                              axp_replay **out);
AXP_API void axp_replay_destroy(axp_replay *r); /* NULL allowed */

typedef struct axp_replay_info {
    axp_ns wall_ns, recorded_ns; /* of the replay; of the run */
    /* The mean step, of the thread that marks most; 0: none is marked. */
    axp_ns step_ns, recorded_step_ns;
    uint64_t n_steps;
    /* Waits; and those that nobody is known to have ended, which are taken for
     * what others did meanwhile. */
    uint64_t n_waits, n_unknown_waits;
    axp_ns waited_ns, unknown_ns;
    /* There are several threads and nothing is known of who waited for whom, or
     * a tenth of the path is such a guess. */
    bool is_estimate;
} axp_replay_info;

typedef enum axp_path_kind AXP__INT {
    AXP_PATH_WORK,   /* an operation's own time */
    AXP_PATH_WAIT,   /* a wait that nothing else explains */
    AXP_PATH_NO_CPU, /* a thread could have gone on, and had no processor */
    AXP_PATH_IDLE    /* nobody did anything that is known */
} axp_path_kind;
typedef struct axp_path_part {
    const char *name;
    axp_path_kind kind;
    axp_ns ns;
    double share; /* of the replay's wall time */
    axp_cat category;
    bool is_sampled;    /* a function, where no scope was open */
    const char *device; /* NULL: the host */
    bool is_own;        /* a sampled one: axprof's, inside of the program */
} axp_path_part;
/* A piece of the path: who was at it, and with what most of the time; exports
 * and the page have each operation of it in its order. */
typedef struct axp_path_segment {
    axp_ns begin, end;
    uint64_t process_id, thread_id;
    const char *thread; /* or track; "": without a name, or nobody's */
    const char *name;
    axp_path_kind kind;
} axp_path_segment;

AXP_API void axp_replay_total_sized(const axp_replay *r, axp_replay_info *out,
                                    size_t size);
static inline axp_replay_info axp_replay_total(const axp_replay *r)
{
    axp_replay_info out;
    axp_replay_total_sized(r, &out, sizeof out);
    return out;
}

/* What the length of the run consists of, most first; together wall_ns. */
AXP_API size_t axp_replay_parts_sized(const axp_replay *r, axp_path_part *out,
                                      size_t cap, size_t size);
static inline size_t axp_replay_parts(const axp_replay *r, axp_path_part *out,
                                      size_t cap)
{
    return axp_replay_parts_sized(r, out, cap, sizeof *out);
}

/* By time, without gaps; a few thousand at most, so that short ones may be part
 * of their neighbours. */
AXP_API size_t axp_replay_segments_sized(const axp_replay *r,
                                         axp_path_segment *out, size_t cap,
                                         size_t size);
static inline size_t axp_replay_segments(const axp_replay *r,
                                         axp_path_segment *out, size_t cap)
{
    return axp_replay_segments_sized(r, out, cap, sizeof *out);
}

#ifdef __cplusplus
}
#endif
#endif
