/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding recordings, draining them, completing them. */
#include "cli/cli_drain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/cli_clock.h"
#include "cli/cli_say.h"
#include "cli/cli_watch.h"

#define MS 1000000ull

/* Between looks at spools: at the least, after a large bite, and when nothing is
 * worth one. */
#define LOOK_NS MS
#define LOOK_MOST_NS (100 * MS)
/* Between looks at the folder: at first, and when nothing new appears. */
#define LIST_NS (50 * MS)
#define LIST_MOST_NS (250 * MS)
/* How long those are waited for that end because the program has. A helper in
 * Python, as multiprocessing has them, takes 10 to 30 ms. */
#define LAST_NS (250 * MS)

/* A step of all takes little longer: who records faster than is drained does not
 * keep the samples, or the others, waiting. */
#define STEP_NS (20 * MS)

enum {
    A_LOT = 64,    /* chunks in one step: come again when a quarter … */
    SOME = 8,      /* … of them is there; of a small spool: soon */
    MAX_TRIES = 50 /* soon after each other, to open a new recording */
};

enum state { FOUND, DRAINING, COMPLETE };

typedef struct recording {
    char *path;
    axp_drain *drain; /* while DRAINING */
    enum state state;
    unsigned n_tries;
    bool is_stopped;
} recording;

struct cli_drains {
    const cli_files *files;
    axp_drain_keep keep;
    bool has_keep;
    uint64_t stop_ns;
    uint64_t next_list_ns, list_ns;
    uint64_t look_ns, bite_ns; /* until the next; when the last large one was */
    struct timespec changed_at; /* the folder, as it was last asked */
    recording *list;
    size_t n, cap;
    size_t first; /* who is asked first: where the last step had no time left */
    cli_drains_now past; /* of those that are complete */
    char *problem;       /* the first */
};

/* ---- finding ------------------------------------------------------------ */

/* Of a process of the run, and not what the parent records. */
static bool is_of_process(const char *path)
{
    const char *name = strrchr(path, '/');
    return name && name[1] >= '0' && name[1] <= '9';
}

static void add(cli_drains *d, const char *path)
{
    if (!is_of_process(path)) return;
    for (size_t i = 0; i < d->n; i++)
        if (!strcmp(d->list[i].path, path)) return;
    if (d->n == d->cap) {
        size_t cap = d->cap ? 2 * d->cap : 16;
        recording *more = cli_alloc(cap, sizeof *more);
        if (d->n) memcpy(more, d->list, d->n * sizeof *more);
        free(d->list);
        d->list = more;
        d->cap = cap;
    }
    d->list[d->n++] = (recording){.path = cli_format("%s", path)};
}

static void list_folder(cli_drains *d)
{
    cli_parts parts = {0};
    if (d->files->parts) cli_parts_list(d->files->parts, &parts);
    for (size_t i = 0; i < parts.n; i++)
        add(d, parts.paths[i]);
    cli_parts_fini(&parts);
}

/* There may be thousands of parts: listing them takes at most 1 % of the time.
 * (inotify would tell, but closing it waits 10 ms and more for the kernel.) */
static void find_new(cli_drains *d, uint64_t now_ns)
{
    size_t n = d->n;
    if (now_ns < d->next_list_ns) return;
    list_folder(d);
    uint64_t cost = cli_clock_ns(CLOCK_MONOTONIC) - now_ns;
    d->list_ns += d->list_ns / 4;
    if (d->list_ns > LIST_MOST_NS) d->list_ns = LIST_MOST_NS;
    if (d->n > n) d->list_ns = LIST_NS;
    d->next_list_ns =
        now_ns + (100 * cost > d->list_ns ? 100 * cost : d->list_ns);
}

/* ---- draining ----------------------------------------------------------- */

/* Begun, but its header or its spool may not be whole yet: then later. */
static void open_recording(cli_drains *d, recording *r)
{
    r->drain = axp_drain_open(r->path);
    r->n_tries++;
    if (!r->drain) return;
    if (d->has_keep) axp_drain_set_keep(r->drain, &d->keep);
    r->state = DRAINING;
}

