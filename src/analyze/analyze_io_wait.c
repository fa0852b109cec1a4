/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* IoWait: the run stands still while the kernel reads, writes or opens.
 * docs/rules/io_wait.md
 *
 * An operation of category io, or one that was off its processor of its own will,
 * in no wait for another thread, as the scheduler told whoever sampled. What it
 * costs is what the run would be shorter without: what hides behind other
 * threads is nothing. Done ahead it hides behind the rest of the run, and no
 * more of it than that rest is long. What is in no scope has the name of the
 * function that asks the kernel, where that is known, and is time in which nobody
 * else ran: who is off his processor while others run may wait for
 * them in a way that nobody saw. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze_ahead.h"
#include "analyze/analyze_asker.h"
#include "base/base_number.h"
#include "graph/graph_gain.h"
#include "model/model_blocked.h"

/* What samples say of operations, by their names; not of a device's. */
static void set_blocked(const axp_view *v, struct axp__blocked *of)
{
    for (size_t i = 0; i < v->n_blocked; i++) {
        axp_op like = {.name = axp__view_name(v, v->blocked[i].of)};
        const axp_op *op = axp__view_find_op(v, &like);
        if (!op || op->device || strcmp(op->name, like.name) != 0) continue;
        of[op - v->ops].ns += v->blocked[i].ns;
        of[op - v->ops].n += v->blocked[i].n;
    }
}

struct io {
    const axp_op *op;
    double ns; /* of its own time */
    uint64_t n;
    double fraction; /* of its own time that would be regained */
    axp_ns gain;
};

static void add(struct axp__analysis *a, const struct io *io)
{
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_io_wait, io->op->name);
    double percent = 100 * (double)io->gain / (double)a->v->duration_ns;
    char time[32], each[32], part[32];
    const char *name = d ? axp__spoken(d->name, "it") : NULL;
    if (!d) return;
    d->op = io->op;
    d->specificity = 4;
    d->fraction = io->fraction;
    d->confidence = io->n ? 0.6 : 0.5;
    axp_format_ns(time, sizeof time, axp__whole(io->ns));
    axp_format_ns(each, sizeof each,
                  axp__whole(io->ns / (double)io->op->calls));
    axp__fixed(part, sizeof part, percent, 1);
    if (io->n)
        axp__draft_say(a, d,
                       "was off its processor %llu time%s, %s in all, for no "
                       "other thread's sake: a read, write, open or sleep; %s "
                       "%% of the run is nothing else",
                       (unsigned long long)io->n, io->n == 1 ? "" : "s", time,
                       part);
    else
        axp__draft_say(a, d,
                       "reads or writes for %s in all, and %s %% of the run is "
                       "nothing else",
                       time, part);
    axp__draft_advise(
        a, d,
        "begin what %s asks for before it is needed, on another thread or with "
        "larger requests: %s a call, in %llu call%s, can then hide behind the "
        "rest",
        name, each, (unsigned long long)io->op->calls,
        io->op->calls == 1 ? "" : "s");
    axp__draft_metric(d, "io_percentage", percent);
    axp__draft_metric(d, "blocked_ms", io->ns / 1e6);
}

static void look_at(struct axp__analysis *a, struct io *io)
{
    double least = (double)a->v->duration_ns *
                   a->threshold[AXP__T_io_wait_saving_percent] / 100;
    double own = (double)io->op->self_ns;
    struct axp__ahead ahead;
    if (!io->op->calls || !(own > 0)) return;
    if (io->ns > own) io->ns = own;
    if (!axp__ahead_find(a, io->op, io->ns / own, least, &ahead)) return;
    io->fraction = ahead.fraction;
    io->gain = ahead.gain_ns;
    add(a, io);
}

/* What a program stands still for in no scope, and for no thread's sake. */
struct still {
    double ns;     /* nobody ran, and the run was longer for it */
    double most;   /* so much longer, if somebody else ran meanwhile, too */
    bool is_known; /* who waited for whom; else somebody may have run unseen */
};

/* Time off a processor in scopes, of all threads; not in waits for another one,
 * in which a pool may be all the time. */
static axp_ns blocked_in_scopes(const axp_view *v)
{
    axp_ns sum = 0;
    for (size_t i = 0; i < v->n_blocked; i++)
        if (axp__view_kind(v, v->blocked[i].of) != AXP__KIND_WAIT)
            sum += v->blocked[i].ns;
    return sum;
}

static struct still still_of(struct axp__analysis *a)
{
    axp_ns still = a->still_ns;
    const axp_graph *g = NULL;
    if (a->v->n_sampled < AXP__FEW_SAMPLES) return (struct still){0};
    axp_ns in = axp__is_marked(a->v) ? blocked_in_scopes(a->v) : 0;
    still = still > in ? still - in : 0; /* a scope speaks for itself */
    axp_ns gain = still; /* unless it is known who waited for whom */
    if (!axp__graph_gain_without(a->v, AXP__OP_BLOCKED, &gain) ||
        !axp__graph_trusted(a->v, &g))
        a->has_failed = true;
    return (struct still){(double)(gain < still ? gain : still), (double)gain,
                          a->v->n_threads <= 1 ||
                              (g && axp__view_n_processes(a->v) <= 1)};
}

/* What was sampled, and what it may be more at 95 %: a bound has that in it. */
static double sampled_most(const axp_view *v, axp_ns ns)
{
    double each =
        v->n_sampled ? (double)v->sampled_ns / (double)v->n_sampled : 0;
    return (double)ns + 2 * sqrt((double)ns * each);
}

