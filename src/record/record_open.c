/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A tape is opened: its files made, its profiler moved into the spool.
 *
 * By the first event of a process, perhaps in a signal handler that
 * interrupted anything at all. So there is no allocator, no lock of the C
 * library, and nothing that ends the thread half-way: others wait for it.
 *
 *   apart   the spool in /dev/shm ─► the trace without a name ─► its name
 *           ─► else the spool beside it
 *   here    names so far into the spool ─► the slot ─► OPEN
 *
 * Killed between any two of these: a trace that can be read and has nothing in
 * it, or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "os/os_about.h"
#include "os/os_apart.h"
#include "os/os_file.h"
#include "os/os_namespace.h"
#include "os/os_space.h"
#include "os/os_thread.h"
#include "record/record_drain.h"
#include "record/record_head.h"
#include "record/record_lane.h"
#include "record/record_spool.h"
#include "record/record_tape.h"

#include "axprof/axprof_adapter.h"

#define NAMES_ROOM ((uint64_t)256 << 20)
#define MAX_INCARNATIONS 1000u
#define START_TRIES 100000

struct opening {
    struct axp__tape *tape;
    struct axp__prof *p;
    uint8_t id[16];
    struct axp__space *space;
    int error;
    bool is_spool; /* what failed */
};

/* ---- names of files ---------------------------------------------------------------- */

/* The base with %p, %i and %% replaced; -PID and -N before its extension where it
 * has no such places and is not the first. */
static void make_path(struct axp__tape *tape, bool with_pid, uint32_t turn)
{
    char *to = tape->path, *end = tape->path + sizeof tape->path - 24;
    const char *from = tape->base, *slash = strrchr(from, '/');
    const char *dot = strrchr(slash ? slash : from, '.');
    bool has_pid = false, has_turn = false;
    if (!dot || dot == from || dot[-1] == '/') dot = from + strlen(from);
    for (;; from++) {
        if (from == dot && with_pid && !has_pid)
            to += snprintf(to, 24, "-%ld", (long)tape->trace.head.process_id);
        if (from == dot && turn > 1 && !has_turn)
            to += snprintf(to, 24, "-%u", turn);
        if (!*from || to >= end) break;
        if (from[0] == '%' && from[1] == 'p') {
            to += snprintf(to, 24, "%ld", (long)tape->trace.head.process_id);
            has_pid = true;
            from++;
        } else if (from[0] == '%' && from[1] == 'i') {
            to += snprintf(to, 24, "%u", turn);
            has_turn = true;
            from++;
        } else {
            if (from[0] == '%' && from[1] == '%') from++;
            *to++ = *from;
        }
    }
    *to = 0;
}

/* Whether what has the name is our parent's recording, or our own of before an
 * exec: then another name is a matter of course. */
