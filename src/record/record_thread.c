/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads come and go; see record_thread.h. */
#include "record/record_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os_map.h"
#include "os/os_thread.h"
#include "record/record_fork.h"
#include "record/record_lane.h"
#include "record/record_name.h"
#include "record/record_process.h"
#include "record/record_quiet.h"

/* glibc runs destructors 4 times. The race detector takes its own state of a
 * thread away in one of them. */
#define REARM_TIMES (AXP__IS_TSAN ? 0 : 3)

#define LOOK_AT 32

static struct axp__thread no_thread;
AXP__TLS struct axp__own axp__own = {
    .thread = &no_thread,
    .global = (struct axp__lane *)(void *)&no_thread,
    .hot = (struct axp__frame *)(void *)&no_thread,
};

/* ---- the end ------------------------------------------------------------------- */

static uint32_t state_of(uint32_t life)
{
    return life & AXP__THREAD_LIFE;
}

static void set_life(struct axp__thread *t, enum axp__thread_life state)
{
    axp__put_release(&t->life, (t->life & ~(uint32_t)AXP__THREAD_LIFE) | state);
}

/* True: there is nothing left to end. The errand first, then the gate, then the
 * lane: who closes the profiler later waits for us, and what he has made of the
 * lane before is seen. One whose profiler is gone may be any thread's. */
static bool end_lane(struct axp__thread *t, uint32_t index)
{
    struct axp__lane *lane = t->lanes[index];
    if (!lane || axp__get(&lane->owner) != t) return true;
    struct axp__prof *p = axp__get(&lane->p);
    if (p->index != index) return true;
    axp__thread_set_errand(t, AXP__ENTERING, p);
    bool is_shut = axp__get_acquire(&p->gate) & AXP__GATE_SHUT;
    if (!is_shut && axp__get(&lane->owner) == t && axp__get(&lane->p) == p)
        axp__lane_end(lane);
    axp__thread_set_errand(t, AXP__ENTERING, NULL);
    return !is_shut;
}

/* By the thread itself, or once it is gone by whoever has TAKEN its block. False:
 * a profiler is being closed, which looks after its lanes. */
static bool end_lanes(struct axp__thread *t)
{
    bool is_done = true;
    axp__thread_enter(t);
    for (int i = 0; i < AXP__N_ERRANDS; i++)
        axp__thread_set_errand(t, (enum axp__errand)i, NULL);
    for (uint32_t i = 0; i < t->n_lanes; i++) {
        if (end_lane(t, i))
            t->lanes[i] = NULL;
        else
            is_done = false;
    }
    axp__put(&t->global, NULL);
    axp__thread_leave(t);
    return is_done;
}

static void end_thread(void *block)
{
    struct axp__thread *t = block;
    if (!t->life) return; /* wiped: this is a forked child */
    if ((int)t->n_rearmed++ < REARM_TIMES) {
        pthread_setspecific(axp__process()->key, t);
        return;
    }
    end_lanes(t);
    axp__put(&t->is_armed, 0);
    set_life(t, AXP__THREAD_ENDED);
}

/* glibc has room for the first 32 keys in each thread, and calls calloc at the
 * first use of a later one: which may be what is profiled, or what a handler
 * has interrupted. */
static bool is_near(pthread_key_t key)
{
#ifdef __GLIBC__
    return key < 32;
#else
    (void)key;
    return true;
#endif
}

void axp__thread_make_key(void)
{
    struct axp__process *process = axp__process();
    if (!axp__process_is_own()) return;
    if (pthread_key_create(&process->key, end_thread)) return;
    if (is_near(process->key))
        axp__put_release(&process->has_key, 1);
    else
        pthread_key_delete(process->key);
}

static bool is_gone(uint64_t tid)
{
#ifdef AXP__TSAN /* cannot know what the kernel says: its thread is gone */
    (void)tid;
    return false;
#else
    int keep = errno;
    bool gone = syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) && errno == ESRCH;
    errno = keep;
    return gone;
#endif
}

/* Whether the thread of a block that was seen in this life is gone: then the
 * block is TAKEN, with nothing left of its lanes. `tid`: the caller's, which
 * another thread cannot have. */
