/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Each mapping and allocation of the libraries fails in turn.
 *
 * A scenario (profilers, threads, many names and paths, memory by name and
 * address, tracks, steps, asyncs, snapshot, reset, destroy) runs in a child of
 * its own with the nth mmap, or malloc, calloc or realloc, failing; n = 1, 2, …
 * until a run meets no failure. Then the same with every one from the nth on,
 * and under ulimit -v. Nothing may crash or hang, errno stays, and every event
 * is either counted where it belongs or accounted for by a warning; a snapshot
 * is whole or NULL with a reason.
 *
 * The calls are wrapped by the linker (--wrap), and only those that the
 * scenario makes between `arm` and `disarm` count: a thread's stack is the
 * program's own. The number of failures injected is printed and must not be
 * lower than the one in EXPECTED. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "stress_check.h"
#include "torture_wrap.h"

/* ---- what fails ---------------------------------------------------------------- */

enum mode { ONE, FROM_ON };

static struct {
    uint64_t nth; /* 0: none */
    enum mode mode;
    bool is_armed;
    uint64_t n_calls;
    uint64_t *n_failed; /* in memory shared with the parent */
} torture;

static bool is_failing(void)
{
    if (!__atomic_load_n(&torture.is_armed, __ATOMIC_RELAXED)) return false;
    uint64_t n = __atomic_add_fetch(&torture.n_calls, 1, __ATOMIC_RELAXED);
    if (!torture.nth || n < torture.nth) return false;
    if (torture.mode == ONE && n != torture.nth) return false;
    __atomic_add_fetch(torture.n_failed, 1, __ATOMIC_RELAXED);
    errno = ENOMEM;
    return true;
}

void *__real_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
    if (is_failing()) return MAP_FAILED;
    return __real_mmap(at, len, prot, flags, fd, off);
}

static void arm(bool is_armed)
{
    __atomic_store_n(&torture.is_armed, is_armed, __ATOMIC_SEQ_CST);
}

/* ---- the scenario ---------------------------------------------------------------- */

#define N_NAMES 1100
#define N_THREADS 36 /* more than are kept whole: some are merged */
#define N_BLOCKS 5000

static axp_profiler *prof;
static char block[N_BLOCKS];
static uint64_t n_scopes, n_hot, n_allocs, n_steps, n_spans, n_asyncs;

static void scope(axp_profiler *p, const char *name, int depth)
{
    AXP_SCOPE_IN(p, name);
    n_scopes++;
    if (depth) scope(p, name, depth - 1);
}

static void names_and_paths(axp_profiler *p, unsigned from, unsigned n)
{
    char name[32];
    for (unsigned i = from; i < from + n; i++) {
        snprintf(name, sizeof name, "name %u", i);
        scope(p, name, i % 40 == 0 ? 30 : 1);
        axp_start(p, name);
        axp_start(p, "inner");
        axp_stop(p, "inner");
        axp_stop(p, name);
        n_scopes += 2;
        axp_record_alloc(p, name, 100);
        axp_record_free(p, name, 100);
        n_allocs++;
        axp_counter(p, name, i);
    }
}

static void hot_scopes(int n)
{
    for (int i = 0; i < n; i++) {
        AXP_SCOPE("hot");
        AXP_SCOPE_WORK("hot work", .flops = 1);
        n_hot += 2;
    }
}

static void many_open(axp_profiler *p)
{
    for (int i = 0; i < 300; i++)
        axp_start(p, "many open");
    for (int i = 0; i < 300; i++)
        axp_stop(p, "many open");
    n_scopes += 300;
}

static void memory_and_rest(axp_profiler *p)
{
    axp_track *t = axp_track_create(p, "track");
    for (int i = 0; i < N_BLOCKS; i++)
        axp_track_alloc(p, "block", &block[i], 10);
    for (int i = 0; i < N_BLOCKS; i++)
        axp_track_free(p, &block[i]);
    n_allocs += N_BLOCKS;
    for (unsigned i = 0; i < 50; i++) {
        axp_track_span(t, "span", i, i + 1, NULL);
        n_spans += t != NULL;
        axp_async_begin(p, "async", i);
        axp_async_end(p, "async", i);
        n_asyncs++;
        axp_step(p);
        n_steps++;
        axp_event(p, "event", AXP_EVENT_CUSTOM, "with metadata");
    }
}

static void *short_life(void *arg)
{
    axp_thread_name(prof, "short");
    names_and_paths(prof, (unsigned)(uintptr_t)arg * 7, 7);
    hot_scopes(3);
    return NULL;
}

