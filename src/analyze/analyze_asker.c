/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who asks the kernel; see analyze_asker.h. */
#include "analyze/analyze_asker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "analyze/analyze_still.h"
#include "model/model_blocked.h"
#include "model/model_samples.h"
#include "model/model_stack_functions.h"
#include "symbol/symbol_module.h"

#define KERNEL "[kernel]"
#define FEW_ENDS 8u

struct look {
    struct axp__stack_functions of; /* self_ns: what was asked for */
    uint64_t all_ns;
    bool has_failed;
    bool is_by_calls; /* of the kernel's work only what calls ask for */
};

static const char *module_of(const struct look *l, uint32_t frame)
{
    assert(frame < l->of.n_frames);
    const char *module = l->of.functions[l->of.frames[frame].function].module;
    return module ? module : "";
}

/* The first frame that is not the kernel's. */
static uint32_t below_kernel(const struct look *l,
                             const struct axp__stack_of *s)
{
    uint32_t at = s->first, end = s->first + s->n;
    while (at < end && !strcmp(module_of(l, at), KERNEL))
        at++;
    return at;
}

/* The frame of whoever asks, from that one on; UINT32_MAX: there is none. */
static uint32_t asker_of(const struct look *l, const struct axp__stack_of *s)
{
    uint32_t at = below_kernel(l, s), end = s->first + s->n;
    if (at == end) return UINT32_MAX;
    const char *asked = module_of(l, at), *began = module_of(l, end - 1);
    bool is_same = !strcmp(asked, began);
    for (uint32_t i = at; i < end; i++) {
        const char *module = module_of(l, i);
        if (is_same ? strcmp(module, asked) != 0 : !strcmp(module, began))
            return i;
    }
    return at; /* there is one module */
}

/* NULL: less than half of it is anybody's. */
static const struct axp__function *most(const struct look *l)
{
    for (size_t i = 0; i < l->of.n_functions; i++)
        if (l->of.functions[i].self_ns > l->all_ns / 2)
            return &l->of.functions[i];
    return NULL;
}

static const axp_op *op_of(const axp_view *v, const char *name)
{
    for (size_t i = 0; i < v->n_functions; i++)
        if (!strcmp(v->functions[i].name, name)) return &v->functions[i];
    return NULL;
}

/* A name that lives as long as the view, which has those that were made, too. */
static const char *kept(const axp_view *v, const struct axp__function *f)
{
    if (!f->is_made) return f->name;
    for (char **name = v->function_names; name && *name; name++)
        if (!strcmp(*name, f->name)) return *name;
    return NULL;
}

/* ---- by what the kernel does ------------------------------------------------------ */

/* Whether the kernel was called there, and did not bring pages that are touched. */
static bool is_call(const struct look *l, uint32_t frame)
{
    const char *name = l->of.functions[l->of.frames[frame].function].name;
    return axp__module_is_system(module_of(l, frame)) && !strstr(name, "mem") &&
           !strstr(name, "alloc");
}

/* Whether somebody has asked for that: what the kernel does of its own accord, as
 * when it ends a process, has nobody below. */
static bool is_asked(const struct look *l, const struct axp__stack_of *s)
{
    uint32_t below = below_kernel(l, s);
    if (below == s->first || below == s->first + s->n) return false;
    return !l->is_by_calls || is_call(l, below);
}

static int on_sample(const axp_sample *s, void *ctx)
{
    struct look *l = ctx;
    if (s->kind != AXP_SAMPLE_CPU || !s->stack) return 0;
    const struct axp__stack_of *of = axp__stack_functions_get(&l->of, s->stack);
    if (!of) l->has_failed = true;
    uint32_t by = of && is_asked(l, of) ? asker_of(l, of) : UINT32_MAX;
    if (by == UINT32_MAX) return l->has_failed;
    l->of.functions[l->of.frames[by].function].self_ns += s->weight;
    l->all_ns += s->weight;
    return 0;
}

/* Whoever it is, unless that is known already: a program that does little but ask,
 * and by calls, waits for what it asks for. Whom the kernel gives pages sleeps
 * elsewhere. */
