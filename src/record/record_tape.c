/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tapes: opened, drained, finished; see record_tape.h. */
#include "record/record_tape.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "os/os_about.h"
#include "os/os_map.h"
#include "os/os_space.h"
#include "record/record_capture.h"
#include "record/record_drain.h"
#include "record/record_lane.h"
#include "record/record_spool.h"
#include "wire/wire_decode.h"

#define DEFAULT_SPOOL ((uint64_t)1 << 30)
#define NAMES_ROOM ((uint64_t)256 << 20)
#define MAX_INCARNATIONS 1000u
#define START_TRIES 100000

static void random_bytes(uint8_t *out, size_t n)
{
    if (getrandom(out, n, GRND_NONBLOCK) == (ssize_t)n) return;
    uint64_t seed = axp__clock_ticks() ^ (uint64_t)getpid() << 32;
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)axp__mix64(seed + i);
}

struct axp__tape *axp__tape_create(const char *path, const axp_options *o)
{
    if (strlen(path) >= sizeof((struct axp__tape *)0)->base) return NULL;
    struct axp__tape *tape = axp__map(sizeof *tape);
    if (!tape) return NULL;
    strcpy(tape->base, path);
    tape->spool_limit = o->spool_limit ? o->spool_limit : DEFAULT_SPOOL;
    tape->file_limit = o->file_limit;
    tape->is_overwriting = o->flags & AXP_OVERWRITE;
    tape->trace.fd = -1;
    return tape;
}

/* What axprof run gave to all processes of a run, or this process's own. */
static void get_run_id(struct axp__tape *tape)
{
    const char *hex = secure_getenv("AXPROF_RUN_ID");
    random_bytes(tape->run_id, sizeof tape->run_id);
    tape->has_run_id = true;
    if (!hex || strlen(hex) != 32) return;
    for (int i = 0; i < 16; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
        tape->run_id[i] = (uint8_t)strtoul(two, NULL, 16);
    }
}

struct axp__tape *axp__tape_create_global(void)
{
    static const axp_options defaults;
    const char *path = secure_getenv("AXPROF_OUT");
    const char *who = secure_getenv("AXPROF_DRAIN");
    struct axp__tape *tape =
        path && *path ? axp__tape_create(path, &defaults) : NULL;
    if (!tape) return NULL;
    tape->may_rename = true;
    tape->is_outside = who && !strcmp(who, "parent");
    get_run_id(tape);
    return tape;
}

