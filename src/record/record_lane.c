/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lanes: taken, written to, ended, merged; see record_lane.h. */
#include "record/record_lane.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "os/os_map.h"
#include "os/os_space.h"
#include "os/os_thread.h"
#include "record/record_memory.h"
#include "record/record_named.h"
#include "record/record_tape.h"
#include "record/record_track.h"
#include "record/record_window.h"
#include "tally/tally_merge.h"

#define MOST_MOVED_IN 1024u
#define MERGE_PAST 32      /* ended lanes kept whole, by thread */
#define WAIT_PAST 64       /* … of which so many hold too much memory … */
#define MOST_YIELDS 1000   /* … to go on without having tried this often */
#define MOST_LEFT_OPEN 512 /* of threads that ended with scopes open */

/* ---- memory of lanes -------------------------------------------------------- */

struct axp__lane *axp__lane_at(uint32_t index)
{
    struct axp__process *process = axp__process();
    if (index / AXP__LANES_A_PAGE >= AXP__LANE_PAGES) return NULL;
    struct axp__lane **page =
        axp__get_acquire(&process->lane_page[index / AXP__LANES_A_PAGE]);
    return page ? axp__get_acquire(&page[index % AXP__LANES_A_PAGE]) : NULL;
}

static bool publish(struct axp__process *process, struct axp__lane *lane)
{
    size_t bytes = AXP__LANES_A_PAGE * sizeof(struct axp__lane *);
    uint32_t i = axp__add(&process->n_lanes, 1) + 1;
    if (i / AXP__LANES_A_PAGE >= AXP__LANE_PAGES) return false;
    struct axp__lane ***where = &process->lane_page[i / AXP__LANES_A_PAGE];
    struct axp__lane **page = axp__get_acquire(where);
    if (!page) {
        struct axp__lane **fresh = axp__map(bytes);
        if (!fresh) return false;
        if (axp__cas(where, &page, fresh))
            page = fresh;
        else
            axp__unmap(fresh, bytes);
    }
    lane->index = i;
    axp__put_release(&page[i % AXP__LANES_A_PAGE], lane);
    return true;
}

/* Lanes that their profilers have left, as a stack: the index of the topmost,
 * and above it how often the stack has changed, so that who was interrupted
 * between his look and his change does not take one for another. No lock: who
 * came while it is held would have to wait, or take new memory, and lanes are
 * never given back. */
#define LEFT_CHANGES ((uint64_t)1 << 32)

static uint64_t left_after(uint64_t now, uint32_t top)
{
    return ((now & ~(uint64_t)UINT32_MAX) + LEFT_CHANGES) | top;
}

void axp__lane_leave(struct axp__lane *lane)
{
    struct axp__process *process = axp__process();
    uint64_t now = axp__get(&process->left_lanes);
    do
        axp__put(&lane->left_below, (uint32_t)now);
    while (!axp__cas(&process->left_lanes, &now, left_after(now, lane->index)));
}

static struct axp__lane *take_left(struct axp__process *process)
{
    uint64_t now = axp__get_acquire(&process->left_lanes);
    while ((uint32_t)now) {
        struct axp__lane *lane = axp__lane_at((uint32_t)now);
        uint32_t below = axp__get(&lane->left_below); /* or anything, if late */
        if (axp__cas(&process->left_lanes, &now, left_after(now, below)))
            return lane;
    }
    return NULL;
}

/* A profiler with a file has its lanes there; one that others have left moves
 * in. Those are extents of their own, of which there are so many. */
static struct axp__lane *take_memory(struct axp__space *space)
{
    struct axp__process *process = axp__process();
    size_t bytes = (sizeof(struct axp__lane) + 4095) & ~(size_t)4095;
    struct axp__lane *lane = NULL;
    if (!space || axp__get(&space->n_extents) < MOST_MOVED_IN)
        lane = take_left(process);
    if (lane && space)
        (void)axp__space_move_in(space, AXP__EXTENT_LANES, lane, bytes, bytes);
    if (lane) return lane;
    lane = axp__space_map(space, AXP__EXTENT_LANES, sizeof *lane);
    if (lane && publish(process, lane)) return lane;
    axp__space_unmap(space, lane, sizeof *lane);
    return NULL;
}

