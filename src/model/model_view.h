/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A view: a capture turned into what people ask for.
 *
 *   capture ─► ops (by name, all threads) ─► time shares, percentiles
 *           ├► tree (threads merged)
 *           ├► memory, steps, threads, tracks, counters, warnings
 *           └► events: merged by time as they are asked for
 *
 * Ownership  the view owns its capture and everything here; malloc, since
 *            nothing of this runs inside a recording call.
 * Threads    frozen once built: any number may read.
 */
#ifndef AXP_MODEL_VIEW_H
#define AXP_MODEL_VIEW_H
#include <string.h>

#include "axprof/axprof_read.h"
#include "machine/machine.h"
#include "os/os_clock.h"
#include "tally/tally_capture.h"

struct axp__view_counter {
    const char *name;
    uint64_t n;
    double last, min, max, mean;
    axp_ns last_at;
    bool is_outside;
    double rate;     /* a second, of what only counts up; 0: it does not */
    axp_ns first_at; /* as far as that is known */
    uint64_t n_counting;
    double sum, weighted, weight; /* for the mean */
};

struct axp__life {
    axp_ns begin, end;
};

struct axp__view_track {
    uint32_t id;
    int32_t rank;
    const char *name;
    const char *device; /* NULL: none */
    uint64_t process_id;
    axp_ns begin, end, busy_ns;
    uint64_t events;
};

struct axp__view_shape {
    uint32_t op;               /* its operation's name … */
    const char *name, *device; /* … and what that is */
    bool is_wait;
    axp_shape shape;
};

struct axp_view {
    struct axp__capture *capture;
    /* By name, the operation that it stands for: another one for a shape's;
     * NULL: there are no shapes. */
    uint32_t *op_of;
    size_t n_shape_names;
    struct axp__view_shape *shapes; /* by operation, the heaviest first */
    size_t n_shapes;
    uint64_t *row_keys;           /* id << 32 | index, sorted */
    uint32_t *lane_of_row;        /* 1 + its index; 0: none */
    struct axp__machine *machine; /* that it ran on; NULL: not known */
    axp_op *ops;                  /* by self time */
    const axp_op **ops_by_name;
    size_t n_ops;
    const char *most_called;     /* by threads; NULL: there are spans alone */
    axp_process_info *processes; /* seen from outside, by total time */
    size_t n_processes;
    size_t n_recorded;     /* processes that recorded events */
    size_t n_with_threads; /* processes that a thread is known of */
    axp_tree_node *tree;
    uint32_t *tree_names; /* ids; a function's place in functions */
    bool *tree_is_own;    /* functions that are the program's; NULL: none */
    size_t n_tree;
    struct axp__cap_sample
        *samples; /* NULL: too many to keep; model_samples.h */
    size_t n_samples;
    axp_op *functions; /* that were sampled, by self time; model_functions.h */
    char **function_names; /* those that are made here */
    size_t n_functions;
    axp_waits *waits; /* by total time; NULL: not counted yet */
    size_t n_waits;
    struct axp__blocked *blocked, *blocked_stacks; /* model_blocked.h */
    size_t n_blocked, n_blocked_stacks;
    struct axp__stack_ns { /* of processor time in no scope; see functions */
        uint32_t stack;
        uint64_t ns;
    } * outside_stacks;
    size_t n_outside_stacks;
    axp_ns ran_ns, ready_ns; /* of all threads, as the scheduler tells, … */
    axp_ns idle_ready_ns;    /* … beside this, in vain: model_idle.h */
    axp_ns sampled_ns;       /* processor time, */
    uint64_t n_sampled;      /* so many samples of it; … */
    axp_ns spun_ns;          /* … beside this, in waits */
    axp_memory memory;       /* the host's */
    axp_memory_domain *domains;
    size_t n_domains;
    axp_memory_name *memory_names;
    size_t n_memory_names;
    axp_leak *leaks;
    size_t n_leaks;
    axp_heap heap;
    axp_heap_place *heap_places; /* by at_peak_bytes */
    size_t n_heap_places;
    const char **heap_scopes; /* of all of them */
    uint32_t *heap_names;     /* of the places */
    axp_heap_level *heap_levels;
    size_t n_heap_levels;
    axp_heap_kept *heap_kept; /* largest first */
    size_t n_heap_kept;
    axp_step_stats steps;
    struct axp__life *lives;  /* of the capture's rows */
    axp_thread_info *threads; /* of the program, that recorded or were seen */
    size_t n_threads;
    bool is_outside;  /* axprof run looked on */
    bool is_part;     /* of a run, as axprof run was asked */
    bool has_no_part; /* it never came: there is nothing but what looked on */
    struct axp__view_track *tracks;
    size_t n_tracks;
    struct axp__view_counter *counters;
    size_t n_counters;
    axp_warning *warnings;
    size_t n_warnings;
    char *own_texts[4]; /* of warnings that are made here */
    uint64_t n_events;  /* in the timeline */
    uint64_t n_skipped; /* older than timeline_capacity */
    uint64_t n_outside; /* of n_events, those of who looked on */
    axp_ns begin_ns;    /* of the recorded part … */
    axp_ns duration_ns; /* … and how long it is: wall time */
    struct axp__stack_names *stack_names; /* model_stacks.h */
    /* What src/graph keeps here, made when it is first asked for. */
    void *graph;
    void (*free_graph)(void *graph);
};

