/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A recording of samples; see sampling_file.h. */
#include "sampling/sampling_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "os/os_apart.h"
#include "os/os_clock.h"
#include "os/os_namespace.h"
#include "os/os_rename.h"
#include "record/record_head.h"
#include "record/record_thread.h"
#include "tally/tally_image.h"
#include "wire/wire_states.h"

#define A_BLOCK 4096u        /* samples that are worth one */
#define FLUSH_NS 1000000000u /* what a kill may take, at most */
#define ANCHOR_TRIES 16

struct axp__sampled {
    char *path, *title;
    struct axp__pen pen;
    struct axp__file_head head;
    struct axp__sampler *rows;
    struct { /* one moment of both clocks */
        uint64_t ticks, raw_ns;
    } anchor;
    uint32_t n_told;       /* modules */
    uint64_t flushed_ns;   /* when samples were last written */
    uint8_t states[65536]; /* records that wait */
    size_t n_states;       /* bytes of them, */
    uint32_t n_threads;    /* and how many they are */
};

/* ---- clocks ------------------------------------------------------------- */

/* The closest of some pairs. */
static void set_anchor(struct axp__sampled *s)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < ANCHOR_TRIES; i++) {
        uint64_t before = axp__clock_now();
        uint64_t raw_ns = axp__clock_of(CLOCK_MONOTONIC_RAW);
        uint64_t after = axp__clock_now();
        if (after - before >= least) continue;
        least = after - before;
        s->anchor.ticks = before + least / 2;
        s->anchor.raw_ns = raw_ns;
    }
}

uint64_t axp__sampled_ticks(const struct axp__sampled *s, uint64_t raw_ns)
{
    struct axp__rate rate = axp__clock_rate();
    if (raw_ns < s->anchor.raw_ns)
        return s->anchor.ticks -
               axp__rate_to_ticks(rate, s->anchor.raw_ns - raw_ns);
    return s->anchor.ticks +
           axp__rate_to_ticks(rate, raw_ns - s->anchor.raw_ns);
}

/* ---- small blocks ------------------------------------------------------- */

static void put_text(struct axp__pen *pen, const char *key, const char *text)
{
    axp__pen_about(pen, key, (struct axp__slice){text, strlen(text)});
}

static void put_number(struct axp__pen *pen, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    if (value) put_text(pen, key, text);
}

/* By which a reader knows a recording that it is given twice. */
static void make_id(char out[33])
{
    uint64_t id[2] = {axp__clock_now(), (uint64_t)getpid()};
    (void)!getrandom(id, sizeof id, GRND_NONBLOCK);
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)id[0],
             (unsigned long long)id[1]);
}

static bool put_about(struct axp__sampled *s)
{
    char mult[24], id[33];
    make_id(id);
    snprintf(mult, sizeof mult, "%llu",
             (unsigned long long)axp__clock_rate().mult);
    axp__pen_gather(&s->pen, AXP__B_ABOUT, 0);
    put_text(&s->pen, "title", s->title);
    put_text(&s->pen, "id", id);
    put_text(&s->pen, "clock.mult", mult);
    put_number(&s->pen, "pid_namespace", axp__pid_namespace(0));
    return axp__pen_flush(&s->pen);
}

/* From the head's moment to now, and nothing else. */
static bool put_state(struct axp__sampled *s)
{
    struct axp__capture c = {.title = s->title,
                             .process_id = s->head.process_id,
                             .rank = -1,
                             .start_ticks = s->head.start_ticks,
                             .end_ticks = axp__clock_now(),
                             .rate_mult = axp__clock_rate().mult,
                             .is_finished = true,
                             .has_timeline = true};
    struct axp__block b = {.kind = AXP__B_STATE};
    axp__pen_long_begin(&s->pen);
    return axp__image_write(&c, axp__pen_long_more, &s->pen) &&
           axp__pen_long_end(&s->pen, &b);
}

/* Ours are one without a file: what is inside of them is nobody's business. */
static void put_module(struct axp__sampled *s, const struct axp__mods *mods,
                       struct axp__mod *mod)
{
    char key[24], text[4096 + 2 * AXP__MODULE_ID + 80];
    if (!mod->is_ready || mod->is_told) return;
    mod->is_told = true;
    snprintf(key, sizeof key, "map.%u", s->n_told++);
    uint64_t first = mod->bias + mod->low, last = mod->bias + mod->high;
    const char *own = axp__mods_own_name(mods, mod);
    snprintf(text, sizeof text, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %s %s",
             mod->bias, first, last,
             mod->build_id[0] && !own ? mod->build_id : "-",
             own ? own : mod->path);
    put_text(&s->pen, key, text);
}

void axp__sampled_modules(struct axp__sampled *s, struct axp__mods *mods)
{
    axp__pen_gather(&s->pen, AXP__B_ABOUT, 0);
    for (size_t i = 0; i < sizeof mods->slot / sizeof *mods->slot; i++)
        for (struct axp__mod *mod = mods->slot[i]; mod; mod = mod->next)
            put_module(s, mods, mod);
    axp__pen_flush(&s->pen);
}

