/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ids of a process in another namespace of process ids, as whoever looked on has
 * them; see file_join.h.
 *
 *   told    what was seen of a process and its threads while they were there
 *           (outside_ids.h) stands in the process's own recording; which process
 *           began which recording, in that of who sampled (os_apart.h)
 *   order   who is given a number in a namespace is given one in each above it, so
 *           that threads come in the same order in both. One that nobody saw is
 *           known where all that lived when it recorded, and have their place
 *           between the same two others, are one thread, or where both are as far
 *           apart as the numbers between them
 *   else    a thread keeps its own number, or has none (0) where that might be
 *           another's of its process
 *
 * Input    untrusted: numbers are looked up, and no more.
 * Cost     n log n of threads that were seen, rows, and states.
 */
#include <stdlib.h>
#include <string.h>

#include "file/file_join.h"
#include "os/os_clock.h"
#include "wire/wire_states.h"

#define MOST_LOOKS ((uint64_t)1 << 24)
/* Clocks of the kernel's records and ours differ by less, and by less the beginning
 * of a thread is told late. */
#define NEAR_NS 20000u
#define LATE_NS 10000000u

struct told {
    uint32_t inner, outer;
    uint64_t since_ticks;
};

/* Those of one thread that nobody saw: rows of one number. */
struct unseen {
    uint64_t inner, first, last; /* ticks */
    uint64_t outer;              /* 0: not known (yet) */
    size_t at, least;            /* among the states, from either side */
};

struct seen { /* a thread of the process, as the scheduler told of it */
    uint64_t process, tid, begin, end;
    size_t part; /* of who told */
};

struct ids {
    struct axp__capture *c;
    uint64_t process; /* outer */
    uint64_t near_ticks, late_ticks;
    struct told *told; /* by inner, and by time */
    size_t n_told;
    struct unseen *unseen; /* by inner */
    size_t n_unseen;
    struct seen *seen; /* of the process, by tid */
    size_t n_seen;
};

/* ---- what was told ------------------------------------------------------------------ */

static int by_inner(const void *a, const void *b)
{
    const struct told *x = a, *y = b;
    if (x->inner != y->inner) return x->inner > y->inner ? 1 : -1;
    if (x->since_ticks != y->since_ticks)
        return x->since_ticks > y->since_ticks ? 1 : -1;
    return (x->outer > y->outer) - (x->outer < y->outer);
}

/* A number that ends so. */
static bool read_number(const char **at, char end, uint64_t most, uint64_t *out)
{
    const char *s = *at;
    uint64_t v = 0;
    for (; *s >= '0' && *s <= '9'; s++)
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
            return false;
    if (s == *at || *s != end || v > most) return false;
    *at = s + (end != 0);
    *out = v;
    return true;
}

static bool read_told(const struct axp__about_pair *pair, struct told *out)
{
    size_t len = sizeof AXP__ABOUT_THREAD - 1;
    const char *key = pair->key, *value = pair->value;
    uint64_t inner, outer, since;
    if (strncmp(key, AXP__ABOUT_THREAD, len) != 0) return false;
    key += len;
    if (!read_number(&key, 0, UINT32_MAX, &inner) ||
        !read_number(&value, ' ', UINT32_MAX, &outer) || !outer ||
        !read_number(&value, 0, UINT64_MAX, &since))
        return false;
    *out = (struct told){(uint32_t)inner, (uint32_t)outer, since};
    return true;
}

/* The first thread is called as its process, in both: where who sampled told of
 * the process nobody says so. */
static void add_first(struct ids *ids)
{
    uint64_t inner = ids->c->process_id;
    bool is_told = !inner || inner > UINT32_MAX;
    for (size_t i = 0; i < ids->n_told && !is_told; i++)
        is_told = ids->told[i].inner == inner;
    if (!is_told)
        ids->told[ids->n_told++] =
            (struct told){(uint32_t)inner, (uint32_t)ids->process, 0};
}

static bool read_all_told(struct ids *ids, const struct axp__about *about)
{
    ids->told = calloc(about->n + 2, sizeof *ids->told);
    if (!ids->told) return false;
    for (size_t i = 0; i < about->n; i++)
        ids->n_told += read_told(&about->pair[i], &ids->told[ids->n_told]);
    add_first(ids);
    qsort(ids->told, ids->n_told, sizeof *ids->told, by_inner);
    return true;
}

