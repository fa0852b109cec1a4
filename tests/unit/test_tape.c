/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recording to a file: where files come to be and where not, what is in them,
 * limits, forks, programs that close our descriptors, endings. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "os/os_space.h"
#include "outside/outside_recover.h"
#include "file_support.h"

#define MANY (TS_SLOW ? 60000u : 600000u)

static char folder[] = "/tmp/axprof-tape-XXXXXX";
static const char *self; /* this program */
static time_t began;

static const char *in_folder(const char *name)
{
    static char path[4][512];
    static int turn;
    char *to = path[turn++ & 3];
    snprintf(to, sizeof path[0], "%s/%s", folder, name);
    return to;
}

/* How many files there are, and how many of our spools in memory. */
static int count_files(const char *where, const char *word)
{
    DIR *d = opendir(where);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.' && strstr(e->d_name, word);
    if (d) closedir(d);
    return n;
}

/* Spools in memory that a process has made since this test began, and what
 * they take; others may have some at any time, and process ids come again. */
static int count_spools_and_bytes(pid_t pid, uint64_t *bytes)
{
    char path[512];
    DIR *d = opendir("/dev/shm");
    int n = 0;
    *bytes = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        uint64_t words[offsetof(struct axp__space, pid) / 8 + 1];
        if (strncmp(e->d_name, "axprof-", 7)) continue;
        snprintf(path, sizeof path, "/dev/shm/%s", e->d_name);
        int fd = open(path, O_RDONLY);
        if (fd < 0) continue;
        struct stat st;
        if (!fstat(fd, &st) && st.st_ctime >= began &&
            read(fd, words, sizeof words) == sizeof words &&
            words[sizeof words / 8 - 1] == (uint64_t)pid) {
            n++;
            *bytes += (uint64_t)st.st_blocks * 512;
        }
        close(fd);
    }
    if (d) closedir(d);
    return n;
}

static int count_spools(pid_t pid)
{
    uint64_t unused;
    return count_spools_and_bytes(pid, &unused);
}

static int clean(void **state)
{
    (void)state;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        const char *path = in_folder(e->d_name);
        int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        if (fd >= 0) axp__spool_unlink_for(fd, path);
        if (fd >= 0) close(fd);
        unlink(path);
    }
    if (d) closedir(d);
    return 0;
}

static void some_scopes(axp_profiler *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        AXP_SCOPE_IN(p, "outer");
        AXP_SCOPE_IN(p, "inner");
    }
}

static bool is_enough;

static int count_event(const axp_event_info *e, void *ctx)
{
    (void)e;
    ++*(uint64_t *)ctx;
    return 0;
}

static void expect_calls(const char *path, uint64_t calls, uint64_t events)
{
    axp_view *v = fs_open(path);
    assert_int_equal(ts_view_op(v, "inner").calls, calls);
    assert_int_equal(axp_view_event_count(v), events);
    axp_view_destroy(v);
}

/* ---- files ------------------------------------------------------------------------- */

static void a_finished_file_has_everything_and_no_spool(void **state)
{
    (void)state;
    const char *path = in_folder("a.axp");
    struct stat st;
    axp_profiler *p = fs_record(path, (axp_options){0});
    some_scopes(p, 1000);
    axp_record_alloc(p, "tensor", 100);
    assert_int_equal(axp_finish(p), AXP_OK);
    assert_int_equal(axp_finish(p), AXP_OK);
    assert_int_equal(count_spools(getpid()), 0);
    assert_int_equal(count_files(folder, ""), 1);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    expect_calls(path, 1000, 4001);
    axp_view *live = ts_snapshot(p), *file = fs_open(path);
    assert_int_equal(axp_view_event_count(live), 4001);
    assert_int_equal(ts_view_op(live, "outer").total_ns,
                     ts_view_op(file, "outer").total_ns);
    assert_int_equal(axp_view_memory(file).current_bytes, 100);
    axp_view_destroy(live);
    axp_view_destroy(file);
    axp_profiler_destroy(p);
}

static void an_existing_file_is_kept_unless_asked(void **state)
{
    (void)state;
    const char *path = in_folder("b.axp");
    FILE *f = fopen(path, "w");
    fputs("mine", f);
    fclose(f);
    assert_null(axp_profiler_create(&(axp_options){.path = path}));
    assert_non_null(strstr(axp_last_error(), "AXP_OVERWRITE"));
    axp_profiler *p = fs_record(path, (axp_options){.flags = AXP_OVERWRITE});
    some_scopes(p, 10);
    axp_profiler_destroy(p);
    expect_calls(path, 10, 40);
}

