/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parallel regions; see openmp_team.h. */
#include "openmp_team.h"

#include <errno.h>
#include <stddef.h>

#include "adapters/common/common_place.h"

#define N_TEAMS 1024u
#define MOST_TRIES 16
#define N_SITES 16384u
#define MOST_PROBES 64u
#define MOST_NESTED 16u
#define LEAST_NS 10000u

static struct openmp_team teams[N_TEAMS];
/* Whose region has not ended: who meets regions asks, and no other thread has
 * that in its cache. */
static bool is_open[N_TEAMS];
static uint64_t n_teams;

/* What this thread is in, innermost last. */
struct self {
    struct inside {
        struct openmp_team *team;
        uint64_t number, scope;
        bool is_pool;
    } in[MOST_NESTED];
    uint32_t depth;             /* may be more than is kept */
    struct openmp_arrival left; /* the region that it left last */
    struct openmp_arrival *met; /* the barrier that it is in; NULL: none */
    bool is_inside;             /* of the runtime: what waits there is its */
    uint32_t n_kept; /* threads that the runtime keeps for its next region */
};
static __thread struct self self __attribute__((tls_model("initial-exec")));

static void set_inside(bool is_inside)
{
    self.is_inside = is_inside;
    axp_wait_inside(is_inside);
}

/* ---- names -------------------------------------------------------------- */

static struct {
    const void *function;
    uint32_t site;
} sites[N_SITES];

