/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Regions of OpenMP, run with the adapter loaded: as many as the program counts,
 * on each of its threads, with the waits for who is late on purpose. Built by
 * gcc for GNU's runtime, and by clang, where there is one, for LLVM's. */
#include <omp.h>

#include "wait_check.h"

#define REGIONS 20
#define THREADS 2
#define LATE_MS 3
#define TASKS 500
#define LOCKS 300
#define LOOPED 1470
#define LOOP_TASKS 147 /* as often is nothing else called */

static uint64_t tids[THREADS];
static uint64_t waited_ns[THREADS][THREADS + 1], n_waits[THREADS][THREADS + 1];
static uint64_t n_entered, n_critical, n_items, n_tasks;

/* Who is late at the barrier is not late at the end. */
static void regions(void)
{
    for (int i = 0; i < REGIONS; i++) {
#pragma omp parallel num_threads(THREADS)
        {
            int me = omp_get_thread_num();
            tids[me] = (uint64_t)gettid();
            __atomic_add_fetch(&n_entered, 1, __ATOMIC_RELAXED);
            AXP_SCOPE("of the program");
            if (me == 1) sleep_ms(LATE_MS);
#pragma omp barrier
            if (me == 0) sleep_ms(LATE_MS);
        }
    }
}

static void loops(void)
{
    for (int i = 0; i < REGIONS; i++) {
#pragma omp parallel for num_threads(THREADS) schedule(dynamic, 1)
        for (int k = 0; k < 4; k++) {
            __atomic_add_fetch(&n_items, 1, __ATOMIC_RELAXED);
            sleep_ms(1);
        }
    }
}

static void sections(void)
{
#pragma omp parallel num_threads(THREADS)
    for (int i = 0; i < REGIONS; i++) {
#pragma omp critical
        {
            n_critical++;
            sleep_ms(1);
        }
#pragma omp barrier
    }
}

/* Tried in vain, and taken again by who has it: that is no wait, and nobody is
 * taken for one who waits afterwards. */
static void locks(void)
{
    omp_lock_t lock;
    omp_nest_lock_t nested;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
    omp_set_lock(&lock);
#pragma omp parallel num_threads(THREADS)
    if (omp_get_thread_num() == 1)
        for (int i = 0; i < LOCKS; i++)
            if (omp_test_lock(&lock)) abort();
    omp_unset_lock(&lock);
    for (int i = 0; i < LOCKS; i++) {
        omp_set_nest_lock(&nested);
        omp_set_nest_lock(&nested);
        omp_unset_nest_lock(&nested);
        omp_unset_nest_lock(&nested);
        omp_set_lock(&lock);
        omp_unset_lock(&lock);
        if (!omp_test_lock(&lock)) abort();
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nested);
}

/* Most of them run at the barrier that ends the region. */
static void tasks(void)
{
#pragma omp parallel num_threads(THREADS)
#pragma omp single nowait
    for (int i = 0; i < TASKS; i++) {
#pragma omp task
        __atomic_add_fetch(&n_tasks, 1, __ATOMIC_RELAXED);
    }
}

/* Loops of tasks: with a range of each type, with what is copied into each, with
 * a sum, and outside of a region, where each runs at once. */
static void task_loops(void)
{
    static uint64_t a[LOOPED];
    uint64_t sum = 0, all = (uint64_t)LOOPED * (LOOPED - 1) / 2;
    struct {
        uint64_t of[40];
    } copied = {{7, 11}};
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    {
#pragma omp taskloop num_tasks(LOOP_TASKS) firstprivate(copied)
        for (long i = LOOPED - 1; i >= 0; i--) {
            a[i] += (uint64_t)i + copied.of[1] - 11;
            copied.of[0] = 0;
        }
#pragma omp taskloop grainsize(LOOPED / LOOP_TASKS) reduction(+ : sum)
        for (unsigned long long i = 0; i < LOOPED; i++)
            sum += a[i];
    }
    CHECK(sum == all && copied.of[0] == 7);
#pragma omp taskloop num_tasks(LOOP_TASKS) reduction(+ : sum)
    for (long i = 0; i < LOOPED; i++)
        sum += a[i];
    CHECK(sum == 2 * all);
}

static int index_of(uint64_t tid)
{
    for (int i = 0; i < THREADS; i++)
        if (tids[i] == tid) return i;
    return THREADS;
}

