/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A signal at every instruction of a recording call, whose handler does what hurts
 * most: it goes so deep that the thread's frames move, makes names until the hash
 * moves, fills the chunk, forks, leaves by siglongjmp (handler_kinds.h). The call
 * then ends, more calls follow, and all is as it would be without the signal:
 *
 *   - each scope, allocation, counter and event is there, once, at its place;
 *   - the handler's own are there, or dropped and counted;
 *   - where there is a file, `check` finds it sound, or after a jump whole;
 *   - after a jump, which may end the thread's recording, nothing is there that
 *     was not called, and another thread records as ever.
 *
 * For each instruction a child of its own is interrupted (handler_walk.h), so that
 * each time it is the first time that frames, hash and chunk move.
 *
 * Usage: attack_handlers [N [MODE [HANDLER [CALL]]]]: N instructions of each call,
 * equally far apart from one that is drawn; all of them where there are fewer.
 * MODE as in `modes`, CALL a number; "-": all. Without N a choice of all this, the
 * same each time.
 * Skips where nobody may be traced (emulators). */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <time.h>

#include "axprof/axprof_file.h"
#include "handler_kinds.h"
#include "handler_seen.h"
#include "handler_walk.h"
#include "handler_warm.h"
#include "step_calls.h"

enum when {
    FIRST_IN_PROCESS,
    FIRST_IN_THREAD,
    FIRST_OF_ITS_KIND,
    HOT,
    AT_END_OF_CHUNK
};
static const struct mode {
    const char *name;
    enum when when;
    bool has_file;
} modes[] = {
    {"hot", HOT, false},
    {"cold", FIRST_OF_ITS_KIND, false},
    {"chunk", AT_END_OF_CHUNK, false},
    {"thread", FIRST_IN_THREAD, false},
    {"process", FIRST_IN_PROCESS, false},
    {"file", AT_END_OF_CHUNK, true},
    {"first_file", FIRST_IN_PROCESS, true},
};
#define N_MODES (sizeof modes / sizeof *modes)

static char folder[] = "/tmp/axprof-handlers-XXXXXX", path[300];

/* What is done to the child. */
static struct {
    const struct mode *mode;
    const struct handler *handler;
    size_t call;
} plan;

static bool seen_is_handlers(const char *name)
{
    return !strncmp(name, "h:", 2);
}

/* ---- the child ------------------------------------------------------------------------ */

static void on_signal(int number)
{
    (void)number;
    plan.handler->run();
}

static void install(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    CHECK(!sigaction(SIGUSR1, &a, NULL));
}

/* For each time that all calls are made, and once more. */
#define CROSS_STARTS 4
static uint32_t other_is_ready;

static void *be_other(void *arg)
{
    for (int i = 0; i < CROSS_STARTS; i++)
        axp_start(P, "x:cross");
    step_track = axp_track_create(P, "device");
    __atomic_store_n(&other_is_ready, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
    return arg;
}

static void start_other(void)
{
    pthread_t id;
    CHECK(!pthread_create(&id, NULL, be_other, NULL));
    while (!__atomic_load_n(&other_is_ready, __ATOMIC_ACQUIRE))
        sched_yield();
    CHECK(step_track != NULL);
}

static void make_calls(size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        step_calls[i]();
}

/* Leaves room for as few words as a call's first needs at least. */
static void fill_chunk(void)
{
    const struct axp__lane *lane = axp__tls->global;
    while (lane->end - lane->cur > 1)
        axp_instant(P, "h:fill");
    if (plan.call % 2) axp_instant(P, "h:fill");
}

__attribute__((noinline)) static void grow(unsigned depth)
{
    static uint32_t site;
    if (!depth) return;
    uint64_t token = axp_begin_site(&site, "grown\0step.c\0001");
    grow(depth - 1);
    axp_end(token);
}

static void prepare(void)
{
    install();
    if (plan.mode->has_file) CHECK_EQ(axp_global_open(path), AXP_OK);
    if (plan.mode->when != FIRST_IN_PROCESS) start_other();
    if (plan.mode->when <= FIRST_IN_THREAD) return;
    if (plan.handler->is_grown) grow(HANDLER_DEPTH);
    if (plan.mode->when >= HOT) make_calls(0, STEP_CALLS);
    make_calls(0, plan.call);
    if (plan.mode->when >= HOT && !plan.mode->has_file) warm_durations();
    if (plan.mode->when == AT_END_OF_CHUNK) fill_chunk();
}

static void go_on(void)
{
    if (plan.mode->when == FIRST_IN_PROCESS) start_other();
    make_calls(plan.mode->when <= FIRST_IN_THREAD ? 0 : plan.call + 1,
               STEP_CALLS);
}

/* How often a name was called where nothing was interrupted. */
static uint64_t calls_without(const char *name)
{
    char line[SEEN_LINE];
    snprintf(line, sizeof line, " x calls %s ", name);
    const char *at = strstr(walk_shared->right, line);
    return at ? strtoull(at + strlen(line), NULL, 10) : 0;
}

/* A jump may leave calls out, and add none, but for the one that it left: that is
 * known only as far as it had come. */
static void check_after_jump(const axp_view *v)
{
    size_t n;
    const axp_op *ops = seen_ops(v, &n);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(ops[i].name, "after"))
            CHECK_EQ(ops[i].calls, 3);
        else if (seen_is_ours(ops[i].name))
            CHECK(ops[i].calls <= calls_without(ops[i].name) + 1);
    CHECK(axp_view_tree(v, NULL, 0) > 0);
}

