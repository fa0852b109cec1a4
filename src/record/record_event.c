/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The timeline's other events: marks, counters, steps, async spans, flows,
 * and what is said of the innermost scope (work, category). */
#include <errno.h>
#include <string.h>

#include "axprof/axprof_adapter.h"
#include "base/base_category.h"
#include "base/base_text.h"
#include "record/record_quiet.h"
#include "record/record_scope.h"
#include "record/record_window.h"
#include "tally/tally_step.h"

#define MAX_METADATA (AXP__CHUNK_BYTES / 2)

void axp_instant(axp_profiler *p, const char *name)
{
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return;
    uint32_t id = axp__lane_name(lane, name);
    uint64_t now = axp__lane_room(lane, axp__clock_ticks(), 1);
    axp__lane_put(lane, AXP__W_INSTANT, id, now);
    axp__leave(lane);
}

/* Length of the metadata that is kept: whole UTF-8 characters. */
static size_t kept_len(struct axp__lane *lane, const char *metadata,
                       uint32_t name)
{
    size_t len = strnlen(metadata, MAX_METADATA);
    if (len < MAX_METADATA) return len;
    axp__warn(lane->p, AXP__WARN_CUT_METADATA, name);
    len = MAX_METADATA - 1;
    while (len && ((unsigned char)metadata[len] & 0xc0) == 0x80)
        len--;
    return len;
}

void axp_event(axp_profiler *p, const char *name, axp_event_type type,
               const char *metadata)
{
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return;
    uint32_t id = axp__lane_name(lane, name);
    uint64_t now = axp__clock_ticks();
    uint64_t words[MAX_METADATA / 8];
    size_t len = metadata ? kept_len(lane, metadata, id) : 0;
    unsigned n = metadata ? (unsigned)(len / 8 + 1) : 0;
    if ((unsigned)type > AXP_EVENT_STEP) {
        axp__warn(lane->p, AXP__WARN_BAD_ENUM, id);
        type = AXP_EVENT_CUSTOM;
    }
    if (n) {
        words[n - 1] = 0;
        memcpy(words, metadata, len);
    }
    axp__lane_put_ext(lane, AXP__X_EVENT, (uint32_t)type, id, now, words, n);
    axp__leave(lane);
}

static void count(axp_profiler *p, enum axp__name_kind kind, const char *name,
                  double value)
{
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return;
    uint32_t id = axp__lane_name_as(lane, kind, name);
    uint64_t now = axp__lane_room(lane, axp__clock_ticks(), 2), bits;
    memcpy(&bits, &value, 8);
    axp__lane_put_payload(lane, AXP__W_COUNTER, id, now, &bits, 1);
    axp__tally_count(&lane->tally, id, value, now);
    bool is_told = ++lane->n_counted % AXP__TOLD_AT_ONCE;
    axp__leave(lane);
    if (axp__unlikely(!is_told))
        axp__count_cost(p, "axprof.counters_ns",
                        AXP__TOLD_AT_ONCE * axp__own_cost_of_counter());
}

void axp_counter(axp_profiler *p, const char *name, double value)
{
    count(p, AXP__KIND_PLAIN, name, value);
}

void axp_outside_counter(axp_profiler *p, const char *name, double value)
{
    count(p, AXP__KIND_OUTSIDE, name, value);
}

void axp__count_cost(axp_profiler *p, const char *of, double took_ns)
{
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return;
    uint32_t id = axp__lane_name_as(lane, AXP__KIND_COST, of);
    axp__tally_count(&lane->tally, id, took_ns, axp__clock_ticks());
    axp__leave(lane);
}

void axp_outside_took(axp_profiler *p, const char *what, axp_ns ns)
{
    axp__count_cost(p, what, (double)ns);
}

void axp_muted(const char *function, uint64_t calls, uint64_t all, axp_ns took)
{
    struct axp__lane *lane = axp__enter(axp_global());
    if (!lane) return;
    struct axp__prof *p = lane->p;
    axp__add(&p->warning[AXP__WARN_MUTED].count, calls);
    axp__put(&p->warning[AXP__WARN_MUTED].name,
             axp__lane_name_as(lane, AXP__KIND_FUNCTION, function));
    axp__leave(lane);
    count(axp_global(), AXP__KIND_FUNCTION, function, (double)all);
    axp__count_cost(axp_global(), "axprof.muted_ns", (double)took);
}

void axp_took(const char *what, uint64_t ticks)
{
    axp__count_cost(axp_global(), what,
                    (double)axp__rate_to_ns(axp__clock_rate(), ticks));
}

uint64_t axp_ticks(axp_ns ns)
{
    return axp__rate_to_ticks(axp__clock_rate(), ns);
}

