/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof_read.h: what was recorded, as frozen views; findings; reports.
 *
 *   axp_view *v = axp_snapshot(axp_global());
 *   axp_op op;
 *   if (axp_view_op(v, "matmul", &op) == AXP_OK)
 *       printf("%llu calls, %.1f GFLOP/s\n",
 *              (unsigned long long)op.calls, axp_op_gflops(&op));
 *   axp_view_destroy(v);
 *
 * Link with -laxprof.
 *
 * Views      a view never changes, whatever the program goes on to do. Its
 *            strings live as long as it does. Any thread may read it, several
 *            at once.
 * Lists      functions that fill an array return how many there are, and fill
 *            as many as fit: call with cap 0 first, or with room enough.
 * Sizes      structs that a caller fills begin with their size, or 0; those
 *            that are filled for it have a call that takes their size, _sized,
 *            and a plain one that passes sizeof. So either side may be older:
 *            what one of them does not know is 0. Enums grow too: a value that
 *            a program does not know is none of those that it does.
 * Times      nanoseconds since the profiler was created or reset.
 * Open       a scope that was open counts as a call with its time so far.
 *
 * What is counted, here and in every report and export alike:
 *   wall time   axp_view_duration: from the first to the last event of what was
 *               recorded, of all threads and tracks together, the end of a
 *               thread among them; to the end of the recording where a thread
 *               ran for longer than that. Under axprof run
 *               from the start of the program to its end, unless a part of it
 *               was asked for: then of that part.
 *   thread time a thread's life: from its first event to its end, or, where it
 *               went on, to the end of the recorded part; never shorter than
 *               its CPU time.
 *   threads     those of the program that recorded anything; under axprof run
 *               also those that recorded nothing, where the kernel tells of
 *               them, without our own
 *   processes   those that recorded anything, that have a thread here, or that
 *               axprof run saw: whichever are most
 *   operations  names of scopes, waits, spans and async spans that were called
 *   calls       of operations
 *   events      records of the program in the timeline
 */
#ifndef AXPROF_READ_H
#define AXPROF_READ_H
#include <stdio.h>

#include "axprof.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- views -------------------------------------------------------------- */
typedef struct axp_view axp_view;
/* What p has recorded so far. Statistics are exact and complete. The timeline
 * is what memory still holds and, of a profiler that records to a file, what
 * is in the file already (where axprof run writes the file, memory's part
 * alone); axp_view_cut_count says how many events are in neither. */
/* NULL: axp_last_error() */
AXP__NODISCARD AXP_API axp_view *axp_snapshot(axp_profiler *p);
AXP_API axp_status axp_open(const char *const *paths, size_t n_paths,
                            axp_view **out);
typedef struct axp_open_options { /* zero = default */
    size_t size;                  /* sizeof(axp_open_options), or 0 */
    /* Folders where modules and their debug files are looked for, beside the
     * recorded path and the system's: as FOLDER/.build-id/xx/yyy.debug,
     * FOLDER/NAME.debug, FOLDER/NAME, or the recorded path below FOLDER. Only
     * a regular file that has the recorded build id is taken. */
    const char *const *symbols;
    size_t n_symbols;
} axp_open_options;
AXP_API axp_status axp_open_ex(const char *const *paths, size_t n_paths,
                               const axp_open_options *options, /* or NULL */
                               axp_view **out);
AXP_API void axp_view_destroy(axp_view *v); /* NULL allowed */