static void check_handler(const axp_view *v)
{
    uint64_t begun = handler_scopes, recorded = seen_handled(v);
    uint64_t dropped = stress_view_warning(v, "signal_drops");
    if (plan.handler->jumps) {
        CHECK(recorded <= begun);
        return;
    }
    CHECK_EQ(handler_child, 0);
    CHECK((recorded == begun && !dropped) || (!recorded && dropped >= begun));
}

static void check(void)
{
    axp_view *v = axp_snapshot(P);
    bool is_clean = walk_shared->is_clean;
    char *to = is_clean ? walk_shared->right : walk_shared->seen;
    CHECK(v != NULL);
    stress_check_view(v);
    if (!is_clean) check_handler(v);
    if (!is_clean && plan.handler->jumps)
        check_after_jump(v);
    else
        seen_view(v, !plan.handler->leaves_open, to, WALK_TEXT);
    if (!is_clean && !plan.handler->jumps)
        CHECK(!strcmp(walk_shared->right, walk_shared->seen));
    axp_view_destroy(v);
}

static void check_sound(void)
{
    char line[200];
    FILE *to = tmpfile();
    CHECK(to != NULL);
    if (axp_file_check(path, to)) {
        rewind(to);
        while (fgets(line, sizeof line, to))
            dprintf(2, "  %s", line);
        CHECK(!"the file is sound");
    }
    fclose(to);
}

/* What a jump left in the middle is in its timeline and not counted, or the other
 * way round: `check` would say so. */
static void check_whole(void)
{
    const char *paths[] = {path};
    axp_view *v = NULL;
    CHECK_EQ(axp_open(paths, 1, &v), AXP_OK);
    CHECK_EQ(axp_view_damage(v), 0);
    stress_check_view(v);
    check_after_jump(v);
    axp_view_destroy(v);
}

static void check_file(void)
{
    if (!plan.mode->has_file) return;
    CHECK_EQ(axp_finish(P), AXP_OK);
    if (plan.handler->jumps && !walk_shared->is_clean)
        check_whole();
    else
        check_sound();
}

static pthread_t interrupted;

/* After a jump the thread that jumped ends first, which a closing profiler would
 * wait for in vain; else it does for every other call. */
static bool ends_first(void)
{
    return plan.handler->jumps || plan.call % 2;
}

/* By another thread: one that has jumped out of a recording call is not let in. */
static void *check_all(void *arg)
{
    if (ends_first()) CHECK(!pthread_join(interrupted, NULL));
    if (plan.handler->jumps && !walk_shared->is_clean)
        for (int i = 0; i < 3; i++)
            axp_end(axp_begin(P, "after"));
    check();
    check_file();
    _exit(0);
    return arg;
}

static void child(void)
{
    pthread_t checks;
    prepare();
    if (!sigsetjmp(handler_back, 1)) {
        walk_begin();
        step_calls[plan.call]();
    }
    walk_end();
    go_on();
    interrupted = pthread_self();
    CHECK(!pthread_create(&checks, NULL, check_all, NULL));
    if (ends_first()) pthread_exit(NULL);
    pthread_join(checks, NULL);
}

/* ---- the parent ------------------------------------------------------------------------- */

static int remove_spool(const axp_spool_info *s, void *ctx)
{
    (void)ctx;
    if (!strcmp(s->recording, path)) axp_spool_remove(s->path);
    return 0;
}

static void clean_up(bool is_right)
{
    if (!plan.mode->has_file) return;
    if (!is_right) axp_spools_list(remove_spool, NULL);
    DIR *dir = opendir(folder); /* its own, and those of its children */
    CHECK(dir != NULL);
    for (struct dirent *e; (e = readdir(dir));)
        unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
}