/* Until there is little left, or that moment is past. */
static size_t drain(recording *r, uint64_t until_ns)
{
    size_t n, sum = 0;
    do
        sum += n = axp_drain_step(r->drain);
    while (n >= A_LOT && cli_clock_ns(CLOCK_MONOTONIC) < until_ns);
    return sum;
}

static void note_problem(cli_drains *d, const recording *r)
{
    if (!d->problem)
        d->problem = cli_format("%s: %s", r->path, axp_last_error());
}

/* Done, if only with what is there. */
static bool is_packed(axp_status status)
{
    return status == AXP_OK || status == AXP_E_DAMAGED;
}

/* The process is gone: nothing changes its spool any more. One that was never
 * opened may have begun this moment, and goes on. */
static void complete(cli_drains *d, recording *r)
{
    axp_status status = AXP_OK;
    if (r->drain) {
        drain(r, UINT64_MAX);
        axp_drain_info last = axp_drain_info_of(r->drain);
        d->past.n_events += last.events;
        d->past.n_steps += last.steps;
        if (axp_drain_close(r->drain, true) != AXP_OK) note_problem(d, r);
        r->drain = NULL;
    } else if (!axp_file_is_empty(r->path)) {
        status = axp_file_pack(r->path, NULL);
    }
    if (status == AXP_E_STATE) return;
    if (!is_packed(status)) note_problem(d, r); /* drained by itself, say */
    r->state = COMPLETE;
}

static size_t step_one(cli_drains *d, recording *r, uint64_t now_ns)
{
    if (r->state == FOUND) open_recording(d, r);
    if (r->state != DRAINING) return 0;
    if (d->stop_ns && now_ns >= d->stop_ns && !r->is_stopped) {
        axp_drain_stop(r->drain);
        r->is_stopped = true;
    }
    bool is_over = axp_drain_is_over(r->drain);
    size_t n = drain(r, now_ns + STEP_NS);
    if (is_over) complete(d, r);
    return n;
}

/* As soon as a quarter of a large bite is there if the program goes on as it has
 * since the last one; the less there is, the later. */
static uint64_t next_look(cli_drains *d, size_t n, uint64_t now_ns)
{
    uint64_t since = now_ns - d->bite_ns;
    if (n < A_LOT) return 2 * d->look_ns;
    d->bite_ns = now_ns;
    uint64_t quarter = since / n * A_LOT / 4;
    return quarter > LOOK_NS ? quarter : LOOK_NS;
}

uint64_t cli_drains_step(cli_drains *d, uint64_t now_ns)
{
    size_t most = 0;
    bool is_new = false;
    find_new(d, now_ns);
    size_t i = 0, first = d->first;
    for (; i < d->n && (!i || cli_clock_ns(CLOCK_MONOTONIC) < now_ns + STEP_NS);
         i++) {
        recording *r = &d->list[(first + i) % d->n];
        size_t n = step_one(d, r, now_ns);
        if (n > most) most = n;
        is_new |= r->state == FOUND && r->n_tries < MAX_TRIES;
    }
    if (i < d->n) most = most > A_LOT ? most : A_LOT; /* come again soon */
    d->first = i < d->n ? (first + i) % d->n : 0;
    d->look_ns = next_look(d, most, now_ns);
    uint64_t longest = is_new ? 5 * MS : most >= SOME ? 20 * MS : LOOK_MOST_NS;
    if (d->look_ns > longest) d->look_ns = longest;
    uint64_t next = now_ns + d->look_ns;
    return d->stop_ns > now_ns && d->stop_ns < next ? d->stop_ns : next;
}

/* ---- life --------------------------------------------------------------- */

cli_drains *cli_drains_create(const cli_files *files,
                              const axp_drain_keep *keep, uint64_t stop_ns)
{
    cli_drains *d = cli_alloc(1, sizeof *d);
    static const axp_drain_keep everything;
    d->files = files;
    d->keep = *keep;
    d->has_keep = memcmp(keep, &everything, sizeof everything) != 0;
    d->stop_ns = stop_ns;
    d->list_ns = LIST_NS;
    d->look_ns = LOOK_NS;
    d->bite_ns = cli_clock_ns(CLOCK_MONOTONIC);
    return d;
}