static void links_folders_and_missing_places_are_refused(void **state)
{
    (void)state;
    const char *target = in_folder("target"), *link = in_folder("link.axp");
    assert_int_equal(symlink(target, link), 0);
    for (unsigned flags = 0; flags <= AXP_OVERWRITE; flags += AXP_OVERWRITE)
        assert_null(
            axp_profiler_create(&(axp_options){.path = link, .flags = flags}));
    assert_int_not_equal(access(target, F_OK), 0);
    assert_null(axp_profiler_create(
        &(axp_options){.path = folder, .flags = AXP_OVERWRITE}));
    assert_null(
        axp_profiler_create(&(axp_options){.path = "/no/such/place/x.axp"}));
    assert_non_null(strstr(axp_last_error(), "/no/such/place/x.axp"));
    assert_int_equal(count_files(folder, ""), 1);
}

static void destroying_completes_the_file(void **state)
{
    (void)state;
    const char *path = in_folder("c.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    some_scopes(p, 5);
    axp_profiler_destroy(p);
    expect_calls(path, 5, 20);
}

static void a_reset_begins_the_file_anew(void **state)
{
    (void)state;
    const char *path = in_folder("d.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    some_scopes(p, 50000);
    axp_reset(p);
    some_scopes(p, 7);
    axp_profiler_destroy(p);
    expect_calls(path, 7, 28);
}

static void copy_file(const char *from, const char *to)
{
    char buffer[65536];
    size_t n;
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    while ((n = fread(buffer, 1, sizeof buffer, in)))
        fwrite(buffer, 1, n, out);
    fclose(in);
    fclose(out);
}

/* A copy of the file has no spool: what is in it is in the file alone. */
static void after_a_flush_all_so_far_is_in_the_file(void **state)
{
    (void)state;
    const char *path = in_folder("e.axp"), *copy = in_folder("copy.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    some_scopes(p, 3000);
    assert_int_equal(axp_flush(p), AXP_OK);
    copy_file(path, copy);
    expect_calls(copy, 3000, 12000);
    some_scopes(p, 1);
    assert_int_equal(axp_flush(p), AXP_OK);
    some_scopes(p, 1);
    axp_profiler_destroy(p);
    expect_calls(path, 3002, 12008);
}

/* A view of a profiler that goes on: what has left memory is in the file. */
/* A copy of before the end, whose spool is gone; also of a file that began
 * anew, where rows are counted from 1 again. */
static void a_file_alone_says_whose_its_rows_are(void **state)
{
    (void)state;
    const char *path = in_folder("whose.axp");
    const char *copy[2] = {in_folder("whose0.axp"), in_folder("whose1.axp")};
    axp_profiler *p = fs_record(path, (axp_options){0});
    axp_thread_name(p, "worker");
    for (int i = 0; i < 2; i++) {
        some_scopes(p, 10);
        assert_int_equal(axp_flush(p), AXP_OK);
        copy_file(path, copy[i]);
        axp_reset(p);
    }
    axp_profiler_destroy(p);
    for (int i = 0; i < 2; i++) {
        axp_thread_info of[2];
        axp_view *v = fs_open(copy[i]);
        assert_int_equal(axp_view_threads(v, of, 2), 1);
        assert_string_equal(of[0].name, "worker");
        axp_view_destroy(v);
    }
}

static void a_snapshot_has_what_is_in_the_file_already(void **state)
{
    (void)state;
    const char *path = in_folder("snap.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    axp_view *v[4];
    uint64_t n = 0;
    for (int i = 0; i < 4; i++) {
        some_scopes(p, MANY / 20);
        n += MANY / 5;
        if (i % 2) axp_flush(p);
        v[i] = ts_snapshot(p);
        assert_int_equal(axp_view_event_count(v[i]), n);
        assert_int_equal(axp_view_cut_count(v[i]), 0);
    }
    axp_reset(p); /* and none of them changes */
    some_scopes(p, MANY / 20);
    axp_flush(p);
    for (int i = 0; i < 4; i++) {
        uint64_t seen = 0;
        axp_view_events(v[i], NULL, count_event, &seen);
        assert_int_equal(seen, (uint64_t)(i + 1) * (MANY / 5));
        axp_view_destroy(v[i]);
    }
    axp_profiler_destroy(p);
    expect_calls(path, MANY / 20, MANY / 5);
}

static void *scopes_until(void *arg)
{
    axp_profiler *p = arg;
    while (!__atomic_load_n(&is_enough, __ATOMIC_RELAXED)) {
        some_scopes(p, 2000);
        usleep(1000);
    }
    return NULL;
}

/* Snapshots while threads and the drain are at work: each is whole. */
static void snapshots_beside_the_drain_are_whole(void **state)
{
    (void)state;
    const char *path = in_folder("beside.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    pthread_t t[2];
    is_enough = false;
    for (int i = 0; i < 2; i++)
        t[i] = ts_spawn(scopes_until, p);
    for (int i = 0; i < 6; i++) {
        axp_view *v = ts_snapshot(p);
        uint64_t seen = 0;
        assert_int_equal(axp_view_events(v, NULL, count_event, &seen), AXP_OK);
        assert_int_equal(seen, axp_view_event_count(v));
        assert_int_equal(axp_view_cut_count(v), 0);
        axp_view_destroy(v);
    }
    __atomic_store_n(&is_enough, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        ts_join(t[i]);
    axp_profiler_destroy(p);
}

/* More names than the first table of who compares has room for. */
static void a_file_of_many_names_is_sound(void **state)
{
    (void)state;
    const char *path = in_folder("many.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", i);
        AXP_SCOPE_IN(p, name);
        axp_counter(p, name, i);
        axp_record_alloc(p, name, 100);
    }
    axp_profiler_destroy(p);
    assert_int_equal(axp_file_check(path, stderr), AXP_OK);
}

/* ---- limits ------------------------------------------------------------------------- */

#define FEW_BYTES ((TS_SLOW ? 32u : 256u) << 10) /* for so many */

static void the_oldest_gives_way_to_file_limit(void **state)
{
    (void)state;
    const char *path = in_folder("f.axp");
    struct stat st;
    axp_profiler *p = fs_record(path, (axp_options){.file_limit = FEW_BYTES});
    for (int i = 0; i < 10; i++) {
        some_scopes(p, MANY / 10);
        axp_flush(p);
    }
    axp_instant(p, "last");
    axp_profiler_destroy(p);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 2 * FEW_BYTES);
    axp_view *v = fs_open(path);
    assert_int_equal(ts_view_op(v, "inner").calls, MANY);
    assert_int_equal(axp_view_event_count(v) + axp_view_cut_count(v),
                     4 * (uint64_t)MANY + 1);
    assert_true(axp_view_cut_count(v) > 0);
    assert_true(axp_view_event_count(v) > 0);
    axp_view_destroy(v);
}

static void what_the_spool_cannot_hold_is_cut_and_counted(void **state)
{
    (void)state;
    const char *path = in_folder("g.axp");
    axp_profiler *p = fs_record(path, (axp_options){.spool_limit = 1});
    some_scopes(p, MANY);
    axp_profiler_destroy(p);
    axp_view *v = fs_open(path);
    assert_int_equal(ts_view_op(v, "inner").calls, MANY);
    assert_int_equal(axp_view_event_count(v) + axp_view_cut_count(v),
                     4 * (uint64_t)MANY);
    axp_view_destroy(v);
}

/* In a child: the limit is the process's. */
static pid_t last_child;

static int in_child(void (*fn)(void))
{
    int status;
    pid_t pid = last_child = fork();
    assert_true(pid >= 0);
    if (!pid) {
        alarm(240); /* a hang, and not a busy machine */
        fn();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void record_under_a_file_limit(void)
{
    struct rlimit limit = {4 << 20, 4 << 20};
    setrlimit(RLIMIT_FSIZE, &limit); /* SIGXFSZ would end us */
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.path = in_folder("h.axp")});
    if (!p) _exit(2);
    some_scopes(p, MANY);
    if (axp_call_count(p, "inner") != MANY) _exit(3);
    axp_finish(p);
    if (axp_call_count(p, "inner") != MANY) _exit(4);
    axp_profiler_destroy(p);
}

static void a_limit_on_files_does_not_harm_the_program(void **state)
{
    (void)state;
    /* 2: where even the smallest spool does not fit; also without harm. */
    int status = in_child(record_under_a_file_limit);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2);
    if (WEXITSTATUS(status)) return;
    axp_view *v = fs_open(in_folder("h.axp")); /* and its spool */
    assert_int_equal(ts_view_op(v, "inner").calls, MANY);
    axp_view_destroy(v);
}

static void record_in_little_space(void)
{
    struct rlimit limit = {(rlim_t)96 << 20, (rlim_t)96 << 20};
    setrlimit(RLIMIT_AS, &limit);
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.path = in_folder("i.axp")});
    if (!p) return;
    some_scopes(p, MANY);
    if (axp_call_count(p, "inner") != MANY) _exit(3);
    uint64_t bytes;
    count_spools_and_bytes(getpid(), &bytes);
    if (bytes > limit.rlim_cur) _exit(4); /* more than could be mapped */
    axp_profiler_destroy(p);
}

static void little_address_space_does_not_either(void **state)
{
    (void)state;
    if (TS_SLOW) skip(); /* a sanitizer needs terabytes of it */
    assert_int_equal(in_child(record_in_little_space), 0);
}

/* ---- other processes -------------------------------------------------------------------- */

static axp_profiler *shared;

static void record_in_the_child(void)
{
    some_scopes(shared, 20);
    exit(0);
}

static void record_nothing(void)
{
    exit(0);
}

static void a_child_has_a_file_of_its_own_if_it_records(void **state)
{
    if (AXP_EMULATED) skip();
    (void)state;
    const char *path = in_folder("run.axp");
    shared = fs_record(path, (axp_options){0});
    some_scopes(shared, 10);
    /* The drain sleeps: nothing of it is lost to a child, which the address
     * sanitizer would call leaked. */
    assert_int_equal(axp_flush(shared), AXP_OK);
    assert_int_equal(in_child(record_nothing), 0);
    assert_int_equal(count_files(folder, ""), 1);
    assert_int_equal(in_child(record_in_the_child), 0);
    assert_int_equal(count_files(folder, "run-"), 1);
    some_scopes(shared, 10);
    axp_profiler_destroy(shared);
    expect_calls(path, 20, 80);
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, "run-"))
            expect_calls(in_folder(e->d_name), 20, 80);
    closedir(d);
    assert_int_equal(count_spools(getpid()), 0);
    assert_int_equal(count_spools(last_child), 0);
}