static void say_what(uint64_t at, uint64_t of)
{
    printf("%s, call %zu, handler %s, instruction %" PRIu64 " of %" PRIu64
           ":\n",
           plan.mode->name, plan.call, plan.handler->name, at, of);
}

static void interrupt_at(uint64_t at, uint64_t of)
{
    walk_shared->seen[0] = 0;
    struct walked w = walk_to(child, at);
    bool is_right = walk_is_right(&w);
    clean_up(is_right);
    if (is_right) return;
    walk_n_failures++;
    say_what(at, of);
    walk_print(&w);
    if (walk_shared->seen[0])
        seen_print_change(walk_shared->right, walk_shared->seen);
    fflush(stdout);
}

/* ---- which instructions ------------------------------------------------------------------ */

#define QUICK_HOT 6u /* of each, without an argument … */
#define QUICK 1u

static uint64_t n_wanted; /* of each; 0: without an argument */
static uint64_t drawn;

static bool is_quick(void)
{
    return n_wanted == 0;
}

static uint64_t stride_of(uint64_t n)
{
    uint64_t of_quick = plan.mode->when == HOT ? QUICK_HOT : QUICK;
    uint64_t most = is_quick() ? of_quick : n_wanted;
    return (n + most - 1) / most;
}

/* One call, one handler. */
static void walk(void)
{
    struct walked clean = walk_to(child, WALK_TO_END);
    clean_up(walk_is_right(&clean));
    if (!walk_is_right(&clean)) {
        walk_n_failures++;
        say_what(0, 0);
        walk_print(&clean);
        return;
    }
    uint64_t n = clean.n_steps, stride = stride_of(n);
    uint64_t turn = plan.call + (uint64_t)(plan.handler - handlers);
    uint64_t from = (is_quick() ? turn * 2654435761u : drawn) % stride;
    for (uint64_t at = from; at < n; at += stride)
        interrupt_at(at, n);
}

static bool is_possible(void)
{
    void (*call)(void) = step_calls[plan.call];
    if (plan.mode->when > FIRST_IN_THREAD) return true;
    /* what is open then is innermost, and nothing is found unwound past it */
    if (plan.handler->leaves_open || plan.handler->is_grown) return false;
    return plan.mode->when == FIRST_IN_THREAD ||
           (call != span_at && call != alloc_at && call != free_at);
}

/* Without an argument: of what is hot, the handler that found most; of all else,
 * one that turns. */
static bool is_in_choice(void)
{
    size_t h = (size_t)(plan.handler - handlers);
    if (!is_quick()) return true;
    return plan.mode->when == HOT
               ? plan.handler->run == handle_deep
               : plan.call % 4 == h % 4 &&
                     h ==
                         (plan.call + (size_t)(plan.mode - modes)) % N_HANDLERS;
}

static bool is_chosen(const char *by, const char *name)
{
    return !by || !strcmp(by, "-") || !strcmp(by, name);
}

static void walk_calls(const char *of_call)
{
    uint64_t before = walk_n_sent;
    for (plan.call = 0; plan.call < STEP_CALLS; plan.call++) {
        char number[8];
        snprintf(number, sizeof number, "%zu", plan.call);
        if (is_chosen(of_call, number) && is_possible() && is_in_choice())
            walk();
    }
    if (is_quick()) return;
    printf("%s, %s: %" PRIu64 " instructions\n", plan.mode->name,
           plan.handler->name, walk_n_sent - before);
    fflush(stdout);
}

static void walk_all(char **chosen, int n_chosen)
{
    for (size_t m = 0; m < N_MODES; m++)
        for (size_t h = 0; h < N_HANDLERS; h++) {
            plan.mode = &modes[m];
            plan.handler = &handlers[h];
            if (is_chosen(n_chosen > 0 ? chosen[0] : NULL, modes[m].name) &&
                is_chosen(n_chosen > 1 ? chosen[1] : NULL, handlers[h].name))
                walk_calls(n_chosen > 2 ? chosen[2] : NULL);
        }
}

int main(int argc, char **argv)
{
    struct timespec now;
    if (STRESS_TSAN || STRESS_ASAN) return 77;
    if (argc > 1) n_wanted = strtoull(argv[1], NULL, 10);
    clock_gettime(CLOCK_MONOTONIC, &now);
    drawn = (uint64_t)now.tv_nsec;
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run.axp", folder);
    setenv("AXPROF_DRAIN", "parent", 1);
    walk_init();
    walk_all(argv + 2, argc - 2);
    CHECK(!rmdir(folder));
    return walk_result();
}
