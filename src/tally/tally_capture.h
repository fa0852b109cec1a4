/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A capture: everything that a profiler held at one moment, copied flat.
 *
 * Place      what a view is made of (src/model). src/record takes one from a
 *            live profiler; a reader of files makes the same from its blocks:
 *            what happens after this struct cannot tell the difference.
 * Units      ticks and counts as recorded; on tracks nanoseconds.
 * Ownership  everything lies in the capture's own memory; one free.
 * Open       scopes that were open are listed beside the accumulators, not
 *            added to them: the view does that.
 */
#ifndef AXP_TALLY_CAPTURE_H
#define AXP_TALLY_CAPTURE_H
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "axprof/axprof.h"
#include "base/base_atomic.h"
#include "os/os_clock.h"
#include "tally/tally_step.h"
#include "wire/wire_kind.h"
#include "wire/wire_shape.h"
#include "wire/wire_stack.h"

#define AXP__CAP_ROOT (-1)

struct axp__cap_hist {
    uint32_t op; /* index in the lane's ops; UINT32_MAX: its steps */
    uint32_t page;
    uint64_t count[AXP__HIST_BUCKETS];
};

struct axp__cap_op {
    uint32_t name;
    uint64_t loose_calls, loose_ticks, repeat_ticks;
    uint64_t min_ticks, max_ticks;
    uint32_t n_dims, dims[6];
    uint64_t lifetime_ticks;
};

struct axp__cap_node {
    uint32_t name;  /* of its operation */
    uint32_t shape; /* a name: wire_shape.h; 0: none */
    int32_t parent; /* index in the lane's nodes; nodes[0] is the root */
    uint16_t category, is_recursive;
    uint32_t dtype;
    uint32_t declares; /* what each of its calls does: see axp__cap_declare */
    uint64_t calls, total_ticks, self_ticks, allocated_bytes;
    uint64_t n_flops_calls, n_bytes_calls, flops_ticks, bytes_ticks;
    double flops, bytes;
};

struct axp__cap_frame { /* an open scope, outermost first */
    int32_t node;
    uint32_t flags; /* enum axp__frame_flag */
    uint64_t begin_ticks, charged_ticks, child_ticks;
};

struct axp__cap_traffic {
    uint32_t name;
    uint64_t n_allocs, n_frees, allocated_bytes, freed_bytes;
};

struct axp__cap_place { /* parts of sums: each may be below 0 */
    uint32_t name;
    uint64_t n_allocs, n_frees, allocated_bytes, freed_bytes, n_temporary;
    int64_t at_peak_bytes;
    /* Bytes a step that it held more, between the last two powers of two of
     * steps and since then; what it allocated a step, from the second on. */
    double growth_early, growth_late, step_allocs, step_bytes;
    /* By how many threads: none, one, which is row, or 2: several. The first
     * and the last time. */
    uint32_t n_rows, row;
    uint64_t first_ticks, last_ticks;
    uint64_t lived[8]; /* axp__heap_ages */
};
#define AXP__LEAST_STEPS 8u /* of which these are said */

struct axp__growth {
    double early, late;
};
/* Of what was held after the last power of two of steps, after half as many, and
 * now: sums, subtracted as such, since a broken file may say anything of them.
 * n_steps from AXP__LEAST_STEPS on, else none. */
static inline struct axp__growth axp__growth_of(uint64_t half, uint64_t power,
                                                uint64_t now, uint64_t n_steps)
{
    if (n_steps < AXP__LEAST_STEPS) return (struct axp__growth){0, 0};
    uint64_t n = (uint64_t)1 << (63 - __builtin_clzll(n_steps));
    double early = (double)(int64_t)(power - half) / ((double)n / 2);
    if (n_steps == n) return (struct axp__growth){early, early};
    double late = (double)(int64_t)(now - power) / (double)(n_steps - n);
    return (struct axp__growth){early, late};
}

/* What an allocator handed out, and the last time that it had nothing. */
struct axp__cap_heap {
    bool is_seen; /* else all of it is 0 */
    uint64_t peak_bytes, peak_ticks;
    uint64_t n_missed;      /* blocks that could not be followed */
    uint64_t sampled_bytes; /* mean distance of those that were; 0: all */
    uint64_t n_failed, failed_bytes, failed_ticks;
    uint32_t failed_place;
    uint64_t mapped_bytes, mapped_peak, n_mapped; /* beside the allocator */
    uint64_t failed_limit; /* of the process, then; 0: none … */
    uint64_t group_bytes;  /* … and of its control group; likewise */
};