typedef struct axp_op {
    const char *name;
    uint64_t calls;
    axp_ns total_ns;               /* inclusive, recursion once */
    axp_ns self_ns;                /* exclusive, own cost taken off */
    axp_ns min_ns, max_ns, avg_ns; /* of single calls */
    axp_ns p50_ns, p95_ns, p99_ns; /* within 1.6 % */
    /* self_ns, of the thread time (see above) of the threads and tracks that it
     * ran on, less what recording took of that; 0…1. */
    double time_share;
    double flops, bytes; /* sums of what was declared */
    /* Calls that declared any; 0 = unknown. */
    uint64_t n_flops_calls, n_bytes_calls;
    axp_dtype dtype; /* that most of it was of */
    axp_cat category;
    const char *file; /* NULL, 0 where unknown */
    int line;
    bool is_sampled; /* from samples, not from scopes */
    /* Time of the calls that declared FLOPs, bytes; 0 = unknown. */
    axp_ns flops_ns, bytes_ns;
    bool is_wait; /* of a thread for another, as an adapter saw it */
    /* Where it ran; NULL: the host. Operations of one name on several devices
     * are several. */
    const char *device;
    uint64_t samples;   /* of a sampled one: those of self_ns */
    double share_error; /* … time_share is within this, at 95 % */
    bool is_kernel;     /* … the kernel's, for whoever called it */
    /* More than 5 % of the thread time of its threads is doubt: neither its
     * times nor its share are to be believed. */
    bool is_doubtful;
    /* So much of self_ns may still be what recording took: of each scope it is
     * known roughly, and of some of it not in whose time it is. */
    axp_ns doubt_ns;
    bool is_own; /* a sampled one: axprof's, inside of the program */
} axp_op;
typedef enum axp_order AXP__INT {
    AXP_BY_TIME, /* total_ns */
    AXP_BY_SELF,
    AXP_BY_CALLS
} axp_order;
/* The host's, if it has one of that name. */
static inline axp_status axp_view_op(const axp_view *v, const char *name,
                                     axp_op *out);
/* The same operation as one of another view, to compare two runs or two ranks:
 * of that name, on that device, a wait or none. */
static inline axp_status axp_view_op_like(const axp_view *v, const axp_op *like,
                                          axp_op *out);
static inline size_t axp_view_ops(const axp_view *v, axp_order order,
                                  axp_op *out, size_t cap);
/* Functions that were seen by sampling, by self_ns: nobody had to mark them.
 * total_ns and self_ns are processor time, as far as the samples tell;
 * time_share is self_ns of all processor time that was sampled; there are no
 * calls. file and line are where most of it was. */
static inline size_t axp_view_functions(const axp_view *v, axp_op *out,
                                        size_t cap);
/* Per second of the calls that declared; NaN if unknown. GB is 1e9. */
AXP_API double axp_op_gflops(const axp_op *op);
AXP_API double axp_op_gbps(const axp_op *op);

/* Calls of an operation that told the same dims (axp_work.dims). */
#define AXP_SHAPES 32
typedef struct axp_shape {
    uint32_t dims[6];
    uint32_t n_dims;   /* 0: other shapes, together */
    uint64_t n_shapes; /* how many it stands for, as far as that is known */
    uint64_t calls;
    axp_ns total_ns; /* of its calls, each as long as it took */
    double flops, bytes;
    uint64_t n_flops_calls, n_bytes_calls; /* as axp_op's, … */
    axp_ns flops_ns, bytes_ns;
    double gflops, gbps; /* … and axp_op_gflops, axp_op_gbps */
    axp_dtype dtype;
} axp_shape;
/* The AXP_SHAPES of it that took longest, longest first, each exact; then the
 * others together. op: of this view, or one like it. */
static inline size_t axp_view_shapes(const axp_view *v, const axp_op *op,
                                     axp_shape *out, size_t cap);

typedef struct axp_memory {
    uint64_t current_bytes, peak_bytes, total_allocated, total_freed;
    uint64_t n_allocs, n_frees;
    axp_ns peak_at;
} axp_memory;
typedef struct axp_memory_name {
    const char *name;
    axp_mem kind;
    uint64_t current_bytes, peak_bytes, at_peak_bytes, total_allocated;
    uint64_t n_allocs, n_frees;
    const char *device;               /* NULL: the host */
    double growth_early, growth_late; /* bytes a step, as of axp_heap_place */
} axp_memory_name;
typedef struct axp_memory_domain {
    const char *device; /* NULL: the host */
    axp_memory memory;
} axp_memory_domain;
typedef struct axp_leak {
    const char *name;
    uint64_t bytes;
    axp_ns at; /* since when something of that name has been live */
    uint64_t thread_id;
    bool is_retained; /* held since the first step, and not grown */
    uint64_t n_blocks;
    const char *device; /* NULL: the host */
} axp_leak;
static inline axp_memory axp_view_memory(const axp_view *v); /* the host's */
/* The host's, then that of each device that allocated, by name. */
static inline size_t axp_view_memory_domains(const axp_view *v,
                                             axp_memory_domain *out,
                                             size_t cap);
