/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What binds an operation; see analyze_roof.h. */
#include "analyze/analyze_roof.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/analyze_team.h"

const char *axp__roof_bound(const struct axp__roof *r)
{
    if (!r->is_known) return "";
    const char *level = axp__machine_level_word(r->level);
    return level ? level : "arithmetic";
}

static bool is_sane(double value)
{
    return isfinite(value) && value > 0;
}

/* ---- what is allowed ------------------------------------------------------------- */

struct peaks {                    /* a second */
    const struct axp__machine *m; /* NULL: given */
    double flops, bytes;          /* given; 0: none */
};

static double compute_peak(const struct peaks *p, axp_dtype dtype,
                           uint32_t threads)
{
    if (!p->m) return p->flops;
    const struct axp__machine_compute *c = axp__machine_compute_of(p->m, dtype);
    return c ? axp__machine_scaled(p->m, c->one.best, c->all.best, threads) : 0;
}

/* Of a level: reading and moving may differ by half. The lesser is what
 * whoever moves data gets, the greater who moves it in the better way. */
enum way { LESSER, GREATER };

static double bandwidth(const struct peaks *p, size_t i, uint32_t threads,
                        enum way way)
{
    if (!p->m) return p->bytes;
    const struct axp__machine_memory *is = &p->m->memory[i];
    double read = axp__machine_scaled(p->m, is->read_one.best,
                                      is->read_all.best, threads);
    double move = axp__machine_scaled(p->m, is->move_one.best,
                                      is->move_all.best, threads);
    if (!(read > 0) || !(move > 0)) way = GREATER; /* one was measured */
    return way == LESSER ? fmin(read, move) : fmax(read, move);
}

static size_t n_levels(const struct peaks *p)
{
    return p->m ? p->m->n_memory : p->bytes > 0;
}

/* Of a cache: the rest has the code, the stack and what neighbours do. */
#define HOLDS 0.75

/* The level that holds so many bytes, when so many threads have a part. Who is
 * faster than that is given the next by find_level. */
static size_t level_of(const struct peaks *p, double bytes, uint32_t threads)
{
    size_t n = n_levels(p);
    for (size_t i = 0; p->m && i + 1 < n; i++) {
        const struct axp__machine_memory *is = &p->m->memory[i];
        uint64_t caches = (threads + is->shared - 1) / is->shared;
        if (bytes <= HOLDS * (double)is->bytes * (double)caches &&
            bandwidth(p, i, threads, GREATER) > 0)
            return i;
    }
    return n - 1;
}

/* With the level's bandwidth. */
static void set_roof(struct axp__roof *r, const struct peaks *p, size_t level,
                     enum way way)
{
    bool has_level = n_levels(p) && is_sane(r->bytes);
    double bw = has_level ? bandwidth(p, level, r->threads, way) : 0;
    double peak = r->flops > 0 ? compute_peak(p, r->dtype, r->threads) : 0;
    r->roof_bytes = bw;
    r->roof_flops = r->peak_flops = peak;
    r->level = AXP_LEVEL_NONE;
    if (bw > 0 && r->flops > 0) {
        double allowed = r->flops / r->bytes * bw;
        if (peak <= 0 || allowed < peak) r->roof_flops = allowed;
        if (peak <= 0 || allowed < peak)
            r->level = p->m ? p->m->memory[level].level : AXP_LEVEL_MEMORY;
    } else if (bw > 0) {
        r->level = p->m ? p->m->memory[level].level : AXP_LEVEL_MEMORY;
    }
    double reached = r->flops > 0 ? r->flops : r->bytes;
    double roof = r->flops > 0 ? r->roof_flops : r->roof_bytes;
    r->is_known = is_sane(roof) && is_sane(reached);
    r->share = r->is_known ? reached / roof : 0;
}

/* Whether the fastest call says that data is moved in the better way: it is faster
 * than the lesser allows, and no faster than the greater. */
static bool is_better(const struct axp__roof *r, const struct peaks *p,
                      size_t level, double fastest)
{
    return r->level != AXP_LEVEL_NONE &&
           fastest > AXP__ROOF_MOST * bandwidth(p, level, r->threads, LESSER) &&
           fastest <= AXP__ROOF_MOST * bandwidth(p, level, r->threads, GREATER);
}

struct moved {
    double call;    /* bytes, by all threads at once */
    double fastest; /* bytes a second in the fastest call */
};

/* Who is faster than reading, if only in one call, moves data in the better way;
 * who is faster than a level had its data in a faster one. */
static void find_level(struct axp__roof *r, const struct peaks *p,
                       const struct moved *moved)
{
    size_t level = n_levels(p) ? level_of(p, moved->call, r->threads) : 0;
    set_roof(r, p, level, LESSER);
    if (is_better(r, p, level, moved->fastest)) set_roof(r, p, level, GREATER);
    while (r->share > AXP__ROOF_MOST && r->level != AXP_LEVEL_NONE) {
        set_roof(r, p, level, GREATER);
        if (r->share <= AXP__ROOF_MOST || !level) return;
        level--;
        if (bandwidth(p, level, r->threads, GREATER) > 0)
            set_roof(r, p, level, LESSER);
    }
}

/* ---- an operation ------------------------------------------------------------------- */

/* As far as the scheduler tells. */
static double part_that_ran(const axp_view *v)
{
    double ran = (double)v->ran_ns, all = ran + (double)v->ready_ns;
    return ran > 0 ? ran / all : 1;
}