/* What was live of it in a stretch of time in which that changed. */
struct axp__cap_level {
    uint64_t at_ticks, length_ticks;
    uint64_t min_bytes, max_bytes, last_bytes;
    uint32_t process; /* where recordings were joined: which; not in files */
};

/* A block of it that was live at the end and is known (tally_notes.h). */
struct axp__cap_note {
    uint64_t ticks, bytes;
    uint32_t place, row, weight;
};

struct axp__cap_counter {
    uint32_t name;
    uint64_t n, last_ticks;
    double last, min, max, sum;
    uint64_t held_ticks; /* up to the last value … */
    double area;         /* … and values times the ticks that they stood */
    uint64_t n_counting; /* as axp__counter's */
};

/* A thread or track. Merged ones have a row and no lane of their own. */
struct axp__cap_row {
    uint32_t id, track, name, n_merged;
    uint64_t tid;
    uint64_t process_id;
    int32_t rank;         /* -1: none */
    uint64_t first, last; /* ticks; on tracks ns */
    uint64_t busy;
    uint64_t n_events;
    bool is_ended;
    uint64_t waited; /* of merged ones: in scopes of category sync; ticks */
    uint64_t cpu_ns; /* CPU time since the first event; 0: not known */
};

/* What recording costs. Of a scope: between its two looks at the clock, so
 * within its own time, and around them, within its parent's. Of an allocation
 * or a free: all. */
struct axp__own_cost {
    uint64_t around_ticks, inside_ticks, alloc_ticks;
};

#define AXP__COST_BITS 21 /* of each, packed: three and a bit to spare */

static inline uint64_t axp__own_cost_pack(struct axp__own_cost c)
{
    uint64_t most = ((uint64_t)1 << AXP__COST_BITS) - 1;
    uint64_t around = c.around_ticks < most ? c.around_ticks : most;
    uint64_t inside = c.inside_ticks < most ? c.inside_ticks : most;
    uint64_t alloc = c.alloc_ticks < most ? c.alloc_ticks : most;
    return alloc << 2 * AXP__COST_BITS | inside << AXP__COST_BITS | around;
}

static inline struct axp__own_cost axp__own_cost_unpack(uint64_t packed)
{
    uint64_t most = ((uint64_t)1 << AXP__COST_BITS) - 1;
    return (struct axp__own_cost){packed & most,
                                  packed >> AXP__COST_BITS & most,
                                  packed >> 2 * AXP__COST_BITS & most};
}

/* The accumulators of a row, or of all that were merged. */
struct axp__cap_lane {
    int32_t row; /* index in rows; -1: the merged ones */
    bool is_track;
    struct axp__own_cost own_cost; /* 0: the capture's */
    struct axp__cap_op *ops;
    struct axp__cap_node *nodes;
    struct axp__cap_hist *hists;
    struct axp__cap_frame *frames;
    struct axp__cap_traffic *traffic;
    struct axp__cap_counter *counters;
    struct axp__cap_place *places;
    struct axp__steps *steps; /* NULL: none; its pages are in hists */
    uint32_t n_ops, n_nodes, n_hists, n_frames, n_traffic, n_counters, n_places;
};

struct axp__cap_live { /* an allocation name */
    uint32_t name, kind;
    uint64_t current_bytes, peak_bytes, at_peak_bytes, first_step_bytes;
    uint64_t since_ticks, since_row;
    double growth_early, growth_late; /* axp__cap_place */
};

/* The memory of a device; the host's is the capture's own. */
struct axp__cap_domain {
    uint32_t device; /* number: wire_kind.h */
    uint64_t current_bytes, peak_bytes, peak_ticks;
};

struct axp__cap_chunk;

/* Words in memory until they are unloaded. */
struct axp__cap_words {
    const uint64_t *words;
    size_t n_words;
    uint64_t base_ticks;
    void (*unload)(struct axp__cap_words *words); /* NULL: nothing to do */
    void *memory;                                 /* private */
};

