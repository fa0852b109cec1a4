/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tapes: opened, drained, finished; see record_tape.h. */
#include "record/record_tape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os_apart.h"
#include "os/os_file.h"
#include "os/os_map.h"
#include "os/os_space.h"
#include "record/record_capture.h"
#include "record/record_drain.h"
#include "record/record_head.h"
#include "record/record_lane.h"
#include "record/record_spool.h"
#include "wire/wire_decode.h"

#include "axprof/axprof_adapter.h"

#define DEFAULT_SPOOL ((uint64_t)1 << 30)

const char *axp__error_text(int error)
{
    const char *text = strerrordesc_np(error);
    return text ? text : "unknown error";
}

/* As it is from the root on, since the program may go elsewhere; a % of the
 * folder stands for itself. Returns why there is no such path; 0: there is. */
static int set_base(struct axp__tape *tape, const char *path)
{
    char folder[sizeof tape->base];
    size_t n = 0;
    if (path[0] != '/') {
        if (!getcwd(folder, sizeof folder))
            return errno == ERANGE ? ENAMETOOLONG : errno;
        for (const char *c = folder; *c; c++) {
            if (n + 4 > sizeof tape->base) return ENAMETOOLONG;
            if (*c == '%') tape->base[n++] = '%';
            tape->base[n++] = *c;
        }
        tape->base[n++] = '/';
    }
    if (n + strlen(path) >= sizeof tape->base) return ENAMETOOLONG;
    strcpy(tape->base + n, path);
    return 0;
}

/* The path as it was given is what its failure is told with: its beginning. */
static void set_path(struct axp__tape *tape, const char *path)
{
    int error = errno;
    tape->base_error = set_base(tape, path);
    if (tape->base_error)
        snprintf(tape->path, sizeof tape->path, "%.64s%s", path,
                 strlen(path) > 64 ? "..." : "");
    errno = error;
}

/* In the process's list from here on until it is destroyed: the child of a
 * fork finds all that is shared by it. */
static void enlist(struct axp__tape *tape)
{
    struct axp__process *process = axp__process();
    struct axp__tape *head = axp__get(&process->tapes);
    do
        axp__put(&tape->next, head);
    while (!axp__cas(&process->tapes, &head, tape));
}

static void strike_off(struct axp__tape *tape)
{
    struct axp__process *process = axp__process();
    axp__mutex_lock(&process->mutex);
    struct axp__tape *first = tape;
    if (!axp__cas(&process->tapes, &first, tape->next)) {
        while (first && first->next != tape)
            first = first->next;
        if (first) axp__put(&first->next, tape->next);
    }
    axp__mutex_unlock(&process->mutex);
}

struct axp__tape *axp__tape_create(struct axp__prof *p, const char *path,
                                   const axp_options *o)
{
    struct axp__tape *tape = axp__map(sizeof *tape);
    if (!tape) return NULL;
    set_path(tape, path);
    tape->spool_limit = o->spool_limit ? o->spool_limit : DEFAULT_SPOOL;
    tape->file_limit = o->file_limit;
    tape->is_overwriting = o->flags & AXP_OVERWRITE;
    tape->trace.pen.fd = -1;
    tape->about = axp__trace_keep_about();
    axp__head_run_id(tape->run_id);
    tape->p = p;
    enlist(tape);
    return tape;
}

struct axp__tape *axp__tape_create_global(struct axp__prof *p)
{
    static const axp_options defaults;
    const char *path = secure_getenv("AXPROF_OUT");
    const char *who = secure_getenv("AXPROF_DRAIN");
    struct axp__tape *tape =
        path && *path ? axp__tape_create(p, path, &defaults) : NULL;
    if (!tape) return NULL;
    tape->may_rename = true;
    tape->is_outside = who && !strcmp(who, "parent");
    if (tape->is_outside) axp__unrecorded_begin(&tape->unrecorded);
    struct stat st;
    if (!fstat(STDERR_FILENO, &st)) {
        tape->stderr_device = (uint64_t)st.st_dev;
        tape->stderr_inode = (uint64_t)st.st_ino;
    }
    return tape;
}