static bool take_dead(struct axp__thread *t, uint64_t tid, uint32_t life)
{
    uint64_t its = axp__get(&t->tid);
    if (its != tid && !is_gone(its)) return false;
    if (!axp__cas(&t->life, &life, life | AXP__THREAD_TAKEN)) return false;
    axp__put(&t->is_armed, 0);
    if (end_lanes(t)) return true;
    set_life(t, AXP__THREAD_ENDED);
    return false;
}

void axp__thread_end_dead(void)
{
    struct axp__thread *t = axp__get_acquire(&axp__process()->threads);
    for (; t; t = axp__get(&t->next)) {
        uint32_t life = axp__get_acquire(&t->life);
        bool is_used = state_of(life) == AXP__THREAD_ALIVE ||
                       state_of(life) == AXP__THREAD_ENDED;
        if (t != axp__tls && is_used && take_dead(t, 0, life))
            set_life(t, AXP__THREAD_ENDED);
    }
}

/* One that is free, or whose thread nobody has told of; a few are looked at.
 * Those that the key will tell of are not asked about. */
static struct axp__thread *take_free(struct axp__process *process, uint64_t tid)
{
    struct axp__thread *head = axp__get_acquire(&process->threads);
    struct axp__thread *first = axp__get_acquire(&process->look_at), *t;
    if (!first) first = head;
    t = first;
    for (int i = 0; t && i < LOOK_AT; i++) {
        struct axp__thread *next = axp__get(&t->next);
        uint32_t life = axp__get_acquire(&t->life);
        bool may_be = state_of(life) == AXP__THREAD_ENDED ||
                      (state_of(life) == AXP__THREAD_ALIVE &&
                       (!axp__get(&t->is_armed) || axp__get(&t->tid) == tid));
        if (!next) next = head;
        axp__put_release(&process->look_at, next);
        if (may_be && take_dead(t, tid, life)) return t;
        if (next == first) return NULL;
        t = next;
    }
    return NULL;
}

/* ---- the beginning ---------------------------------------------------------------- */

static void push(struct axp__process *process, struct axp__thread *t)
{
    struct axp__thread *head = axp__get(&process->threads);
    do
        axp__put(&t->next, head);
    while (!axp__cas(&process->threads, &head, t));
}

static void begin_thread(struct axp__thread *t, uint64_t tid)
{
    struct axp__process *process = axp__process();
    if (!t->lanes) {
        t->lanes = t->near_lanes;
        t->n_lanes = AXP__NEAR_LANES;
    }
    t->n_rearmed = 0;
    t->name = 0;
    t->error[0] = 0;
    axp__put(&t->tid, tid);
    axp__put_release(&t->life,
                     ((t->life | AXP__THREAD_LIFE) + 1) | AXP__THREAD_ALIVE);
    axp__tls = t;
    if (axp__get_acquire(&process->has_key) &&
        !pthread_setspecific(process->key, t))
        axp__put(&t->is_armed, 1);
}

struct axp__thread *axp__thread_get_own(void)
{
    struct axp__thread *t = axp__tls;
    struct axp__process *process = axp__process();
    int keep = errno;
    if (axp__get(&t->life)) return t;
    if (axp__process_was_forked(process) && !axp__is_quiet())
        axp__fork_begin_child(true);
    if (!axp__quiet_ask()) return NULL;
    /* A block that fork wiped is left alone: an event that the forking handler
     * interrupted will write to it. */
    bool was_wiped = t != &no_thread;
    uint64_t tid = axp__thread_id();
    t = was_wiped ? NULL : take_free(process, tid);
    if (!t) {
        t = axp__map_wiped_on_fork(sizeof *t);
        if (t) push(process, t);
    }
    if (t) begin_thread(t, tid);
    axp__quiet_asked();
    errno = keep;
    return t;
}

bool axp__thread_is_any_at(enum axp__errand e, const void *what)
{
    struct axp__thread *t = axp__get_acquire(&axp__process()->threads);
    for (; t; t = axp__get(&t->next))
        if (axp__get_acquire(&t->errand[e]) == what) return true;
    return false;
}