/* Where words that are not in memory come from: a file, a spool. A source
 * embeds this struct. */
struct axp__cap_source {
    /* False if they cannot be read. From any thread. */
    bool (*load)(const struct axp__cap_source *s,
                 const struct axp__cap_chunk *at, uint32_t part,
                 struct axp__cap_words *out);
    /* Of those that a capture owns: called when it is freed. */
    void (*close)(struct axp__cap_source *s);
    struct axp__cap_source *next;
    uint64_t n_failed; /* loads that gave nothing: counted by load */
};

/* The one thing of a file that changes while it is read. */
static inline void axp__source_failed(const struct axp__cap_source *s)
{
    axp__add(&((struct axp__cap_source *)(uintptr_t)s)->n_failed, 1);
}

/* Words of a row, in order. Those of a live profiler are there, those of a
 * file are loaded while they are read, part by part. */
struct axp__cap_chunk {
    uint32_t row;    /* id, not index */
    uint32_t n_more; /* parts after the first */
    uint64_t seq, base_ticks;
    const uint64_t *words;                /* NULL: to be loaded … */
    const struct axp__cap_source *source; /* … from here … */
    uint64_t place;                       /* … where the source knows them */
    size_t n_words;
    uint64_t n_events; /* of the timeline; UINT64_MAX: not counted yet */
};

struct axp__cap_warning {
    const char *code, *text;
    uint64_t count;
    uint32_t name;
};

struct axp__cap_name {
    const char *text, *file; /* file NULL: unknown */
    int line;
    uint32_t flags; /* enum axp__name_flag, and the type (wire_kind.h) */
};

/* The names that every recording has, ids 0 to 2, and that of any id that it
 * has no name for. */
#define AXP__CAP_SPECIALS 3u
static inline struct axp__cap_name axp__cap_special(uint32_t id)
{
    static const char *const texts[] = {"(root)", "(other)", "(unnamed)",
                                        "(unknown)"};
    return (struct axp__cap_name){
        .text = texts[id < AXP__CAP_SPECIALS ? id : AXP__CAP_SPECIALS],
        .flags = AXP__KIND_FLAGS(AXP__KIND_SPECIAL)};
}

/* Stacks by id: of the process, or of who looked at it from outside. */
enum axp__cap_stack_table { AXP__STACKS_OF_PROCESS, AXP__STACKS_OF_OTHERS };
struct axp__cap_stacks {
    const uint8_t **at; /* bytes (wire_stack.h), whole; NULL: not there */
    uint32_t n;         /* from id 0, or AXP__STACKS_OUTSIDE, on */
};

/* The path of what is the profiler's own; no file's is like it. Adapters that have
 * a scope open while they call on are told apart: who called them is outside of
 * that scope. */
#define AXP__OWN_CODE "[axprof]"
#define AXP__OWN_CALLS "[axprof] calls"
static inline bool axp__is_own_code(const char *path)
{
    return path && !strncmp(path, AXP__OWN_CODE, sizeof AXP__OWN_CODE - 1);
}
static inline bool axp__is_own_call(const char *path)
{
    return path && !strcmp(path, AXP__OWN_CALLS);
}
/* What the path of code that a program made begins with; its name follows. */
#define AXP__JIT_CODE "[jit] "

struct axp__cap_module { /* an object that the process had loaded */
    uint64_t bias;       /* a - bias: an address as its headers count */
    uint64_t first, last;
    const char *path, *build_id; /* build_id NULL: none, and no symbols */
};

struct axp__thread_states; /* wire_states.h */

/* What somebody who looked from outside saw a thread do. */
struct axp__cap_sample {
    uint64_t ticks, tid, weight;
    uint32_t stack, kind;
    uint64_t process; /* its id, and the host's number above: axp__cap_whose */
    bool is_placed;   /* its thread has a row; set by who reads */
};

/* A block of samples, in any order; they are loaded when they are asked for. */
struct axp__cap_samples {
    /* All n of them; false: they cannot be read. */
    bool (*load)(const struct axp__cap_samples *from,
                 struct axp__cap_sample *out);
    const struct axp__cap_source *source; /* … from here … */
    uint64_t place;                       /* … where it knows them */
    uint32_t n;
};