/* Takes the capture over, also on failure. NULL: no memory. */
axp_view *axp__view_make(struct axp__capture *capture);

/* ---- what the files of the model share ---------------------------------------- */
static inline axp_ns axp__view_ns(const axp_view *v, uint64_t ticks)
{
    struct axp__rate rate = {v->capture->rate_mult};
    return axp__rate_to_ns(rate, ticks);
}

/* A sum of ticks and of nanoseconds. */
static inline axp_ns axp__view_sum_ns(const axp_view *v, const uint64_t time[2])
{
    return axp__view_ns(v, time[0]) + time[1];
}

/* Ticks of the clock since the start of the profiler, in ns. */
static inline axp_ns axp__view_time(const axp_view *v, uint64_t ticks)
{
    uint64_t start = v->capture->start_ticks;
    return ticks > start ? axp__view_ns(v, ticks - start) : 0;
}

static inline const char *axp__view_name(const axp_view *v, uint32_t id)
{
    return v->capture->name_at(v->capture, id).text;
}

/* The file in which a name of this view's was given, and the line; NULL: not
 * known. */
static inline const char *axp__view_place(const axp_view *v, const char *text,
                                          int *line)
{
    const struct axp__capture *c = v->capture;
    for (uint32_t id = 0; id < c->n_names; id++) {
        struct axp__cap_name name = c->name_at(c, id);
        if (name.text != text) continue;
        *line = name.line;
        return name.file;
    }
    return NULL;
}

/* What the device of a name is called; NULL: the host. */
static inline const char *axp__view_device(const axp_view *v, uint32_t id)
{
    return axp__cap_device(v->capture, axp__cap_device_of(v->capture, id));
}