struct axp__thread *axp__thread_get(void)
{
    struct axp__thread *t = axp__tls;
    if (axp__likely(axp__get(&t->life))) return t;
    /* In a second copy of the library, the first one's block. */
    t = axp__process()->thread_get();
    if (t) axp__tls = t;
    return t;
}

bool axp__thread_reserve(struct axp__thread *t, uint32_t index)
{
    uint32_t n = axp__get(&t->n_lanes);
    if (index < n) return true;
    if (!n) return false; /* a handler has forked: wiped */
    while (n <= index)
        n *= 2;
    struct axp__lane **wider =
        axp__map_wiped_on_fork(n * sizeof(struct axp__lane *));
    if (!wider) return false;
    memcpy(wider, t->lanes, t->n_lanes * sizeof *wider);
    if (t->lanes != t->near_lanes)
        axp__unmap(t->lanes, t->n_lanes * sizeof *wider);
    t->lanes = wider;
    t->n_lanes = n;
    return true;
}

/* The key first: if a handler forks in here, the child finds the block wiped
 * and writes the rest. A key that stays then has all the rest with it. */
static void cache_name(struct axp__cached_name *c, const char *name,
                       uint32_t id)
{
    size_t len = strlen(name) + 1;
    bool is_short = len <= 16 && ((uintptr_t)name & 4095) <= 4080;
    char bytes[16] = {0}, mask[16] = {0};
    c->short_at = is_short ? name : NULL;
    c->long_at = is_short ? NULL : name;
    axp__signal_fence();
    c->text = axp__name_at(id)->text;
    c->id = id;
    if (!is_short) return;
    memcpy(bytes, name, len);
    memset(mask, 0xff, len);
    memcpy(c->word, bytes, sizeof bytes);
    memcpy(c->mask, mask, sizeof mask);
}

uint32_t axp__thread_find_name(struct axp__thread *t, const char *name)
{
    struct axp__cached_name *home = axp__thread_cached(t, name);
    for (unsigned way = 0; name && way < AXP__NAME_WAYS; way++) {
        struct axp__cached_name *c = axp__thread_cached_near(t, home, way);
        if (c->long_at != name && c->short_at != name) continue;
        uint32_t id = c->id;
        axp__signal_fence(); /* a text that is still there: so was the id */
        const char *text = axp__get(&c->text);
        return text && !strcmp(text, name) ? id : 0;
    }
    return 0;
}

/* Where it goes: for a buffer that was used again where it is, else where nothing
 * is yet, else in place of another. */
static struct axp__cached_name *place_for(struct axp__thread *t,
                                          const char *name)
{
    struct axp__cached_name *home = axp__thread_cached(t, name), *free = NULL;
    for (unsigned way = 0; way < AXP__NAME_WAYS; way++) {
        struct axp__cached_name *c = axp__thread_cached_near(t, home, way);
        if (c->long_at == name || c->short_at == name) return c;
        if (!c->text && !free) free = c;
    }
    if (free) return free;
    return axp__thread_cached_near(t, home, t->victim++ % AXP__NAME_WAYS);
}

uint32_t axp__thread_name_slow(struct axp__thread *t, const char *name)
{
    if (!name || !*name) return AXP__NAME_UNNAMED;
    uint32_t id = axp__thread_find_name(t, name);
    if (id) return id;
    id = axp__name_register(name, NULL);
    if (id == AXP__NAME_OTHER) return id; /* to be counted each time */
    cache_name(place_for(t, name), name, id);
    return id;
}

axp_status(axp__fail)(axp_status status, const char *format, ...)
{
    struct axp__thread *t = axp__thread_get();
    int keep = errno;
    va_list args;
    if (t) {
        va_start(args, format);
        vsnprintf(t->error, sizeof t->error, format, args);
        va_end(args);
    }
    errno = keep;
    return status;
}

const char *axp_last_error(void)
{
    struct axp__thread *t = axp__thread_get();
    if (!t) return "no memory for this thread's state";
    return t->error[0] ? t->error : "no error";
}
