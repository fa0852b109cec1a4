/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A signal at every instruction of the hooks of instrumented functions, whose
 * handler has such functions, too: so many, one in the other, that the thread's
 * stack of open calls moves and the recorder's frames do, or one that leaves by
 * siglongjmp. All other calls are there afterwards, each once and at its place; so
 * are the handler's, or none of them.
 *
 * The adapter is a part of this program, which calls the hooks itself. A child for
 * each instruction: handler_walk.h.
 *
 * Usage: attack_functions [N [SITUATION [HANDLER]]]: N instructions of each call
 * (3), equally far apart, from one that is drawn if N is given; all of them where
 * there are fewer. SITUATION and HANDLER by name.
 * Skips where nobody may be traced (emulators). */
#include <pthread.h>
#include <setjmp.h>
#include <time.h>

#include "adapters/functions/functions_sites.h"
#include "handler_seen.h"
#include "handler_walk.h"
#include "handler_warm.h"

static uint64_t n_wanted = 3, drawn;

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

/* Functions, as far as hooks know: addresses. */
enum {
    ROOM = 169,       /* open calls in a stack's first page */
    DEEPLY = 3 * ROOM /* so that it moves twice */
};
static char outer[ROOM][16], hot[16], new[16], muted[16], after[16];
static char handlers[DEEPLY][16];
static char there[2]; /* where what is muted was counted */

static void enter(char *function)
{
    __cyg_profile_func_enter(function, there);
}

static void leave(char *function)
{
    __cyg_profile_func_exit(function, there);
}

/* ---- what is done to the child --------------------------------------------------- */

static sigjmp_buf back;
static volatile uint64_t n_handled;

static void handle_one(void)
{
    n_handled++;
    enter(handlers[0]);
    leave(handlers[0]);
}

static void handle_deep(void)
{
    for (int i = 0; i < DEEPLY; i++) {
        n_handled++;
        enter(handlers[i]);
    }
    for (int i = DEEPLY; i-- > 0;)
        leave(handlers[i]);
}

/* What it interrupted is called by it, too. */
static void handle_same(void)
{
    enter(hot);
    enter(muted);
    leave(muted);
    leave(hot);
}

static void handle_jump(void)
{
    enter(handlers[0]);
    siglongjmp(back, 1);
}

static void handle_deep_jump(void)
{
    for (int i = 0; i < DEEPLY; i++)
        enter(handlers[i]);
    siglongjmp(back, 1);
}