void axp__tape_destroy(struct axp__tape *tape)
{
    if (!tape) return;
    strike_off(tape);
    axp__drain_end(tape);
    axp__trace_close(&tape->trace);
    axp__trace_drop_about(tape->about);
    axp__unmap(tape->started, AXP__TAPE_STARTED * sizeof *tape->started);
    axp__unmap(tape, sizeof *tape);
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
    return axp__fd_read_at(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
           axp__file_head_get(head, &h) == AXP__BLOCK_OK &&
           !memcmp(h.run_id, t->head.run_id, sizeof h.run_id) &&
           h.process_id == t->head.process_id &&
           h.start_ticks == t->head.start_ticks;
}

struct mapping {
    const struct axp__tape *tape;
    void *memory;
    uint64_t bytes;
};

/* Apart. A mapping keeps the file, whatever comes to have its name. */
static void map_trace(void *ctx)
{
    struct mapping *m = ctx;
    const struct axp__trace *t = &m->tape->trace;
    struct stat st;
    int fd = axp__fd_open(m->tape->path,
                          O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return;
    if (axp__fd_stat(fd, &st) && st.st_size > 0 &&
        (((uint64_t)st.st_dev == t->device &&
          (uint64_t)st.st_ino == t->inode) ||
         (m->tape->is_whole && is_same_trace(fd, t)))) {
        m->bytes = (uint64_t)st.st_size;
        m->memory = axp__fd_map(fd, PROT_READ, 0, m->bytes);
    }
    axp__fd_close(fd);
}

void *axp__tape_map(struct axp__prof *p, uint64_t *mapped, uint64_t *bytes)
{
    struct mapping m = {p->tape, NULL, 0};
    uint32_t state = axp__get(&p->tape->state);
    if (p->tape->is_outside ||
        (state != AXP__TAPE_OPEN && state != AXP__TAPE_CLOSED) ||
        !axp__apart(map_trace, &m))
        return NULL;
    *mapped = m.bytes;
    *bytes = p->tape->is_whole ? UINT64_MAX : p->tape->trace.pen.end;
    return m.memory;
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
    if (tape->trace.pen.error)
        return axp__fail(AXP_E_IO, "cannot write %s: %s", tape->path,
                         axp__error_text(tape->trace.pen.error));
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
    if (axp__get(&tape->state) != AXP__TAPE_OPEN) {
        axp__drain_end(tape);
        axp__trace_close(&tape->trace); /* the child of a fork has its packer */
        return AXP_OK;
    }
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
        int error = tape->trace.pen.error ? tape->trace.pen.error : ENOMEM;
        tape->end_error = error;
        if (!tape->is_warned) axp__warn(p, AXP__WARN_WRITE_FAILED, 0);
        axp__trace_close(&tape->trace);
        return axp__fail(AXP_E_IO, "%s is not complete: %s", tape->path,
                         axp__error_text(error));
    }
    axp__trace_close(&tape->trace);
    axp__spool_remove(p->budget.space);
    return AXP_OK;
}

void axp__tape_come_back(struct axp__tape *tape)
{
    struct axp__space_own *own = tape->own;
    axp__put(&tape->is_moved, 0);
    axp__put(&tape->own, NULL);
    axp__space_release(own);
}

void axp__tape_leave(struct axp__prof *p)
{
    struct axp__space *s = p->budget.space;
    struct axp__tape *tape = p->tape;
    axp__tape_drop_pool(tape);
    if (!s || tape->is_whole) return;
    axp__space_leave(s);
    axp__tape_come_back(tape);
    p->budget.space = NULL;
    p->pool.space = NULL;
    axp__pool_fini(&p->pool);
}

bool axp__tape_close(struct axp__prof *p)
{
    struct axp__space *s = p->budget.space;
    struct axp__tape *tape = p->tape; /* the slot may come back empty */
    p->budget.space = NULL;
    bool is_closed = !s || axp__spool_close_names(s);
    if (is_closed) axp__space_close(s);
    axp__tape_come_back(tape);
    axp__tape_destroy(tape);
    p->tape = NULL;
    return is_closed;
}

/* Not into what the program has opened in its place since. */
static bool has_stderr(const struct axp__tape *tape)
{
    struct stat st;
    return tape->stderr_inode && !fstat(STDERR_FILENO, &st) &&
           (uint64_t)st.st_dev == tape->stderr_device &&
           (uint64_t)st.st_ino == tape->stderr_inode;
}

void axp__tape_tell(const struct axp__tape *tape)
{
    bool has_failed = axp__get(&tape->state) == AXP__TAPE_FAILED;
    if (tape->is_outside || !has_stderr(tape)) return;
    if (tape->end_error)
        dprintf(STDERR_FILENO,
                "axprof: AXPROF_OUT: %s is not complete: %s; \"axprof pack\" "
                "adds what it misses, once that is mended\n",
                tape->path, axp__error_text(tape->end_error));
    else if (tape->reason[0])
        dprintf(STDERR_FILENO, "axprof: AXPROF_OUT: %s; %s%s\n", tape->reason,
                has_failed ? "nothing was recorded" : "recorded to ",
                has_failed ? "" : tape->path);
}

/* ---- fork ---------------------------------------------------------------------------------- */

void axp__tape_keep(struct axp__prof *p)
{
    struct axp__tape *tape = p->tape;
    if (!tape || !axp__get_acquire(&tape->is_moved)) return;
    struct axp__prof *to = &tape->kept;
    uint64_t gate;
    axp__put(&to->generation, axp__get(&p->generation));
    axp__put(&to->n_generations, axp__get(&p->n_generations));
    axp__put(&to->n_tracks, axp__get(&p->n_tracks));
    axp__put(&to->tracks, axp__get(&p->tracks));
    do { /* another thread may have changed it again */
        gate = axp__get(&p->gate);
        axp__put(&to->gate, gate);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    } while (axp__get(&p->gate) != gate);
}

void axp__tape_copy(struct axp__tape *tape)
{
    struct axp__space_own *own = axp__get_acquire(&tape->own);
    if (own) axp__space_copy(own, false);
}

void axp__tape_drop_copies(struct axp__tape *tape)
{
    struct axp__space_own *own = axp__get_acquire(&tape->own);
    if (own) axp__space_drop_copies(own);
}

void axp__tape_drop_pool(struct axp__tape *tape)
{
    if (tape->has_old_pool) tape->p->pool = (struct axp__pool){0};
    tape->has_old_pool = false;
}

/* The slot is private again. Where it was copied, an interrupted event goes on
 * with the pool as it was, until the tape opens; else that is empty. */
static void restore(struct axp__tape *tape)
{
    struct axp__prof *p = tape->p;
    struct axp__pool pool = p->pool;
    (void)mmap(p, AXP__PROF_BYTES, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
               AXP_OWN_MAPPING);
    *p = tape->kept;
    p->pool = pool;
    p->tape = tape;
    tape->has_old_pool = pool.block;
}

/* A finished profiler changes no more, so all of it may be looked at. */
static bool is_frozen(const struct axp__tape *tape)
{
    return tape->own && tape->state == AXP__TAPE_CLOSED &&
           tape->kept.generation && tape->kept.gate & AXP__GATE_FINISHED;
}

bool axp__tape_fork(struct axp__tape *tape)
{
    struct axp__prof *p = tape->p;
    bool is_kept = is_frozen(tape);
    if (is_kept) axp__space_copy(tape->own, true);
    if (tape->own) axp__space_forget(tape->own);
    tape->own = NULL;
    if (is_kept) {
        p->budget.space = NULL;
        p->pool = (struct axp__pool){0}; /* its words are in the file */
    } else if (tape->is_moved) {
        restore(tape);
    }
    axp__tape_come_back(tape);
    tape->has_thread = false;
    if (is_kept) return false;
    tape->trace =
        (struct axp__trace){.pen = {.fd = -1, .body = tape->trace.pen.body},
                            .packer = tape->trace.packer};
    tape->may_rename = true;
    tape->is_overwriting = false;
    tape->is_warned = tape->is_told = false;
    tape->reason[0] = 0;
    tape->end_error = 0;
    tape->order = AXP__ORDER_NONE;
    tape->n_asked = tape->n_done = tape->n_rung = tape->held_by = 0;
    p->flags |= AXP__FLAG_CHILD;
    axp__put(&tape->state, AXP__TAPE_WANTED);
    return true;
}