/* By at_peak_bytes, each at the peak of its own domain. */
static inline size_t axp_view_memory_names(const axp_view *v,
                                           axp_memory_name *out, size_t cap);
/* Everything not freed, largest first; retained ones flagged. */
static inline size_t axp_view_leaks(const axp_view *v, axp_leak *out,
                                    size_t cap);

/* What the program's allocator was seen to hand out (malloc and its kin, under
 * axprof run), as asked for: without what the allocator keeps beside it. */
typedef struct axp_heap {
    bool is_seen; /* else all of it is 0 */
    uint64_t current_bytes, current_blocks, peak_bytes;
    uint64_t total_allocated, total_freed, n_allocs, n_frees;
    uint64_t n_temporary; /* freed before their thread allocated again */
    axp_ns peak_at;
    uint64_t n_missed; /* blocks that could not be followed: in none of these */
    /* Calls for which it had nothing, and the first of them. What places held
     * then is their at_peak_bytes. */
    uint64_t n_failed, failed_bytes;
    axp_ns failed_at;
    uint32_t failed_stack;
    /* 0: every block was seen. Else one every so many bytes: sums of bytes are
     * estimates, those of n blocks to about ± 2 / sqrt(n) at 95 %, and blocks
     * are those that were seen. */
    uint64_t sampled_bytes;
    /* What the program mapped itself, anonymously, beside its allocator: now, at
     * most, and how often it did. Of several processes the sum. */
    uint64_t mapped_bytes, mapped_peak_bytes, n_mapped;
    /* What the limits of the process (ulimit) allowed when the allocator had
     * nothing; 0: they set none. */
    uint64_t failed_limit_bytes;
    /* Processes that the kernel killed for want of memory, and what their control
     * group allowed, 0 where none with a limit is known. What was live then
     * is what is not freed. Also where is_seen is not. */
    uint64_t n_oom_kills, oom_limit_bytes;
} axp_heap;
#define AXP_HEAP_AGES 8
/* Where memory was allocated: a stack, the scopes that were open, and what the
 * program calls it, if it tracked it. */
typedef struct axp_heap_place {
    const char *name; /* NULL: the program has none for it */
    axp_mem kind;
    uint32_t stack;            /* for axp_view_stack; 0: not known */
    const char *const *scopes; /* outermost first */
    size_t n_scopes;
    uint64_t current_bytes, current_blocks;
    uint64_t at_peak_bytes; /* of axp_heap's peak */
    uint64_t total_allocated, n_allocs, n_frees, n_temporary;
    /* Bytes a step by which what it holds grew: between the last two powers of
     * two of steps, and since then. What grows all the time has both; what fills
     * up, as a cache does, has no late growth. */
    double growth_early, growth_late;
    /* What it allocated a step, from the second on: blocks and bytes. All four
     * are 0 where fewer than 8 steps were marked. */
    double step_allocs, step_bytes;
    /* When something was first and last allocated there. The last time is that of
     * the thread's last look at the clock: exact where it allocates less than
     * every 4 us, else up to 127 of its calls before. */
    axp_ns first_at, last_at;
    uint64_t thread_id; /* whose all of it was; 0: several threads' */
    /* How long blocks lived that went: less than 10 us, 100 us … 10 s, and more.
     * An estimate by blocks that were followed: all of 64 KiB and more, all of a
     * thread that allocates less than every 4 us, else one in about a thousand,
     * counted as so many; at least so long where that one gave way to another. */
    uint64_t lived[AXP_HEAP_AGES];
} axp_heap_place;
/* A block that was never freed and is known by itself, as those of 64 KiB and more
 * are, up to 4096 in a process; else it stands for others of its place. */
typedef struct axp_heap_kept {
    size_t place; /* among axp_view_heap_places */
    uint64_t bytes;
    axp_ns at;
    uint64_t thread_id;
    uint64_t stands_for;
} axp_heap_kept;
/* How much of it was live in a stretch of time, at least and at most: of several
 * processes the sums of theirs. One process is known to 64 KiB or 1/512 of the
 * peak a thread, and its peak exactly. */
