/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fork while threads record to a file: what the parent records stays whole,
 * each child has a file of its own with what it recorded, none hangs or dies.
 *
 *   test_fork_file [FORKS]   100, of each of three cases
 *
 * Cases run in processes of their own; a child that hangs is ended by its
 * watchdog and counts as failed. Files are in a folder of this run. */
#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "axprof/axprof_file.h"
#include "stress_check.h"

#define N_THREADS 8
#define OWN 50 /* scopes of a child */

static unsigned n_forks = 100;
static char folder[64];
static axp_profiler *prof;
static int is_over;

static bool over(void)
{
    return __atomic_load_n(&is_over, __ATOMIC_RELAXED);
}

static void record(axp_profiler *p, const char *name, int n)
{
    for (int i = 0; i < n; i++) {
        AXP_SCOPE_IN(p, name);
    }
}

static void record_hot(int n)
{
    for (int i = 0; i < n; i++) {
        AXP_SCOPE("hot");
    }
}

/* ---- files ---------------------------------------------------------------------- */

static axp_profiler *create(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s.axp", folder, name);
    return axp_profiler_create(&(axp_options){
        .path = path,
        .spool_limit = 4 << 20,
        .flags = AXP_OVERWRITE,            /* some are run again and again */
        .file_limit = (uint64_t)1 << 30}); /* the long one would fill a disk */
}

static uint64_t calls_in(const axp_view *v, const char *name)
{
    axp_op op;
    return axp_view_op(v, name, &op) == AXP_OK ? op.calls : 0;
}

/* What a process left, which may have ended by _exit; removed afterwards. */
static uint64_t calls_left(const char *base, pid_t pid, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s-%ld.axp", folder, base, (long)pid);
    axp_status status = axp_file_pack(path, NULL);
    if (status) dprintf(2, "%s: %s\n", path, axp_last_error());
    CHECK(status == AXP_OK);
    const char *paths[] = {path};
    axp_view *v = NULL;
    status = axp_open(paths, 1, &v);
    if (status) dprintf(2, "%s: %s\n", path, axp_last_error());
    CHECK(status == AXP_OK);
    stress_check_view(v);
    uint64_t calls = calls_in(v, name);
    axp_view_destroy(v);
    unlink(path);
    return calls;
}

static void wait_ok(pid_t pid)
{
    int status = 0;
    CHECK(pid > 0);
    while (waitpid(pid, &status, 0) != pid)
        CHECK(errno == EINTR);
    if (WIFSIGNALED(status))
        dprintf(2, "child killed by %s\n", strsignal(WTERMSIG(status)));
    CHECK(WIFEXITED(status));
    CHECK_EQ((uint64_t)WEXITSTATUS(status), 0);
}

/* ---- beside threads --------------------------------------------------------------- */

static uint64_t n_work;

static void some_work(axp_profiler *p, unsigned i)
{
    char name[32];
    snprintf(name, sizeof name, "path %u", i % 30);
    record(p, name, 2);
    axp_start(p, "named");
    axp_record_alloc(p, name, 16);
    axp_record_free(p, name, 16);
    axp_stop(p, "named");
    record(p, "work", 1);
    __atomic_add_fetch(&n_work, 1, __ATOMIC_RELAXED);
}

static void pause_us(long us)
{
    nanosleep(&(struct timespec){0, us * 1000}, NULL);
}

/* With pauses, so that children get their turn. */
static void *worker(void *arg)
{
    for (unsigned i = (unsigned)(uintptr_t)arg; !over(); i++) {
        some_work(prof, i);
        if (i % 64 == 0) pause_us(200);
    }
    return NULL;
}

static void *short_worker(void *arg)
{
    some_work(prof, (unsigned)(uintptr_t)arg);
    return NULL;
}

static void *spawner(void *arg)
{
    pthread_t t;
    (void)arg;
    for (uintptr_t i = 0; !over(); i++) {
        CHECK(!pthread_create(&t, NULL, short_worker, (void *)i));
        CHECK(!pthread_join(t, NULL));
        pause_us(2000);
    }
    return NULL;
}

/* Profilers that come and go, with files and without. */
static void *changer(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !over(); i++) {
        char name[32], path[128];
        snprintf(name, sizeof name, "other%u", i);
        snprintf(path, sizeof path, "%s/%s.axp", folder, name);
        axp_profiler *p = i % 2 ? create(name) : axp_profiler_create(NULL);
        CHECK(p != NULL);
        record(p, "other", 20);
        axp_track *track = axp_track_create(p, "track");
        axp_track_span(track, "span", 1, 2, NULL);
        if (i % 3 == 0) axp_reset(p);
        if (i % 3 == 1) axp_set_enabled(p, false);
        axp_profiler_destroy(p);
        unlink(path);
    }
    return NULL;
}