/* How many are not after that. */
static size_t count_up_to(const struct ids *ids, uint64_t inner, uint64_t ticks)
{
    size_t low = 0, high = ids->n_told;
    while (low < high) {
        size_t mid = (low + high) / 2;
        const struct told *t = &ids->told[mid];
        if (t->inner < inner || (t->inner == inner && t->since_ticks <= ticks))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* What a thread is called that had this number when it recorded first; 0: nobody
 * has seen it. Numbers are used again. */
static uint64_t told_of(const struct ids *ids, uint64_t inner, uint64_t ticks)
{
    size_t n = count_up_to(ids, inner, ticks);
    if (n && ids->told[n - 1].inner == inner) return ids->told[n - 1].outer;
    if (n < ids->n_told && ids->told[n].inner == inner)
        return ids->told[n].outer;
    return 0;
}

/* ---- those that nobody saw ---------------------------------------------------------- */

static bool is_unseen(const struct ids *ids, const struct axp__cap_row *row)
{
    return !row->track && row->tid && row->process_id == ids->c->process_id &&
           !told_of(ids, row->tid, row->first);
}

static int by_number(const void *a, const void *b)
{
    const struct unseen *x = a, *y = b;
    return (x->inner > y->inner) - (x->inner < y->inner);
}

static bool find_unseen(struct ids *ids)
{
    const struct axp__capture *c = ids->c;
    size_t n = 0, kept = 0;
    struct unseen *all = calloc(c->n_rows + 1, sizeof *all);
    if (!all) return false;
    for (size_t i = 0; i < c->n_rows; i++)
        if (is_unseen(ids, &c->rows[i]))
            all[n++] = (struct unseen){.inner = c->rows[i].tid,
                                       .first = c->rows[i].first,
                                       .last = c->rows[i].last};
    qsort(all, n, sizeof *all, by_number);
    for (size_t i = 0; i < n; i++) {
        struct unseen *to = kept ? &all[kept - 1] : NULL;
        if (!to || to->inner != all[i].inner) {
            all[kept++] = all[i];
            continue;
        }
        if (all[i].first < to->first) to->first = all[i].first;
        if (all[i].last > to->last) to->last = all[i].last;
    }
    ids->unseen = all;
    ids->n_unseen = kept;
    return true;
}

static bool has_lived(const struct ids *ids, const struct seen *s,
                      const struct unseen *u)
{
    return s->begin <= u->first + ids->near_ticks &&
           u->last <= s->end + ids->near_ticks;
}

/* Of the states from `from` on and before `end` in order, those that each of some
 * may be: the first that are possible, and the last. One that is both is known. */
static void order(struct ids *ids, struct unseen *u, size_t n, size_t from,
                  size_t end)
{
    size_t at = from, last = end;
    for (size_t i = 0; i < n; i++, at++) {
        while (at < end && !has_lived(ids, &ids->seen[at], &u[i]))
            at++;
        if (at == end) return;
        u[i].least = at;
    }
    for (size_t i = n; i-- > 0;) {
        while (last > from && !has_lived(ids, &ids->seen[last - 1], &u[i]))
            last--;
        if (last == from) return;
        u[i].at = --last;
    }
    for (size_t i = 0; i < n; i++)
        if (u[i].at == u[i].least) u[i].outer = ids->seen[u[i].at].tid;
}

/* How many of the states have a lower number. */
static size_t count_below(const struct ids *ids, uint64_t tid)
{
    size_t low = 0, high = ids->n_seen;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (ids->seen[mid].tid < tid)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Some that have their place between the same two that were seen. */
static void place(struct ids *ids, struct unseen *u, size_t n)
{
    size_t k = count_up_to(ids, u->inner, UINT64_MAX);
    const struct told *below = k ? &ids->told[k - 1] : NULL;
    const struct told *above = k < ids->n_told ? &ids->told[k] : NULL;
    size_t from = below ? count_below(ids, (uint64_t)below->outer + 1) : 0;
    size_t end = above ? count_below(ids, above->outer) : ids->n_seen;
    if (below && above && above->outer > below->outer &&
        above->inner - below->inner == above->outer - below->outer) {
        for (size_t i = 0; i < n; i++)
            u[i].outer = below->outer + (u[i].inner - below->inner);
        return;
    }
    if (from < end) order(ids, u, n, from, end);
}

static void place_all(struct ids *ids)
{
    for (size_t i = 0, n; i < ids->n_unseen; i += n) {
        size_t k = count_up_to(ids, ids->unseen[i].inner, UINT64_MAX);
        for (n = 1; i + n < ids->n_unseen &&
                    (k == ids->n_told ||
                     ids->unseen[i + n].inner < ids->told[k].inner);)
            n++;
        place(ids, &ids->unseen[i], n);
    }
}

static uint64_t outer_of(const struct ids *ids, const struct axp__cap_row *row)
{
    struct unseen wanted = {.inner = row->tid};
    uint64_t told = told_of(ids, row->tid, row->first);
    if (told) return told;
    const struct unseen *u =
        bsearch(&wanted, ids->unseen, ids->n_unseen, sizeof wanted, by_number);
    if (u && u->outer) return u->outer;
    return row->tid < ids->process ? row->tid : 0;
}

/* ---- states ------------------------------------------------------------------------- */

static int by_thread(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    if (x->process != y->process) return x->process > y->process ? 1 : -1;
    if (x->tid != y->tid) return x->tid > y->tid ? 1 : -1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

struct begun { /* a recording, by the first digits of its number */
    char id[10];
    uint64_t process;
    size_t part; /* of who told */
};

/* Of all who looked on; sorted once, when it is first asked for. */
struct looked {
    const struct axp__join_part *parts;
    size_t n_parts;
    struct seen *at; /* by process and thread; NULL: not yet */
    size_t n;
    struct begun *begun; /* by id */
    size_t n_begun;
    uint64_t n_left; /* states that may still be copied */
    bool is_cut;     /* not all threads have states of their own */
};

static bool look(struct looked *l)
{
    size_t most = 0;
    if (l->at) return true;
    for (size_t i = 0; i < l->n_parts; i++)
        most += l->parts[i].capture->n_states;
    l->at = calloc(most + 1, sizeof *l->at);
    for (size_t i = 0; l->at && i < l->n_parts; i++) {
        const struct axp__capture *p = l->parts[i].capture;
        for (size_t k = 0; k < p->n_states; k++) {
            const struct axp__thread_states *s = &p->states[k];
            l->at[l->n++] = (struct seen){s->process, s->tid, s->begin_ticks,
                                          s->end_ticks, i};
            l->is_cut |= !s->process;
        }
    }
    if (l->at) qsort(l->at, l->n, sizeof *l->at, by_thread);
    return l->at;
}

static int by_id(const void *a, const void *b)
{
    const struct begun *x = a, *y = b;
    int order = memcmp(x->id, y->id, sizeof x->id);
    return order ? order : (x->part > y->part) - (x->part < y->part);
}

/* Recordings that who sampled told of, by the beginnings of their numbers. */
static bool find_begun(struct looked *l)
{
    size_t most = 0, len = sizeof AXP__ABOUT_RECORDING - 1;
    for (size_t i = 0; i < l->n_parts; i++)
        most += l->parts[i].about.n;
    l->begun = calloc(most + 1, sizeof *l->begun);
    for (size_t i = 0; l->begun && i < l->n_parts; i++) {
        const struct axp__about *about = &l->parts[i].about;
        for (size_t k = 0; k < about->n; k++) {
            struct begun *to = &l->begun[l->n_begun];
            const char *key = about->pair[k].key, *value = about->pair[k].value;
            if (strncmp(key, AXP__ABOUT_RECORDING, len) != 0 ||
                strlen(key + len) != sizeof to->id ||
                !read_number(&value, 0, UINT32_MAX, &to->process))
                continue;
            memcpy(to->id, key + len, sizeof to->id);
            to->part = i;
            l->n_begun++;
        }
    }
    if (l->begun) qsort(l->begun, l->n_begun, sizeof *l->begun, by_id);
    return l->begun;
}

/* The first of those on its host; NULL: nobody told of it. */
static const struct begun *told_of_recording(const struct looked *l,
                                             const struct axp__join_part *of)
{
    size_t low = 0, high = l->n_begun;
    if (!of->id || strlen(of->id) < sizeof l->begun->id) return NULL;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (memcmp(l->begun[mid].id, of->id, sizeof l->begun->id) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    const struct begun *found = &l->begun[low];
    bool is = low < l->n_begun &&
              !memcmp(found->id, of->id, sizeof found->id) &&
              axp__is_same_host(l->parts[found->part].head, of->head);
    return is ? found : NULL;
}

/* What the process is called outside, and where that is; false: nobody knows. */
static bool find_process(const struct looked *l,
                         const struct axp__join_part *of, uint64_t *process)
{
    uint64_t where = axp__about_number(&of->about, AXP__ABOUT_NAMESPACE, 0);
    *process = axp__about_number(&of->about, AXP__ABOUT_PROCESS, 0);
    const struct begun *begun = *process ? NULL : told_of_recording(l, of);
    if (begun) {
        *process = begun->process;
        where = l->parts[begun->part].capture->about.pid_namespace;
    }
    if (!*process || *process > UINT32_MAX || !where) return false;
    uint64_t its = of->capture->about.pid_namespace;
    /* One that does not know where it is may be where who looked on was. */
    if (its ? its == where : of->capture->process_id == *process) return false;
    of->capture->about.pid_namespace = where;
    return true;
}

/* Whether who looked on has the numbers that this one's have become. */
static bool is_theirs(const struct axp__join_part *by,
                      const struct axp__join_part *of)
{
    return by->capture->about.pid_namespace ==
               of->capture->about.pid_namespace &&
           axp__is_same_host(by->head, of->head);
}

/* Numbers begin again where there are no more. Where those that were told rise,
 * no two look at the same states for who is between them. */
static bool is_in_order(const struct ids *ids)
{
    for (size_t i = 1; i < ids->n_told; i++)
        if (ids->told[i - 1].outer > ids->told[i].outer) return false;
    for (size_t i = 1; i < ids->n_seen; i++)
        if (ids->seen[i - 1].begin > ids->seen[i].begin &&
            ids->seen[i - 1].begin - ids->seen[i].begin > ids->late_ticks)
            return false;
    return true;
}

static size_t count_before(const struct looked *l, uint64_t process)
{
    size_t low = 0, high = l->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (l->at[mid].process < process)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* What was seen of the process: all of it, or nothing, for who is the only one in
 * a part of it may not be. */
static bool find_seen(struct ids *ids, struct looked *l,
                      const struct axp__join_part *of)
{
    size_t low = count_before(l, ids->process);
    size_t high = count_before(l, ids->process + 1);
    if (low >= high || high - low > l->n_left) return true;
    l->n_left -= high - low;
    ids->seen = calloc(high - low, sizeof *ids->seen);
    if (!ids->seen) return false;
    for (; low < high; low++)
        if (is_theirs(&l->parts[l->at[low].part], of))
            ids->seen[ids->n_seen++] = l->at[low];
    if (l->is_cut || !is_in_order(ids)) ids->n_seen = 0;
    return true;
}

/* ---- a part ------------------------------------------------------------------------- */

static void set_ids(const struct ids *ids)
{
    struct axp__capture *c = ids->c;
    for (size_t i = 0; i < c->n_rows; i++) {
        struct axp__cap_row *row = &c->rows[i];
        if (row->process_id != c->process_id) continue;
        if (!row->track && row->tid) row->tid = outer_of(ids, row);
        row->process_id = ids->process;
    }
    c->process_id = ids->process;
}

static bool join_part(struct looked *l, const struct axp__join_part *of)
{
    struct axp__capture *c = of->capture;
    struct axp__rate rate = {c->rate_mult};
    struct ids ids = {.c = c,
                      .near_ticks = axp__rate_to_ticks(rate, NEAR_NS),
                      .late_ticks = axp__rate_to_ticks(rate, LATE_NS)};
    if (!find_process(l, of, &ids.process)) return true;
    bool ok = read_all_told(&ids, &of->about) && find_unseen(&ids);
    if (ok && ids.n_unseen) ok = look(l) && find_seen(&ids, l, of);
    if (ok && ids.n_unseen) place_all(&ids);
    if (ok) set_ids(&ids);
    free(ids.seen);
    free(ids.unseen);
    free(ids.told);
    return ok;
}

bool axp__join_ids(const struct axp__join_part *parts, size_t n)
{
    struct looked l = {.parts = parts, .n_parts = n, .n_left = MOST_LOOKS};
    bool ok = find_begun(&l);
    for (size_t i = 0; ok && i < n; i++)
        ok = join_part(&l, &parts[i]);
    free(l.begun);
    free(l.at);
    return ok;
}