/* This program again, with AXPROF_OUT set and a word that says what to do. */
static int run_self(const char *out, const char *what)
{
    int status;
    pid_t pid = last_child = fork();
    assert_true(pid >= 0);
    if (!pid) {
        setenv("AXPROF_OUT", out, 1);
        execl(self, self, what, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void *first_events(void *arg)
{
    pthread_barrier_wait(arg);
    for (int i = 0; i < 10; i++) {
        AXP_SCOPE("inner");
    }
    return NULL;
}

/* All threads come to the first event of the process at the same time. */
static int be_first_together(void)
{
    pthread_barrier_t barrier;
    pthread_t t[10];
    pthread_barrier_init(&barrier, NULL, 10);
    for (int i = 0; i < 10; i++)
        if (pthread_create(&t[i], NULL, first_events, &barrier)) return 2;
    for (int i = 0; i < 10; i++)
        pthread_join(t[i], NULL);
    return 0;
}

static int be_run(const char *what)
{
    if (!strcmp(what, "nothing")) return 0;
    if (!strcmp(what, "together")) return be_first_together();
    for (int i = 0; i < 100; i++) {
        AXP_SCOPE("inner");
    }
    if (!strcmp(what, "killed")) raise(SIGKILL);
    if (!strcmp(what, "quick")) _exit(0);
    return 0;
}

static void axprof_out_records_a_program_that_only_links(void **state)
{
    if (AXP_EMULATED) skip();
    (void)state;
    const char *out = in_folder("p-%p.axp");
    assert_int_equal(run_self(out, "nothing"), 0);
    assert_int_equal(count_files(folder, ""), 0);
    assert_int_equal(run_self(out, "some"), 0);
    assert_int_equal(count_files(folder, "p-"), 1);
    /* The same name twice: the second gets another. */
    out = in_folder("same.axp");
    assert_int_equal(run_self(out, "some"), 0);
    assert_int_equal(run_self(out, "some"), 0);
    assert_int_equal(count_files(folder, "same"), 2);
    expect_calls(out, 100, 200);
}

static void threads_that_begin_together_share_one_file(void **state)
{
    if (AXP_EMULATED) skip();
    (void)state;
    for (int i = 0; i < 20; i++) {
        const char *out = in_folder("t.axp");
        assert_int_equal(run_self(out, "together"), 0);
        expect_calls(out, 100, 200);
        clean(NULL);
    }
}

static void what_ends_without_a_word_is_found_in_the_spool(void **state)
{
    if (AXP_EMULATED) skip();
    (void)state;
    const char *out = in_folder("q.axp");
    assert_int_equal(run_self(out, "quick"), 0);
    expect_calls(out, 100, 200);
    assert_int_equal(axp_file_pack(out, NULL), AXP_OK);
    expect_calls(out, 100, 200);
    clean(NULL);
    assert_true(WIFSIGNALED(run_self(out, "killed")));
    expect_calls(out, 100, 200);
    assert_int_equal(count_spools(last_child), 1);
    assert_int_equal(axp_file_pack(out, NULL), AXP_OK);
    expect_calls(out, 100, 200);
    assert_int_equal(count_spools(last_child), 0);
}

/* ---- descriptors ------------------------------------------------------------------------------ */

static void close_everything_and_go_on(void)
{
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.path = in_folder("r.axp")});
    if (!p) _exit(2);
    some_scopes(p, 1000);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    int own[600]; /* numbers that may have been ours */
    const char *path = in_folder("users.txt");
    for (int i = 0; i < 600; i++)
        own[i] = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
    some_scopes(p, MANY);
    axp_flush(p);
    axp_finish(p);
    if (axp_call_count(p, "inner") != MANY + 1000) _exit(3);
    struct stat st;
    if (fstat(own[0], &st) || st.st_size) _exit(4);
    axp_profiler_destroy(p);
    for (int i = 0; i < 600; i++)
        if (own[i] >= 0 && fstat(own[i], &st)) _exit(5); /* closed by us */
}

static void a_program_that_closes_all_descriptors_is_not_harmed(void **state)
{
    if (AXP_EMULATED) skip();
    (void)state;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 2048) {
        limit.rlim_cur = limit.rlim_max < 2048 ? limit.rlim_max : 2048;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    assert_int_equal(in_child(close_everything_and_go_on), 0);
}

/* ---- together ---------------------------------------------------------------------------------- */

static void *scopes_thread(void *arg)
{
    some_scopes(arg, MANY / 10);
    return NULL;
}

static void several_at_once_with_threads(void **state)
{
    (void)state;
    axp_profiler *p[3];
    pthread_t t[6];
    char name[16];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "s%d.axp", i);
        p[i] = fs_record(in_folder(name), (axp_options){0});
    }
    for (int i = 0; i < 6; i++)
        t[i] = ts_spawn(scopes_thread, p[i % 3]);
    for (int i = 0; i < 20; i++)
        axp_view_destroy(ts_snapshot(p[i % 3]));
    for (int i = 0; i < 6; i++)
        ts_join(t[i]);
    for (int i = 0; i < 3; i++)
        axp_profiler_destroy(p[i]);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "s%d.axp", i);
        expect_calls(in_folder(name), MANY / 5, 4 * (MANY / 5));
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) return be_run(argv[1]);
    began = time(NULL);
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup(f, clean)
        T(a_finished_file_has_everything_and_no_spool),
        T(an_existing_file_is_kept_unless_asked),
        T(links_folders_and_missing_places_are_refused),
        T(destroying_completes_the_file),
        T(a_reset_begins_the_file_anew),
        T(after_a_flush_all_so_far_is_in_the_file),
        T(a_file_alone_says_whose_its_rows_are),
        T(a_snapshot_has_what_is_in_the_file_already),
        T(snapshots_beside_the_drain_are_whole),
        T(a_file_of_many_names_is_sound),
        T(the_oldest_gives_way_to_file_limit),
        T(what_the_spool_cannot_hold_is_cut_and_counted),
        T(a_limit_on_files_does_not_harm_the_program),
        T(little_address_space_does_not_either),
        T(a_child_has_a_file_of_its_own_if_it_records),
        T(axprof_out_records_a_program_that_only_links),
        T(threads_that_begin_together_share_one_file),
        T(what_ends_without_a_word_is_found_in_the_spool),
        T(a_program_that_closes_all_descriptors_is_not_harmed),
        T(several_at_once_with_threads),
    };
    static char exe[4096];
    if (readlink("/proc/self/exe", exe, sizeof exe - 1) < 0) return 1;
    self = exe;
    if (!mkdtemp(folder)) return 1;
    int failed = TS_RUN(tests);
    clean(NULL);
    rmdir(folder);
    return failed;
}