/* What names hold after 1, 2, 4 … steps. */
static void mark_memory(struct axp__prof *prof, uint64_t n_steps)
{
    if (n_steps & (n_steps - 1)) return;
    axp__memory_mark_step(&prof->memory, n_steps);
    struct axp__domain *d = axp__get_acquire(&prof->domains);
    for (; d; d = d->next)
        axp__memory_mark_step(&d->memory, n_steps);
}

/* Whether it began before the part of the run that is recorded: its end is the
 * first that is known of. */
static bool is_under_way(struct axp__prof *prof)
{
    uint64_t unknown = 0;
    return axp__unlikely(!axp__get(&prof->last_mark_ticks)) &&
           axp__cas(&prof->last_mark_ticks, &unknown, axp__clock_ticks());
}

static void record_step(struct axp__lane *lane)
{
    struct axp__prof *prof = lane->p;
    if (is_under_way(prof)) return;
    uint64_t now = axp__lane_room(lane, axp__clock_ticks(), 4);
    uint64_t before =
        __atomic_exchange_n(&prof->last_mark_ticks, now, __ATOMIC_ACQ_REL);
    struct axp__step step = {
        .index = axp__add(&prof->n_steps, 1),
        .begin_ticks = before < now ? before : now,
        .end_ticks = now,
        .live_bytes = axp__memory_current(&prof->memory),
    };
    uint64_t n_recorded = step.index + 1 - axp__get(&prof->first_step);
    axp__put(&prof->heap.step, (uint32_t)n_recorded);
    mark_memory(prof, n_recorded);
    if (!axp__tally_add_step(&lane->tally, &step))
        axp__warn(prof, AXP__WARN_NO_MEMORY, 0);
    uint64_t payload[3] = {step.index, step.live_bytes, step.begin_ticks};
    axp__lane_put_payload(lane, AXP__W_STEP, 0, now, payload, 3);
}

void axp_step(axp_profiler *p)
{
    struct axp__lane *lane = axp__enter(p);
    if (lane) record_step(lane);
    if (lane) axp__leave(lane);
    if (axp__unlikely(axp__get(&axp__process()->window.state)) &&
        p == axp_global())
        axp__window_step(axp__prof_of(p));
}

/* ---- async spans ---------------------------------------------------------------- */

static uint64_t async_key(uint32_t name, uint64_t id)
{
    return axp__mix64(id) ^ axp__mix64(~(uint64_t)name);
}

static void begin_async(axp_profiler *p, enum axp__name_kind kind,
                        const char *name, uint64_t id)
{
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return;
    uint32_t name_id = axp__lane_name_as(lane, kind, name);
    uint64_t old, now = axp__clock_ticks();
    axp__lane_put_ext(lane, AXP__X_ASYNC_BEGIN, 0, name_id, now, &id, 1);
    switch (
        axp__lookup_put(&lane->p->asyncs, async_key(name_id, id), now, &old)) {
    case AXP__PUT_NEW: break;
    case AXP__PUT_REPLACED:
        axp__warn(lane->p, AXP__WARN_ASYNC_TWICE, name_id);
        break;
    case AXP__PUT_FULL: axp__warn(lane->p, AXP__WARN_UNTRACKED, name_id); break;
    }
    axp__leave(lane);
}

static void end_async(axp_profiler *p, enum axp__name_kind kind,
                      const char *name, uint64_t id)
{
    uint64_t now = axp__clock_ticks();
    struct axp__lane *lane = axp__enter_as(p, AXP__ENTER_DISABLED);
    if (!lane) return;
    now = axp__lane_until(lane, now);
    uint32_t name_id = axp__lane_name_as(lane, kind, name);
    uint64_t begin_ticks;
    if (axp__lookup_take(&lane->p->asyncs, async_key(name_id, id),
                         &begin_ticks)) {
        uint64_t payload[2] = {id, begin_ticks};
        now = axp__lane_room(lane, now, 4);
        axp__tally_add_loose(&lane->tally, name_id,
                             now > begin_ticks ? now - begin_ticks : 0);
        axp__lane_put_ext(lane, AXP__X_ASYNC_END, 0, name_id, now, payload, 2);
    } else if (!axp__get(&lane->p->was_disabled)) {
        axp__warn(lane->p, AXP__WARN_ASYNC_END, name_id);
    }
    axp__leave(lane);
}

void axp_async_begin(axp_profiler *p, const char *name, uint64_t id)
{
    begin_async(p, AXP__KIND_PLAIN, name, id);
}

void axp_async_end(axp_profiler *p, const char *name, uint64_t id)
{
    end_async(p, AXP__KIND_PLAIN, name, id);
}