/* One of several processes that were joined. */
struct axp__cap_process {
    const char *title;
    uint64_t process_id;
    int32_t rank;       /* -1: none */
    uint32_t first_row; /* ids of its rows go up to the next one's */
    uint64_t end_ticks;
    const struct axp__capture *part; /* its own, which has its stacks … */
    uint32_t first_stack[2];         /* … whose ids begin there, by table */
    uint32_t host;                   /* a number: the same on one host */
};

/* What ran, where and when. NULL, 0: unknown. */
struct axp__cap_about {
    const char *program;   /* its path */
    const char *arguments; /* 0x1f between them */
    const char *host, *cpu;
    const char *machine;          /* what it can do: machine_text.c */
    uint64_t memory_bytes;        /* of the machine */
    uint64_t n_cpus;              /* that the process may use; 0: not known */
    uint64_t pid_namespace;       /* in which its ids are; 0: not known */
    uint64_t address_limit_bytes; /* of the process (ulimit -v) */
    uint64_t started_ns;          /* real time of start_ticks, since 1970 */
};

struct axp__capture {
    const char *title;
    struct axp__cap_about about;
    void *trace; /* words are in a file too, mapped, the taker's; if … */
    uint64_t trace_bytes;  /* … UINT64_MAX there alone, else so much of it */
    uint64_t trace_mapped; /* bytes */
    uint32_t trace_epoch;  /* of its blocks */
    uint64_t process_id;
    int32_t rank; /* -1: none */
    uint64_t start_ticks, end_ticks;
    struct { /* of the run, asked for by time; ticks 0: none was */
        int64_t after_ticks; /* the start; it may have begun before that */
        uint64_t ticks;      /* UINT64_MAX: up to the end */
        uint64_t first_step; /* by steps: from this one on; 0: none, or all */
    } part;
    uint64_t rate_mult; /* ns = ticks * mult / 2^32 */
    struct {            /* the clocks at one moment; ticks 0: not known */
        uint64_t ticks, monotonic_ns, realtime_ns;
    } clock;
    struct axp__own_cost own_cost; /* where a lane has none of its own */
    uint64_t timeline_capacity;
    uint64_t n_events; /* ever recorded for the timeline */
    uint64_t n_steps;  /* of the run; before the part that was recorded, too */
    bool is_finished, has_timeline;

    struct axp__cap_process *processes; /* NULL: one, and it is the capture's */
    struct axp__cap_row *rows;
    struct axp__cap_lane *lanes;
    struct axp__cap_live *live;
    struct axp__cap_chunk *chunks;
    struct axp__cap_warning *warnings;
    struct axp__cap_domain *domains; /* by device */
    size_t n_processes, n_rows, n_lanes, n_live, n_chunks, n_warnings,
        n_domains;
    uint64_t current_bytes, peak_bytes, peak_ticks; /* the host's */
    struct axp__cap_heap heap;
    struct axp__cap_level *levels; /* by process, and by time */
    struct axp__cap_note *notes;
    size_t n_levels, n_notes;
    const char **devices; /* by number: axp__cap_device; NULL: none */
    struct axp__cap_stacks stacks[2]; /* by enum axp__cap_stack_table */
    struct axp__cap_module *modules;  /* all that were ever told */
    size_t n_modules, cap_modules;
    struct axp__cap_samples *samples;
    size_t n_samples;                  /* blocks of them */
    struct axp__thread_states *states; /* process as axp__cap_whose */
    size_t n_states;

    uint32_t n_names; /* ids that may be known are below this */
    /* Of any id, known or not. */
    struct axp__cap_name (*name_at)(const struct axp__capture *c, uint32_t id);
    void (*release)(struct axp__capture *c); /* frees all of it */
    void *own;                               /* of release and name_at */
    struct axp__cap_source *sources;         /* closed with the capture */
    struct axp__cap_block *memory;           /* private */
};

/* Counts, from calls and times, what nodes that declare work did not count as
 * it happened (tally_scope.h). Once for a lane that is complete. */
AXP_API void axp__cap_declare(struct axp__cap_lane *lane);
/* Zeroed, until the capture is freed; NULL: no memory. */
AXP_API void *axp__cap_take(struct axp__capture *c, size_t count, size_t size);
AXP_API void axp__cap_free(struct axp__capture *c); /* NULL allowed */

