/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that stood ready while they waited for something that was not there yet:
 * they would have spun, and starved of nothing. And those that did spin.
 *
 *   wait    ├──────────────────────────┤
 *   ready       ▒▒▒▒   ▒▒▒▒▒▒  ▒▒▒▒▒▒▒▒        preempted, three times
 *   given                         ^            from then on it wanted to go on
 *   idle        ████   ██████  ███
 *
 * Taken off what the scheduler tells of them, while a timeline is read row by row:
 * they were off their processor.
 *
 * Place   axp_open, where there are samples: only they say when a thread stood
 *         ready, and only of one that was preempted. Who was woken had been given
 *         what it waited for.
 * Memory  24 bytes a time that a row stood ready.
 * Input   untrusted.
 */
#ifndef AXP_MODEL_IDLE_H
#define AXP_MODEL_IDLE_H
#include "model/model_stream.h"

struct axp__idle_time;
struct axp__idle_sum;

/* {.v = …} at the beginning. */
struct axp__idle {
    axp_view *v;
    struct axp__idle_time *at; /* of the row */
    size_t n, cap;
    uint32_t row;
    bool is_pooled;  /* its thread waits for a pool's next region … */
    size_t n_before; /* … and had stood ready so often before */
    axp_ns spun_ns;  /* of the row */
    struct axp__idle_sum *of_states; /* each that the scheduler told of */
    uint64_t n_looks;
};

/* Any record of a stream that is read row by row. False: no memory. */
bool axp__idle_take(struct axp__idle *i, const struct axp__stream *s,
                    const struct axp__record *r);
/* A wait that nobody has told of, since it is not over. */
bool axp__idle_is_pooled(const struct axp__idle *i);
/* The sample that was taken last was of a wait: so long it spun. */
void axp__idle_spun(struct axp__idle *i, axp_ns ns);
/* When all were taken: the view's threads stood ready for less from here on. */
void axp__idle_keep(struct axp__idle *i, const struct axp__stream *s);
void axp__idle_fini(struct axp__idle *i);

#endif
