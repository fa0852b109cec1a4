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

/* glibc runs destructors 4 times. The race detector takes its own state of a
 * thread away in one of them. */
#ifdef AXP__TSAN
#define REARM_TIMES 0
#else
#define REARM_TIMES 3
#endif

static struct axp__thread no_thread;
AXP__TLS struct axp__thread *axp__tls = &no_thread;

static void end_thread(void *block)
{
    struct axp__thread *t = block;
    struct axp__process *process = axp__process();
    if (!t->is_alive) return; /* wiped: this is a forked child */
    if (t->n_rearmed++ < REARM_TIMES) {
        pthread_setspecific(process->key, t);
        return;
    }
    axp__thread_enter(t);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* as axp__enter_slow */
    for (uint32_t i = 0; i < t->n_lanes; i++) {
        struct axp__lane *lane = t->lanes[i];
        t->lanes[i] = NULL;
        if (lane && axp__get(&lane->owner) == t) axp__lane_end(lane);
    }
    axp__put(&t->global, NULL);
    axp__thread_leave(t);
    if (pthread_mutex_trylock(&process->mutex)) return; /* not reused then */
    t->next_free = process->free_threads;
    axp__put(&process->free_threads, t);
    pthread_mutex_unlock(&process->mutex);
}

/* Makes the key, once; a thread that comes while another makes it is armed
 * at its next chance. */
static void arm(struct axp__thread *t, struct axp__process *process)
{
    uint8_t none = 0;
    if (axp__cas(&process->key_state, &none, 1)) {
        bool ok = !pthread_key_create(&process->key, end_thread);
        axp__put_release(&process->key_state, ok ? 2 : 3);
    }
    if (axp__get_acquire(&process->key_state) == 2)
        pthread_setspecific(process->key, t);
}

static bool is_gone(uint64_t tid)
{
    int keep = errno;
    bool gone = syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) && errno == ESRCH;
    errno = keep;
    return gone;
}

static struct axp__thread *take_free(struct axp__process *process)
{
    struct axp__thread *t = NULL;
#ifdef AXP__TSAN /* cannot know what the kernel says: its thread is gone */
    return NULL;
#endif
    if (!axp__get(&process->free_threads)) return NULL;
    if (pthread_mutex_trylock(&process->mutex)) return NULL;
    for (struct axp__thread **at = &process->free_threads; *at;
         at = &(*at)->next_free) {
        if (!is_gone((*at)->tid)) continue;
        t = *at;
        axp__put(at, t->next_free);
        break;
    }
    pthread_mutex_unlock(&process->mutex);
    return t;
}

static void begin_thread(struct axp__thread *t, struct axp__process *process)
{
    if (!t->lanes) {
        t->lanes = t->near_lanes;
        t->n_lanes = AXP__NEAR_LANES;
    }
    t->n_rearmed = 0;
    t->error[0] = 0;
    t->tid = axp__thread_id();
    t->next_free = NULL;
    axp__put(&t->is_alive, 1);
    axp__tls = t;
    arm(t, process);
}

struct axp__thread *axp__thread_get_own(void)
{
    struct axp__thread *t = axp__tls;
    struct axp__process *process = axp__process();
    int keep = errno;
    if (axp__get(&t->is_alive)) return t;
    if (axp__process_was_forked(process)) axp__fork_begin_child();
    /* A block that fork wiped is left alone: an event that the forking handler
     * interrupted will write to it. */
    bool was_wiped = t != &no_thread;
    t = was_wiped ? NULL : take_free(process);
    if (!t) t = axp__map_wiped_on_fork(sizeof *t);
    if (t) begin_thread(t, process);
    errno = keep;
    return t;
}

struct axp__thread *axp__thread_get(void)
{
    struct axp__thread *t = axp__tls;
    if (axp__likely(axp__get(&t->is_alive))) return t;
    /* In a second copy of the library, the first one's block. */
    t = axp__process()->thread_get();
    if (t) axp__tls = t;
    return t;
}

bool axp__thread_reserve(struct axp__thread *t, uint32_t index)
{
    if (index < t->n_lanes) return true;
    uint32_t n = t->n_lanes;
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
    bool is_short = len <= 16;
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

uint32_t axp__thread_name_slow(struct axp__thread *t, const char *name)
{
    if (!name || !*name) return AXP__NAME_UNNAMED;
    struct axp__cached_name *home = axp__thread_cached(t, name);
    struct axp__cached_name *same = NULL, *to = NULL;
    for (unsigned way = 0; way < AXP__NAME_WAYS; way++) {
        struct axp__cached_name *c = axp__thread_cached_near(t, home, way);
        if (c->long_at == name || c->short_at == name) same = c;
        if (!c->text && !to) to = c;
    }
    uint32_t id = same ? same->id : 0;
    axp__signal_fence(); /* a text that is still there: so was the id */
    const char *text = same ? axp__get(&same->text) : NULL;
    if (text && !strcmp(text, name)) return id;
    id = axp__name_register(name, NULL);
    if (id == AXP__NAME_OTHER) return id; /* to be counted each time */
    if (same) to = same;                  /* a buffer that was used again */
    if (!to)
        to = axp__thread_cached_near(t, home, t->victim++ % AXP__NAME_WAYS);
    cache_name(to, name, id);
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