/* NULL: no room near where it belongs. */
static uint32_t *site_of(const void *function)
{
    uint64_t at = (uintptr_t)function * UINT64_C(0x9e3779b97f4a7c15) >> 50;
    for (unsigned i = 0; i < MOST_PROBES; i++, at++) {
        const void **is = &sites[at % N_SITES].function;
        const void *was = __atomic_load_n(is, __ATOMIC_ACQUIRE);
        if (was == function ||
            (!was &&
             __atomic_compare_exchange_n(is, &was, function, false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) ||
            was == function)
            return &sites[at % N_SITES].site;
    }
    return NULL;
}

uint64_t openmp_place_begin(const void *place)
{
    static uint32_t others;
    uint32_t *site = place ? site_of(place) : NULL;
    char text[COMMON_PLACE_MAX];
    if (!place) return 0;
    if (!site) return axp_place_begin(&others, "OpenMP (other)\0\0");
    uint32_t known = __atomic_load_n(site, __ATOMIC_ACQUIRE);
    if (known) return axp_place_begin(&known, "\0\0"); /* as is the text */
    if (!axp_recording_is_open()) return 0; /* the text asks for links */
    common_place(place, true, text);
    return axp_place_begin(site, text);
}

/* The address keeps its place, and whoever uses its site has a copy. */
void openmp_team_forget(void)
{
    for (unsigned i = 0; i < N_SITES; i++)
        if (__atomic_load_n(&sites[i].site, __ATOMIC_RELAXED))
            __atomic_store_n(&sites[i].site, 0, __ATOMIC_RELEASE);
}

/* ---- waits -------------------------------------------------------------- */

static bool is_there(const struct openmp_team *team, uint64_t number)
{
    return team && __atomic_load_n(&team->number, __ATOMIC_ACQUIRE) == number;
}

/* The first to come says it: what others only read stays in their caches. */
static void set_members(struct openmp_team *team, uint32_t n)
{
    if (__atomic_load_n(&team->n_members, __ATOMIC_ACQUIRE) != n)
        __atomic_store_n(&team->n_members, n, __ATOMIC_RELEASE);
}

/* Several may run tasks at once: the last of them to say so is the last. */
static void set_last(const struct openmp_arrival *a, axp_giver by)
{
    axp_giver *last = &a->team->last[a->round & 1];
    __atomic_store_n(&last->row, by.row, __ATOMIC_RELAXED);
    __atomic_store_n(&last->at, by.at, __ATOMIC_RELEASE);
}

static axp_giver last_of(const struct openmp_arrival *a)
{
    axp_giver *last = &a->team->last[a->round & 1];
    axp_giver by = {.at = __atomic_load_n(&last->at, __ATOMIC_ACQUIRE)};
    by.row = __atomic_load_n(&last->row, __ATOMIC_RELAXED);
    return by;
}

/* Who came last does not wait. */
static bool may_wait(const struct openmp_arrival *a)
{
    return !a->round || a->given != last_of(a).at;
}

/* kind: AXP_SYNC_BARRIER or AXP_SYNC_BACK. */
static struct openmp_arrival arrive_at(struct openmp_team *team,
                                       axp_sync_kind kind)
{
    struct openmp_arrival a = {.team = team};
    uint32_t n = __atomic_load_n(&team->n_members, __ATOMIC_ACQUIRE);
    a.number = __atomic_load_n(&team->number, __ATOMIC_ACQUIRE);
    if (!n) {
        a.began = axp_wait_begin();
        return a;
    }
    uint64_t i = __atomic_fetch_add(&team->n_arrived, 1, __ATOMIC_ACQ_REL);
    a.round = i / n + 1;
    axp_giver by = axp_sync_give(kind, team, a.round);
    a.began = a.given = by.at;
    if (i % n == n - 1) set_last(&a, by);
    return a;
}

/* Whoever has run a task there. What recording that costs is spared of very short
 * ones. */
static void arrive_again(struct openmp_arrival *a)
{
    a->began = axp_wait_begin();
    if (!a->began || !a->round || a->began - a->given < axp_ticks(LEAST_NS))
        return;
    axp_giver by = axp_sync_give(AXP_SYNC_BARRIER, a->team, a->round);
    a->given = by.at;
    set_last(a, by);
}

/* ended = 0: now. A short one is nothing: when each member came is on record. */
static void put_wait(const struct openmp_arrival *a, axp_giver by,
                     uint64_t ended)
{
    axp_sync_waited(&(axp_sync_wait){.size = sizeof(axp_sync_wait),
                                     .kind = AXP_SYNC_BARRIER,
                                     .object = a->team,
                                     .number = a->round,
                                     .began = a->began,
                                     .by = by,
                                     .name = "OpenMP barrier",
                                     .least_ns = LEAST_NS,
                                     .ended = ended,
                                     .is_vain = true});
}

void openmp_arrive(struct openmp_arrival *a)
{
    uint32_t depth = self.depth;
    *a = (struct openmp_arrival){0};
    if (!depth || depth > MOST_NESTED ||
        !is_there(self.in[depth - 1].team, self.in[depth - 1].number))
        return;
    *a = arrive_at(self.in[depth - 1].team, AXP_SYNC_BARRIER);
    self.met = a;
    set_inside(true); /* of the runtime, which may use pthread's */
}

void openmp_passed(const struct openmp_arrival *a)
{
    if (!a->team) return;
    self.met = NULL;
    set_inside(false);
    if (!a->began || !is_there(a->team, a->number) || !may_wait(a)) return;
    put_wait(a, a->round ? last_of(a) : (axp_giver){0}, 0);
}

/* What a pool thread has waited for since it left its last region; the two
 * waits meet where the last of that region's members came. */
static void tell_waits(const struct openmp_team *next)
{
    struct openmp_arrival left = self.left;
    self.left.began = 0;
    if (!left.began) return;
    if (left.round && is_there(left.team, left.number) && may_wait(&left)) {
        axp_giver last = last_of(&left);
        if (last.at > left.began) {
            put_wait(&left, last, last.at);
            left.began = last.at;
        }
    }
    axp_sync_waited(&(axp_sync_wait){.size = sizeof(axp_sync_wait),
                                     .kind = AXP_SYNC_REGION,
                                     .object = next,
                                     .number = next->number,
                                     .began = left.began,
                                     .by = next->begun,
                                     .name = "OpenMP idle",
                                     .least_ns = LEAST_NS});
}

/* GNU's runtime begins a region when all of its pool's threads are back from the
 * one before, which on a busy machine takes them long: who met the region waits
 * for them, and who was last nobody knows. Threads that are made meanwhile are
 * work, and no wait. */
static void tell_start(const struct openmp_team *team, uint32_t n_members)
{
    bool is_kept = n_members <= self.n_kept;
    if (n_members < 2) return; /* the pool stays as it is */
    self.n_kept = n_members;
    if (!is_kept || !team->begun.at) return;
    axp_sync_waited(&(axp_sync_wait){.size = sizeof(axp_sync_wait),
                                     .kind = AXP_SYNC_REGION,
                                     .object = team,
                                     .number = team->number,
                                     .began = team->begun.at,
                                     .name = "OpenMP start",
                                     .least_ns = LEAST_NS,
                                     .is_vain = true});
}

/* ---- regions ------------------------------------------------------------ */

/* The next whose region has ended. One that was left otherwise (a thread that
 * exits in it) never does: where they are many another one's is taken. */
static struct openmp_team *take_team(uint64_t *number)
{
    bool was_open = true;
    for (int i = 0; was_open && i < MOST_TRIES; i++) {
        *number = __atomic_add_fetch(&n_teams, 1, __ATOMIC_RELAXED);
        was_open = __atomic_exchange_n(&is_open[*number % N_TEAMS], true,
                                       __ATOMIC_ACQUIRE);
    }
    return &teams[*number % N_TEAMS];
}

struct openmp_team *openmp_team_begin(const void *at, const void *function)
{
    uint64_t number;
    struct openmp_team *team = take_team(&number);
    __atomic_store_n(&team->number, 0, __ATOMIC_RELEASE);
    team->function = function ? function : at;
    team->at = at;
    team->n_members = 0;
    team->n_arrived = 0;
    team->last[0] = team->last[1] = (axp_giver){0};
    team->begun = axp_sync_give(AXP_SYNC_REGION, team, number);
    __atomic_store_n(&team->number, number, __ATOMIC_RELEASE);
    return team;
}

/* The one who met the region, and was a member of it, waits here. */
void openmp_team_end(struct openmp_team *team)
{
    if (self.left.team == team) openmp_passed(&self.left);
    self.left.began = 0;
    self.met = NULL;
    set_inside(false);
    __atomic_store_n(&is_open[team - teams], false, __ATOMIC_RELEASE);
}

void openmp_enter(struct openmp_team *team, uint32_t n_members, bool is_pool)
{
    int error = errno;
    uint32_t depth = self.depth++;
    self.met = NULL;
    set_inside(false);
    set_members(team, n_members);
    if (is_pool)
        tell_waits(team);
    else if (!depth)
        tell_start(team, n_members);
    if (depth < MOST_NESTED)
        self.in[depth] = (struct inside){
            team, team->number, openmp_place_begin(team->function), is_pool};
    errno = error;
}

void openmp_leave(void)
{
    int error = errno;
    if (!self.depth) return;
    uint32_t depth = --self.depth;
    if (depth < MOST_NESTED) {
        struct inside in = self.in[depth];
        if (in.scope) axp_end(in.scope);
        if (is_there(in.team, in.number)) {
            self.left = arrive_at(in.team, in.is_pool ? AXP_SYNC_BACK
                                                      : AXP_SYNC_BARRIER);
            self.met = &self.left;
        }
    }
    set_inside(true);
    errno = error;
}

/* ---- tasks -------------------------------------------------------------- */

/* Nobody says who made it, and so ended the wait for it. */
static void wait_for_task(const struct openmp_arrival *a)
{
    if (!a->began) return;
    axp_sync_waited(&(axp_sync_wait){.size = sizeof(axp_sync_wait),
                                     .kind = AXP_SYNC_CONDITION,
                                     .object = a->team,
                                     .began = a->began,
                                     .name = "OpenMP task wait",
                                     .least_ns = LEAST_NS,
                                     .is_vain = true});
}

struct openmp_task openmp_task_begin(const void *place)
{
    int error = errno;
    struct openmp_task task = {
        .left = self.left, .met = self.met, .was_inside = self.is_inside};
    set_inside(false);
    if (self.met) wait_for_task(self.met);
    self.met = NULL;
    task.scope = openmp_place_begin(place);
    errno = error;
    return task;
}

void openmp_task_end(struct openmp_task task)
{
    int error = errno;
    if (task.scope) axp_end(task.scope);
    self.left = task.left;
    self.met = task.met;
    if (self.met && is_there(self.met->team, self.met->number))
        arrive_again(self.met);
    set_inside(task.was_inside);
    errno = error;
}