/* What the kernel does for it would be saved as well.
 *
 * At most all of it, where the program sleeps, or does little but ask: fewer
 * requests would do; or where nobody saw what it waits for. Else what can hide behind
 * the rest; so too where the kernel is hardly at work, as for a server that nobody
 * asks anything. */
static double gain_outside(struct axp__analysis *a, const struct still *still,
                           struct axp__asker *asker)
{
    double wall = (double)a->v->duration_ns;
    if (!axp__asker_find(a->v, asker)) a->has_failed = true;
    double ns = still->most + sampled_most(a->v, asker->kernel_ns);
    bool is_all =
        asker->name && asker->kernel && axp__asks_mostly(a->v, asker->kernel);
    is_all |= asker->asked == AXP__ASKED_SLEEP;
    is_all |= !asker->name && a->v->n_threads <= 1;
    return is_all ? fmin(ns, wall) : fmin(ns, fmax(0, wall - ns));
}

/* What the kernel did for who asked is part of it, unless that was more. */
static void blame(struct axp__draft *d, const struct axp__asker *asker,
                  double ns)
{
    if (!asker->name) return;
    d->file = asker->file;
    d->line = asker->line;
    d->has_place = true;
    if (!asker->kernel || ns < (double)asker->kernel->self_ns) return;
    d->op = asker->kernel;
    d->specificity = 4;
}

/* By what was asked for. */
static void advise(struct axp__analysis *a, struct axp__draft *d,
                   enum axp__asked asked, const char *name)
{
    if (asked == AXP__ASKED_SLEEP)
        axp__draft_advise(a, d,
                          "if %s sleeps until something is there, let it wait "
                          "for that itself (a condition variable, poll), and "
                          "it goes on at once; if it is to keep a pace, "
                          "nothing is lost",
                          name);
    else if (asked == AXP__ASKED_OTHERS)
        axp__draft_advise(a, d,
                          "what %s waits for comes from elsewhere: make that "
                          "faster, ask for it sooner, or do other work "
                          "meanwhile",
                          name);
    else
        axp__draft_advise(a, d,
                          "ask the kernel less often in %s, for more at once, "
                          "or on another thread; AXP_SCOPE around it tells how "
                          "long each takes",
                          name);
}

static void advise_outside(struct axp__analysis *a, struct axp__draft *d,
                           const struct axp__asker *asker)
{
    const char *name = axp__spoken(d->name, "it");
    if (asker->call)
        axp__draft_say(a, d, "most of that is in %s, for %s",
                       axp__spoken(asker->call, "a library"), name);
    else
        axp__draft_say(a, d,
                       "most of what the kernel was seen to do was asked for "
                       "by %s",
                       name);
    advise(a, d, asker->asked, name);
}

static void say_outside(struct axp__analysis *a, struct axp__draft *d,
                        const struct axp__asker *asker, double ns)
{
    char time[32], part[32];
    axp_format_ns(time, sizeof time, axp__whole(ns));
    axp__fixed(part, sizeof part, 100 * ns / (double)a->v->duration_ns, 1);
    axp__draft_say(a, d,
                   "%s for %s, %s %% of the run, in no scope and for no other "
                   "thread's sake%s",
                   a->v->n_threads == 1
                       ? "the thread was off its processor"
                       : "nobody ran, for one thread was off its processor",
                   time, part,
                   asker->call ? ""
                               : ": a read, write, open, sleep, or a wait for "
                                 "another process");
    axp__draft_metric(d, "blocked_ms", ns / 1e6);
    if (asker->name)
        advise_outside(a, d, asker);
    else
        axp__draft_advise(a, d,
                          "mark with AXP_SCOPE what reads, writes or waits: it "
                          "is %s of this run that is in none",
                          time);
}

static void look_outside(struct axp__analysis *a)
{
    struct axp__asker asker = {0};
    struct still still = still_of(a);
    double least = (double)a->v->duration_ns *
                   a->threshold[AXP__T_io_wait_saving_percent] / 100;
    double gain = still.ns > 0 ? gain_outside(a, &still, &asker) : 0;
    if (!(gain > 0) || gain < least || still.ns < least) return;
    /* a process that is waited for may be over before it was looked at */
    if (!still.is_known && (!asker.call || asker.asked == AXP__ASKED_OTHERS))
        return;
    struct axp__draft *d = axp__draft_add(
        a, AXP__RULE_io_wait, asker.name ? asker.name : "(no scope)");
    if (!d) return;
    d->has_saving = d->is_bound = d->is_capped = true;
    d->band = AXP_HIGH;
    d->saving_ns = axp__whole(gain);
    d->confidence = 0.4;
    blame(d, &asker, still.ns);
    say_outside(a, d, &asker, still.ns);
}

void axp__rule_io_wait(struct axp__analysis *a)
{
    const axp_view *v = a->v;
    struct axp__blocked *of = calloc(v->n_ops + 1, sizeof *of);
    if (!of) {
        a->has_failed = true;
        return;
    }
    set_blocked(v, of);
    for (size_t i = 0; i < v->n_ops; i++) {
        const axp_op *op = &v->ops[i];
        if (op->is_wait || op->category == AXP_CAT_SYNC || op->device) continue;
        bool is_io = op->category == AXP_CAT_IO;
        struct io io = {op, (double)(is_io ? op->self_ns : of[i].ns), of[i].n,
                        0, 0};
        look_at(a, &io);
    }
    if (v->capture->n_samples) look_outside(a);
    free(of);
}