typedef struct axp_heap_level {
    axp_ns from, to;
    uint64_t min_bytes, max_bytes;
} axp_heap_level;
static inline axp_heap axp_view_heap(const axp_view *v);
/* By at_peak_bytes. */
static inline size_t axp_view_heap_places(const axp_view *v,
                                          axp_heap_place *out, size_t cap);
/* Largest first. */
static inline size_t axp_view_heap_kept(const axp_view *v, axp_heap_kept *out,
                                        size_t cap);
/* By time, each from where the one before ends. */
static inline size_t axp_view_heap_levels(const axp_view *v,
                                          axp_heap_level *out, size_t cap);

typedef struct axp_event_info {
    const char *name;
    axp_event_type type;
    axp_ns time_ns;
    uint64_t thread_id;
    const char *metadata; /* NULL: none */
    double value;         /* of a counter; bytes; the step's number */
    uint32_t stack;       /* of an allocation, for axp_view_stack; 0: none */
} axp_event_info;
typedef struct axp_event_filter { /* zero: all */
    size_t size;                  /* sizeof(axp_event_filter), or 0 */
    const char *name;
    const axp_event_type *type;
    axp_ns from, to; /* to 0: the end */
} axp_event_filter;
/* A place in a program. */
typedef struct axp_frame {
    const char *function; /* NULL: not known */
    const char *file;     /* NULL, 0: not known */
    int line;
    bool is_inlined;    /* into the next frame */
    const char *module; /* its path; NULL: in none that is known */
    uint64_t offset;    /* in the module; without one the address itself */
} axp_frame;
/* The frames of a stack, innermost first: how many there are, and as many as
 * fit. 0: there is no such stack. Names are looked up when they are asked for,
 * in modules whose build id was recorded and is the same here. */
static inline size_t axp_view_stack(const axp_view *v, uint32_t stack,
                                    axp_frame *out, size_t cap);

/* Memory of a name and a stack, as far as the timeline goes back. */
typedef struct axp_memory_stack {
    const char *name;
    uint32_t stack; /* 0: allocated without one */
    uint64_t n_allocs, allocated_bytes;
    uint64_t n_live, live_bytes; /* of those with an address: not freed */
} axp_memory_stack;
typedef int (*axp_memory_stack_fn)(const axp_memory_stack *m, void *ctx);
/* Most live bytes first, then most allocated; non-zero stops. */
AXP_API axp_status axp_view_memory_stacks(const axp_view *v,
                                          axp_memory_stack_fn fn, void *ctx);

typedef enum axp_sample_kind AXP__INT {
    AXP_SAMPLE_CPU,    /* it was on a processor then; weight in ns */
    AXP_SAMPLE_WAITED, /* it was off its processor, of its own will … */
    AXP_SAMPLE_READY   /* … or wanted to go on, for weight ns until then */
} axp_sample_kind;

/* What a thread did at a moment, as axprof run saw it. Of the times off a
 * processor the longer ones: from 10 µs on, more where there are very many. */
typedef struct axp_sample {
    axp_ns time_ns;
    uint64_t thread_id, process_id;
    uint32_t stack;  /* for axp_view_stack; 0: not known */
    uint32_t kind;   /* axp_sample_kind; others may come */
    uint64_t weight; /* how much of it the sample stands for */
    /* Names of the scopes that were open on its thread then, outermost first;
     * of more than 1024 the innermost. None: also of a thread without a row. */
    const char *const *scopes;
    size_t n_scopes;
} axp_sample;
typedef int (*axp_sample_fn)(const axp_sample *sample, void *ctx);
/* Thread by thread, each by time; non-zero stops. */
AXP_API axp_status axp_view_samples(const axp_view *v, axp_sample_fn fn,
                                    void *ctx);
AXP_API uint64_t axp_view_sample_count(const axp_view *v);

/* Waits of one thread that another one ended, as an adapter saw them. */
typedef struct axp_waits {
    const char *name; /* of the wait */
    uint64_t process_id, thread_id;
    const char *thread;    /* who waited; "": without a name */
    uint64_t by_thread_id; /* who ended it; 0: not known, or nobody … */
    const char *by_thread; /* … and NULL */
    uint64_t count;
    axp_ns total_ns, max_ns;
} axp_waits;
typedef int (*axp_waits_fn)(const axp_waits *waits, void *ctx);
/* As far as the timeline goes back, which is read; most time first; non-zero
 * stops. */
