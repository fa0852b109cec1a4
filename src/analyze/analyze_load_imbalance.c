/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* LoadImbalance: threads that meet have unequal work, and wait for the one that
 * has most. docs/rules/load_imbalance.md
 *
 * It names the operation of which the slow thread does so much more than the
 * others. What it costs is what a replay gains in which all who meet do equally
 * much; where they are more than there are processors, which a replay does not
 * know of, at most what is not needed for all of their work, and no more than
 * whoever had most can have kept the others waiting for. Where one works and the
 * others have nothing to do, SerialPhase speaks. */
#include <stdlib.h>

#include "analyze/analyze_graph.h"
#include "analyze/analyze_pace.h"
#include "analyze/analyze_ranks.h"
#include "base/base_number.h"
#include "graph/graph_gain.h"
#include "graph/graph_meet.h"

#define EVEN 0.9 /* mean of the most: what is above needs no evening */

struct uneven {
    bool *which; /* episodes */
    size_t n;
    double most_ns, mean_ns;
    double *late_ns; /* of each row: how much more than the mean it did */
    double all_late_ns;
    uint32_t row, op; /* who did, and what */
    size_t n_threads; /* that meet, at most */
    axp_ns gain_ns;
    bool is_crowded; /* they had to share processors */
};

static void choose(struct uneven *u, const axp_graph *g,
                   const struct axp__meets *m)
{
    u->row = AXP__NONE;
    for (size_t i = 0; i < g->n_episodes; i++) {
        const struct axp__meet *meet = &m->at[i];
        double mean = meet->n ? meet->sum_ns / (double)meet->n : 0;
        u->which[i] = meet->n > 1 && !axp__meet_is_alone(meet) &&
                      mean < EVEN * meet->most_ns;
        if (!u->which[i]) continue;
        u->n++;
        if (meet->n > u->n_threads) u->n_threads = meet->n;
        u->most_ns += meet->most_ns;
        u->mean_ns += mean;
        u->late_ns[meet->row] += meet->most_ns - mean;
        u->all_late_ns += meet->most_ns - mean;
        if (u->row == AXP__NONE || u->late_ns[meet->row] > u->late_ns[u->row])
            u->row = meet->row;
    }
}

/* Of which operation those who did most did most more than the others on average:
 * it need not be the same row each time. */
static bool find_op(struct uneven *u, const axp_graph *g,
                    const struct axp__meets *m)
{
    double *more = calloc(g->ops.n + 1, sizeof *more), most = 0;
    if (!more) return false;
    axp__graph_led(g, m, u->which, more, true);
    u->op = AXP__NONE;
    for (uint32_t i = 0; i < g->ops.n; i++) {
        if (more[i] <= most || !axp__graph_is_program(g, i)) continue;
        most = more[i];
        u->op = i;
    }
    free(more);
    return true;
}

static void describe(struct axp__analysis *a, struct axp__draft *d,
                     const axp_graph *g, const struct uneven *u)
{
    char part[32], mean[32], most[32], who[32], saved[32];
    double n = (double)u->n;
    const char *thread = axp__graph_row_text(g, u->row, who);
    axp_format_ns(mean, sizeof mean, axp__whole(u->mean_ns / n));
    axp_format_ns(most, sizeof most, axp__whole(u->most_ns / n));
    axp__fixed(part, sizeof part, 100 * u->late_ns[u->row] / u->all_late_ns, 0);
    axp__draft_say(a, d,
                   "in %zu meeting%s of threads the slowest worked %s and the "
                   "mean %s; thread %s was behind, with %s %% of what was "
                   "waited for, most of it here",
                   u->n, u->n == 1 ? "" : "s", most, mean, thread, part);
    axp__draft_advise(
        a, d,
        "divide the work of %s by how long it takes, or let threads fetch it "
        "in small pieces: thread %s does more than the others; divided evenly "
        "the run would be %s%s shorter",
        axp__spoken(d->name, "this"), thread, u->is_crowded ? "at most " : "",
        axp_format_ns(saved, sizeof saved, u->gain_ns));
    axp__draft_metric(d, "balance", u->mean_ns / u->most_ns);
    axp__draft_metric(d, "thread_id", (double)g->rows[u->row].is.thread_id);
}