/* One after the other, so that the nth call is the same in each run. */
static void short_threads(void)
{
    for (uintptr_t i = 0; i < N_THREADS; i++) {
        pthread_t t;
        bool was_armed = torture.is_armed;
        arm(false); /* its stack is not ours to refuse */
        CHECK(!pthread_create(&t, NULL, short_life, (void *)i));
        arm(was_armed);
        CHECK(!pthread_join(t, NULL));
    }
}

/* ---- what must be true afterwards ------------------------------------------------ */

/* Warnings that say that an event, or its name or place, was lost. */
static uint64_t accounted(axp_profiler *p)
{
    static const char *const codes[] = {"no_memory",
                                        "too_deep",
                                        "names_full",
                                        "untracked_blocks",
                                        "free_unknown_address",
                                        "free_unknown_name",
                                        "free_too_much",
                                        "folded_paths",
                                        "async_end_unknown",
                                        "stop_without_start"};
    uint64_t n = 0;
    axp_view *v = axp_snapshot(p);
    CHECK(v != NULL);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        n += stress_view_warning(v, codes[i]);
    axp_view_destroy(v);
    return n;
}

static uint64_t calls_of(const axp_view *v, const char *name)
{
    axp_op op;
    return axp_view_op(v, name, &op) == AXP_OK ? op.calls : 0;
}

/* Every event is there, or a warning says that it is not. */
static void check_counts(bool is_scenario)
{
    uint64_t expected = n_scopes + n_spans + n_asyncs;
    uint64_t lost = accounted(prof), lost_hot = accounted(axp_global());
    axp_view *v = axp_snapshot(prof);
    CHECK(v != NULL);
    stress_check_view(v);
    uint64_t calls = stress_all_calls(v);
    CHECK(calls <= expected);
    if (!lost) {
        CHECK_EQ(calls, expected);
        CHECK_EQ(axp_view_memory(v).n_allocs, n_allocs);
        CHECK_EQ(axp_view_memory(v).current_bytes, 0);
    }
    if (!lost && is_scenario) {
        CHECK_EQ(calls_of(v, "inner"), N_NAMES + N_THREADS * 7);
        CHECK_EQ(calls_of(v, "name 0"), 31 + 1 + 31 + 1);
        CHECK_EQ(calls_of(v, "many open"), 300);
    }
    CHECK(expected - calls <= lost);
    CHECK(n_steps >= axp_view_steps(v).count);
    CHECK(n_steps - axp_view_steps(v).count <= lost);
    axp_view_destroy(v);

    v = axp_snapshot(axp_global());
    CHECK(v != NULL);
    calls = stress_all_calls(v);
    CHECK(calls <= n_hot);
    CHECK(n_hot - calls <= lost_hot);
    if (!lost_hot) {
        CHECK_EQ(calls_of(v, "hot"), n_hot / 2);
        CHECK_EQ(calls_of(v, "hot work"), n_hot / 2);
    }
    axp_view_destroy(v);
}

static void try_snapshot(axp_profiler *p)
{
    axp_view *v = axp_snapshot(p);
    if (!v) {
        CHECK(strstr(axp_last_error(), "memory") != NULL);
        return;
    }
    bool was_armed = torture.is_armed;
    arm(false);
    stress_check_view(v);
    arm(was_armed);
    axp_view_destroy(v);
}

/* Failing is over: it works again, exactly. */
static void check_recovery(void)
{
    axp_reset(prof);
    CHECK_EQ(axp_call_count(prof, "work"), 0);
    for (int i = 0; i < 20; i++) {
        AXP_SCOPE_IN(prof, "work");
    }
    CHECK_EQ(axp_call_count(prof, "work"), 20);
    axp_view *v = axp_snapshot(prof);
    CHECK(v != NULL);
    CHECK_EQ(calls_of(v, "work"), 20);
    axp_view_destroy(v);
}

static void scenario(void)
{
    axp_options small = {.timeline_capacity = 20000};
    arm(true);
    errno = EDOM;
    prof = axp_profiler_create(&small);
    if (!prof) {
        CHECK(strstr(axp_last_error(), "memory") != NULL);
        arm(false);
        prof = axp_profiler_create(&small);
        CHECK(prof != NULL);
        arm(true);
    }
    errno = EDOM;
    names_and_paths(prof, 0, N_NAMES);
    many_open(prof);
    hot_scopes(100);
    memory_and_rest(prof);
    CHECK(errno == EDOM);
    short_threads();
    errno = EDOM;
    axp_call_count(prof, "name 7");
    axp_total_time(prof, "name 7");
    CHECK(errno == EDOM);
    try_snapshot(prof);
    try_snapshot(axp_global());
    arm(false);
    check_counts(true);
    arm(true);
    axp_reset(prof);
    AXP_SCOPE_IN(prof, "after");
    arm(false);
    check_recovery();
    arm(true);
    axp_finish(prof);
    try_snapshot(prof);
    axp_profiler_destroy(prof);
    arm(false);
}