AXP_API axp_status axp_view_waits(const axp_view *v, axp_waits_fn fn,
                                  void *ctx);

/* Non-zero stops. The event is the callee's until it returns. */
typedef int (*axp_event_fn)(const axp_event_info *event, void *ctx);
/* By time; of the program, not of axprof run. filter may be NULL. */
AXP_API axp_status axp_view_events(const axp_view *v,
                                   const axp_event_filter *filter,
                                   axp_event_fn fn, void *ctx);
AXP_API uint64_t axp_view_event_count(const axp_view *v); /* in it now */
/* Recorded, but no longer in the timeline. */
AXP_API uint64_t axp_view_cut_count(const axp_view *v);
/* First start to last end in the timeline; 0: unknown. */
AXP_API axp_ns axp_view_span(const axp_view *v, const char *name);
/* Wall time; see above. */
AXP_API axp_ns axp_view_duration(const axp_view *v);

typedef struct axp_tree_node {
    const char *name;
    int32_t parent;
    uint64_t calls;
    axp_ns total_ns, self_ns;
    double flops, bytes;
    uint64_t allocated_bytes;
    /* A function, seen by sampling: times are processor time, part of the self
     * time of the scope that it stands below. */
    bool is_sampled;
    bool is_wait;       /* as axp_op's */
    const char *device; /* NULL: the host */
    uint64_t samples;   /* of a sampled one */
    axp_ns doubt_ns;    /* as axp_op's */
} axp_tree_node;
typedef struct axp_step_stats {
    uint64_t count;
    axp_ns avg_ns, p50_ns, p95_ns, p99_ns, min_ns, max_ns;
} axp_step_stats;
typedef struct axp_thread_info {
    uint64_t id;
    const char *name;
    uint64_t process_id;
    int rank;          /* -1: none */
    axp_ns begin, end; /* its life; see above */
    axp_ns busy_ns;    /* in scopes, waits included */
    uint64_t events;
    axp_ns wait_ns; /* in scopes of category sync, waits among them */
    /* CPU time of its life where the scheduler told it (is_scheduled), else since
     * its first event; 0 without the scheduler: not known. */
    axp_ns cpu_ns;
    /* It wanted a processor and had none: others had them. Only what the
     * scheduler says (is_scheduled), of its life; not while it waited for what was
     * not there yet, and would only have spun. */
    axp_ns ready_ns;
    bool is_scheduled;
    /* Off its processor, of its own will: waiting, sleeping. Only what the
     * scheduler says. cpu_ns, ready_ns and this are no more than its life; … */
    axp_ns off_ns;
    axp_ns spun_ns; /* … of cpu_ns: in waits, where it spun, as samples say */
} axp_thread_info;
typedef struct axp_process_info { /* processes of one name, from outside */
    const char *name;
    uint64_t count;
    axp_ns total_ns, avg_ns, max_ns; /* that they lived */
} axp_process_info;
typedef struct axp_warning {
    const char *code;
    const char *name; /* of what it was last seen on; NULL: nothing */
    uint64_t count;
    const char *text;
} axp_warning;
typedef struct axp_track_info {
    const char *name;
    uint64_t process_id;
    int rank; /* -1: none */
    axp_ns begin, end;
    axp_ns busy_ns;     /* sum of its spans, which may overlap */
    uint64_t events;    /* two a span */
    const char *device; /* NULL: none */
} axp_track_info;
typedef struct axp_counter_info {
    const char *name;
    uint64_t count; /* of its readings */
    double last;
    double mean; /* weighted by the time that each value stood */
    double min, max;
    axp_ns last_at;
    bool is_outside; /* read by axprof run, not by the program */
    /* A second, between the first and the last reading, of a counter of the
     * program's that only counts up: whole numbers that never fell, at least 3.
     * 0: it is none. */
    double rate;
} axp_counter_info;
/* Threads merged, parents first, root's parent -1. */
static inline size_t axp_view_tree(const axp_view *v, axp_tree_node *out,
                                   size_t cap);