static void child_records(unsigned i)
{
    stress_watch(30);
    CHECK_EQ(axp_call_count(prof, "work"), 0);
    record(prof, "own", OWN);
    some_work(prof, i);
    CHECK_EQ(axp_call_count(prof, "own"), OWN);
    CHECK_EQ(axp_call_count(prof, "named"), 1);
    axp_profiler *mine = axp_profiler_create(NULL);
    CHECK(mine != NULL);
    record(mine, "mine", 3);
    CHECK_EQ(axp_call_count(mine, "mine"), 3);
    axp_profiler_destroy(mine);
    /* It allocates: see STRESS_CHILD_ALLOCATES. */
    if (i % 4 == 0 && !STRESS_ASAN) CHECK(axp_finish(prof) == AXP_OK);
    if (i % 4 == 1 && STRESS_CHILD_ALLOCATES) exit(0);
    _exit(0);
}

static void beside(const char *name, bool with_changes)
{
    pthread_t t[N_THREADS + 2];
    int n = 0;
    prof = create(name);
    CHECK(prof != NULL);
    for (; n < N_THREADS; n++)
        CHECK(!pthread_create(&t[n], NULL, worker, (void *)(uintptr_t)n));
    CHECK(!pthread_create(&t[n++], NULL, spawner, NULL));
    if (with_changes) CHECK(!pthread_create(&t[n++], NULL, changer, NULL));
    for (unsigned i = 0; i < n_forks; i++) {
        pid_t pid = fork();
        if (!pid) child_records(i);
        wait_ok(pid);
        CHECK_EQ(calls_left(name, pid, "own"), OWN);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    while (n--)
        CHECK(!pthread_join(t[n], NULL));
    CHECK_EQ(axp_call_count(prof, "work"), n_work);
    CHECK_EQ(axp_call_count(prof, "own"), 0);
    CHECK(axp_finish(prof) == AXP_OK);
    axp_profiler_destroy(prof);
}

static void beside_threads(void)
{
    beside("threads", false);
}

static void beside_changes(void)
{
    beside("changes", true);
}

/* ---- during a first event ------------------------------------------------------------ */

static void *first_event(void *arg)
{
    pthread_barrier_wait(arg);
    record_hot(20);
    return NULL;
}

static void linger(unsigned loops)
{
    for (volatile unsigned i = 0; i < loops; i++)
        ;
}

/* A thread of this process begins its file while another one forks. */
static void fork_in_first(unsigned i)
{
    pthread_t t;
    pthread_barrier_t both;
    stress_watch(60);
    pthread_barrier_init(&both, NULL, 2);
    CHECK(!pthread_create(&t, NULL, first_event, &both));
    pthread_barrier_wait(&both);
    linger(i % 40 * 5000);
    pid_t pid = fork();
    if (!pid) {
        stress_watch(30);
        record_hot(5);
        CHECK_EQ(axp_call_count(axp_global(), "hot"), 5);
        CHECK(axp_finish(axp_global()) == AXP_OK);
        _exit(0);
    }
    wait_ok(pid);
    CHECK(!pthread_join(t, NULL));
    CHECK_EQ(axp_call_count(axp_global(), "hot"), 20);
    CHECK_EQ(calls_left("first", pid, "hot"), 5);
    CHECK(axp_finish(axp_global()) == AXP_OK);
    _exit(0);
}

/* The global profiler's file is opened by the first event. */
static void in_first_event(void)
{
    for (unsigned i = 0; i < n_forks; i++) {
        pid_t pid = fork();
        if (!pid) fork_in_first(i);
        wait_ok(pid);
        CHECK_EQ(calls_left("first", pid, "hot"), 20);
    }
}

/* ---- from a handler, raw ---------------------------------------------------------------- */

static volatile sig_atomic_t n_inside, is_child;
#define WANTED_INSIDE 40

static void fork_here(int sig)
{
    (void)sig;
    int keep = errno;
    if (is_child || n_inside >= WANTED_INSIDE) return;
    uint64_t token = axp_begin(prof, "probe");
    if (token) {
        axp_end(token);
        return;
    }
    pid_t pid = fork();
    if (!pid) {
        struct itimerval never = {{0, 0}, {0, 0}};
        setitimer(ITIMER_PROF, &never, NULL);
        stress_watch(30);
        is_child = 1; /* and on with the call that was interrupted */
        return;
    }
    wait_ok(pid);
    n_inside = n_inside + 1;
    errno = keep;
}

static void in_handler(void)
{
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
    pthread_t t[2];
    sigset_t signals;
    prof = create("handler");
    CHECK(prof != NULL);
    sigemptyset(&signals);
    sigaddset(&signals, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_create(&t[i], NULL, worker, (void *)(uintptr_t)i));
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    CHECK(!sigaction(SIGPROF, &action, NULL));
    CHECK(!setitimer(ITIMER_PROF, &often, NULL));
    for (unsigned i = 0; n_inside < WANTED_INSIDE && !is_child; i++)
        some_work(prof, i);
    if (is_child) {
        uint64_t before = axp_call_count(prof, "work");
        CHECK(before <= 1); /* of the interrupted call at most */
        record(prof, "own", OWN);
        CHECK_EQ(axp_call_count(prof, "own"), OWN);
        CHECK(axp_finish(prof) == AXP_OK);
        _exit(0);
    }
    setitimer(ITIMER_PROF, &never, NULL);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_join(t[i], NULL));
    axp_profiler_destroy(prof);
}

