/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What threads give each other and wait for, as nodes with their sources.
 *
 *   barrier    each arrival is a node of the round's episode; its waits end with
 *              the last of them, whoever that will be. Of a row that comes several
 *              times, for it ran tasks there, the last arrival is the one
 *   semaphore  takers get posts in their order, whether they waited or not
 *   join       ends with the thread; threads joined one after the other are an
 *              episode too, so that what they did can be compared
 *   others     a wait names who ended it, and when
 *
 * A lock that nobody waited for leaves nothing, and needs nothing.
 */
#include "graph/graph_build.h"

/* ---- waits ---------------------------------------------------------------------- */

void axp__build_wait_begin(struct axp__builder *b, uint32_t row, axp_ns time_ns,
                           uint32_t op)
{
    struct axp__spent *own = b->g->rows[row].own;
    axp__spent_close(b->g, row, time_ns);
    own->is_waiting = true;
    own->wait_begin = time_ns;
    own->ready = 0;
    own->wait_op = op;
    own->wait_depth = axp__stream_depth(b->stream);
}

/* A node where the wait of a row ends; what came in between is no work. */
static uint32_t end_wait(struct axp__builder *b, uint32_t row, axp_ns time_ns)
{
    axp_graph *g = b->g;
    struct axp__spent *own = g->rows[row].own;
    uint32_t node = axp__graph_add_node(g, row, time_ns, AXP__STRETCH_WAIT);
    own->is_waiting = false;
    if (time_ns > own->since) own->since = time_ns;
    axp__build_set_op(b, own);
    if (node == AXP__NONE) return node;
    axp_ns ns = g->nodes[node].time_ns - own->wait_begin;
    g->n_waits++;
    g->waited_ns += ns;
    return node;
}

static void name_wait(axp_graph *g, uint32_t row)
{
    const struct axp__spent *own = g->rows[row].own;
    axp_ns end = g->nodes[axp__graph_last(g, row)].time_ns;
    axp__graph_add_part(g, own->wait_op, end - own->wait_begin);
}

/* Parts of a wait that nobody is known to have ended, in their order; the row was
 * ready so long at the end: by then it could go on, and had no processor. */
static void put_parts(axp_graph *g, uint32_t node, bool is_lent, axp_ns ready)
{
    struct axp__graph_node *n = &g->nodes[node];
    const struct axp__spent *own = g->rows[n->row].own;
    axp_ns waited = n->time_ns - own->wait_begin;
    if (ready > waited) ready = waited;
    n->is_estimate = true;
    if (is_lent || ready > waited / 2) n->stretch = AXP__STRETCH_WORK;
    if (!is_lent) axp__graph_add_part(g, own->wait_op, waited - ready);
    if (ready) axp__graph_add_part(g, AXP__OP_NO_CPU, ready);
}

/* It becomes work like that of the others meanwhile. */
static void guess(axp_graph *g, uint32_t row, uint32_t node)
{
    const struct axp__spent *own = g->rows[row].own;
    axp_ns end = g->nodes[node].time_ns, waited = end - own->wait_begin;
    axp_ns ready = own->ready < waited ? own->ready : waited;
    g->n_unknown++;
    g->unknown_ns += waited;
    put_parts(g, node, axp__graph_borrow(g, row, own->wait_begin, end - ready),
              ready);
}

/* Who met a region waits for the threads of its team, which have nothing else to
 * do than to be there: they are being woken, or have no processor. */
static void guess_team(axp_graph *g, uint32_t row, uint32_t node)
{
    struct axp__spent *own = g->rows[row].own;
    axp_ns end = g->nodes[node].time_ns;
    own->wait_op = AXP__OP_WOKEN;
    put_parts(g, node, false,
              own->ready +
                  axp__graph_starved(g, row, own->wait_begin,
                                     end > own->ready ? end - own->ready : 0));
}

void axp__build_wait_unknown(struct axp__builder *b, uint32_t row,
                             axp_ns time_ns)
{
    uint32_t node = end_wait(b, row, time_ns);
    if (node != AXP__NONE) guess(b->g, row, node);
}