static bool is_of_this_run(const struct axp__trace *t)
{
    uint8_t bytes[AXP__FILE_HEAD];
    struct axp__file_head h;
    int fd = axp__fd_open(t->path,
                          O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return false;
    bool is =
        axp__fd_read_at(fd, bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes &&
        axp__file_head_get(bytes, &h) == AXP__BLOCK_OK &&
        (h.process_id == t->parent_id || h.process_id == t->head.process_id);
    axp__fd_close(fd);
    return is;
}

/* The trace under the first name that is free. */
static int name_trace(struct axp__tape *tape, bool with_pid)
{
    struct axp__trace *t = &tape->trace;
    int error = 0;
    for (uint32_t turn = 1; turn <= MAX_INCARNATIONS; turn++) {
        make_path(tape, with_pid, turn);
        t->head.incarnation = turn;
        error = axp__trace_name(t, tape->is_overwriting);
        if (error != EEXIST || !tape->may_rename) break;
        if (!with_pid && !strstr(tape->base, "%p")) {
            if (!is_of_this_run(t)) /* for axp__tape_tell */
                snprintf(tape->reason, sizeof tape->reason,
                         "%s is there already", tape->path);
            with_pid = true;
            turn = 0;
        }
    }
    return error;
}

/* ---- files, apart --------------------------------------------------------------------- */

static void fill_head(struct opening *o)
{
    struct axp__tape *tape = o->tape;
    struct axp__trace *t = &tape->trace;
    axp__head_clock(&t->head);
    memcpy(t->head.run_id, tape->run_id, sizeof tape->run_id);
    t->head.rank = o->p->rank;
    t->head.start_ticks = o->p->start_ticks;
    for (int i = 0; i < 16; i++)
        snprintf(t->id + 2 * i, 3, "%02x", o->id[i]);
    strcpy(t->spool, o->space ? "/dev/shm" : "beside");
    t->limit_bytes = tape->file_limit;
    t->path = tape->path;
}

static int make_trace(struct opening *o)
{
    struct axp__tape *tape = o->tape;
    bool with_pid = tape->may_rename && o->p->flags & AXP__FLAG_CHILD;
    fill_head(o);
    make_path(tape, with_pid, 1);
    int error = axp__trace_draft(&tape->trace, o->p);
    if (!error) error = name_trace(tape, with_pid);
    if (error) axp__trace_drop_draft(&tape->trace);
    axp__trace_rest(&tape->trace);
    return error;
}

/* In the child that os_apart.h makes. The process's id is the caller's. */
static void make_files(void *ctx)
{
    struct opening *o = ctx;
    struct axp__tape *tape = o->tape;
    axp__apart_tell(o->id);
    tape->chunk_bytes = axp__spool_limit(tape->spool_limit);
    uint64_t room = tape->chunk_bytes + NAMES_ROOM +
                    o->p->budget.limit_bytes * 2 + o->p->budget.reserve_bytes;
    o->space = axp__spool_create(o->id, room, tape->spool_path,
                                 sizeof tape->spool_path);
    o->error = make_trace(o);
    if (!o->error && !o->space) {
        o->space = axp__spool_create_beside(
            tape->path, o->id, room, tape->spool_path, sizeof tape->spool_path);
        o->is_spool = !o->space;
        if (!o->space) o->error = errno;
    }
    if (!o->error) axp__spool_set_owner(o->space, tape->path);
    if (o->space) axp__put_release(&tape->own, o->space->own);
}

/* ---- the profiler, here ------------------------------------------------------------------- */

/* The profiler's slot and all that it will hold from now on is the spool's. */
static bool move_into(struct axp__prof *p, struct axp__space *s)
{
    struct axp__pool spooled;
    bool has_timeline = !(p->flags & AXP_NO_TIMELINE);
    axp__tape_drop_pool(p->tape);
    if (has_timeline &&
        !axp__pool_init_spool(&spooled, p->tape->chunk_bytes, s))
        return false;
    p->tape->kept = *p;
    axp__put_release(&p->tape->is_moved, 1);
    if (!axp__space_move_in(s, AXP__EXTENT_SLOT, p, AXP__PROF_BYTES,
                            sizeof *p)) {
        axp__put(&p->tape->is_moved, 0);
        if (has_timeline) axp__pool_fini(&spooled);
        return false;
    }
    if (has_timeline) {
        axp__pool_fini(&p->pool);
        p->pool = spooled;
    }
    p->budget.space = s;
    s->root[AXP__ROOT_RATE] = axp__clock_rate().mult;
    s->root[AXP__ROOT_PROF] = (uintptr_t)p;
    return true;
}

void axp__random_bytes(uint8_t *out, size_t n)
{
    if (getrandom(out, n, GRND_NONBLOCK) == (ssize_t)n) return;
    uint64_t seed = axp__clock_ticks() ^ (uint64_t)getpid() << 32;
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)axp__mix64(seed + i);
}

static axp_status fail(const struct opening *o)
{
    struct axp__tape *tape = o->tape;
    const char *path = o->is_spool ? tape->spool_path : tape->path;
    char *to = tape->reason;
    size_t size = sizeof tape->reason;
    axp__unrecorded_tell(&tape->unrecorded, o->error);
    axp__trace_remove(&tape->trace);
    axp__trace_give_up(&tape->trace);
    if (o->space) {
        axp__spool_remove(o->space);
        axp__space_close(o->space);
        axp__tape_come_back(tape);
    }
    if (o->error == EEXIST)
        snprintf(to, size,
                 "%s is there already; remove it, or set AXP_OVERWRITE", path);
    else if (o->error == ELOOP)
        snprintf(to, size, "%s is a symbolic link, and is not followed", path);
    else if (o->error == EINVAL)
        snprintf(to, size, "%s is no regular file", path);
    else
        snprintf(to, size, "cannot write %s: %s", path,
                 axp__error_text(o->error));
    return axp__fail(o->error == EEXIST ? AXP_E_STATE : AXP_E_IO, "%s", to);
}

/* Either this finds the tape open, or who opens it finds the cost: both look
 * after a full fence. */
void axp__tape_tell_cost(struct axp__prof *p)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (axp__get_acquire(&p->tape->state) == AXP__TAPE_OPEN)
        axp__put(&p->budget.space->root[AXP__ROOT_COST],
                 axp__own_cost_pack(axp__own_cost_known()));
}