static int add(const axp_waits *w, void *name)
{
    int me = index_of(w->thread_id);
    if (strcmp(w->name, name) != 0 || me == THREADS) return 0;
    waited_ns[me][index_of(w->by_thread_id)] += w->total_ns;
    n_waits[me][index_of(w->by_thread_id)] += w->count;
    return 0;
}

static void count_waits(const axp_view *view, char *name)
{
    memset(waited_ns, 0, sizeof waited_ns);
    memset(n_waits, 0, sizeof n_waits);
    CHECK(!axp_view_waits(view, add, name));
    for (int i = 0; i < THREADS; i++)
        for (int by = 0; by <= THREADS; by++)
            if (n_waits[i][by])
                printf("%s: %d waited for %d %llu times, %llu us\n", name, i,
                       by, (unsigned long long)n_waits[i][by],
                       (unsigned long long)waited_ns[i][by] / 1000);
}

/* Calls of the operation whose name begins so: the line is after it. */
static uint64_t calls_of(const axp_view *view, const char *function)
{
    axp_op ops[64];
    size_t n = axp_view_ops(view, AXP_BY_TIME, ops, 64);
    for (size_t i = 0; i < n && i < 64; i++)
        if (!strncmp(ops[i].name, function, strlen(function)))
            return ops[i].calls; /* the region takes longer than its loop */
    return 0;
}

/* Operations that were called so often, whatever their compiler calls them. */
static unsigned n_with_calls(const axp_view *view, uint64_t calls)
{
    axp_op ops[64];
    unsigned n_found = 0;
    size_t n = axp_view_ops(view, AXP_BY_TIME, ops, 64);
    for (size_t i = 0; i < n && i < 64; i++)
        n_found += ops[i].calls == calls;
    return n_found;
}

/* A snapshot has addresses; a recording that is opened has names. */
static axp_view *view_of(const char *path)
{
    axp_view *view = NULL;
    CHECK(axp_open(&path, 1, &view) == AXP_OK);
    return view;
}

int main(int argc, char **argv)
{
    (void)argc;
    char path[] = "/tmp/axprof-openmp-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && !close(fd) && !unlink(path));
    CHECK(!axp_global_open(path));
    regions();
    loops();
    locks();
    sections();
    tasks();
    task_loops();
    CHECK(!axp_finish(axp_global()));
    axp_view *view = view_of(path);
    printf("%s: %llu entered\n", argv[0], (unsigned long long)n_entered);
    CHECK(calls_of(view, "regions:") == n_entered);
    CHECK(calls_of(view, "loops:") == REGIONS * THREADS);
    CHECK(calls_of(view, "sections:") == THREADS);
    /* Scopes of the program are inside, and leave the region's alone. */
    CHECK(calls_of(view, "of the program") == n_entered);
    axp_warning warnings[16];
    CHECK(axp_view_warnings(view, warnings, 16) == 0);
    CHECK(n_tasks == TASKS && n_with_calls(view, TASKS) == 1);
#ifdef __clang__ /* LLVM's tells no more than its own function, which divides */
    CHECK(calls_of(view, "__kmpc_taskloop") >= 3 * LOOP_TASKS);
#else
    CHECK(n_with_calls(view, LOOP_TASKS) == 3);
#endif
    CHECK(n_items == REGIONS * 4 && n_critical == REGIONS * THREADS);

    count_waits(view, "OpenMP barrier");
    /* Each barrier is waited at by one of the two, and known to be; a region's
     * last is not, of a thread whose last it was. On a busy machine both may be
     * late, and then one waits the longer for it. */
    uint64_t least = REGIONS / 2 * LATE_MS * MS;
    CHECK(waited_ns[0][1] + waited_ns[1][0] >= 2 * least);
    CHECK(waited_ns[0][1] >= least / 2 && waited_ns[1][0] >= least / 2);
    CHECK(n_waits[0][THREADS] + n_waits[1][THREADS] == 0);
    count_waits(view, "OpenMP idle");
    CHECK(n_waits[1][0] >= 2 * REGIONS - 2 && n_waits[0][1] == 0);
    count_waits(view, "OpenMP critical");
    CHECK(waited_ns[0][1] + waited_ns[1][0] + waited_ns[0][THREADS] +
              waited_ns[1][THREADS] >=
          (REGIONS - 2) * MS / 2);
    CHECK(n_waits[0][0] + n_waits[0][1] + n_waits[0][THREADS] + n_waits[1][0] +
              n_waits[1][1] + n_waits[1][THREADS] <=
          REGIONS * THREADS);
    axp_view_destroy(view);
    unlink(path);
    puts("regions are recorded");
    return 0;
}