/* A short wait is no scope: it is cut out of what its row did. */
static void cut_wait(struct axp__builder *b, const struct axp__record *r)
{
    axp_graph *g = b->g;
    struct axp__spent *own = g->rows[r->row].own;
    axp_ns least = g->nodes[axp__graph_last(g, r->row)].time_ns;
    axp_ns begin = r->begin_ns > least ? r->begin_ns : least;
    if (begin > own->since) begin = own->since;
    axp__spent_take_off(own, own->op, own->since - begin);
    axp__build_wait_begin(b, r->row, begin,
                          axp__graph_op(&g->ops, r->name, AXP_CAT_SYNC));
}

/* ---- who ended a wait ----------------------------------------------------------- */

/* Threads that one joins, until it starts others, are an episode. */
static void join(axp_graph *g, uint32_t row, uint32_t ended)
{
    struct axp__spent *own = g->rows[row].own;
    if (ended == AXP__NONE || g->nodes[ended].source_kind != AXP__SOURCE_NONE)
        return;
    if (own->joined == AXP__NONE) own->joined = axp__graph_add_episode(g);
    if (own->joined == AXP__NONE) return;
    g->nodes[ended].source = own->joined;
    g->nodes[ended].source_kind = AXP__SOURCE_ARRIVES;
    g->episodes[own->joined].n_arrived++;
}

/* A thread that was off its processor nearly as long as it lived, until somebody
 * came to join it: he told it to end, in a way that nobody saw. */
#define SHORTLY 100 /* times as long */
static bool ends_for_him(const axp_graph *g, const struct axp__record *r,
                         uint32_t ended)
{
    axp_ns came = r->begin_ns ? r->begin_ns : r->time_ns;
    if (ended == AXP__NONE || g->nodes[ended].prev == AXP__NONE) return false;
    axp_ns end = g->nodes[ended].time_ns;
    axp_ns lived = end - g->nodes[g->nodes[ended].prev].time_ns;
    axp_ns apart = end > came ? end - came : came - end;
    return apart <= lived / SHORTLY && axp__graph_is_off(g, ended);
}

/* What a reader waits for is given as to writers; a barrier by who goes back to its
 * pool as by all. */
static axp_sync_kind given_as(axp_sync_kind kind)
{
    return kind == AXP_SYNC_SHARED ? AXP_SYNC_LOCK
           : kind == AXP_SYNC_BACK ? AXP_SYNC_BARRIER
                                   : kind;
}

static bool depend_on_object(struct axp__builder *b,
                             const struct axp__record *r, uint32_t node)
{
    axp_graph *g = b->g;
    axp_sync_kind kind = given_as(axp__record_sync(r));
    bool is_given = r->from_row != UINT32_MAX;
    struct axp__object *o = axp__build_object(b, r->row, kind, r->id);
    if (!o) return false;
    if (kind == AXP_SYNC_BARRIER && r->bytes) {
        uint32_t episode = axp__object_round(o, r->bytes);
        if (episode == AXP__NONE) return false;
        axp__graph_attend(g, node, episode);
        return true;
    }
    if (kind == AXP_SYNC_SEMAPHORE)
        return axp__graph_depend(
            g, node, axp__object_take(g, o, is_given ? r->end_ns : 0), 0);
    if (kind == AXP_SYNC_THREAD_END) {
        if (ends_for_him(g, r, o->newest)) return true; /* so long, always */
        join(g, r->row, o->newest);
        return axp__graph_depend(g, node, o->newest, 0);
    }
    /* Who gave it last, if that is who ended the wait: there may be several
     * nodes of one moment. */
    return is_given && o->newest != AXP__NONE &&
           g->nodes[o->newest].time_ns == r->end_ns &&
           axp__graph_depend(g, node, o->newest, 0);
}

static bool find_source(struct axp__builder *b, const struct axp__record *r,
                        uint32_t node)
{
    if (depend_on_object(b, r, node)) return true;
    if (r->from_row == UINT32_MAX) return false;
    uint32_t row = axp__stream_find_row(b->stream, r->from_row);
    return row != UINT32_MAX &&
           axp__graph_depend_at(b->g, node, row, r->end_ns);
}

/* What most of the time before a node went to, which gave what was waited for
 * so long; parts are in the order in which they came. */