static void find_at_work(struct look *l, const axp_view *v,
                         struct axp__asker *out)
{
    const axp_op *kernel = out->kernel;
    l->is_by_calls = !out->name;
    if (!kernel || (!out->name && !axp__asks_mostly(v, kernel))) return;
    if (axp__samples_give(v, on_sample, l)) l->has_failed = true;
    const struct axp__function *by = most(l);
    const axp_op *op = by ? op_of(v, by->name) : NULL;
    if (!out->name && op) {
        out->name = op->name;
        out->file = op->file;
        out->line = op->line;
    }
    for (size_t i = 0; out->name && i < l->of.n_functions; i++)
        if (!strcmp(l->of.functions[i].name, out->name))
            out->kernel_ns += l->of.functions[i].self_ns;
}

/* ---- what was asked for ------------------------------------------------------------ */

/* Libraries have names of their own for their functions: __libc_accept, __poll,
 * __GI___clock_nanosleep, __select64. */
static enum axp__asked asked_by(const char *call)
{
    static const struct {
        const char *call;
        enum axp__asked asked;
    } known[] = {{"nanosleep", AXP__ASKED_SLEEP},
                 {"clock_nanosleep", AXP__ASKED_SLEEP},
                 {"usleep", AXP__ASKED_SLEEP},
                 {"sleep", AXP__ASKED_SLEEP},
                 {"thrd_sleep", AXP__ASKED_SLEEP},
                 {"poll", AXP__ASKED_OTHERS},
                 {"ppoll", AXP__ASKED_OTHERS},
                 {"select", AXP__ASKED_OTHERS},
                 {"pselect", AXP__ASKED_OTHERS},
                 {"epoll_wait", AXP__ASKED_OTHERS},
                 {"epoll_pwait", AXP__ASKED_OTHERS},
                 {"accept", AXP__ASKED_OTHERS},
                 {"accept4", AXP__ASKED_OTHERS},
                 {"recv", AXP__ASKED_OTHERS},
                 {"recvfrom", AXP__ASKED_OTHERS},
                 {"recvmsg", AXP__ASKED_OTHERS},
                 {"wait", AXP__ASKED_OTHERS},
                 {"wait4", AXP__ASKED_OTHERS},
                 {"waitpid", AXP__ASKED_OTHERS},
                 {"waitid", AXP__ASKED_OTHERS},
                 {"pause", AXP__ASKED_OTHERS},
                 {"sigsuspend", AXP__ASKED_OTHERS},
                 {"sigwait", AXP__ASKED_OTHERS},
                 {"sigwaitinfo", AXP__ASKED_OTHERS},
                 {"sigtimedwait", AXP__ASKED_OTHERS},
                 {"vfork", AXP__ASKED_OTHERS}, /* until the child executes */
                 {"spawnix", AXP__ASKED_OTHERS},
                 {"posix_spawn", AXP__ASKED_OTHERS},
                 {"posix_spawnp", AXP__ASKED_OTHERS}};
    static const char *const before[] = {"__GI_", "__libc_", "_"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        while (!strncmp(call, before[i], strlen(before[i])))
            call += strlen(before[i]);
    size_t len = strlen(call);
    if (len > 2 && !strcmp(call + len - 2, "64")) len -= 2;
    if (len > 5 && !strncmp(call + len - 5, "_time", 5)) len -= 5;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].call) == len && !memcmp(known[i].call, call, len))
            return known[i].asked;
    return AXP__ASKED_DATA;
}

/* ---- by what threads left their processors in ---------------------------------------- */

struct ends {
    struct axp__blocked_all all;
    const uint32_t *outside; /* stacks in no scope, in order */
    size_t n_outside;
    axp_ns unknown; /* ended by nobody whose stack was seen */
};