/* ---- life -------------------------------------------------------------------- */

static void retire(void *ctx, void *memory, size_t bytes)
{
    axp__trash_add(ctx, memory, bytes);
}

static void free_named_pages(struct axp__lane *lane)
{
    for (struct axp__named_page *page = lane->named_pages; page;) {
        struct axp__named_page *next = page->next;
        axp__unmap(page, sizeof *page);
        axp__budget_give(&lane->p->budget, sizeof *page);
        page = next;
    }
    lane->named_pages = NULL;
}

static void to_sink(struct axp__lane *lane)
{
    axp__put(&lane->chunk, NULL);
    axp__put(&lane->words, lane->sink);
    axp__put(&lane->cur, lane->sink);
    lane->end = lane->sink + AXP__SINK_WORDS;
    axp__put(&lane->n_extra, 0);
}

/* 0: not known; beside a test's clock it would mean nothing. */
static uint64_t cpu_now(const struct axp__lane *lane)
{
    if (lane->track || !axp__clock_pair_first().ticks) return 0;
    return axp__thread_cpu_ns(axp__get(&lane->tid));
}

/* An empty lane of p; the caller knows that nobody else is inside. */
static void begin(struct axp__lane *lane, struct axp__prof *p)
{
    uint64_t now = axp__clock_ticks();
    memset(&lane->seed, 0, sizeof lane->seed);
    memset(lane->near_named, 0, sizeof lane->near_named);
    memset(lane->mail, 0, sizeof lane->mail);
    if (lane->p != p) lane->p = p; /* others may look */
    axp__put(&lane->handle,
             (const axp_profiler *)((char *)p + axp__get(&p->generation)));
    lane->epoch = axp__get(&p->gate) >> 8;
    axp__put(&lane->base_ticks, now);
    axp__put(&lane->first_ticks, 0);
    axp__put(&lane->last_ticks, now);
    axp__put(&lane->cpu_begin_ns, cpu_now(lane));
    axp__put(&lane->cpu_ns, 0);
    axp__put(&lane->has_span, 0);
    axp__put(&lane->n_chunks, 0);
    axp__put(&lane->n_logged, 0);
    axp__put(&lane->n_unlogged, 0);
    axp__put(&lane->n_named, 0);
    axp__put(&lane->has_mail, 0);
    lane->memory = lane->device ? NULL : &p->memory;
    lane->purse = NULL;
    lane->memos = lane->guess = NULL;
    lane->alloc_node = NULL;
    lane->named_pages = NULL;
    lane->free_named = NULL;
    for (unsigned i = 0; i < AXP__NEAR_NAMED; i++) {
        lane->near_named[i].next_free = lane->free_named;
        lane->free_named = &lane->near_named[i];
    }
    axp__tally_init(&lane->tally, &lane->seed, &p->budget,
                    lane->device ? axp__process()->device[lane->device].other
                                 : AXP__NAME_OTHER);
    lane->tally.retire = retire;
    lane->tally.retire_ctx = p;
    to_sink(lane);
    lane->end = lane->cur; /* so that the first event asks for a chunk */
    axp__lane_stop(lane);
}

void axp__lane_clear(struct axp__lane *lane)
{
    uint32_t row = axp__add(&lane->p->n_rows, 1) + 1;
    axp__tally_fini(&lane->tally);
    free_named_pages(lane);
    begin(lane, lane->p);
    axp__put(&lane->row, row);
    axp__put(&lane->row_in_file, 0); /* the file begins anew, as rows do */
}

void axp__lane_discard(struct axp__lane *lane)
{
    axp__lane_stop(lane);
    axp__put(&lane->owner, NULL);
    axp__put(&lane->state, AXP__LANE_FREE);
    axp__tally_fini(&lane->tally);
    free_named_pages(lane);
}

/* One whose thread ended and whose data were merged. n_free is a guess, so
 * that nobody looks through the lanes of a thousand live threads in vain. */