static uint32_t held_for(const axp_graph *g, uint32_t node, axp_ns waited)
{
    const struct axp__graph_node *n = &g->nodes[node];
    uint32_t op = AXP__NONE;
    axp_ns most = 0;
    for (uint32_t i = n->n_parts; i-- && waited;) {
        uint64_t part = g->parts[n->parts + i];
        axp_ns ns = axp__part_ns(part);
        if (ns > waited) ns = waited;
        waited -= ns;
        uint32_t of = axp__part_op(part);
        if (ns <= most || of == AXP__OP_NO_CPU || of == AXP__OP_WOKEN) continue;
        most = ns;
        op = of;
    }
    return op;
}

/* Where that is no scope but a function, it is the program's own that called it;
 * where who has the lock sleeps, the one that it sleeps in. If none was seen while
 * it was waited for, nobody knows: the one seen before may be long over. */
static uint32_t op_of_lock(struct axp__builder *b, const struct axp__record *r,
                           uint32_t source)
{
    struct axp__graph_ops *ops = &b->g->ops;
    if (r->end_ns <= r->begin_ns) return AXP__NONE;
    uint32_t op = held_for(b->g, source, r->end_ns - r->begin_ns);
    bool is_off = op == AXP__OP_BLOCKED;
    if (op == AXP__NONE || (!is_off && !ops->at[op].is_function)) return op;
    const struct axp__object *o =
        axp__build_object(b, r->row, AXP_SYNC_LOCK, r->id);
    if (!o || o->newest != source) return AXP__NONE;
    struct axp__seen seen = is_off ? o->off : o->at_work;
    return seen.stack && seen.ns > r->begin_ns
               ? axp__graph_own_op_of_stack(ops, seen.stack)
               : AXP__NONE;
}

static void note_lock(struct axp__builder *b, const struct axp__record *r,
                      uint32_t node)
{
    axp_graph *g = b->g;
    const struct axp__graph_node *n = &g->nodes[node];
    struct axp__lock_wait wait = {r->id, node, AXP__NONE, AXP__NONE};
    if (given_as(axp__record_sync(r)) != AXP_SYNC_LOCK) return;
    if (n->source_kind == AXP__SOURCE_NODE) {
        wait.by = g->nodes[n->source].row;
        if (!n->after_ns) wait.op = op_of_lock(b, r, n->source);
    }
    axp__graph_add_lock_wait(g, wait);
}

static bool is_of_team(const struct axp__record *r)
{
    return axp__record_sync(r) == AXP_SYNC_REGION && r->from_row == UINT32_MAX;
}

static void on_waited(struct axp__builder *b, const struct axp__record *r)
{
    axp_graph *g = b->g;
    struct axp__spent *own = g->rows[r->row].own;
    if (!own->is_waiting) cut_wait(b, r);
    uint32_t node = end_wait(b, r->row, r->time_ns);
    if (node == AXP__NONE) return;
    own->wait_op = axp__graph_op(&g->ops, r->name, AXP_CAT_SYNC);
    bool is_known = find_source(b, r, node);
    note_lock(b, r, node);
    if (is_known)
        name_wait(g, r->row);
    else if (is_of_team(r))
        guess_team(g, r->row, node);
    else
        guess(g, r->row, node);
}

/* ---- given and taken ------------------------------------------------------------ */

/* Who comes to a round once more has done a task there: he was not there yet. */
static void come_again(axp_graph *g, uint32_t row, uint32_t episode)
{
    uint32_t before = g->rows[row].own->arrived;
    if (before == AXP__NONE || g->nodes[before].source != episode ||
        g->nodes[before].source_kind != AXP__SOURCE_ARRIVES)
        return;
    uint32_t passes = g->nodes[before].next;
    g->nodes[before].source_kind = AXP__SOURCE_NONE;
    if (passes != AXP__NONE) g->nodes[passes].source_kind = AXP__SOURCE_NONE;
    g->episodes[episode].n_arrived--;
}

/* Who comes last does not wait, but would if he came earlier: so each passes a
 * wait of no length, which ends with those who came before him. */
static void arrive(axp_graph *g, uint32_t node, uint32_t episode)
{
    struct axp__graph_node *n = &g->nodes[node];
    struct axp__episode *e = &g->episodes[episode];
    axp_ns at = n->time_ns;
    come_again(g, n->row, episode);
    g->rows[n->row].own->arrived = node;
    n->source = episode;
    n->source_kind = AXP__SOURCE_ARRIVES;
    e->n_arrived++;
    if (at > e->last_ns) e->last_ns = at;
    uint32_t passes = axp__graph_add_node(g, n->row, at, AXP__STRETCH_WAIT);
    if (passes == AXP__NONE) return;
    g->nodes[passes].source = episode;
    g->nodes[passes].source_kind = AXP__SOURCE_EPISODE;
}

