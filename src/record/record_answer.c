/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The quick answers: straight from the accumulators, so that their cost
 * depends on how many threads and operations there are, never on events.
 *
 * An answer holds everything that the calling thread recorded before it, and
 * that other threads did before they synchronised with it. A scope that is
 * open counts as a call with its time so far. */
#include <errno.h>

#include "record/record_lane.h"
#include "record/record_named.h"

struct answer { /* index 0: ticks; 1: ns of tracks, and at the end of all */
    uint64_t calls;
    uint64_t total[2]; /* recursion once */
    uint64_t sum[2];   /* of the single calls */
};

/* Reads an op and its nodes between two equal, even versions. */
static void read_op(const struct axp__tally *t, const struct axp__op *op,
                    uint64_t *calls, uint64_t *total, uint64_t *sum)
{
    uint32_t before, after, tries = 0;
    do {
        before = axp__get_acquire(&op->version);
        *calls = axp__get(&op->loose_calls);
        *sum = axp__get(&op->loose_ticks);
        *total = *sum - axp__get(&op->repeat_ticks);
        for (axp__ref ref = axp__get_acquire(&op->nodes); ref;) {
            const struct axp__node *n = axp__arena_at(&t->arena, ref);
            *calls += axp__get(&n->calls);
            uint64_t ticks = axp__get(&n->total_ticks);
            *sum += ticks;
            if (!n->is_recursive) *total += ticks;
            ref = n->next_of_op;
        }
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        after = axp__get(&op->version);
    } while ((before != after || before & 1) && ++tries < AXP__MAX_TRIES);
}

static void add_ops(struct answer *a, const struct axp__lane *lane,
                    uint32_t name)
{
    const struct axp__tally *t = &lane->tally;
    for (axp__ref ref = axp__get_acquire(&t->first.ops); ref;) {
        const struct axp__op *op = axp__arena_at(&t->arena, ref);
        ref = axp__get_acquire(&op->next);
        if (op->name != name) continue;
        uint64_t calls, total, sum;
        read_op(t, op, &calls, &total, &sum);
        a->calls += calls;
        a->total[lane->track != 0] += total;
        a->sum[lane->track != 0] += sum;
        return;
    }
}

/* Open scopes of that name: each is a call, the outermost is time. */
static void add_open(struct answer *a, const struct axp__lane *lane,
                     uint32_t name, uint64_t now)
{
    const struct axp__tally *t = &lane->tally;
    struct axp__frame *frames, *top = axp__tally_look(t, &frames);
    bool is_outermost = true;
    for (struct axp__frame *f = frames + 1; f <= top; f++) {
        struct axp__op *op = axp__get_pointer(&f->op);
        uint64_t begin = axp__get(&f->begin_ticks);
        /* NULL: the frame is just being filled, as seen from here */
        if (!op || axp__get(&op->name) != name ||
            axp__named_is_claimed(lane, f))
            continue;
        uint64_t so_far = now > begin ? now - begin : 0;
        a->calls++;
        a->sum[0] += so_far;
        if (is_outermost) a->total[0] += so_far;
        is_outermost = false;
    }
}

static bool ask(axp_profiler *handle, const char *name, struct answer *a)
{
    int keep = errno;
    struct axp__thread *t = axp__thread_get();
    struct axp__prof *p = axp__prof_check(handle);
    uint32_t id = name && *name ? axp__name_find(name) : 0;
    *a = (struct answer){0};
    if (!p || !id || !t || axp__thread_is_inside(t)) return false;
    axp__mutex_lock(&p->mutex);
    if (axp__prof_check(handle) != p) { /* destroyed meanwhile */
        axp__mutex_unlock(&p->mutex);
        errno = keep;
        return false;
    }
    axp__trash_empty(p);
    uint64_t gate = axp__get(&p->gate);
    uint64_t now = axp__prof_end(p);
    if (p->merged) add_ops(a, p->merged, id);
    struct axp__lane *lane = axp__get_acquire(&p->lanes);
    for (; lane; lane = axp__get(&lane->next)) {
        if (!axp__lane_is_readable(lane) || lane->epoch != gate >> 8) continue;
        add_ops(a, lane, id);
        add_open(a, lane, id, now);
    }
    axp__mutex_unlock(&p->mutex);
    a->total[1] += axp__rate_to_ns(axp__clock_rate(), a->total[0]);
    a->sum[1] += axp__rate_to_ns(axp__clock_rate(), a->sum[0]);
    errno = keep;
    return true;
}

axp_ns axp_total_time(axp_profiler *p, const char *name)
{
    struct answer a;
    return ask(p, name, &a) ? a.total[1] : 0;
}

axp_ns axp_avg_time(axp_profiler *p, const char *name)
{
    struct answer a;
    return ask(p, name, &a) && a.calls ? a.sum[1] / a.calls : 0;
}

uint64_t axp_call_count(axp_profiler *p, const char *name)
{
    struct answer a;
    return ask(p, name, &a) ? a.calls : 0;
}

/* Its parts lie in memory that a reset gives back. */
uint64_t axp_current_memory(axp_profiler *handle)
{
    int keep = errno;
    struct axp__thread *t = axp__thread_get();
    struct axp__prof *p = axp__prof_check(handle);
    if (!p || !t || axp__thread_is_inside(t)) return 0;
    axp__mutex_lock(&p->mutex);
    uint64_t bytes =
        axp__prof_check(handle) == p ? axp__memory_current(&p->memory) : 0;
    axp__mutex_unlock(&p->mutex);
    errno = keep;
    return bytes;
}

uint64_t axp_peak_memory(axp_profiler *handle)
{
    struct axp__prof *p = axp__prof_check(handle);
    return p ? axp__memory_peak(&p->memory) : 0;
}