void axp__sampled_recording(struct axp__sampled *s, const char *id,
                            uint32_t pid)
{
    char key[48];
    snprintf(key, sizeof key, AXP__ABOUT_RECORDING "%.*s", AXP__APART_DIGITS,
             id);
    axp__pen_gather(&s->pen, AXP__B_ABOUT, 0);
    put_number(&s->pen, key, pid);
    axp__pen_flush(&s->pen);
}

/* ---- samples ------------------------------------------------------------ */

bool axp__sampled_put(struct axp__sampled *s, const struct axp__sample *sample)
{
    return !s->pen.error && axp__sampler_put(s->rows, &s->pen, sample);
}

static void flush_states(struct axp__sampled *s)
{
    struct axp__block b = {.kind = AXP__B_STATES, .n = s->n_threads};
    if (s->n_threads && !s->pen.error)
        axp__pen_block(&s->pen, &b, s->states, s->n_states);
    s->n_states = 0;
    s->n_threads = 0;
}

void axp__sampled_flush(struct axp__sampled *s, bool is_all)
{
    uint64_t now = axp__clock_of(CLOCK_MONOTONIC);
    bool is_due = now - s->flushed_ns >= FLUSH_NS;
    if (is_all) flush_states(s);
    if (s->pen.error ||
        !(is_all || is_due || axp__sampler_waiting(s->rows) >= A_BLOCK))
        return;
    s->flushed_ns = now;
    axp__sampler_flush(s->rows, &s->pen);
}

void axp__sampled_states(struct axp__sampled *s,
                         const struct axp__thread_states *of)
{
    uint8_t bytes[AXP__STATES_BYTES];
    struct axp__thread_states out = *of;
    out.begin_ticks = axp__sampled_ticks(s, of->begin_ticks);
    out.end_ticks = axp__sampled_ticks(s, of->end_ticks);
    size_t n = axp__states_put(bytes, &out);
    if (s->n_states + n > sizeof s->states) flush_states(s);
    memcpy(s->states + s->n_states, bytes, n);
    s->n_states += n;
    s->n_threads++;
}

/* ---- coming and going --------------------------------------------------- */

static void free_sampled(struct axp__sampled *s)
{
    if (s->pen.fd >= 0) close(s->pen.fd);
    axp__sampler_destroy(s->rows);
    free(s->pen.body);
    free(s->title);
    free(s->path);
    free(s);
}

/* A name of its own, in the folder of its path. */
static char *draft_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash + 1 - path) : 0;
    char id[33], *name = NULL;
    make_id(id);
    if (asprintf(&name, "%.*s.axprof-%s.tmp", folder, path, id) < 0)
        return NULL;
    return name;
}

/* Whoever looks while it begins sees a recording, or none. */
static bool write_first(struct axp__sampled *s)
{
    char *draft = draft_name(s->path);
    if (!draft) {
        s->pen.error = ENOMEM;
        return false;
    }
    s->pen.fd = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (s->pen.fd < 0) s->pen.error = errno;
    s->pen.end = AXP__FILE_HEAD;
    if (!s->pen.error && axp__pen_head(&s->pen, &s->head) && put_about(s) &&
        put_state(s))
        s->pen.error = axp__rename_new(draft, s->path);
    if (s->pen.error && s->pen.fd >= 0) (void)unlink(draft);
    free(draft);
    return !s->pen.error;
}

struct axp__sampled *axp__sampled_create(const char *path, const char *title)
{
    struct axp__sampled *s = calloc(1, sizeof *s);
    if (s) {
        s->pen.fd = -1;
        s->path = strdup(path);
        s->title = strdup(title ? title : "");
        s->pen.body = malloc(AXP__PEN_BODY);
        s->rows = axp__sampler_create();
    }
    if (!s || !s->path || !s->title || !s->pen.body || !s->rows) {
        if (s) free_sampled(s);
        axp__fail(AXP_E_NO_MEMORY, "no memory to record samples");
        return NULL;
    }
    set_anchor(s);
    s->flushed_ns = axp__clock_of(CLOCK_MONOTONIC);
    axp__head_clock(&s->head);
    axp__head_run_id(s->head.run_id);
    s->head.process_id = (uint64_t)getpid();
    s->head.incarnation = 1;
    s->head.rank = -1;
    s->head.start_ticks = s->anchor.ticks;
    if (write_first(s)) return s;
    axp__fail(AXP_E_IO, "cannot write %s: %s", path, strerror(s->pen.error));
    free_sampled(s);
    return NULL;
}

axp_status axp__sampled_close(struct axp__sampled *s)
{
    axp_status status = AXP_OK;
    axp__sampled_flush(s, true);
    if (!s->pen.error && put_state(s)) axp__pen_finish(&s->pen);
    if (s->pen.error)
        status = axp__fail(AXP_E_IO, "cannot write %s: %s", s->path,
                           strerror(s->pen.error));
    free_sampled(s);
    return status;
}