static struct axp__lane *reclaim(struct axp__prof *p)
{
    if ((int32_t)axp__get(&p->n_free_lanes) <= 0) return NULL;
    struct axp__lane *lane = axp__get_acquire(&p->lanes);
    for (; lane; lane = lane->next) {
        uint32_t free = AXP__LANE_FREE;
        if (axp__get(&lane->state) == free &&
            axp__cas(&lane->state, &free, AXP__LANE_TAKEN)) {
            axp__add(&p->n_free_lanes, -1);
            return lane;
        }
    }
    return NULL;
}

void axp__lane_free(struct axp__lane *lane)
{
    axp__put(&lane->owner, NULL);
    axp__put_release(&lane->state, AXP__LANE_FREE);
    axp__add(&lane->p->n_free_lanes, 1);
}

/* At the end, where a reader of the spool, which has no such lane, finds all
 * the others before it. */
static void append(struct axp__prof *p, struct axp__lane *lane)
{
    struct axp__lane **at = &p->lanes, *none = NULL;
    axp__put(&lane->next, NULL);
    while (!axp__cas(at, &none, lane)) {
        at = &none->next;
        none = NULL;
    }
}

static void push(struct axp__prof *p, struct axp__lane *lane)
{
    struct axp__space *space = p->budget.space;
    if (space && !axp__space_holds(space, lane)) {
        if (p->tape && p->tape->is_outside)
            axp__warn(p, AXP__WARN_SPOOL_FULL, lane->name);
        append(p, lane);
        return;
    }
    struct axp__lane *head = axp__get(&p->lanes);
    do
        axp__put(&lane->next, head);
    while (!axp__cas(&p->lanes, &head, lane));
}

void axp__lane_keep(struct axp__lane *lane)
{
    push(lane->p, lane);
    axp__add(&lane->p->n_free_lanes, 1);
}

static bool have_ended(const struct axp__prof *p, uint32_t more_than)
{
    return axp__get(&p->n_ended) > more_than + axp__get(&p->n_left_open);
}

/* The mutex may be the calling thread's, which a handler has interrupted, so
 * nobody waits for it. But who has it may not be running, and then threads
 * could come and go until the memory is used up. */
static void merge_if_many(struct axp__prof *p)
{
    for (int i = 0; have_ended(p, i ? WAIT_PAST : MERGE_PAST); i++) {
        if (!pthread_mutex_trylock(&p->mutex)) {
            axp__lane_merge_many(p);
            pthread_mutex_unlock(&p->mutex);
            return;
        }
        if (i == MOST_YIELDS) return;
        if (have_ended(p, WAIT_PAST)) sched_yield();
    }
}

struct axp__lane *axp__lane_take(struct axp__thread *t, struct axp__prof *p,
                                 const struct axp_track *track)
{
    struct axp__lane *lane = NULL;
    uint32_t name = track ? track->name : 0;
    if (t) merge_if_many(p);
    if (t) lane = reclaim(p);
    bool is_new = !lane;
    if (is_new) lane = take_memory(p->budget.space);
    if (!lane) return NULL;
    if (is_new) axp__budget_force(&p->budget, sizeof *lane);
    axp__put(&lane->row_in_file, 0); /* that was another file's */
    /* The drain looks without a lock, and knows by a new row that what it has
     * seen since is another's: put_rows. */
    axp__put_release(&lane->row, axp__add(&p->n_rows, 1) + 1);
    axp__store_barrier();
    axp__put(&lane->track, track ? track->id : 0);
    lane->device = track ? track->device : 0;
    axp__put(&lane->process_id, track ? track->process_id : 0);
    axp__put(&lane->tid, t ? t->tid : 0);
    if (t) t->alloc_handle = NULL; /* it may have been that one's */
    if (!name && t) name = axp__get(&t->name);
    if (!name && t) {
        char comm[32];
        axp__thread_comm(comm, sizeof comm);
        name = comm[0] ? axp__name_of_thread(comm) : 0;
    }
    axp__put(&lane->name, name);
    begin(lane, p);
    axp__put(&lane->owner, t);
    axp__put_release(&lane->state, t ? AXP__LANE_ACTIVE : AXP__LANE_KEPT);
    if (is_new && t) push(p, lane);
    return lane;
}