/* Since began the profiler did nothing but open its files, and nothing of the
 * program is in it yet: the step that goes on begins later by as much. */
static void leave_out(struct axp__prof *p, uint64_t began)
{
    uint64_t now = axp__clock_ticks(), mark = axp__get(&p->last_mark_ticks);
    if (mark && mark <= began && began < now)
        axp__put(&p->last_mark_ticks, mark + (now - began));
}

/* Nobody else may go on before it is decided: the state changes last. */
axp_status axp__tape_open(struct axp__prof *p)
{
    struct axp__tape *tape = p->tape;
    struct opening o = {.tape = tape, .p = p};
    uint64_t began = axp__clock_ticks();
    axp__random_bytes(o.id, sizeof o.id);
    tape->trace.head.process_id = (uint64_t)getpid();
    tape->trace.parent_id = (uint64_t)getppid();
    tape->trace.about = tape->about;
    o.error = tape->base_error;
    if (!o.error && !axp__apart(make_files, &o)) o.error = errno;
    if (!o.error) {
        o.space->pid = tape->trace.head.process_id;
        o.space->pid_namespace = axp__pid_namespace(0);
        if (!axp__spool_open_names(o.space) || !move_into(p, o.space)) {
            axp__spool_close_names(o.space);
            o.is_spool = true;
            o.error = ENOMEM;
        }
    }
    if (!o.error) axp__put_release(&o.space->is_complete, 1);
    axp_status status = o.error ? fail(&o) : AXP_OK;
    if (tape->is_outside) axp__trace_give_up(&tape->trace); /* its parent's */
    leave_out(p, began);
    axp__put_release(&tape->state, status ? AXP__TAPE_FAILED : AXP__TAPE_OPEN);
    axp__tape_tell_cost(p);
    axp__drain_ring(tape);
    return status;
}

/* By who may open it; false: the profiler is locked by another, or by whom
 * this one interrupted. The mutex lies in the slot, which moves. */
static bool try_open(struct axp__prof *p)
{
    int tries = START_TRIES;
    while (!axp__mutex_try(&p->mutex) && tries)
        tries--, sched_yield();
    if (!tries) return false;
    if (axp__tape_open(p)) axp__warn(p, AXP__WARN_NO_FILE, 0);
    axp__mutex_unlock(&p->mutex);
    return true;
}

void axp_recording_begin(void)
{
    struct axp__prof *p = axp__prof_check(axp_global());
    int keep = errno;
    if (p && p->tape && axp__get_acquire(&p->tape->state) == AXP__TAPE_WANTED &&
        !(axp__get(&p->gate) & (AXP__GATE_SHUT | AXP__GATE_FINISHED)))
        axp__tape_start(p);
    errno = keep;
}

bool axp__tape_start(struct axp__prof *p)
{
    struct axp__tape *tape = p->tape;
    struct axp__still still;
    bool is_decided = true;
    axp__still_begin(&still);
    for (;;) {
        uint32_t state = AXP__TAPE_WANTED;
        if (axp__cas(&tape->state, &state, AXP__TAPE_OPENING)) {
            is_decided = try_open(p);
            if (!is_decided) axp__put_release(&tape->state, AXP__TAPE_WANTED);
            axp__futex_wake(&tape->state);
            break;
        }
        if (state != AXP__TAPE_OPENING) break;
        axp__futex_wait(&tape->state, AXP__TAPE_OPENING, 0);
    }
    axp__still_end(&still);
    return is_decided;
}