static struct axp__roof roof_of(const axp_op *op, const struct peaks *p,
                                const struct axp__team *team, uint32_t most)
{
    struct axp__roof r = {0};
    bool has_flops = op->n_flops_calls && op->flops_ns && is_sane(op->flops);
    bool has_bytes = op->n_bytes_calls && op->bytes_ns && is_sane(op->bytes);
    if (op->device || op->is_wait || op->is_sampled) return r;
    if (!has_flops && !has_bytes) return r;
    uint32_t at_once = p->m ? team->at_once : 1;
    /* Of more than there are processors some stand ready, in their calls. */
    if (p->m && at_once > p->m->n_threads) at_once = p->m->n_threads;
    r.at_once = at_once;
    r.threads = p->m ? at_once * team->size : 0;
    if (p->m && r.threads > p->m->n_threads) r.threads = p->m->n_threads;
    r.dtype = op->dtype;
    r.n_dims = team->n_dims;
    memcpy(r.dims, team->dims, sizeof r.dims);
    r.call_flops = team->call_flops;
    r.call_bytes = team->call_bytes;
    r.call_ns = team->call_ns;
    if (has_flops) r.flops = op->flops / (double)op->flops_ns * 1e9 * at_once;
    if (has_bytes) r.bytes = op->bytes / (double)op->bytes_ns * 1e9 * at_once;
    struct moved moved = {0, 0};
    if (has_bytes) moved.call = op->bytes / (double)op->n_bytes_calls * at_once;
    if (op->min_ns) moved.fastest = moved.call / (double)op->min_ns * 1e9;
    find_level(&r, p, &moved);
    if (r.share > AXP__ROOF_MOST && p->m && r.threads < most) {
        struct axp__roof more = r;
        more.threads = most;
        more.is_raised = true;
        find_level(&more, p, &moved);
        if (more.share <= AXP__ROOF_MOST) r = more;
    }
    r.is_impossible = r.is_known && r.share > AXP__ROOF_MOST;
    if (!r.is_known) r = (struct axp__roof){0};
    return r;
}

/* ---- a shape ---------------------------------------------------------------------------- */

static struct peaks peaks_of(const struct axp__roofs *roofs, const axp_view *v)
{
    bool is_given = roofs->given_flops > 0 || roofs->given_bytes > 0;
    return (struct peaks){is_given ? NULL : v->machine, roofs->given_flops,
                          roofs->given_bytes};
}

/* Its fastest call is known where the operation has no other shape. */
struct axp__roof axp__roof_of_shape(const struct axp__roofs *roofs,
                                    const axp_view *v, size_t op,
                                    const axp_shape *s)
{
    const struct axp__roof *whole = &roofs->at[op];
    struct peaks p = peaks_of(roofs, v);
    axp_op like = v->ops[op];
    if (!whole->is_known || !s->n_dims) return (struct axp__roof){0};
    if (s->calls != like.calls) like.min_ns = 0;
    like.flops = s->flops;
    like.bytes = s->bytes;
    like.n_flops_calls = s->n_flops_calls;
    like.n_bytes_calls = s->n_bytes_calls;
    like.flops_ns = s->flops_ns;
    like.bytes_ns = s->bytes_ns;
    like.dtype = s->dtype;
    const struct axp__team team = {
        .at_once = whole->at_once,
        .size = (whole->threads + whole->at_once - 1) / whole->at_once};
    struct axp__roof r = roof_of(&like, &p, &team, roofs->most_threads);
    if (r.is_known) r.is_raised |= whole->is_raised;
    return r;
}

/* ---- all of them ---------------------------------------------------------------------- */

static void set_run(struct axp__roof_run *run, const axp_view *v,
                    const struct peaks *p)
{
    double seconds = (double)v->duration_ns / 1e9;
    run->flops_per_s =
        seconds > 0 && is_sane(run->flops) ? run->flops / seconds : 0;
    const struct axp__machine_compute *c =
        p->m ? axp__machine_compute_of(p->m, run->dtype) : NULL;
    run->threads = p->m ? p->m->n_threads : 0;
    run->peak = compute_peak(p, run->dtype, run->threads);
    run->isa = c ? c->isa : NULL;
}

struct axp__roofs *axp__roofs_create(const axp_view *v, double peak_gflops,
                                     double peak_gbps)
{
    struct axp__roofs *roofs =
        calloc(1, sizeof *roofs + v->n_ops * sizeof *roofs->at);
    struct axp__team *teams = axp__teams_create(v, roofs ? &roofs->run : NULL);
    if (!roofs || !teams) {
        free(roofs);
        free(teams);
        return NULL;
    }
    roofs->given_flops = peak_gflops > 0 ? peak_gflops * 1e9 : 0;
    roofs->given_bytes = peak_gbps > 0 ? peak_gbps * 1e9 : 0;
    struct peaks p = peaks_of(roofs, v);
    uint32_t most = p.m ? p.m->n_threads : 0;
    if (v->is_outside && v->n_threads < most) most = (uint32_t)v->n_threads;
    roofs->most_threads = most;
    roofs->n = v->n_ops;
    double ran = part_that_ran(v);
    for (size_t i = 0; i < v->n_ops; i++) {
        struct axp__roof r = roof_of(&v->ops[i], &p, &teams[i], most);
        if (!r.is_known) continue;
        r.ran = ran;
        r.ran_share = fmin(1, r.share / ran);
        roofs->at[i] = r;
    }
    set_run(&roofs->run, v, &p);
    free(teams);
    return roofs;
}