/* ---- the turns --------------------------------------------------------------------- */

static int n_bad;

/* False: the run met no failure. */
static bool one_turn(uint64_t nth, enum mode mode)
{
    *torture.n_failed = 0;
    torture.nth = nth;
    torture.mode = mode;
    int status = stress_in_child(scenario, 60);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        printf("FAILED  %s %" PRIu64 ": %s %d\n", mode == ONE ? "only" : "from",
               nth, WIFEXITED(status) ? "exit status" : "signal",
               WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        fflush(stdout);
        n_bad++;
    }
    return *torture.n_failed > 0;
}

/* Every stride-th; the first 40 in any case. */
static uint64_t all_turns(enum mode mode, uint64_t stride)
{
    uint64_t n = 0, nth = 1;
    while (one_turn(nth, mode) && n_bad < 50) {
        n++;
        nth += n < 40 ? 1 : stride;
    }
    return n;
}

/* The kernel itself says no: less and less address space. A limit takes as long
 * as ten of the turns. */
static int with_limits(int64_t step_mib)
{
    int n = 0;
#if !defined(__SANITIZE_ADDRESS__) && !STRESS_TSAN
    struct rlimit old;
    getrlimit(RLIMIT_AS, &old);
    torture.nth = 0;
    for (int64_t mib = 400; mib >= 40; mib -= step_mib, n++) {
        struct rlimit limit = {(rlim_t)mib << 20, old.rlim_max};
        fflush(stdout);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (!pid) {
            setrlimit(RLIMIT_AS, &limit);
            stress_watch(60);
            arm(true);
            axp_options o = {.memory_limit = (uint64_t)512 << 20};
            prof = axp_profiler_create(&o);
            if (!prof) {
                CHECK(axp_last_error()[0]);
                _exit(0);
            }
            names_and_paths(prof, 0, N_NAMES);
            for (int i = 0; i < 200; i++)
                memory_and_rest(prof);
            hot_scopes(3000000);
            try_snapshot(prof);
            try_snapshot(axp_global());
            arm(false);
            limit.rlim_cur = old.rlim_cur;
            setrlimit(RLIMIT_AS, &limit);
            check_counts(false);
            _exit(0);
        }
        int status;
        waitpid(pid, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status)) {
            printf("FAILED  under %" PRId64 " MiB: status 0x%x\n", mib,
                   (unsigned)status);
            n_bad++;
        }
    }
#endif
    return n;
}

/* The number beside this stride in EXPECTED. */
static uint64_t expected_number(const char *path, uint64_t stride)
{
    unsigned long long at, n, found = 0;
    char line[128];
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f))
        if (line[0] != '#' && sscanf(line, "%llu %llu", &at, &n) == 2 &&
            at == stride)
            found = n;
    fclose(f);
    CHECK(found > 0);
    return found;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    uint64_t stride = (uint64_t)atoi(argv[2]);
    CHECK(stride > 0);
    torture.n_failed = __real_mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(torture.n_failed != MAP_FAILED);
    if (getenv("TORTURE_NTH")) { /* one turn, in this process: for gdb */
        torture.nth = (uint64_t)atoi(getenv("TORTURE_NTH"));
        torture.mode = getenv("TORTURE_FROM") ? FROM_ON : ONE;
        scenario();
        return 0;
    }
    uint64_t one = all_turns(ONE, stride);
    uint64_t on = all_turns(FROM_ON, stride * 7);
    int limits = with_limits(stride == 1 ? 20 : 60); /* from 400 to 40 */
    printf("%" PRIu64 " failures injected: %" PRIu64 " alone, %" PRIu64
           " with all that follow; %d limits of address space; %d bad\n",
           one + on, one, on, limits, n_bad);
    /* the race detector has mappings of its own where we have ours */
    if (!STRESS_TSAN && one + on < expected_number(argv[1], stride)) {
        printf("FAILED  fewer than tests/torture/EXPECTED says\n");
        return 1;
    }
    return n_bad ? 1 : 0;
}
