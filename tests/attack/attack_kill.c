/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* SIGKILL at random moments: nothing that was recorded is lost, nothing is
 * there twice. (attack_step.c does the same at every instruction, on one
 * thread.)
 *
 * A child records on several threads as fast as it can, or, one time in four,
 * on many that end soon. Each event carries a
 * number, and after each call has returned the child raises a counter in
 * memory that this process owns. Then it is killed, its trace and spool are
 * opened, and the numbers of every kind on every thread must be 0, 1, 2, …
 * in order, as many as the counter says, or one more: the call that was under
 * way. Statistics are compared with the same counters, and what `pack` makes
 * of the recording is sound: `check` says so.
 *
 * Usage: attack_kill [KILLS]. How many of the kills came while trace and spool
 * both held words is printed, and must be at least a fifth. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "axprof/axprof_file.h"
#include "stress_check.h"

#define N_THREADS 4
enum kind { SCOPE, COUNTER, TEXT, ALLOC, ENDED, N_KINDS };
static const char *const names[N_THREADS][N_KINDS] = {
    {"scope 0", "counter 0", "text 0", "alloc 0", "ended 0"},
    {"scope 1", "counter 1", "text 1", "alloc 1", "ended 1"},
    {"scope 2", "counter 2", "text 2", "alloc 2", "ended 2"},
    {"scope 3", "counter 3", "text 3", "alloc 3", "ended 3"},
};

struct shared { /* owned by the parent, raised by the child */
    uint64_t n[N_THREADS][N_KINDS];
    uint64_t is_ready;
};
static struct shared *shared;
static axp_profiler *prof;
static char path[256];

/* ---- the child ------------------------------------------------------------------- */

static void done(int thread, enum kind kind)
{
    __atomic_store_n(&shared->n[thread][kind], shared->n[thread][kind] + 1,
                     __ATOMIC_RELEASE);
}

static void record_one(int t, uint64_t i)
{
    char text[24];
    {
        AXP_SCOPE_IN(prof, names[t][SCOPE]);
        done(t, SCOPE);
        axp_counter(prof, names[t][COUNTER], (double)shared->n[t][COUNTER]);
        done(t, COUNTER);
    }
    done(t, ENDED);
    if (i % 8 == 0) {
        snprintf(text, sizeof text, "%" PRIu64, shared->n[t][TEXT]);
        axp_event(prof, names[t][TEXT], AXP_EVENT_INSTANT, text);
        done(t, TEXT);
    }
    if (i % 4 == 0) {
        axp_record_alloc(prof, names[t][ALLOC], shared->n[t][ALLOC] + 1);
        done(t, ALLOC);
    }
    __atomic_store_n(&shared->is_ready, 1, __ATOMIC_RELAXED);
}

static void *record(void *arg)
{
    for (uint64_t i = 0;; i++)
        record_one((int)(intptr_t)arg, i);
    return NULL;
}

static void *record_some(void *arg)
{
    for (uint64_t i = 0; i < 20; i++)
        record_one((int)(intptr_t)arg, i);
    return NULL;
}

/* The same by threads that end soon, one after the other: they are merged all
 * the time. */
static void *record_briefly(void *arg)
{
    for (;;) {
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, record_some, arg));
        CHECK(!pthread_join(thread, NULL));
    }
    return NULL;
}

static void child(bool is_brief)
{
    pthread_t thread[N_THREADS];
    prof = axp_profiler_create(&(axp_options){.path = path});
    if (!prof) {
        dprintf(2, "%s\n", axp_last_error());
        _exit(1);
    }
    for (intptr_t i = 0; i < N_THREADS; i++)
        CHECK(!pthread_create(&thread[i], NULL,
                              is_brief ? record_briefly : record, (void *)i));
    for (;;)
        pause();
}

/* ---- what is found ------------------------------------------------------------------ */

struct found {
    uint64_t n[N_THREADS][N_KINDS];
    uint64_t n_wrong;
};

static void expect(struct found *f, const axp_event_info *e, uint64_t *n,
                   uint64_t number)
{
    if (number != *n) {
        dprintf(2,
                "%s at %" PRIu64 " ns, thread %" PRIu64 ": %" PRIu64
                " where %" PRIu64 " is next\n",
                e->name, e->time_ns, e->thread_id, number, *n);
        f->n_wrong++;
    }
    *n = number + 1;
}