void axp_process_begin(axp_profiler *p, const char *name, uint64_t id)
{
    begin_async(p, AXP__KIND_PROCESS, name, id);
}

void axp_process_end(axp_profiler *p, const char *name, uint64_t id)
{
    end_async(p, AXP__KIND_PROCESS, name, id);
}

static void flow(axp_profiler *p, enum axp__ext_kind kind, uint64_t id)
{
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return;
    axp__lane_put_ext(lane, kind, 0, 0, axp__clock_ticks(), &id, 1);
    axp__leave(lane);
}

void axp_flow_out(axp_profiler *p, uint64_t id)
{
    flow(p, AXP__X_FLOW_OUT, id);
}

void axp_flow_in(axp_profiler *p, uint64_t id)
{
    flow(p, AXP__X_FLOW_IN, id);
}

/* ---- the innermost scope --------------------------------------------------------- */

/* NULL, and counted: no scope is open. */
static struct axp__frame *innermost(struct axp__lane *lane)
{
    if (lane->tally.top != lane->tally.frames) return lane->tally.top;
    axp__warn(lane->p, AXP__WARN_WORK_OUTSIDE, 0);
    return NULL;
}

void axp_add_work_sized(axp_profiler *p, const axp_work *work, size_t size)
{
    axp_work room;
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return;
    struct axp__frame *f = innermost(lane);
    if (f) {
        struct axp__work w;
        const axp_work *all = axp__work_of(work, size, &room);
        uint32_t name = axp__work_check(lane, all, f->op->name, &w);
        uint64_t now = axp__clock_ticks();
        if (all->dims[0]) axp__scope_set_dims(lane, name, all->dims, now);
        axp__scope_add_work(lane, f, &w, now);
    }
    axp__leave(lane);
}

void axp_category(axp_profiler *p, axp_cat cat)
{
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return;
    struct axp__frame *f = innermost(lane);
    if ((unsigned)cat >= AXP__N_CATEGORIES) {
        axp__warn(lane->p, AXP__WARN_BAD_ENUM, 0);
    } else if (f) {
        axp__put(&f->node->category, (uint16_t)cat);
        axp__lane_put_ext(lane, AXP__X_CATEGORY, (uint32_t)cat, f->op->name,
                          axp__clock_ticks(), NULL, 0);
    }
    axp__leave(lane);
}

/* ---- rows -------------------------------------------------------------------------- */

void axp_thread_name(axp_profiler *p, const char *name)
{
    struct axp__lane *lane = axp__enter_as(p, AXP__ENTER_DISABLED);
    if (!lane && axp__is_quiet()) return; /* a name may need memory */
    uint32_t id = name && *name ? axp__name_of_thread(name) : AXP__NAME_UNNAMED;
    if (!lane) { /* before the part of the run that is recorded */
        struct axp__thread *t = axp__thread_get();
        if (t) axp__put(&t->name, id);
        return;
    }
    if (id == AXP__NAME_UNNAMED || id == AXP__NAME_OTHER)
        axp__lane_warn_name(lane, id);
    axp__put(&lane->name, id);
    axp__leave(lane);
}

void axp_outside_machine(const char *text)
{
    int keep = errno;
    if (text) axp__name_register_as(AXP__KIND_MACHINE, text, NULL);
    errno = keep;
}

/* So many at once. */
static void warn_of(axp_profiler *handle, enum axp__warning_id kind, uint64_t n,
                    const char *name)
{
    int keep = errno;
    struct axp__prof *p = axp__prof_check(handle);
    if (p && n) {
        axp__warn(p, kind, name ? axp__name_register(name, NULL) : 0);
        axp__add(&p->warning[kind].count, n - 1);
    }
    errno = keep;
}

void axp_outside_unrecorded(axp_profiler *p, uint64_t n_processes,
                            const char *why)
{
    warn_of(p, AXP__WARN_UNRECORDED, n_processes, why);
}

void axp_outside_lost(axp_profiler *p, uint64_t n_samples)
{
    warn_of(p, AXP__WARN_LOST_SAMPLES, n_samples, NULL);
}

void axp_outside_left(axp_profiler *p, uint64_t n_processes)
{
    warn_of(p, AXP__WARN_LEFT, n_processes, NULL);
}

void axp_outside_row(axp_profiler *p)
{
    struct axp__lane *lane = axp__enter_as(p, AXP__ENTER_DISABLED);
    if (!lane) return;
    axp__put(&lane->name,
             axp__lane_name_as(lane, AXP__KIND_OUTSIDE, "(seen from outside)"));
    axp__leave(lane);
}