static void on_gave(struct axp__builder *b, const struct axp__record *r)
{
    axp_graph *g = b->g;
    axp_sync_kind kind = given_as(axp__record_sync(r));
    struct axp__spent *own = g->rows[r->row].own;
    if (axp__record_is_back(r)) own->is_back = true;
    if (own->is_waiting) return;
    uint32_t node = axp__spent_close(g, r->row, r->time_ns), episode;
    struct axp__object *o;
    if (node == AXP__NONE) return;
    if (kind == AXP_SYNC_THREAD_START) own->joined = AXP__NONE;
    if (kind == AXP_SYNC_REGION) { /* a team begins: its rounds count from 1 */
        o = axp__build_object(b, r->row, AXP_SYNC_BARRIER, r->id);
        if (o) o->newest = o->other = AXP__NONE;
    }
    o = axp__build_object(b, r->row, kind, r->id);
    if (!o) return;
    if (kind == AXP_SYNC_SEMAPHORE) {
        axp__object_post(g, o, node);
    } else if (kind != AXP_SYNC_BARRIER) {
        o->newest = node;
        o->at_work = own->at_work;
        o->off = own->off;
    } else if (r->bytes) {
        episode = axp__object_arrive(g, o, r->bytes);
        if (episode != AXP__NONE) arrive(g, node, episode);
    }
}

/* Without waiting: it was there, and must be there in a replay too. */
static void on_took(struct axp__builder *b, const struct axp__record *r)
{
    axp_graph *g = b->g;
    axp_sync_kind kind = axp__record_sync(r);
    uint32_t last = axp__graph_last(g, r->row), row;
    if (kind == AXP_SYNC_THREAD_START) {
        row = r->from_row == UINT32_MAX
                  ? UINT32_MAX
                  : axp__stream_find_row(b->stream, r->from_row);
        if (row != UINT32_MAX && row != r->row &&
            g->nodes[last].stretch == AXP__STRETCH_START)
            axp__graph_depend_at(g, last, row, r->end_ns);
        return;
    }
    if (g->rows[r->row].own->is_waiting ||
        (kind != AXP_SYNC_SEMAPHORE && kind != AXP_SYNC_THREAD_END))
        return;
    uint32_t node = axp__spent_close(g, r->row, r->time_ns);
    if (node != AXP__NONE) (void)depend_on_object(b, r, node);
}

void axp__build_sync(struct axp__builder *b, const struct axp__record *r)
{
    b->g->n_syncs++;
    if (axp__record_sync(r) == AXP_SYNC_REGION)
        b->g->rows[r->row].own->is_back = false;
    switch (axp__record_verb(r)) {
    case AXP_SYNC_GAVE: on_gave(b, r); break;
    case AXP_SYNC_TOOK: on_took(b, r); break;
    case AXP_SYNC_WAITED: on_waited(b, r); break;
    }
}

/* ---- flows, async spans, scopes that end elsewhere --------------------------------- */

/* What began on another row has to have begun there. */
void axp__build_flow(struct axp__builder *b, const struct axp__record *r)
{
    axp_graph *g = b->g;
    bool is_begin = r->kind == AXP__R_FLOW_OUT || r->kind == AXP__R_ASYNC_BEGIN;
    bool is_flow = r->kind == AXP__R_FLOW_OUT || r->kind == AXP__R_FLOW_IN;
    if (g->rows[r->row].own->is_waiting) return;
    struct axp__object *o = axp__build_object(
        b, r->row, is_flow ? AXP__OBJECT_FLOW : AXP__OBJECT_ASYNC, r->id);
    if (!o) return;
    if (is_begin) {
        o->newest = axp__spent_close(g, r->row, r->time_ns);
    } else if (o->newest != AXP__NONE && g->nodes[o->newest].row != r->row) {
        uint32_t node = axp__spent_close(g, r->row, r->time_ns);
        if (node != AXP__NONE) axp__graph_depend(g, node, o->newest, 0);
    }
}