/* By text; the host first. For orders in which nothing else differs. */
static inline int axp__view_by_device(const char *a, const char *b)
{
    if (a == b || !a || !b) return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

static inline int axp__view_by_name(const axp_op *a, const axp_op *b)
{
    int order = strcmp(a->name, b->name);
    if (!order) order = axp__view_by_device(a->device, b->device);
    return order ? order : a->is_wait - b->is_wait;
}

/* The first that does not come before this one, by name; NULL: none. Strings
 * are compared, so that it may be another view's. */
const axp_op *axp__view_find_op(const axp_view *v, const axp_op *like);

/* What the system's clocks said when the view's time was 0; false: that is not
 * known. */
struct axp__view_clocks {
    uint64_t monotonic_ns, realtime_ns;
};
bool axp__view_clocks(const axp_view *v, struct axp__view_clocks *out);

/* NULL: none. Of several with one id the first. */
const struct axp__cap_row *axp__view_row(const axp_view *v, uint64_t id);
/* The accumulators of a row; NULL: it has none of its own. */
const struct axp__cap_lane *axp__view_lane(const axp_view *v,
                                           const struct axp__cap_row *row);

/* What a name stands for. */
static inline enum axp__name_kind axp__view_kind(const axp_view *v, uint32_t id)
{
    return axp__kind_of(v->capture->name_at(v->capture, id).flags);
}

/* The operation that a name stands for: its own, but for a shape's. */
static inline uint32_t axp__view_op_of(const axp_view *v, uint32_t id)
{
    return v->op_of && id < v->capture->n_names ? v->op_of[id] : id;
}

/* The shapes of an operation, as axp_view_shapes gives them; NULL: none. */
const struct axp__view_shape *axp__view_shapes_of(const axp_view *v,
                                                  const axp_op *op, size_t *n);

/* Whether recording took so much that times without it are other ones. */
bool axp__view_has_cost(const axp_view *v);
/* So much code of ours was met by samples within scopes, by place in the tree:
 * what is more than was taken off functions by hooks puts them in doubt. */
void axp__view_doubt_met(axp_view *v, const axp_ns *met);

/* Is it axprof run's own, and no thread of the program? */
bool axp__row_is_outside(const axp_view *v, const struct axp__cap_row *row);

/* Threads of the program, processes and calls, as axprof_read.h defines
 * them. */
size_t axp__view_n_processes(const axp_view *v);
uint64_t axp__view_n_calls(const axp_view *v);
/* Whether axp_view_waits may find any: only adapters record them, and a
 * timeline without one is not read. */
bool axp__view_has_waits(const axp_view *v);

/* Each fills its part; false: no memory. In this order. */
bool axp__view_find_shapes(axp_view *v);
bool axp__view_make_index(axp_view *v);
bool axp__view_make_lives(axp_view *v); /* of rows; wall time */
bool axp__view_make_machine(axp_view *v);
bool axp__view_make_ops(axp_view *v);
bool axp__view_make_shapes(axp_view *v);
bool axp__view_make_tree(axp_view *v);
bool axp__view_make_memory(axp_view *v);
bool axp__view_make_heap(axp_view *v);
bool axp__view_make_levels(axp_view *v);
bool axp__view_make_kept(axp_view *v); /* after the heap */
bool axp__view_make_rows(axp_view *v); /* threads, tracks */
void axp__view_sort_states(axp_view *v);
/* When a thread ended, as the scheduler tells; 0: it does not. */
axp_ns axp__view_end_of(const axp_view *v, const struct axp__cap_row *row);
/* How many times as long as it ran row i's thread took, since it had to wait for
 * its processor; 1: not known. */
double axp__view_longer(const axp_view *v, size_t i);
/* How long it ran or wanted to; its life, where nobody tells. */
axp_ns axp__view_at_work(const axp_view *v, size_t i);
/* The same as axp__view_longer, at most: where the scheduler was not asked, a thread
 * that ran for most of its life, or did little but record, which took it so long,
 * may have waited for its processor in the rest. */
double axp__view_longest(const axp_view *v, size_t i, axp_ns own_ns);
/* Rows' lives are those of their threads, as far as it tells. */
bool axp__view_widen_lives(axp_view *v);
bool axp__view_cut_states(axp_view *v);
/* Processes by what the scheduler tells of their first threads, rather than by
 * looks at them, which meet what is short too seldom. After the operations. */
bool axp__view_make_processes(axp_view *v);
/* What it tells of a row's thread: 1 + its place among the states; 0: nothing. A
 * program that starts another in its place goes on as the same thread, in another
 * row. */
size_t axp__view_state_of(const axp_view *v, const struct axp__cap_row *row);
/* The same of a thread that has none, at a moment in ticks. */
size_t axp__view_state_at(const axp_view *v, uint64_t process, uint64_t tid,
                          uint64_t ticks);
/* How long it lived, as far as the run goes, in all of its rows. */
struct axp__life axp__view_life_of(const axp_view *v, size_t state);
/* How long it ran, and wanted to. */
void axp__view_ran_of(const axp_view *v, size_t state, axp_ns *ran,
                      axp_ns *ready);
/* How long it wanted a processor and had none; the largest: not known. */
axp_ns axp__view_starved(const axp_view *v, const struct axp__cap_row *row);
void axp__view_set_states(const axp_view *v, const struct axp__cap_row *row,
                          axp_thread_info *out);
/* What is told of a thread by several who looked at different moments becomes no
 * more than its life. */
void axp__view_settle_states(axp_view *v);
/* Threads of programs that are not told of yet (by state): how many. They follow
 * n_threads. */
struct axp__told {
    uint32_t thread; /* 1 + its place; 0: not told of */
    axp_ns named;    /* when the row began that it has its name from */
};
size_t axp__view_unrecorded(const axp_view *v, const struct axp__told *told);
bool axp__view_make_rest(axp_view *v); /* steps, counters */
bool axp__view_make_events(axp_view *v);
bool axp__view_make_warnings(axp_view *v);
/* Once they are added up: whether there are enough. */
bool axp__view_warn_of_samples(axp_view *v);
/* One more warning, whose texts stay as long as v. False: no memory. */
bool axp__view_warn(axp_view *v, const axp_warning *w);

/* Whether the allocator had nothing because it was asked for more than there is
 * at all: then what is shown as held is the peak's, and not of that moment. */
bool axp__heap_was_asked_too_much(const axp_view *v);
/* The frame that a stack of n is called by, innermost first: not one of the C or
 * C++ library, if there is another; n is not 0. */
const axp_frame *axp__heap_frame(const axp_frame *frames, size_t n);

/* A percentile of counted values: pairs sorted by value. */
struct axp__weighted {
    uint64_t value, count;
};
uint64_t axp__view_percentile(const struct axp__weighted *w, size_t n,
                              double q);
int axp__view_by_weight_value(const void *a, const void *b);
/* Threads, for qsort: by begin, then by id. */
int axp__thread_by_begin(const void *a, const void *b);
/* A page of a lane's histograms as weighted ns; returns how many. NULL: only
 * that. */
size_t axp__view_add_page(const axp_view *v, const struct axp__cap_lane *lane,
                          uint32_t page, struct axp__weighted *out);

/* The times of all steps, as their histograms have them, sorted; malloc, NULL:
 * no memory. */
struct axp__weighted *axp__view_step_times(const axp_view *v, size_t *count);

/* Open scopes: time so far, and of it what is the scope's own. */
uint64_t axp__frame_total(const axp_view *v, const struct axp__cap_lane *lane,
                          uint32_t i);
uint64_t axp__frame_self(const axp_view *v, const struct axp__cap_lane *lane,
                         uint32_t i);
/* How much of a time may still be ours, for what was taken off it as ours on this
 * lane: as much again, since caches, page faults and neighbours are not those of
 * the measurement; more where the thread had to wait for its processor. */
double axp__lane_doubt(const axp_view *v, const struct axp__cap_lane *lane);
/* For each node of the lane, the ticks of its self time that recording took;
 * malloc. */
uint64_t *axp__lane_costs(const struct axp__capture *c,
                          const struct axp__cap_lane *lane);
/* All that recording took on the lane's thread. */
axp_ns axp__lane_own_ns(const axp_view *v, const struct axp__cap_lane *lane);
/* Of that, what was told beside the scopes: muted calls, what calls by name and
 * values of counters take more than is counted for them. */
axp_ns axp__lane_beside_ns(const axp_view *v, const struct axp__cap_lane *lane);
/* Gives the objects that the processes had loaded, until fn says true: then it is
 * true. */
typedef bool axp__module_fn(const struct axp__cap_module *m, void *ctx);
bool axp__view_modules(const axp_view *v, axp__module_fn *fn, void *ctx);
/* What values of counters took. */
axp_ns axp__view_counters_ns(const axp_view *v);
/* What following blocks of memory took. */
axp_ns axp__view_memory_ns(const axp_view *v);
/* What of all that was told under one name: "axprof.memory_ns". */
axp_ns axp__view_cost_ns(const axp_view *v, const char *of);

#endif