static const struct handler {
    const char *name;
    void (*run)(void);
    bool calls_ours, jumps;
} kinds[] = {
    {"one", handle_one, false, false},
    {"deep", handle_deep, false, false},
    {"same", handle_same, true, false},
    {"jump", handle_jump, false, true},
    {"deep_jump", handle_deep_jump, false, true},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* A hook's call: of a function that is so far down. */
static const struct situation {
    const char *name;
    char *function;
    int depth; /* open calls */
    bool is_exit, is_first;
} situations[] = {
    {"first enter", hot, 0, false, true},
    {"enter", hot, 3, false, false},
    {"exit", hot, 3, true, false},
    {"new enter", new, 3, false, false},
    {"full enter", hot, ROOM, false, false},
    {"full exit", hot, ROOM, true, false},
    {"last enter", hot, ROOM - 1, false, false},
    {"muted enter", muted, 3, false, false},
    {"muted exit", muted, 3, true, false},
    {"muted full", muted, ROOM, false, false},
};
#define SITUATIONS (sizeof situations / sizeof *situations)

static struct {
    const struct situation *in;
    const struct handler *handler;
} plan;

/* ---- the child --------------------------------------------------------------------- */

static uintptr_t
    base; /* of this program: names say where in it functions are */

static bool seen_is_handlers(const char *name)
{
    const char *plus = strstr(name, "+0x");
    uintptr_t at = plus ? base + strtoull(plus + 3, NULL, 16) : 0;
    return at >= (uintptr_t)handlers[0] &&
           at <= (uintptr_t)handlers[DEEPLY - 1];
}

static void on_signal(int number)
{
    (void)number;
    plan.handler->run();
}

static void call(char *function)
{
    enter(function);
    leave(function);
}

static void mute(void)
{
    call(muted); /* so that it has a site */
    functions_site(muted)->muted = 1;
}

static void prepare(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    CHECK(!sigaction(SIGUSR1, &a, NULL));
    CHECK(axp_global() != NULL);
    if (plan.in->is_first) return;
    mute();
    for (int i = 0; i < plan.in->depth; i++)
        call(outer[i]); /* the first begins further in */
    for (int i = 0; i < plan.in->depth; i++)
        enter(outer[i]);
    for (int i = 0; i < 3 && plan.in->depth < ROOM - 1; i++)
        call(hot); /* and now it is known there, and where it belongs */
    warm_durations();
    if (plan.in->is_exit) enter(plan.in->function);
}

/* The rest of the call that was walked through, and of those around it. */
static void go_on(bool has_jumped)
{
    enter(hot);
    call(muted);
    leave(hot);
    if (!plan.in->is_exit && !has_jumped) leave(plan.in->function);
    for (int i = plan.in->depth; i-- > 0;)
        leave(outer[i]);
    for (int i = 0; i < 5; i++)
        call(after);
}

static uint64_t calls_of(const axp_view *v, const char *function)
{
    size_t n;
    char end[32];
    const axp_op *ops = seen_ops(v, &n);
    snprintf(end, sizeof end, "+0x%lx",
             (unsigned long)((uintptr_t)function - base));
    for (size_t i = 0; i < n; i++) {
        const char *plus = strchr(ops[i].name, '+');
        if (plus && !strcmp(plus, end)) return ops[i].calls;
    }
    return 0;
}

/* A jump out of the adapter alone ends nothing. */
static void check_after_jump(const axp_view *v, bool has_jumped)
{
    uint64_t dropped = stress_view_warning(v, "signal_drops");
    uint64_t n = calls_of(v, after);
    CHECK(!dropped ? n == 5 : n == 0 || (!has_jumped && n == 5));
    CHECK(calls_of(v, outer[0]) <= 2);
    CHECK(calls_of(v, hot) <= 6);
}

static void check_handler(const axp_view *v)
{
    uint64_t recorded = seen_handled(v);
    CHECK(recorded == n_handled || recorded == 0);
}

static void check(bool has_jumped)
{
    axp_view *v = axp_snapshot(axp_global());
    bool is_clean = walk_shared->is_clean;
    char *to = is_clean ? walk_shared->right : walk_shared->seen;
    CHECK(v != NULL);
    stress_check_view(v);
    if (!is_clean && plan.handler->jumps) {
        check_after_jump(v, has_jumped);
    } else if (is_clean || !plan.handler->calls_ours) {
        if (!is_clean) check_handler(v);
        seen_view(v, true, to, WALK_TEXT);
        CHECK(is_clean || !strcmp(walk_shared->right, to));
    } else {
        CHECK_EQ(calls_of(v, after), 5);
        CHECK_EQ(calls_of(v, outer[0]), plan.in->depth ? 2 : 0);
    }
    axp_view_destroy(v);
}

static pthread_t interrupted;

/* By another thread: one that has jumped out of a recording call is not let in.
 * It ends first. */
static void *check_there(void *arg)
{
    CHECK(!pthread_join(interrupted, NULL));
    check(arg != NULL);
    _exit(0);
    return NULL;
}

/* From further in than the calls that are open: else those would seem to have been
 * left. */
static __attribute__((noinline)) void walk_hook(void)
{
    volatile char further_in[1024];
    further_in[0] = 0;
    walk_begin();
    if (plan.in->is_exit)
        leave(plan.in->function);
    else
        enter(plan.in->function);
    walk_end();
    (void)further_in[0];
}

static void child(void)
{
    pthread_t id;
    volatile bool has_jumped = true;
    prepare();
    if (!sigsetjmp(back, 1)) {
        walk_hook();
        has_jumped = false;
    }
    walk_end();
    go_on(has_jumped);
    interrupted = pthread_self();
    void *is_true = has_jumped ? &interrupted : NULL;
    CHECK(!pthread_create(&id, NULL, check_there, is_true));
    pthread_exit(NULL);
}

/* ---- the parent ---------------------------------------------------------------------- */

static void tell_failure(const struct walked *w, uint64_t at, uint64_t of)
{
    walk_n_failures++;
    printf("%s, handler %s, instruction %" PRIu64 " of %" PRIu64 ":\n",
           plan.in->name, plan.handler->name, at, of);
    walk_print(w);
    if (walk_shared->seen[0])
        seen_print_change(walk_shared->right, walk_shared->seen);
    fflush(stdout);
}

static void walk(void)
{
    struct walked w = walk_to(child, WALK_TO_END);
    uint64_t n = w.n_steps, before = walk_n_sent;
    if (!walk_is_right(&w)) {
        tell_failure(&w, 0, 0);
        return;
    }
    uint64_t stride = (n + n_wanted - 1) / n_wanted;
    uint64_t turn = (uint64_t)(plan.handler - kinds);
    uint64_t at = (drawn + turn) % stride;
    for (; at < n; at += stride) {
        walk_shared->seen[0] = 0;
        w = walk_to(child, at);
        if (!walk_is_right(&w)) tell_failure(&w, at, n);
    }
    printf("%s, %s: %" PRIu64 " of %" PRIu64 " instructions\n", plan.in->name,
           plan.handler->name, walk_n_sent - before, n);
}

int main(int argc, char **argv)
{
    extern const char __executable_start[];
    struct timespec now;
    if (STRESS_TSAN || STRESS_ASAN) return 77;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (argc > 1) {
        n_wanted = strtoull(argv[1], NULL, 10);
        drawn = (uint64_t)now.tv_nsec;
    }
    CHECK(n_wanted > 0);
    base = (uintptr_t)__executable_start;
    walk_init();
    for (size_t s = 0; s < SITUATIONS; s++)
        for (size_t h = 0; h < KINDS; h++) {
            plan.in = &situations[s];
            plan.handler = &kinds[h];
            if (argc > 2 && strcmp(argv[2], plan.in->name)) continue;
            if (argc > 3 && strcmp(argv[3], plan.handler->name)) continue;
            walk();
        }
    return walk_result();
}