static void raw_clone(void)
{
    pthread_t t;
    prof = create("raw");
    CHECK(prof != NULL);
    CHECK(!pthread_create(&t, NULL, worker, NULL));
    for (unsigned i = 0; i < 20; i++) {
        pid_t pid = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
        if (!pid) {
            record(prof, "own", OWN);
            CHECK_EQ(axp_call_count(prof, "own"), OWN);
            _exit(0);
        }
        wait_ok(pid);
        CHECK_EQ(calls_left("raw", pid, "own"), OWN);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    CHECK(!pthread_join(t, NULL));
    axp_profiler_destroy(prof);
}

/* ---- what a child inherits ---------------------------------------------------------------- */

static void inherited(void)
{
    axp_profiler *done = create("done"), *off = create("off");
    CHECK(done && off);
    prof = create("on");
    axp_track *track = axp_track_create(prof, "track");
    CHECK(prof && track);
    record(prof, "work", 5);
    record(done, "before", 4);
    CHECK(axp_finish(done) == AXP_OK);
    axp_set_enabled(off, false);
    pid_t pid = fork();
    if (!pid) {
        stress_watch(30);
        CHECK(axp_is_enabled(prof) && !axp_is_enabled(off));
        CHECK_EQ(axp_call_count(done, "before"), 4); /* frozen */
        record(done, "before", 1);
        CHECK_EQ(axp_call_count(done, "before"), 4);
        record(off, "off", 1);
        CHECK_EQ(axp_call_count(off, "off"), 0);
        axp_track_span(track, "span", 1, 2, NULL);
        CHECK_EQ(axp_call_count(prof, "span"), 1);
        CHECK_EQ(axp_call_count(prof, "work"), 0);
        axp_profiler_destroy(done);
        axp_profiler_destroy(off);
        axp_profiler_destroy(prof);
        _exit(0);
    }
    wait_ok(pid);
    CHECK_EQ(calls_left("on", pid, "span"), 1);
    axp_profiler_destroy(done);
    axp_profiler_destroy(off);
    axp_profiler_destroy(prof);
}

static void clean_up(void)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    char path[512];
    while (d && (e = readdir(d))) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.') unlink(path);
    }
    if (d) closedir(d);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc > 1) n_forks = (unsigned)atoi(argv[1]);
    /* The race detector looks away in the child of threads, which all are
     * here, and has no threads there. */
    if (STRESS_TSAN || STRESS_EMULATED) return 77;
    const char *given = getenv("TEST_FOLDER");
    if (!given) { /* once more, with the global profiler's file there */
        char out[96];
        strcpy(folder, "/tmp/axprof-fork-XXXXXX");
        CHECK(mkdtemp(folder) != NULL);
        snprintf(out, sizeof out, "%s/first.axp", folder);
        setenv("AXPROF_OUT", out, 1);
        setenv("TEST_FOLDER", folder, 1);
        execv("/proc/self/exe", argv);
        return 1;
    }
    snprintf(folder, sizeof folder, "%s", given);
    failed += STRESS_RUN(beside_threads, 60 + n_forks / 4);
    failed += STRESS_RUN(beside_changes, 60 + n_forks / 4);
    failed += STRESS_RUN(in_first_event, 60 + n_forks / 4);
    failed += STRESS_RUN(inherited, 60);
    for (unsigned i = 0; i < 1 + n_forks / 200 && !failed; i++)
        failed += STRESS_RUN(in_handler, 60); /* 40 forks each */
    failed += STRESS_RUN(raw_clone, 60);
    clean_up();
    return failed ? 1 : 0;
}