static void add(struct axp__analysis *a, const axp_graph *g,
                const struct uneven *u)
{
    bool is_named = u->op >= AXP__N_NO_OPS && u->op < g->ops.n;
    const char *name = is_named ? g->ops.at[u->op].text : "(no scope)";
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_load_imbalance, name);
    if (!d) return;
    d->op = axp__graph_view_op(g, u->op);
    d->specificity = 5;
    d->has_saving = true;
    d->is_bound = d->is_capped = u->is_crowded;
    if (u->is_crowded) d->band = AXP_HIGH;
    d->saving_ns = u->gain_ns;
    d->confidence = 0.7;
    describe(a, d, g, u);
}

/* What a thread does in no scope is taken for work, but it may have slept, unseen:
 * then it had no processor for so long. */
static bool has_worked(const axp_view *v, const axp_graph *g,
                       const struct uneven *u)
{
    const struct axp__stream_row *is = &g->rows[u->row].is;
    if (u->op >= AXP__N_NO_OPS && u->op < g->ops.n) return true;
    for (size_t i = 0; i < v->n_threads; i++) {
        const axp_thread_info *t = &v->threads[i];
        if (t->id != is->thread_id || t->process_id != is->process_id) continue;
        double had = (double)t->cpu_ns + (double)t->ready_ns;
        return !t->cpu_ns || had >= u->late_ns[u->row] / 2;
    }
    return true;
}

/* Work W, the largest piece of it M, on P processors that none leaves idle while
 * a piece is left: it takes W / P + M (1 - 1 / P) at most, and evenly divided W / P
 * at least. Whoever lacked processors took longer by as much. */
static axp_ns most_crowded(const struct axp__analysis *a,
                           const struct uneven *u)
{
    const axp_view *v = a->v;
    double ran = (double)v->ran_ns, wall = (double)v->duration_ns;
    double longer = ran > 0 ? 1 + (double)v->ready_ns / ran : 1;
    double waited = u->most_ns * (1 - 1 / a->crowd.n_cpus) * longer;
    return axp__crowd_most(v, 0, axp__whole(waited < wall ? waited : wall));
}

static bool look_at(struct axp__analysis *a, const axp_graph *g,
                    struct uneven *u, const struct axp__meets *m)
{
    const double *t = a->threshold;
    double least = (double)a->v->duration_ns *
                   t[AXP__T_load_imbalance_saving_percent] / 100;
    choose(u, g, m);
    if (!u->n || (double)u->n < t[AXP__T_load_imbalance_meetings] ||
        100 * u->mean_ns >=
            t[AXP__T_load_imbalance_balance_percent] * u->most_ns ||
        u->all_late_ns < least)
        return true;
    if (!axp__graph_gain_even(g, u->which, &u->gain_ns)) return false;
    u->is_crowded =
        a->crowd.lasts_ns > 0 && (double)u->n_threads > a->crowd.n_cpus;
    u->gain_ns = u->is_crowded ? most_crowded(a, u)
                               : axp__crowd_most(a->v, 0, u->gain_ns);
    if ((double)u->gain_ns < least) return true;
    bool is_slow = false;
    if (!axp__pace_was_slow(g, m, u->which, &is_slow)) return false;
    if (is_slow) return true;
    if (!find_op(u, g, m)) return false;
    if (has_worked(a->v, g, u)) add(a, g, u);
    return true;
}

void axp__rule_load_imbalance(struct axp__analysis *a)
{
    axp__ranks_look(a);
    const axp_graph *g = axp__analysis_graph(a);
    struct axp__meets m;
    if (!g || !g->n_episodes) return;
    struct uneven u = {.which = calloc(g->n_episodes, sizeof *u.which),
                       .late_ns = calloc(g->n_rows + 1, sizeof *u.late_ns)};
    bool ok = axp__meets_init(&m, g) && u.which && u.late_ns;
    if (!ok || !look_at(a, g, &u, &m)) a->has_failed = true;
    axp__meets_fini(&m);
    free(u.which);
    free(u.late_ns);
}
