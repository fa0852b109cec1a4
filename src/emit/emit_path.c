/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The critical path for reports; see emit_path.h. */
#include "emit/emit_path.h"

#include <stdlib.h>

#include "emit/emit_text.h"
#include "emit/emit_words.h"
#include "graph/graph.h"
#include "record/record_thread.h"

axp_status axp__path_parts(const axp_view *v, struct axp__path_parts *out)
{
    const struct axp__recorded *of = NULL;
    *out = (struct axp__path_parts){.is_run = v->is_outside};
    axp_status status = axp__graph_recorded(v, &of);
    if (status || !of) return status;
    out->total = axp_replay_total(of->replay);
    out->n = axp_replay_parts(of->replay, NULL, 0);
    out->at = calloc(out->n + 1, sizeof *out->at);
    if (!out->at) {
        out->n = 0;
        return axp__fail(AXP_E_NO_MEMORY, "no memory for a report");
    }
    axp_replay_parts(of->replay, out->at, out->n);
    return AXP_OK;
}

const char *axp__path_doubt(const struct axp__path_parts *p)
{
    if (!p->total.is_estimate) return NULL;
    if (p->total.n_unknown_waits)
        return "An estimate: of many waits nobody knows who ended them; they "
               "are taken for what others did meanwhile.";
    return p->is_run ? "An estimate: no thread was seen to wait for another; "
                       "processes that do are not seen."
                     : "An estimate: nothing was recorded of which thread "
                       "waited for which; axprof run does that.";
}

/* ---- text --------------------------------------------------------------------------- */

void axp__text_path(struct axp__text *t, const axp_view *v)
{
    static const struct axp__column columns[] = {
        {"what", true, 0}, {"of the run", false, 0}, {"time", false, 1}};
    struct axp__path_parts p;
    if (axp__path_parts(v, &p)) t->has_failed = true;
    if (!p.n) return;
    axp_ns rest = 0;
    char text[32];
    axp__text_heading(t, "Critical path", "what the run's length consists of");
    struct axp__table *table = axp__table_create(
        t, columns, sizeof columns / sizeof *columns, AXP__PATH_SHOWN);
    for (size_t i = 0; table && i < p.n; i++) {
        if (i >= AXP__PATH_SHOWN) {
            rest += p.at[i].ns;
            continue;
        }
        axp__cell *cells =
            axp__table_row_on(table, p.at[i].name, p.at[i].device);
        axp__short_percent(cells[0], p.at[i].share);
        axp__short_ns(cells[1], p.at[i].ns);
    }
    axp__table_print(t, table);
    if (p.n > AXP__PATH_SHOWN)
        axp__text_say(t, "and %zu more, %s together", p.n - AXP__PATH_SHOWN,
                      axp_format_ns(text, sizeof text, rest));
    const char *doubt = axp__path_doubt(&p);
    if (doubt) axp__text_say(t, "%s", doubt);
    free(p.at);
}

/* ---- JSON --------------------------------------------------------------------------- */

static const char *kind_word(axp_path_kind kind)
{
    switch (kind) {
    case AXP_PATH_WORK: return "work";
    case AXP_PATH_WAIT: return "wait";
    case AXP_PATH_NO_CPU: return "no_cpu";
    default: return "idle";
    }
}

static void put_part(struct axp__json *j, const axp_path_part *part)
{
    axp__json_line(j, "    ");
    axp__json_begin(j, '{');
    axp__json_text(j, "name", part->name);
    axp__json_text(j, "kind", kind_word(part->kind));
    axp__json_u64(j, "ns", part->ns);
    axp__json_f64(j, "share", part->share);
    axp__json_text(j, "category", axp__word_cat(part->category));
    if (part->device) axp__json_text(j, "device", part->device);
    axp__json_bool(j, "is_sampled", part->is_sampled);
    axp__json_end(j, '}');
}

axp_status axp__path_json(struct axp__json *j, const axp_view *v)
{
    struct axp__path_parts p;
    axp_status status = axp__path_parts(v, &p);
    if (!p.n) {
        axp__json_text(j, "critical_path", NULL);
        free(p.at);
        return status;
    }
    axp__json_object(j, "critical_path");
    axp__json_u64(j, "wall_ns", p.total.wall_ns);
    axp__json_bool(j, "is_estimate", p.total.is_estimate);
    axp__json_u64(j, "n_waits", p.total.n_waits);
    axp__json_u64(j, "n_unknown_waits", p.total.n_unknown_waits);
    axp__json_u64(j, "unknown_ns", p.total.unknown_ns);
    axp__json_list(j, "parts");
    for (size_t i = 0; i < p.n; i++)
        put_part(j, &p.at[i]);
    axp__out_text(j->o, "\n  ");
    axp__json_end(j, ']');
    axp__json_end(j, '}');
    free(p.at);
    return AXP_OK;
}