/* Adds n names of c's memory, which are in the order of their ids, to those
 * that are there, which keep it. False: no memory. */
AXP_API bool axp__cap_add_live(struct axp__capture *c,
                               struct axp__cap_live *live, size_t n);
/* The same for a domain; room was made. One that is there already is left. */
AXP_API void axp__cap_add_domain(struct axp__capture *c,
                                 struct axp__cap_domain domain);
/* That of a device; NULL: it has none. */
static inline struct axp__cap_domain *axp__cap_find_domain(
    const struct axp__capture *c, uint32_t device)
{
    for (size_t i = 0; i < c->n_domains; i++)
        if (c->domains[i].device == device) return &c->domains[i];
    return NULL;
}

/* Looks for the names of devices, and of modules. Once names are known; false:
 * no memory. */
AXP_API bool axp__cap_list_names(struct axp__capture *c);
/* What a device is called; NULL: the host. */
static inline const char *axp__cap_device(const struct axp__capture *c,
                                          uint32_t device)
{
    if (!device) return NULL;
    const char *text =
        c->devices && device < AXP__DEVICES ? c->devices[device] : NULL;
    return text ? text : "(unknown device)";
}

/* The device of a name; 0: the host. */
static inline uint32_t axp__cap_device_of(const struct axp__capture *c,
                                          uint32_t name)
{
    return axp__device_of(c->name_at(c, name).flags);
}

/* What is damaged or missing in the files that a capture was read from, as far
 * as they have been read; 0: nothing. */
AXP_API uint64_t axp__cap_damage(const struct axp__capture *c);

/* For captures that were read: no index points outside. tally_repair.c */
AXP_API void axp__cap_repair(struct axp__capture *c);

static inline bool axp__cap_has_stacks(const struct axp__capture *c)
{
    return c->stacks[0].n || c->stacks[1].n;
}

