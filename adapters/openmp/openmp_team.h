/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parallel regions, whichever runtime runs them.
 *
 *   who meets it      openmp_team_begin ─────────────── openmp_team_end
 *   each member           └ openmp_enter … openmp_leave ┘
 *
 * A region is a scope on each of its threads, named by its function. Between
 * leaving and the region's end a member waits for the last one: "OpenMP
 * barrier"; a pool thread then waits for the next region: "OpenMP idle", which
 * whoever meets that region ends. No runtime says when the first of these ends,
 * so a pool thread's waits are recorded when it enters its next region. That it is
 * back in the pool is, too: of the last of its life nothing else is on record.
 *
 * Threads    any. A team stays until its region has ended, and then until another
 *            one takes its place, some N_TEAMS regions later; who looks at one
 *            that is gone knows that by its number.
 */
#ifndef OPENMP_TEAM_H
#define OPENMP_TEAM_H
#include <stdbool.h>
#include <stdint.h>

#include <axprof/axprof_adapter.h>

/* What all members read, and what each of them changes. */
struct openmp_team {
    _Alignas(64) uint64_t number;    /* of all teams; 0: none yet */
    const void *function;            /* its name … */
    const void *at;                  /* … and where it was begun */
    axp_giver begun;                 /* by who met the region */
    uint32_t n_members;              /* 0: not known */
    _Alignas(64) uint64_t n_arrived; /* at its barriers */
    axp_giver last[2];               /* who came last to one, two rounds */
};

/* function NULL: it has the name of where it was begun. */
struct openmp_team *openmp_team_begin(const void *at, const void *function);
void openmp_team_end(struct openmp_team *team);

/* is_pool: the thread is one of the runtime's, which waited for this. */
void openmp_enter(struct openmp_team *team, uint32_t n_members, bool is_pool);
void openmp_leave(void);

/* What places are called: there may be others now where they were. */
void openmp_team_forget(void);

/* A scope named by a place in the program, which axp_end ends; 0: none. */
uint64_t openmp_place_begin(const void *place);

/* Around a real barrier of the innermost region; it stays where it is until it is
 * passed. */
struct openmp_arrival {
    struct openmp_team *team;
    uint64_t number, round, began;
    uint64_t given; /* when it came, as it was recorded last */
};
void openmp_arrive(struct openmp_arrival *a);
void openmp_passed(const struct openmp_arrival *a);

/* A task, which a thread may run wherever it waits. Who runs one in a barrier comes
 * to it anew when it is done. */
struct openmp_task {
    uint64_t scope;
    struct openmp_arrival left; /* regions that it begins leave others */
    struct openmp_arrival *met; /* the barrier that it is run in; NULL: none */
    bool was_inside;            /* of the runtime */
};
struct openmp_task openmp_task_begin(const void *place);
void openmp_task_end(struct openmp_task task);

#endif