static int look(const axp_event_info *e, void *ctx)
{
    struct found *f = ctx;
    int t = e->name[strlen(e->name) - 1] - '0';
    CHECK(t >= 0 && t < N_THREADS);
    switch (e->type) {
    case AXP_EVENT_START: f->n[t][SCOPE]++; break;
    case AXP_EVENT_END: f->n[t][ENDED]++; break;
    case AXP_EVENT_COUNTER:
        expect(f, e, &f->n[t][COUNTER], (uint64_t)e->value);
        break;
    case AXP_EVENT_ALLOC:
        expect(f, e, &f->n[t][ALLOC], (uint64_t)e->value - 1);
        break;
    case AXP_EVENT_INSTANT:
        expect(f, e, &f->n[t][TEXT], strtoull(e->metadata, NULL, 10));
        break;
    default: f->n_wrong++;
    }
    return 0;
}

/* As many as were counted, or the one that was under way. */
static void check_count(const char *what, uint64_t found, uint64_t counted)
{
    if (found == counted || found == counted + 1) return;
    dprintf(2, "%s: %" PRIu64 " found, %" PRIu64 " recorded\n", what, found,
            counted);
    _exit(1);
}

static void check_op(const axp_view *v, int t)
{
    axp_op op;
    if (axp_view_op(v, names[t][SCOPE], &op)) {
        CHECK_EQ(shared->n[t][SCOPE], 0);
        return;
    }
    check_count("calls in the statistics", op.calls, shared->n[t][SCOPE]);
}

static void check_view(const axp_view *v, const char *when)
{
    struct found f = {0};
    CHECK_EQ(axp_view_events(v, NULL, look, &f), AXP_OK);
    if (f.n_wrong) dprintf(2, "%s, in %s\n", when, path);
    CHECK_EQ(axp_view_cut_count(v), 0);
    CHECK_EQ(f.n_wrong, 0);
    for (int t = 0; t < N_THREADS; t++) {
        for (int k = 0; k < N_KINDS; k++)
            check_count(names[t][k], f.n[t][k], shared->n[t][k]);
        CHECK(f.n[t][SCOPE] - f.n[t][ENDED] <= 1);
        check_op(v, t);
    }
    uint64_t n_allocs = 0;
    for (int t = 0; t < N_THREADS; t++)
        n_allocs += shared->n[t][ALLOC];
    uint64_t found = axp_view_memory(v).n_allocs;
    CHECK(found >= n_allocs && found <= n_allocs + N_THREADS);
}

static void check_file(void)
{
    FILE *to = tmpfile();
    char line[200];
    CHECK(to != NULL);
    bool is_sound = !axp_file_check(path, to);
    rewind(to);
    while (!is_sound && fgets(line, sizeof line, to))
        fputs(line, stderr);
    fclose(to);
    CHECK(is_sound);
}

/* ---- the parent ---------------------------------------------------------------------- */

static uint64_t state = 88172645463325252u;
static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static void wait_us(uint64_t us)
{
    struct timespec ts = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    nanosleep(&ts, NULL);
}

static bool has_words_in_trace(void)
{
    struct stat st;
    return !stat(path, &st) && st.st_size > 100000; /* more than a header */
}

static void expect_ok(axp_status status)
{
    if (status) dprintf(2, "%s\n", axp_last_error());
    CHECK_EQ(status, AXP_OK);
}

/* Whether the kill found words in both places; is_late: it waits until it
 * does. */
static bool kill_once(bool is_late, bool is_brief)
{
    memset(shared, 0, sizeof *shared);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) child(is_brief);
    while (!__atomic_load_n(&shared->is_ready, __ATOMIC_RELAXED))
        wait_us(100);
    while (is_late && !has_words_in_trace())
        wait_us(100);
    wait_us(draw() % 200000);
    kill(pid, SIGKILL);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

    axp_view *v = NULL;
    const char *paths[] = {path};
    bool both = has_words_in_trace();
    expect_ok(axp_open(paths, 1, &v));
    check_view(v, is_brief ? "short threads" : "long threads");
    axp_view_destroy(v);
    expect_ok(axp_file_pack(path, NULL)); /* the spool is gone */
    expect_ok(axp_open(paths, 1, &v));
    check_view(v, is_brief ? "short threads, packed" : "long threads, packed");
    axp_view_destroy(v);
    check_file();
    CHECK(!unlink(path));
    return both;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 25, n_both = 0;
    char folder[] = "/tmp/axprof-kill-XXXXXX";
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run.axp", folder);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    stress_watch(60 + (unsigned)n);
    for (int i = 0; i < n; i++)
        n_both += kill_once(!STRESS_TSAN && i % 4 == 0, i % 4 == 1);
    printf("%d kills, %d of them with words in trace and spool\n", n, n_both);
    if (!STRESS_TSAN) CHECK(n_both * 4 >= n);
    CHECK(!rmdir(folder));
    return 0;
}