/* Of the processes that were joined, whose a stack is; 0 where there is one. */
static inline size_t axp__cap_stack_part(const struct axp__capture *c,
                                         uint32_t id)
{
    unsigned table = id >= AXP__STACKS_OUTSIDE;
    size_t low = 0, high = c->n_processes;
    while (low + 1 < high) { /* the last that begins no later */
        size_t mid = (low + high) / 2;
        if (c->processes[mid].first_stack[table] <= (id & ~AXP__STACKS_OUTSIDE))
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* The capture that has what such a process had loaded. */
static inline const struct axp__capture *axp__cap_part(
    const struct axp__capture *c, size_t part)
{
    return c->n_processes ? c->processes[part].part : c;
}

/* The bytes of a stack; NULL: there is none of that id. */
static inline const uint8_t *axp__cap_stack(const struct axp__capture *c,
                                            uint32_t id)
{
    unsigned table = id >= AXP__STACKS_OUTSIDE;
    uint32_t i = id & ~AXP__STACKS_OUTSIDE;
    size_t part = axp__cap_stack_part(c, id);
    if (c->n_processes) i -= c->processes[part].first_stack[table];
    const struct axp__cap_stacks *s = &axp__cap_part(c, part)->stacks[table];
    return i < s->n ? s->at[i] : NULL;
}

/* The frames of such bytes: how many there are, as many as fit. */
static inline size_t axp__cap_frames(const uint8_t *stack, uint64_t *out,
                                     size_t cap)
{
    struct axp__bytes b = {stack, stack + AXP__STACK_BYTES(AXP__STACK_MOST),
                           false};
    return axp__stack_get(&b, out, cap);
}

/* Given what the clocks said at one moment: sets about.started_ns. */
static inline void axp__cap_start_at(struct axp__capture *c, uint64_t ticks,
                                     uint64_t realtime_ns)
{
    bool is_before = c->start_ticks < ticks;
    uint64_t apart =
        is_before ? ticks - c->start_ticks : c->start_ticks - ticks;
    uint64_t ns =
        axp__rate_to_ns((struct axp__rate){.mult = c->rate_mult}, apart);
    c->about.started_ns = !is_before         ? realtime_ns + ns
                          : ns < realtime_ns ? realtime_ns - ns
                                             : 0;
}

/* Parts are counted from 0; words that are there are one. */
static inline bool axp__words_load(const struct axp__cap_chunk *at,
                                   uint32_t part, struct axp__cap_words *out)
{
    *out = (struct axp__cap_words){at->words, at->n_words, at->base_ticks, NULL,
                                   NULL};
    return at->words ||
           (at->source && at->source->load(at->source, at, part, out));
}

static inline void axp__words_unload(struct axp__cap_words *words)
{
    if (words->unload) words->unload(words);
    *words = (struct axp__cap_words){0};
}

/* Of the processes that were joined, whose a row is; 0 where there is one. */
static inline uint32_t axp__cap_process_of(const struct axp__capture *c,
                                           uint32_t row_id)
{
    size_t low = 0, high = c->n_processes;
    while (low + 1 < high) {
        size_t mid = (low + high) / 2;
        if (c->processes[mid].first_row <= row_id)
            low = mid;
        else
            high = mid;
    }
    return (uint32_t)low;
}

/* What a process is known by, beside all others that were joined: its id, and
 * the number of its host above that. */
static inline uint64_t axp__cap_whose(const struct axp__capture *c,
                                      uint32_t process)
{
    if (!c->n_processes) return c->process_id & UINT32_MAX;
    return (uint64_t)c->processes[process].host << 32 |
           (c->processes[process].process_id & UINT32_MAX);
}

/* Where what a row has left open ends: with its process. */
static inline uint64_t axp__cap_end_of(const struct axp__capture *c,
                                       uint32_t row_id)
{
    return c->n_processes
               ? c->processes[axp__cap_process_of(c, row_id)].end_ticks
               : c->end_ticks;
}

/* What a name of kind WORK says; false: it is none. */
static inline bool axp__cap_work(const struct axp__capture *c, uint32_t name,
                                 struct axp__shape_work *out)
{
    struct axp__cap_name n = c->name_at(c, name);
    return axp__kind_of(n.flags) == AXP__KIND_WORK &&
           axp__shape_work_get(n.text, name, out);
}

/* The name of kind SHAPE that one stands for: its own, but for one with work. */
static inline uint32_t axp__cap_shape_of(const struct axp__capture *c,
                                         uint32_t name)
{
    struct axp__shape_work work;
    return axp__cap_work(c, name, &work) ? work.shape : name;
}

/* What a shape's name says, with work or without; false: it is none. */
static inline bool axp__cap_shape(const struct axp__capture *c, uint32_t name,
                                  struct axp__shape *out)
{
    uint32_t shape = axp__cap_shape_of(c, name);
    struct axp__cap_name n = c->name_at(c, shape);
    return axp__kind_of(n.flags) == AXP__KIND_SHAPE &&
           axp__shape_get(n.text, shape, out);
}

/* The operation that a name stands for: its own, but for a shape's. */
static inline uint32_t axp__cap_op_of(const struct axp__capture *c,
                                      uint32_t name)
{
    struct axp__shape shape;
    return axp__cap_shape(c, name, &shape) ? shape.op : name;
}

/* The same of a lane. */
static inline uint64_t axp__cap_lane_end(const struct axp__capture *c,
                                         const struct axp__cap_lane *lane)
{
    return lane->row < 0 ? c->end_ticks
                         : axp__cap_end_of(c, c->rows[lane->row].id);
}

/* Ids of warnings that the view itself adds, by code. */
#define AXP__CODE_OPEN "open_scopes"
/* Of warnings that say that something is missing: bytes, blocks, the end. */
#define AXP__CODE_CUT "cut_file"
#define AXP__CODE_DAMAGED "damaged_blocks"
#define AXP__TEXT_DAMAGED                                                      \
    "damaged blocks of the file; what they held is missing"
#define AXP__CODE_MISSING "missing_recordings"
#define AXP__CODE_NO_END "folded_again"
#define AXP__CODE_UNWRITTEN "write_failed"
/* Of one that says that nothing is but an index, which packing makes anew. */
#define AXP__CODE_CUT_INDEX "cut_index"

/* The place of a node among the refs of a lane's nodes, which rise: nodes lie
 * in the order in which they were made. */
static inline int32_t axp__cap_index_of(const uint32_t *refs, uint32_t n,
                                        uint32_t ref)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (refs[mid] < ref)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && refs[low] == ref ? (int32_t)low : AXP__CAP_ROOT;
}

#endif