static inline axp_step_stats axp_view_steps(const axp_view *v);
static inline size_t axp_view_threads(const axp_view *v, axp_thread_info *out,
                                      size_t cap);
/* What axprof run saw, longest together first. */
static inline size_t axp_view_processes(const axp_view *v,
                                        axp_process_info *out, size_t cap);
static inline size_t axp_view_tracks(const axp_view *v, axp_track_info *out,
                                     size_t cap);
static inline size_t axp_view_counters(const axp_view *v, axp_counter_info *out,
                                       size_t cap);
static inline size_t axp_view_warnings(const axp_view *v, axp_warning *out,
                                       size_t cap);
/* Parts of its files that are damaged or missing, as far as they have been read:
 * the timeline is read when it is asked for. 0: none. */
AXP_API uint64_t axp_view_damage(const axp_view *v);

/* ---- diagnosis ---------------------------------------------------------- */
typedef enum axp_finding_type AXP__INT {
    AXP_SLOW_OPERATION,
    AXP_HIGH_CALL_COUNT,
    AXP_MEMORY_HOTSPOT,
    AXP_MEMORY_LEAK,
    AXP_LOW_THROUGHPUT,
    AXP_MEMORY_BOUND,
    AXP_LOAD_IMBALANCE,
    AXP_LOCK_CONTENTION,
    AXP_SERIAL_PHASE,
    AXP_INPUT_BOUND,
    AXP_MEMORY_GROWTH,
    AXP_ALLOCATION_CHURN,
    AXP_SYNC_WAIT,
    AXP_IO_WAIT,
    AXP_OVERSUBSCRIPTION,
    AXP_STEP_OUTLIERS,
    AXP_STEP_DRIFT,
    AXP_SLOW_START,
    AXP_COMM_BOUND,
    AXP_COPY_BOUND,
    AXP_DEVICE_IDLE,
    AXP_COMPUTE_BOUND,
    AXP_LATENCY_BOUND,
    AXP_IMPLAUSIBLE_WORK,
    AXP_PRECISION,
    AXP_SHAPE_UNFRIENDLY,
    AXP_PEAK_PRESSURE,
    AXP_TEMPORARY_ALLOCATIONS,
    AXP_CALL_OVERHEAD,
    AXP_LAUNCH_BOUND,
    AXP_FRAGMENTATION,
    AXP_BANDWIDTH_SATURATED
} axp_finding_type;
typedef enum axp_severity AXP__INT {
    AXP_LOW,
    AXP_MEDIUM,
    AXP_HIGH,
    AXP_CRITICAL
} axp_severity;
typedef struct axp_metric {
    const char *key;
    double value;
} axp_metric;
typedef struct axp_finding {
    axp_finding_type type;
    const char *type_name; /* "SlowOperation" */
    axp_severity severity;
    const char *name, *description, *suggestion;
    axp_ns saving_ns;
    double saving_share;  /* of the wall time; 0: not estimable */
    bool saving_is_bound; /* "at most" */
    double confidence;    /* 0…1 */
    const axp_metric *metrics;
    size_t n_metrics;
    const char *file; /* where it was first recorded; NULL, 0: not known */
    int line;
    const char *device; /* NULL: the host */
} axp_finding;
/* What is looked for, in the order of axp_finding_type, and its thresholds. */
typedef struct axp_rule {
    axp_finding_type type;
    const char *id;    /* "slow_operation": in thresholds, and of its page */
    const char *name;  /* "SlowOperation": in findings */
    const char *about; /* what it finds */
    const char *needs; /* what must have been recorded */
} axp_rule;
typedef struct axp_rule_threshold {
    const char *key; /* "slow_operation.percent" */
    double value;    /* the default */
} axp_rule_threshold;
AXP_API size_t axp_rules_sized(axp_rule *out, size_t cap, size_t size);
AXP_API size_t axp_rule_thresholds_sized(axp_rule_threshold *out, size_t cap,
                                         size_t size);