/* By the ending thread, marked busy; or for it. */
bool axp__lane_end(struct axp__lane *lane)
{
    struct axp__prof *p = lane->p;
    /* Acquire: what a reset that is over has made of the lane. */
    if (axp__get_acquire(&p->gate) & AXP__GATE_SHUT) return false;
    axp__put(&lane->cpu_ns, axp__lane_cpu_ns(lane));
    axp__named_settle(lane);
    axp__lane_seal(lane);
    axp__lane_stop(lane);
    axp__add(&p->n_ended, 1);
    axp__put_release(&lane->state, AXP__LANE_ENDED);
    return true;
}

void axp__lanes_finish(struct axp__prof *p)
{
    struct axp__lane *lane = axp__get_acquire(&p->lanes);
    for (; lane; lane = axp__get(&lane->next))
        if (axp__lane_is_readable(lane))
            axp__put(&lane->cpu_ns, axp__lane_cpu_ns(lane));
}

/* ---- merging ------------------------------------------------------------------ */

uint64_t axp__lane_logged(const struct axp__lane *lane)
{
    uint64_t here = 0;
    if (axp__get(&lane->chunk))
        here = (uint64_t)(axp__get(&lane->cur) - axp__get(&lane->words)) -
               axp__get(&lane->n_extra);
    return axp__get(&lane->n_logged) + here;
}

uint64_t axp__lane_unlogged(const struct axp__lane *lane)
{
    uint64_t here = 0;
    if (!axp__get(&lane->chunk))
        here = (uint64_t)(axp__get(&lane->cur) - axp__get(&lane->words)) -
               axp__get(&lane->n_extra);
    return axp__get(&lane->n_unlogged) + here;
}

uint64_t axp__lane_busy_ticks(const struct axp__lane *lane)
{
    const struct axp__tally *t = &lane->tally;
    axp__ref ref = axp__get_acquire(&t->first.nodes);
    axp__ref root = ref;
    uint64_t busy = 0;
    while (ref) {
        const struct axp__node *n = axp__arena_at(&t->arena, ref);
        if (n->parent == root) busy += axp__get(&n->total_ticks);
        ref = axp__get_acquire(&n->next);
    }
    return busy;
}

/* Own time of scopes of category sync. */
static uint64_t wait_ticks(const struct axp__lane *lane)
{
    const struct axp__tally *t = &lane->tally;
    uint64_t waited = 0;
    for (axp__ref ref = t->first.nodes; ref;) {
        const struct axp__node *n = axp__arena_at(&t->arena, ref);
        if (n->category == AXP_CAT_SYNC) waited += n->self_ticks;
        ref = n->next;
    }
    return waited;
}

uint64_t axp__lane_cpu_ns(const struct axp__lane *lane)
{
    if (axp__get(&lane->state) == AXP__LANE_ENDED ||
        axp__get(&lane->p->gate) & AXP__GATE_FINISHED)
        return axp__get(&lane->cpu_ns);
    uint64_t begin = axp__get(&lane->cpu_begin_ns), now = cpu_now(lane);
    return begin && now > begin ? now - begin : 0;
}

/* A place for the row of a merged lane; the last stands for all past the
 * limit, which are counted. */
static struct axp__row *new_row(struct axp__prof *p)
{
    if (p->n_merged_rows == p->cap_rows && p->cap_rows < AXP__MAX_ROWS) {
        uint32_t cap = p->cap_rows ? p->cap_rows * 2 : 64;
        struct axp__row *old = p->rows;
        struct axp__row *wider =
            axp__budget_map(&p->budget, cap * sizeof *wider);
        if (!wider) return NULL;
        if (old) memcpy(wider, old, p->n_merged_rows * sizeof *wider);
        axp__put(&p->rows, wider);
        axp__budget_unmap(&p->budget, old, p->cap_rows * sizeof *wider);
        p->cap_rows = cap;
    }
    if (p->n_merged_rows < p->cap_rows) return &p->rows[p->n_merged_rows++];
    struct axp__row *rest = &p->rows[p->n_merged_rows - 1];
    rest->n_merged++;
    rest->name = AXP__NAME_OTHER;
    rest->tid = 0;
    axp__warn(p, AXP__WARN_SHARED_ROW, 0);
    return rest;
}