static int by_id(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static bool take(void *ctx, uint32_t stack, axp_ns ns)
{
    struct ends *e = ctx;
    if (!stack) e->unknown += ns;
    return !bsearch(&stack, e->outside, e->n_outside, sizeof stack, by_id) ||
           axp__blocked_take_stack(&e->all, stack, ns);
}

/* A scope speaks for what is in it. */
static bool give_outside(const axp_view *v, struct axp__blocked_all *out,
                         axp_ns *unknown)
{
    uint32_t *ids = calloc(v->n_blocked_stacks + 1, sizeof *ids);
    struct ends e = {.outside = ids, .n_outside = v->n_blocked_stacks};
    if (!ids) return false;
    for (size_t i = 0; i < v->n_blocked_stacks; i++)
        ids[i] = v->blocked_stacks[i].of;
    qsort(ids, v->n_blocked_stacks, sizeof *ids, by_id);
    bool ok = axp__still_give(v, take, &e);
    free(ids);
    *out = e.all;
    *unknown = e.unknown;
    return ok;
}

/* NULL: the stack cannot be read, or nobody asks in it. */
static struct axp__function *asks(struct look *l, uint32_t stack, uint32_t *by)
{
    const struct axp__stack_of *s = axp__stack_functions_get(&l->of, stack);
    if (!s) l->has_failed = true;
    *by = s ? asker_of(l, s) : UINT32_MAX;
    return *by == UINT32_MAX ? NULL
                             : &l->of.functions[l->of.frames[*by].function];
}

/* Where whoever it is waits for longest. */
static void set_place(struct look *l, const axp_view *v,
                      const struct axp__blocked_sums *all,
                      struct axp__asker *out)
{
    axp_ns longest = 0;
    for (size_t i = 0; i < all->n; i++) {
        uint32_t by;
        const struct axp__function *f = asks(l, all->at[i].of, &by);
        if (!f || f != most(l) || all->at[i].ns <= longest) continue;
        const struct axp__stack_of *s =
            axp__stack_functions_get(&l->of, all->at[i].of);
        longest = all->at[i].ns;
        out->file = l->of.frames[by].file;
        out->line = l->of.frames[by].line;
        uint32_t at = below_kernel(l, s);
        out->call = kept(v, &l->of.functions[l->of.frames[at].function]);
        out->asked = out->call && axp__module_is_system(module_of(l, at))
                         ? asked_by(out->call)
                         : AXP__ASKED_DATA; /* its name may be anybody's */
    }
}

/* By who ended the times in which nobody ran: others may be off for longer. Some
 * of them had their stacks seen, by chance, and stand for the rest if they are not
 * too few. */
static void find_waiting(struct look *l, const axp_view *v,
                         struct axp__asker *out)
{
    struct axp__blocked_all all = {0};
    axp_ns unknown = 0;
    uint64_t n = 0;
    if (v->n_blocked_stacks && !give_outside(v, &all, &unknown))
        l->has_failed = true;
    for (size_t i = 0; i < all.stacks.n; i++)
        n += all.stacks.at[i].n;
    if (n < FEW_ENDS) l->all_ns = unknown;
    for (size_t i = 0; i < all.stacks.n && !l->has_failed; i++) {
        uint32_t by;
        struct axp__function *f = asks(l, all.stacks.at[i].of, &by);
        if (f) f->self_ns += all.stacks.at[i].ns;
        l->all_ns += all.stacks.at[i].ns;
    }
    const struct axp__function *found = most(l);
    out->name = found ? kept(v, found) : NULL;
    if (out->name) set_place(l, v, &all.stacks, out);
    axp__blocked_fini(&all);
}

bool axp__asker_find(const axp_view *v, struct axp__asker *out)
{
    struct look waits = {.of = {.v = v}}, works = waits;
    *out = (struct axp__asker){0};
    for (size_t i = 0; i < v->n_functions && !out->kernel; i++)
        if (v->functions[i].is_kernel) out->kernel = &v->functions[i];
    find_waiting(&waits, v, out);
    if (axp__is_marked(v))
        out->kernel = NULL; /* it works for scopes, too */
    else if (out->name || !v->n_blocked_stacks)
        find_at_work(&works, v, out);
    axp__stack_functions_fini(&waits.of);
    axp__stack_functions_fini(&works.of);
    return !waits.has_failed && !works.has_failed;
}