void cli_drains_finish(cli_drains *d)
{
    list_folder(d);
    for (size_t i = 0; i < d->n; i++) {
        recording *r = &d->list[i];
        if (r->state == FOUND) open_recording(d, r);
        if (r->state == FOUND ||
            (r->state == DRAINING && axp_drain_is_over(r->drain)))
            complete(d, r);
    }
}

/* Whether one goes on; those that do not are completed. */
static bool complete_ended(cli_drains *d)
{
    bool is_any = false;
    cli_drains_finish(d);
    for (size_t i = 0; i < d->n; i++)
        is_any |= d->list[i].state != COMPLETE;
    return is_any;
}

void cli_drains_wait(cli_drains *d)
{
    static const struct timespec moment = {.tv_nsec = 2 * MS};
    uint64_t until = cli_clock_ns(CLOCK_MONOTONIC) + LAST_NS;
    while (complete_ended(d) && cli_clock_ns(CLOCK_MONOTONIC) < until)
        nanosleep(&moment, NULL);
}

/* Who goes on where nothing is kept need not record any more. */
void cli_drains_destroy(cli_drains *d)
{
    if (!d) return;
    for (size_t i = 0; i < d->n; i++) {
        if (d->list[i].drain && d->files->is_temporary)
            axp_drain_stop(d->list[i].drain);
        axp_drain_close(d->list[i].drain, false);
        free(d->list[i].path);
    }
    free(d->problem);
    free(d->list);
    free(d);
}

bool cli_drains_has_ended(const cli_drains *d, const char *path)
{
    for (size_t i = 0; i < d->n; i++)
        if (!strcmp(d->list[i].path, path)) return d->list[i].state == COMPLETE;
    return !is_of_process(path); /* it began just now, or is ours */
}

/* Who is in another namespace and was not found has no number (0). */
static bool is_first_of(const cli_drains *d, size_t index, uint64_t pid)
{
    for (size_t i = 0; pid && i < index; i++)
        if (d->list[i].drain &&
            axp_drain_info_of(d->list[i].drain).process_id == pid)
            return false;
    return true;
}

uint64_t cli_drains_left(const cli_drains *d)
{
    uint64_t n = 0;
    for (size_t i = 0; i < d->n; i++) {
        const recording *r = &d->list[i];
        if (r->state == COMPLETE) continue;
        n += !r->drain ||
             is_first_of(d, i, axp_drain_info_of(r->drain).process_id);
    }
    return n;
}

const char *cli_drains_problem(const cli_drains *d)
{
    return d->problem;
}

cli_drains_now cli_drains_look(const cli_drains *d)
{
    cli_drains_now now = d->past;
    for (size_t i = 0; i < d->n; i++) {
        if (!d->list[i].drain) continue;
        axp_drain_info info = axp_drain_info_of(d->list[i].drain);
        now.n_events += info.events;
        now.n_steps += info.steps;
    }
    return now;
}

static cli_own known(const cli_drains *d, pid_t pid)
{
    cli_own own = {0};
    for (size_t i = 0; i < d->n; i++) {
        if (!d->list[i].drain) continue;
        axp_drain_info info = axp_drain_info_of(d->list[i].drain);
        if (info.process_id != (uint64_t)pid) continue;
        own.shared_bytes += info.spool_bytes;
        own.private_bytes += info.private_bytes;
    }
    return own;
}

/* Whether the folder may have changed since it was last asked. Its time goes by
 * the kernel's ticks: a change in the tick of the last look shows none. */
static bool has_changed(cli_drains *d)
{
    struct stat st;
    struct timespec now;
    if (!d->files->parts || stat(d->files->parts, &st)) return false;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    bool is_same = st.st_mtim.tv_sec == d->changed_at.tv_sec &&
                   st.st_mtim.tv_nsec == d->changed_at.tv_nsec;
    d->changed_at = st.st_mtim;
    return !is_same || now.tv_sec - st.st_mtim.tv_sec <= 1;
}

cli_own cli_drains_own(cli_drains *d, pid_t pid)
{
    cli_own own = known(d, pid);
    if (own.shared_bytes || !has_changed(d)) return own;
    list_folder(d);
    for (size_t i = 0; i < d->n; i++)
        if (d->list[i].state == FOUND) open_recording(d, &d->list[i]);
    return known(d, pid);
}

size_t cli_drains_count(const cli_drains *d)
{
    return d->n;
}