static void keep_row(struct axp__prof *p, const struct axp__lane *lane)
{
    struct axp__row *r = new_row(p);
    if (!r) return;
    if (!r->n_merged) {
        r->id = lane->row;
        r->track = lane->track;
        r->name = lane->name;
        r->tid = lane->tid;
        r->first_ticks = lane->first_ticks;
    }
    if (lane->first_ticks < r->first_ticks) r->first_ticks = lane->first_ticks;
    if (lane->last_ticks > r->last_ticks) r->last_ticks = lane->last_ticks;
    r->busy_ticks += axp__lane_busy_ticks(lane);
    r->wait_ticks += wait_ticks(lane);
    r->cpu_ns += lane->cpu_ns;
    r->n_events += axp__lane_logged(lane) + axp__lane_unlogged(lane);
}

/* Whether nothing is open in the lane of a thread that ended. is_over: what
 * is, was left for good, and ends where the thread did. */
static bool is_closed(struct axp__lane *lane, bool is_over)
{
    axp__named_settle(lane); /* others may have ended it since */
    if (is_over) axp__named_abandon_all(lane);
    return lane->tally.top == lane->tally.frames;
}

static void merge(struct axp__prof *p, struct axp__lane *lane)
{
    if (!axp__tally_merge(&p->merged->tally, &lane->tally,
                          lane->last_ticks - lane->first_ticks))
        axp__warn(p, AXP__WARN_NO_MEMORY, lane->name);
}

static void merge_lane(struct axp__prof *p, struct axp__lane *lane)
{
    keep_row(p, lane); /* merging disturbs the nodes it looks at */
    if (lane->first_ticks) merge(p, lane);
    p->merged->tally.n_folded += lane->tally.n_folded;
    p->n_merged_unlogged += axp__lane_unlogged(lane);
    p->merged->n_logged += axp__lane_logged(lane);
    axp__memory_leave(lane);
    axp__tally_fini(&lane->tally);
    free_named_pages(lane);
    axp__add(&p->n_ended, -1);
    axp__lane_free(lane);
}

/* They are out of sight before anything of theirs is given back. A thread that
 * searches lanes may have seen one before that: then it is for another time. */
void axp__lane_merge_many(struct axp__prof *p)
{
    if (!have_ended(p, MERGE_PAST)) return;
    if (!p->merged) p->merged = axp__lane_take(NULL, p, NULL);
    if (!p->merged) return;
    bool is_over = p->n_left_open > MOST_LEFT_OPEN;
    struct axp__lane *head = axp__get_acquire(&p->lanes);
    uint32_t n_left_open = 0;
    for (struct axp__lane *l = head; l; l = axp__get(&l->next)) {
        if (axp__get_acquire(&l->state) != AXP__LANE_ENDED || l->track)
            continue;
        if (is_closed(l, is_over))
            axp__put(&l->state, AXP__LANE_LEAVING);
        else
            n_left_open++;
    }
    axp__put(&p->n_left_open, n_left_open);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with set_errand's */
    bool is_seen = axp__thread_is_any_at(AXP__SEARCHING, p);
    for (struct axp__lane *l = head; l; l = axp__get(&l->next)) {
        if (axp__get(&l->state) != AXP__LANE_LEAVING) continue;
        if (is_seen)
            axp__put_release(&l->state, AXP__LANE_ENDED);
        else
            merge_lane(p, l);
    }
}

/* ---- entering ------------------------------------------------------------------ */

/* The lane that this thread has in p, or a new one. */
static struct axp__lane *own_lane(struct axp__thread *t, struct axp__prof *p,
                                  uint64_t gate)
{
    if (!axp__thread_reserve(t, p->index)) return NULL;
    struct axp__lane *lane = t->lanes[p->index];
    if (lane && axp__get(&lane->owner) == t && lane->p == p &&
        lane->epoch == gate >> 8)
        return lane;
    if (!(gate & AXP__GATE_ENABLED)) return NULL;
    if (axp__unlikely(p->tape &&
                      axp__get_acquire(&p->tape->state) <= AXP__TAPE_OPENING) &&
        !axp__tape_start(p))
        return NULL;
    lane = axp__lane_take(t, p, NULL);
    if (!lane) return NULL;
    t->lanes[p->index] = lane;
    if (p->index == 0) axp__thread_set_global(t, lane);
    return lane;
}