void axp__tape_destroy(struct axp__tape *tape)
{
    if (tape)
        axp__unmap(tape->started, AXP__TAPE_STARTED * sizeof *tape->started);
    axp__unmap(tape, tape ? sizeof *tape : 0);
}

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
            to += snprintf(to, 24, "-%ld", (long)getpid());
        if (from == dot && turn > 1 && !has_turn)
            to += snprintf(to, 24, "-%u", turn);
        if (!*from || to >= end) break;
        if (from[0] == '%' && from[1] == 'p') {
            to += snprintf(to, 24, "%ld", (long)getpid());
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

/* Creates the trace under the first name that is free. */
static axp_status create_trace(struct axp__tape *tape)
{
    struct axp__trace *t = &tape->trace;
    bool with_pid = tape->may_rename && tape->p->flags & AXP__FLAG_CHILD;
    int error = 0;
    for (uint32_t turn = 1; turn <= MAX_INCARNATIONS; turn++) {
        make_path(tape, with_pid, turn);
        t->head.incarnation = turn;
        error = axp__trace_create(t, tape->path, !tape->is_overwriting);
        if (error != EEXIST || !tape->may_rename) break;
        if (!with_pid && !strstr(tape->base, "%p")) {
            with_pid = true;
            turn = 0;
        }
    }
    if (!error) return AXP_OK;
    if (error == EEXIST)
        return axp__fail(AXP_E_STATE,
                         "%s is there already; remove it, or set "
                         "AXP_OVERWRITE",
                         tape->path);
    if (error == ELOOP)
        return axp__fail(AXP_E_IO, "%s is a symbolic link, and is not followed",
                         tape->path);
    return axp__fail(AXP_E_IO, "cannot write %s: %s", tape->path,
                     strerror(error));
}

/* ---- opening ----------------------------------------------------------------------------- */

static void fill_head(struct axp__tape *tape, const uint8_t id[16])
{
    struct axp__trace *t = &tape->trace;
    struct axp__clock_pair pair = axp__clock_pair_now();
    t->head.version = AXP__FILE_VERSION;
    /* the child of a fork belongs to its parent's run */
    if (!tape->has_run_id) get_run_id(tape);
    memcpy(t->head.run_id, tape->run_id, sizeof tape->run_id);
    axp__about_boot_id(t->head.boot_id);
    t->head.process_id = (uint64_t)getpid();
    t->head.rank = axp__about_rank();
    t->head.start_ticks = tape->p->start_ticks;
    t->head.clock.ticks = pair.ticks;
    t->head.clock.monotonic_ns = pair.monotonic_ns;
    t->head.clock.realtime_ns = pair.realtime_ns;
    t->head.clock_source = axp__get(&axp__clock_source);
    for (int i = 0; i < 16; i++)
        snprintf(t->id + 2 * i, 3, "%02x", id[i]);
    bool is_beside = strncmp(tape->spool_path, "/dev/shm/", 9) != 0;
    snprintf(t->spool, sizeof t->spool, "%s",
             is_beside ? "beside" : "/dev/shm");
    t->limit_bytes = tape->file_limit;
    t->path = tape->path;
}

/* The profiler's slot and all that it will hold from now on is the spool's. */
static bool move_into(struct axp__prof *p, struct axp__space *s)
{
    struct axp__tape *tape = p->tape;
    uint64_t bytes = axp__spool_limit(tape->spool_limit);
    struct axp__pool spooled;
    bool has_timeline = !(p->flags & AXP_NO_TIMELINE);
    if (has_timeline && !axp__pool_init_spool(&spooled, bytes, s)) return false;
    if (!axp__space_move_in(s, AXP__EXTENT_SLOT, p, AXP__PROF_BYTES)) {
        if (has_timeline) axp__pool_fini(&spooled);
        return false;
    }
    if (has_timeline) {
        axp__pool_fini(&p->pool);
        p->pool = spooled;
    }
    p->budget.space = s;
    s->root[AXP__ROOT_RATE] = axp__clock_rate().mult;
    s->root[AXP__ROOT_COST] = axp__own_cost_known();
    s->root[AXP__ROOT_PROF] = (uintptr_t)p;
    return true;
}

static axp_status fail_open(struct axp__tape *tape, struct axp__space *s,
                            const char *what, int error)
{
    axp__trace_close(&tape->trace);
    unlink(tape->path);
    if (s) {
        axp__space_close(s);
        unlink(tape->spool_path);
    }
    return axp__fail(AXP_E_IO, "%s: %s", what, strerror(error));
}

/* The parent appends from here on. */
static void leave_to_parent(struct axp__tape *tape)
{
    axp__trace_close(&tape->trace);
}

/* Nobody else may go on before it is decided: the state changes last. */
static axp_status open_tape(struct axp__prof *p)
{
    struct axp__tape *tape = p->tape;
    uint8_t id[16];
    tape->p = p;
    random_bytes(id, sizeof id);
    axp_status status = create_trace(tape);
    if (status) return status;
    uint64_t room = axp__spool_limit(tape->spool_limit) + NAMES_ROOM +
                    p->budget.limit_bytes * 2;
    struct axp__space *s = axp__spool_create(
        tape->path, id, room, tape->spool_path, sizeof tape->spool_path);
    if (!s) {
        char what[4300];
        snprintf(what, sizeof what, "cannot make a spool at %s",
                 tape->spool_path);
        return fail_open(tape, NULL, what, errno);
    }
    fill_head(tape, id);
    axp__trace_begin(&tape->trace, p);
    if (tape->trace.error)
        return fail_open(tape, s, "cannot write the trace", tape->trace.error);
    if (!axp__spool_open_names(s) || !move_into(p, s)) {
        axp__spool_close_names(s);
        return fail_open(tape, s, "cannot make the spool", ENOMEM);
    }
    axp__put_release(&s->is_complete, 1);
    axp__put_release(&tape->state, AXP__TAPE_OPEN);
    if (tape->is_outside)
        leave_to_parent(tape);
    else
        axp__drain_begin(tape);
    return AXP_OK;
}

axp_status axp__tape_open(struct axp__prof *p)
{
    axp_status status = open_tape(p);
    if (status) axp__put_release(&p->tape->state, AXP__TAPE_FAILED);
    return status;
}

void axp__tape_start(struct axp__prof *p)
{
    struct axp__tape *tape = p->tape;
    uint32_t wanted = AXP__TAPE_WANTED;
    if (!axp__cas(&tape->state, &wanted, AXP__TAPE_OPENING)) {
        while (axp__get_acquire(&tape->state) == AXP__TAPE_OPENING)
            sched_yield(); /* once in a process */
        return;
    }
    /* The mutex lies in the slot, which moves. */
    int tries = START_TRIES;
    while (pthread_mutex_trylock(&p->mutex) && tries)
        tries--, sched_yield();
    if (!tries) {
        axp__put_release(&tape->state, AXP__TAPE_FAILED);
        axp__warn(p, AXP__WARN_NO_FILE, 0);
        return;
    }
    if (axp__tape_open(p)) axp__warn(p, AXP__WARN_NO_FILE, 0);
    pthread_mutex_unlock(&p->mutex);
}

/* ---- the end ------------------------------------------------------------------------------- */

/* The words of a chunk so far, as a chunk of its own: a later block of the
 * same row and seq replaces it. False: the chunk has changed hands. */
static bool copy_so_far(struct axp__chunk *to, const struct axp__chunk *from,
                        const uint64_t *cur)
{
    struct axp__decoder d;
    struct axp__wire_event e;
    uint64_t seq = axp__get_acquire(&from->seq);
    uint64_t n = (uint64_t)(cur - from->words);
    if (!seq || cur < from->words || n > AXP__CHUNK_WORDS) return false;
    to->seq = seq;
    to->base_ticks = axp__get(&from->base_ticks);
    to->row = axp__get(&from->row);
    to->epoch = axp__get(&from->epoch);
    to->n_words = n;
    to->n_events = 0;
    for (uint64_t i = 0; i < n; i++)
        to->words[i] = axp__get(&from->words[i]);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (axp__get(&from->seq) != seq) return false;
    axp__decoder_init(&d, to->words, n, to->base_ticks);
    while (axp__decoder_next(&d, &e))
        to->n_events +=
            axp__word_events(e.kind, e.kind == AXP__W_EXT ? e.ext : 0);
    return n && !d.is_damaged;
}

/* Chunks that are being written to, as far as they go: cursors are read
 * before a barrier through all threads, and the words behind it. */
static void collect_started(struct axp__prof *p, struct axp__tape *tape)
{
    const struct axp__chunk *from[AXP__TAPE_STARTED];
    const uint64_t *cur[AXP__TAPE_STARTED];
    size_t n = 0;
    for (struct axp__lane *l = axp__get_acquire(&p->lanes);
         l && n < AXP__TAPE_STARTED; l = axp__get(&l->next)) {
        from[n] = axp__get_acquire(&l->chunk);
        cur[n] = axp__get_acquire(&l->cur);
        n += from[n] && axp__get(&l->chunk) == from[n];
    }
    axp__barrier_all_threads();
    tape->n_started = 0;
    for (size_t i = 0; i < n; i++)
        if (copy_so_far(&tape->started[tape->n_started], from[i], cur[i]))
            tape->n_started++;
}

/* Whether it is our trace, which may have been packed again since. */
static bool is_same_trace(int fd, const struct axp__trace *t)
{
    uint8_t head[AXP__FILE_HEAD];
    struct axp__file_head h;
    return pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
           axp__file_head_get(head, &h) == AXP__BLOCK_OK &&
           !memcmp(h.run_id, t->head.run_id, sizeof h.run_id) &&
           h.process_id == t->head.process_id &&
           h.start_ticks == t->head.start_ticks;
}

int axp__tape_reader(struct axp__prof *p, uint64_t *bytes)
{
    const struct axp__tape *tape = p->tape;
    const struct axp__trace *t = &tape->trace;
    uint32_t state = axp__get(&tape->state);
    int fd = -1;
    if (tape->is_outside) return -1;
    if (state == AXP__TAPE_OPEN)
        fd = fcntl(t->fd, F_DUPFD_CLOEXEC, 3);
    else if (state == AXP__TAPE_CLOSED)
        fd = open(tape->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *bytes = tape->is_whole ? UINT64_MAX : t->end;
    if (fd < 0 || axp__fd_is(fd, t->device, t->inode)) return fd;
    if (tape->is_whole && is_same_trace(fd, t)) return fd;
    close(fd);
    return -1;
}

axp_status axp__tape_flush(struct axp__prof *p)
{
    struct axp__tape *tape = p->tape;
    if (axp__get(&tape->state) != AXP__TAPE_OPEN || tape->is_outside)
        return AXP_OK;
    if (!tape->started)
        tape->started = axp__map(AXP__TAPE_STARTED * sizeof *tape->started);
    if (tape->started) collect_started(p, tape);
    axp__drain_ask(tape, AXP__ORDER_FLUSH);
    tape->n_started = 0;
    if (tape->trace.error)
        return axp__fail(AXP_E_IO, "cannot write %s: %s", tape->path,
                         strerror(tape->trace.error));
    return AXP_OK;
}

void axp__tape_restart(struct axp__prof *p)
{
    if (axp__get(&p->tape->state) == AXP__TAPE_OPEN && !p->tape->is_outside)
        axp__drain_ask(p->tape, AXP__ORDER_RESTART);
}

/* Every thread's last chunk; they are all stopped. */
static void seal_lanes(struct axp__prof *p)
{
    for (struct axp__lane *l = p->lanes; l; l = l->next)
        if (axp__get(&l->state) == AXP__LANE_ACTIVE && l->chunk)
            axp__lane_seal(l);
}

axp_status axp__tape_finish(struct axp__prof *p)
{
    struct axp__tape *tape = p->tape;
    if (axp__get(&tape->state) != AXP__TAPE_OPEN) return AXP_OK;
    seal_lanes(p);
    if (tape->is_outside) {
        axp__spool_close_names(p->budget.space);
        axp__put(&tape->state, AXP__TAPE_CLOSED);
        return AXP_OK;
    }
    axp__drain_ask(tape, AXP__ORDER_FLUSH);
    struct axp__capture *c = axp__capture_of(p);
    tape->capture = c;
    if (c) axp__drain_ask(tape, AXP__ORDER_FINISH);
    axp__drain_end(tape);
    if (c) axp__capture_free(c);
    axp__spool_close_names(p->budget.space);
    axp__put(&tape->state, AXP__TAPE_CLOSED);
    if (!c || !tape->is_whole) {
        /* The spool stays: it has what the trace has not. */
        int error = tape->trace.error ? tape->trace.error : ENOMEM;
        if (!tape->is_told) axp__warn(p, AXP__WARN_WRITE_FAILED, 0);
        axp__trace_close(&tape->trace);
        return axp__fail(AXP_E_IO, "%s is not complete: %s", tape->path,
                         strerror(error));
    }
    axp__trace_close(&tape->trace);
    unlink(tape->spool_path);
    return AXP_OK;
}

void axp__tape_leave(struct axp__prof *p)
{
    struct axp__space *s = p->budget.space;
    if (!s || p->tape->is_whole) return;
    axp__space_leave(s);
    p->budget.space = NULL;
    p->pool.space = NULL;
    axp__pool_fini(&p->pool);
}

void axp__tape_close(struct axp__prof *p)
{
    struct axp__space *s = p->budget.space;
    p->budget.space = NULL;
    axp__space_close(s);
    axp__tape_destroy(p->tape);
    p->tape = NULL;
}

void axp__tape_fork(struct axp__prof *p)
{
    struct axp__tape *tape = p->tape;
    struct axp__space *s = p->budget.space;
    if (s) {
        axp__space_leave(s);
        p->budget.space = NULL;
        p->pool = (struct axp__pool){0};
    }
    if (axp__fd_is(tape->trace.fd, tape->trace.device, tape->trace.inode))
        close(tape->trace.fd);
    tape->trace = (struct axp__trace){.fd = -1};
    tape->has_thread = false;
    tape->may_rename = true;
    tape->is_overwriting = false;
    tape->is_told = false;
    tape->order = AXP__ORDER_NONE;
    tape->n_asked = tape->n_done = tape->held_by = 0;
    p->flags |= AXP__FLAG_CHILD;
    axp__put(&tape->state, AXP__TAPE_WANTED);
}