/* How many there are; those that fit are written. */
static inline size_t axp_rules(axp_rule *out, size_t cap)
{
    return axp_rules_sized(out, cap, sizeof *out);
}
static inline size_t axp_rule_thresholds(axp_rule_threshold *out, size_t cap)
{
    return axp_rule_thresholds_sized(out, cap, sizeof *out);
}
typedef struct axp_thresholds { /* zero = default */
    size_t size;                /* sizeof(axp_thresholds), or 0 */
    /* 20, 30, 5, 1 */
    double slow_op_pct, memory_hotspot_pct, leak_pct, min_gflops;
    uint64_t high_call_count; /* 10000 */
    bool skip_memory_leaks;
    const char *const *set; /* "rule_id.threshold=value" */
    size_t n_set;
    const char *const *ignore; /* "rule_id" or "rule_id:name" */
    size_t n_ignore;
} axp_thresholds;
typedef struct axp_findings axp_findings;
AXP__NODISCARD AXP_API axp_findings *axp_analyze(
    const axp_view *v, const axp_thresholds *thresholds);
AXP_API size_t axp_findings_count(const axp_findings *f);
/* Most severe first, then most time regained. */
AXP_API const axp_finding *axp_findings_at(const axp_findings *f, size_t i);
/* One sentence: what the run's time is and what to change first, what was looked
 * at where there is nothing to gain, or why nothing could be judged. It may hold
 * names, and these anything. */
AXP_API const char *axp_findings_verdict(const axp_findings *f);
AXP_API axp_status axp_findings_write(const axp_findings *f, FILE *to);
AXP_API void axp_findings_destroy(axp_findings *f);

/* ---- reports and exports ------------------------------------------------ */
typedef enum axp_format AXP__INT {
    AXP_FORMAT_TEXT,
    AXP_FORMAT_JSON,
    AXP_FORMAT_MARKDOWN,
    AXP_FORMAT_HTML
} axp_format;
typedef enum axp_export_format AXP__INT {
    AXP_EXPORT_CHROME,
    AXP_EXPORT_PERFETTO,
    AXP_EXPORT_SPEEDSCOPE,
    AXP_EXPORT_FOLDED,
    AXP_EXPORT_PPROF,
    AXP_EXPORT_CSV_OPS,
    AXP_EXPORT_CSV_EVENTS,
    AXP_EXPORT_JSON_EVENTS,
    AXP_EXPORT_MEMORY_VIZ,
    AXP_EXPORT_OPENMETRICS,
    AXP_EXPORT_FOLDED_PEAK,
    AXP_EXPORT_FOLDED_LEAKS,
    AXP_EXPORT_FOLDED_ALLOCATED,
    AXP_EXPORT_FOLDED_TEMPORARY,
    AXP_EXPORT_CSV_SHAPES
} axp_export_format;
typedef struct axp_report_options { /* zero = default */
    size_t size;                    /* sizeof(axp_report_options), or 0 */
    int width;                      /* columns of a text report; 0: 80 */
    bool color;          /* of a text report: the caller knows the terminal */
    size_t max_findings; /* 0: ten; in JSON all */
    uint64_t max_events; /* in the timeline of an HTML report; 0: 5,000,000 */
    const axp_thresholds *thresholds;
    bool has_shapes; /* a text report shows operations by shape too */
} axp_report_options;
AXP_API axp_status axp_report_write(const axp_view *v, axp_format format,
                                    FILE *to);
AXP_API axp_status axp_report_write_ex(const axp_view *v, axp_format format,
                                       const axp_report_options *o, FILE *to);
AXP_API axp_status axp_report_export(const axp_view *v, const char *path,
                                     axp_format format);
AXP_API axp_status axp_export(const axp_view *v, const char *path,
                              axp_export_format format);
AXP_API axp_status axp_export_write(const axp_view *v, axp_export_format format,
                                    FILE *to);
/* By the name that `axprof export -f` takes; an unknown one fails with the
 * list of the known in axp_last_error. */
AXP_API axp_status axp_export_format_by_name(const char *name,
                                             axp_export_format *out);
/* NULL: no such format, so that counting from 0 lists them. description, if
 * not NULL, is set to one line about it. */
AXP_API const char *axp_export_format_name(axp_export_format f,
                                           const char **description);

#ifdef __cplusplus
}
#endif
#include "axprof_sized.h"

#endif