/* Whether the gate has moved since it was looked at. Whoever moves it looks
 * for lanes after that; a lane that he did not find sees it here. */
static bool has_moved(struct axp__prof *p, uint64_t gate)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint64_t now = axp__get_acquire(&p->gate);
    return now >> 8 != gate >> 8 || now & AXP__GATE_SHUT;
}

/* The next event need not ask, unless something has come up meanwhile:
 * either we see it here, or whoever brought it finds go at 1 and clears it
 * (stop_lanes in record_profiler.c, ring in record_named.c). With another clock than
 * the raw counter every event asks: the hot path knows that one alone. */
static void admit(struct axp__lane *lane, uint64_t gate)
{
    if (gate & AXP__GATE_ENABLED && axp__clock_is_raw()) axp__put(&lane->go, 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (axp__get(&lane->p->gate) != gate) axp__put(&lane->go, 0);
    if (axp__get(&lane->has_mail)) axp__named_settle(lane);
}

struct axp__lane *axp__enter_slow(const axp_profiler *handle, unsigned flags)
{
    int keep = errno;
    struct axp__lane *lane = NULL;
    struct axp__thread *t = axp__thread_get();
    struct axp__prof *p = axp__prof_check(handle);
    if (!p) goto done;
    if (!t) {
        if (axp__get(&p->gate) & AXP__GATE_ENABLED)
            axp__warn(p, AXP__WARN_NO_MEMORY, 0);
        goto done;
    }
    if (axp__thread_is_inside(t)) {
        axp__warn(p, AXP__WARN_SIGNAL_DROP, 0);
        goto done;
    }
    if (axp__window_is(p, AXP__WINDOW_WAITING)) axp__window_look(p);
    axp__thread_enter(t);
    axp__thread_set_errand(t, AXP__ENTERING, p);
    uint64_t gate = axp__get_acquire(&p->gate); /* what a reset made */
    bool is_open = axp__prof_check(handle) == p &&
                   !(gate & (AXP__GATE_SHUT | AXP__GATE_FINISHED)) &&
                   (gate & AXP__GATE_ENABLED || flags & AXP__ENTER_DISABLED);
    if (is_open) {
        lane = own_lane(t, p, gate);
        if (has_moved(p, gate))
            lane = NULL; /* as if it had come before the reset */
        else if (lane)
            admit(lane, gate);
        else if (gate & AXP__GATE_ENABLED)
            axp__warn(p, AXP__WARN_NO_MEMORY, 0);
    }
    axp__thread_set_errand(t, AXP__ENTERING, NULL);
    if (!lane) axp__thread_leave(t);
done:
    errno = keep;
    return lane;
}

/* ---- words ---------------------------------------------------------------------- */

void axp__lane_seal(struct axp__lane *lane)
{
    uint64_t n = (uint64_t)(lane->cur - lane->words) - lane->n_extra;
    if (lane->chunk) {
        struct axp__chunk *chunk = lane->chunk;
        uint64_t n_words = (uint64_t)(lane->cur - lane->words);
        axp__put(&lane->n_logged, lane->n_logged + n);
        to_sink(lane);
        axp__pool_seal(&lane->p->pool, chunk, n_words, n);
    } else {
        axp__put(&lane->n_unlogged, lane->n_unlogged + n);
        to_sink(lane);
    }
}

static void new_chunk(struct axp__lane *lane, uint64_t now)
{
    struct axp__prof *p = lane->p;
    if (axp__window_is(p, AXP__WINDOW_INSIDE)) axp__window_look(p);
    axp__lane_seal(lane);
    lane->base_ticks = now;
    if (p->flags & AXP_NO_TIMELINE) return;
    struct axp__chunk *chunk = axp__pool_take(&p->pool);
    if (!chunk) return;
    axp__put(&chunk->base_ticks, now);
    axp__put(&chunk->row, lane->row);
    axp__put(&chunk->epoch, (uint32_t)lane->epoch);
    axp__put(&lane->n_chunks, lane->n_chunks + 1);
    axp__put_release(&chunk->seq, lane->n_chunks);
    axp__put(&lane->chunk, chunk);
    axp__put(&lane->words, chunk->words);
    axp__put(&lane->cur, chunk->words);
    lane->end = chunk->words + AXP__CHUNK_WORDS;
}

uint64_t axp__lane_make_room(struct axp__lane *lane, uint64_t now, unsigned n)
{
    if (now < lane->base_ticks) {
        /* Or a handler has recorded since the caller read the clock. */
        if (axp__clock_ticks() < lane->base_ticks)
            axp__warn(lane->p, AXP__WARN_CLOCK_BACK, 0);
        now = lane->last_ticks > lane->base_ticks ? lane->last_ticks
                                                  : lane->base_ticks;
    }
    if (!axp__get(&lane->first_ticks)) {
        axp__put(&lane->first_ticks, now);
        new_chunk(lane, now);
    }
    if ((now - lane->base_ticks) >> AXP__TIME_BITS) {
        if (lane->end - lane->cur >= 2) {
            axp__put(&lane->cur[2], 0);
            axp__put(&lane->cur[1], now);
            axp__put(&lane->cur[0], axp__word(AXP__W_TIME, 0, 0));
            axp__put(&lane->cur, lane->cur + 2);
            axp__put(&lane->n_extra, lane->n_extra + 2);
        } else {
            new_chunk(lane, now);
        }
        lane->base_ticks = now;
    }
    if ((uint64_t)(lane->end - lane->cur) < n) new_chunk(lane, now);
    if (axp__get(&lane->go)) axp__put(&lane->lim, lane->end);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* as in admit */
    if (!axp__get(&lane->go)) axp__put(&lane->lim, NULL);
    return now;
}

static void put_record(struct axp__lane *lane, uint64_t head,
                       const uint64_t *first, const uint64_t *payload,
                       unsigned n_payload, unsigned n_events)
{
    unsigned n_first = first ? 1 : 0, n = 1 + n_first + n_payload;
    uint64_t *w = lane->cur;
    if ((uint64_t)(lane->end - w) < n) { /* larger than the sink */
        axp__put(&lane->n_unlogged, lane->n_unlogged + n_events);
        return;
    }
    if (first) axp__put(&w[1], *first);
    for (unsigned i = 0; i < n_payload; i++)
        axp__put(&w[1 + n_first + i], payload[i]);
    axp__put(&w[n], 0);
    axp__put(&w[0], head);
    axp__put(&lane->n_extra, lane->n_extra + n - n_events);
    axp__put(&lane->cur, w + n);
}

void axp__lane_put_payload(struct axp__lane *lane, enum axp__word_kind kind,
                           uint32_t name, uint64_t now, const uint64_t *payload,
                           unsigned n_payload)
{
    now = axp__lane_room(lane, now, 1 + n_payload);
    put_record(lane, axp__word(kind, name, now - lane->base_ticks), NULL,
               payload, n_payload, axp__word_events(kind, 0));
}

void axp__lane_put_ext(struct axp__lane *lane, enum axp__ext_kind kind,
                       uint32_t argument, uint32_t name, uint64_t now,
                       const uint64_t *payload, unsigned n_payload)
{
    uint64_t first = axp__ext_word(kind, 1 + n_payload, argument);
    now = axp__lane_room(lane, now, 2 + n_payload);
    put_record(lane, axp__word(AXP__W_EXT, name, now - lane->base_ticks),
               &first, payload, n_payload, axp__word_events(AXP__W_EXT, kind));
}

void axp__lane_put_with_stack(struct axp__lane *lane, uint32_t stack,
                              uint32_t name, uint64_t now, uint64_t bytes,
                              uint64_t address)
{
    uint64_t first = axp__ext_word(AXP__X_STACK_REF, 1, stack);
    now = axp__lane_room(lane, now, 5);
    uint64_t delta = now - lane->base_ticks;
    uint64_t alloc[3] = {axp__word(AXP__W_ALLOC, name, delta), bytes, address};
    put_record(lane, axp__word(AXP__W_EXT, name, delta), &first, alloc, 3,
               axp__word_events(AXP__W_ALLOC, 0));
}

void axp__lane_warn_name(struct axp__lane *lane, uint32_t id)
{
    axp__warn(lane->p,
              id == AXP__NAME_OTHER ? AXP__WARN_NAMES_FULL : AXP__WARN_BAD_NAME,
              id);
}
