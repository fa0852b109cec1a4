/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where a recording's files come to be: the path as it was at the beginning,
 * no name that is somebody else's, no file that cannot be read, little that
 * children leave, and nothing that profilers which come and go leave. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "outside/outside_recover.h"
#include "test_support.h"

static char folder[] = "/tmp/axprof-names-XXXXXX";
static const char *self;

static const char *in_folder(const char *name)
{
    static char path[4][512];
    static int turn;
    char *to = path[turn++ & 3];
    snprintf(to, sizeof path[0], "%s/%s", folder, name);
    return to;
}

static int clean(void **state)
{
    (void)state;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        const char *path = in_folder(e->d_name);
        int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        if (fd >= 0) axp__spool_unlink_for(fd, path);
        if (fd >= 0) close(fd);
        if (unlink(path)) rmdir(path);
    }
    if (d) closedir(d);
    return 0;
}

static int count_files(void)
{
    DIR *d = opendir(folder);
    int n = -2;
    for (; d && readdir(d); n++)
        ;
    if (d) closedir(d);
    return n;
}

static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void expect_file(const char *path, const char *text)
{
    char found[64] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(found, sizeof found, f));
    fclose(f);
    assert_string_equal(found, text);
}

static void expect_calls(const char *path, uint64_t calls)
{
    axp_view *v = NULL;
    if (axp_open(&path, 1, &v)) fail_msg("%s", axp_last_error());
    assert_int_equal(ts_view_op(v, "scope").calls, calls);
    axp_view_destroy(v);
}

static void some_scopes(axp_profiler *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        AXP_SCOPE_IN(p, "scope");
    }
}

/* ---- paths ---------------------------------------------------------------------- */

static void a_path_is_what_it_was_at_the_beginning(void **state)
{
    (void)state;
    char home[4096];
    assert_non_null(getcwd(home, sizeof home));
    assert_int_equal(mkdir(in_folder("100%p"), 0700), 0);
    const char *other = in_folder("other");
    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(chdir(in_folder("100%p")), 0); /* no pattern of ours */
    axp_profiler *p = axp_profiler_create(
        &(axp_options){.path = "run.axp", .file_limit = 20000});
    assert_non_null(p);
    some_scopes(p, 10);
    assert_int_equal(chdir(other), 0);
    put_file("run.axp", "a stranger's");
    axp_reset(p);
    some_scopes(p, 20000);
    assert_int_equal(axp_flush(p), AXP_OK); /* past the limit */
    some_scopes(p, 20000);
    axp_profiler_destroy(p);
    expect_file("run.axp", "a stranger's");
    unlink("run.axp");
    assert_int_equal(chdir(home), 0);
    expect_calls(in_folder("100%p/run.axp"), 40000);
    unlink(in_folder("100%p/run.axp"));
}

/* What a reset or a limit makes for a moment has a name of its own, and what
 * has come to have ours is left alone. */
static void nothing_of_others_is_replaced_or_removed(void **state)
{
    (void)state;
    const char *path = in_folder("a.axp"), *tmp = in_folder("a.axp.tmp");
    put_file(tmp, "mine");
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.path = path, .file_limit = 20000});
    assert_non_null(p);
    some_scopes(p, 20000);
    axp_flush(p);
    axp_reset(p);
    some_scopes(p, 20000);
    axp_flush(p);
    expect_file(tmp, "mine");
    assert_int_equal(rename(path, in_folder("elsewhere.axp")), 0);
    put_file(path, "another's");
    some_scopes(p, 20000);
    axp_flush(p);
    axp_reset(p);
    some_scopes(p, 5);
    axp_profiler_destroy(p);
    expect_file(path, "another's");
    expect_file(tmp, "mine");
}

/* ---- what is no file --------------------------------------------------------------- */

static pid_t last_child;

static int run_self(const char *out, const char *what, const char *errors)
{
    int status;
    pid_t pid = last_child = fork();
    assert_true(pid >= 0);
    if (!pid) {
        int fd = open(errors, O_RDWR | O_CREAT | O_TRUNC, 0600);
        dup2(fd, STDERR_FILENO);
        setenv("AXPROF_OUT", out, 1);
        execl(self, self, what, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void what_is_no_file_is_refused_with_one_line(void **state)
{
    if (AXP_EMULATED) skip();
    (void)state;
    static const char *const names[] = {"/dev/null", "/dev/full",
                                        "/no/such/folder/x.axp"};
    const char *errors = "/tmp/axprof-names-errors";
    char found[512], left[64];
    const char *fifo = in_folder("fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    for (int i = 0; i < 5; i++) {
        const char *name = i < 3 ? names[i] : i == 3 ? fifo : folder;
        assert_int_equal(run_self(name, "some", errors), 0);
        FILE *f = fopen(errors, "r");
        assert_non_null(fgets(found, sizeof found, f));
        assert_non_null(strstr(found, "axprof: AXPROF_OUT: "));
        assert_non_null(strstr(found, name));
        assert_null(fgets(found, sizeof found, f));
        fclose(f);
        snprintf(left, sizeof left, "%.20s-%ld", name, (long)last_child);
        assert_int_not_equal(access(left, F_OK), 0);
    }
    assert_int_equal(count_files(), 1);
    /* and none where nothing is recorded, or where it goes well */
    assert_int_equal(run_self("/dev/null", "nothing", errors), 0);
    assert_int_equal(run_self(in_folder("x.axp"), "some", errors), 0);
    struct stat st;
    assert_int_equal(stat(errors, &st), 0);
    assert_int_equal(st.st_size, 0);
    unlink(errors);
}

static const char *line_of(const char *path)
{
    static char line[512];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    if (!fgets(line, sizeof line, f)) line[0] = 0;
    assert_null(fgets(line + 256, 256, f)); /* one at most */
    fclose(f);
    return line;
}

/* Said by who was started with it; a child in the same run has another name as
 * a matter of course, made by fork or by exec. */
static void a_name_that_is_taken_is_said_with_the_other(void **state)
{
    if (AXP_EMULATED || TS_TSAN) skip();
    (void)state;
    char errors[512], out[512];
    snprintf(errors, sizeof errors, "%s/errors", folder);
    snprintf(out, sizeof out, "%s/run.axp", folder);
    static const char *const ways[] = {"forks", "execs"};
    char expected[2048];
    assert_int_equal(run_self(out, "some", errors), 0);
    assert_string_equal(line_of(errors), "");
    assert_int_equal(run_self(out, "some", errors), 0);
    snprintf(expected, sizeof expected,
             "axprof: AXPROF_OUT: %s is there already; recorded to "
             "%s/run-%ld.axp\n",
             out, folder, (long)last_child);
    assert_string_equal(line_of(errors), expected);
    for (int i = 0; i < 2; i++) {
        clean(NULL);
        assert_int_equal(run_self(out, ways[i], errors), 0);
        assert_string_equal(line_of(errors), "");
        assert_int_equal(count_files(), 3); /* of both, and errors */
    }
}

/* ---- ends that come early ------------------------------------------------------------ */

/* Killed at any moment of the first event: no file, or one that can be read. */
static void a_program_killed_while_it_opens_leaves_what_can_be_read(
    void **state)
{
    if (AXP_EMULATED) skip();
    (void)state;
    int n_files = 0;
    for (int i = 0; i < 40; i++) {
        int go[2];
        assert_int_equal(pipe(go), 0);
        const char *out = in_folder("k.axp");
        pid_t pid = fork();
        if (!pid) {
            dup2(go[1], 1);
            setenv("AXPROF_OUT", out, 1);
            execl(self, self, "tell", (char *)NULL);
            _exit(127);
        }
        char byte;
        close(go[1]);
        assert_int_equal(read(go[0], &byte, 1), 1); /* it begins now */
        close(go[0]);
        for (volatile int k = 0; k < i * 3000; k++)
            ;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        struct stat st;
        if (!stat(out, &st)) {
            axp_view *v = NULL;
            n_files++;
            assert_true(st.st_size > 0);
            assert_int_equal(axp_open(&out, 1, &v), AXP_OK);
            axp_view_destroy(v);
        }
        clean(NULL);
    }
    (void)n_files;
}

static uint64_t allocated(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* Sanitizers and valgrind have one of their own, which mallinfo does not count;
 * and as a process ends valgrind reads all memory, for leaks. */
static bool malloc_is_glibc(void)
{
    uint64_t before = allocated();
    void *volatile p = malloc(1 << 20);
    bool is = allocated() > before;
    free(p);
    return is;
}

static int add_bytes(const axp_spool_info *s, void *ctx)
{
    if (strstr(s->recording, folder)) *(uint64_t *)ctx += s->bytes;
    return 0;
}

/* What a child that records a little and calls _exit leaves is found, and is
 * little: 1.4 MB it was. */
static void a_child_that_just_ends_leaves_little(void **state)
{
    if (AXP_EMULATED || TS_TSAN) skip();
    (void)state;
    uint64_t bytes = 0;
    int n = 8;
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.path = in_folder("run.axp")});
    assert_non_null(p);
    some_scopes(p, 1);
    uint64_t before = 0;
    axp_spools_list(add_bytes, &before);
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (!pid) {
            if (i % 2) some_scopes(p, 10);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        char name[64];
        snprintf(name, sizeof name, "run-%ld.axp", (long)pid);
        if (i % 2)
            expect_calls(in_folder(name), 10);
        else
            assert_int_not_equal(access(in_folder(name), F_OK), 0);
    }
    axp_spools_list(add_bytes, &bytes);
    printf("        %llu KiB a child\n",
           (unsigned long long)(bytes - before) * 2 / (unsigned)n / 1024);
    if (malloc_is_glibc()) /* a hole of a spool that was read has pages */
        assert_true(bytes - before < (uint64_t)n / 2 * (400 << 10));
    axp_profiler_destroy(p);
}

/* ---- coming and going --------------------------------------------------------------------- */

static void count_maps(unsigned *n, unsigned long *kib)
{
    char line[512];
    FILE *f = fopen("/proc/self/maps", "r");
    for (*n = 0; fgets(line, sizeof line, f); ++*n)
        ;
    fclose(f);
    f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "VmSize: %lu", kib) == 1) break;
    fclose(f);
}

static void rounds_with_a_file_leave_no_memory(void **state)
{
    (void)state;
    if (TS_SLOW || AXP_EMULATED) skip();
    unsigned n_before, n_after,
        rounds =
            getenv("AXP_ROUNDS") ? (unsigned)atoi(getenv("AXP_ROUNDS")) : 200;
    unsigned long before = 0, after = 0;
    for (unsigned i = 0; i < rounds + 20; i++) {
        if (i == 20) count_maps(&n_before, &before);
        axp_profiler *p = axp_profiler_create(
            &(axp_options){.path = in_folder("r.axp"), .flags = AXP_OVERWRITE});
        assert_non_null(p);
        some_scopes(p, 10);
        if (i % 4 == 0) axp_reset(p);
        if (i % 5 == 0) axp_view_destroy(ts_snapshot(p));
        axp_profiler_destroy(p);
    }
    count_maps(&n_after, &after);
    printf("        %u rounds: %u to %u maps, %lu to %lu KiB\n", rounds,
           n_before, n_after, before, after);
    assert_true(n_after <= n_before + 8);
    assert_true(after <= before + 8192);
}

/* A child that records and forks, and so on: what the last one has allocated,
 * compared with the first. 0: no more. */
static int beget(axp_profiler *p, uint64_t before, int n)
{
    int status;
    pid_t pid = fork();
    if (pid) return waitpid(pid, &status, 0) == pid ? status : -1;
    some_scopes(p, 10);
    if (axp_flush(p)) _exit(2); /* from here on the drain sleeps */
    uint64_t now = allocated();
    if (n) _exit(beget(p, before ? before : now, n - 1) ? 1 : 0);
    printf("        %llu to %llu KiB\n", (unsigned long long)before / 1024,
           (unsigned long long)now / 1024);
    exit(now <= before + (1 << 20) ? 0 : 1);
}

/* Each has what packing needs once: 6.7 MB more in each it was. */
static void generations_of_children_leave_no_memory(void **state)
{
    (void)state;
    if (AXP_EMULATED || !malloc_is_glibc()) skip();
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.path = in_folder("g.axp")});
    assert_non_null(p);
    some_scopes(p, 10);
    assert_int_equal(axp_flush(p), AXP_OK);
    fflush(NULL);
    assert_int_equal(beget(p, 0, 5), 0);
    axp_profiler_destroy(p);
}

static bool is_child; /* of a fork */

/* Asked by the address sanitizer as a process ends. In the child of a fork it
 * still has the parent's threads in its list, and writes a line to stderr about
 * each that it could not stop; what our own lines are is compared. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return is_child;
}

static int be_run(const char *what)
{
    if (!strcmp(what, "nothing")) return 0;
    if (!strcmp(what, "tell") && write(1, "x", 1) != 1) return 2;
    for (int i = 0; i < 100; i++) {
        AXP_SCOPE("scope");
    }
    if (!strcmp(what, "tell")) pause();
    bool is_by_fork = !strcmp(what, "forks");
    if (!is_by_fork && strcmp(what, "execs") != 0) return 0;
    pid_t pid = fork();
    is_child = !pid;
    if (!pid && !is_by_fork) execl("/proc/self/exe", "x", "some", (char *)NULL);
    if (!pid) {
        AXP_SCOPE("scope");
    }
    if (!pid) exit(0);
    int status = 1;
    return waitpid(pid, &status, 0) == pid ? status : 1;
}

int main(int argc, char **argv)
{
    if (argc > 1) return be_run(argv[1]);
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup(f, clean)
        T(a_path_is_what_it_was_at_the_beginning),
        T(nothing_of_others_is_replaced_or_removed),
        T(what_is_no_file_is_refused_with_one_line),
        T(a_name_that_is_taken_is_said_with_the_other),
        T(a_program_killed_while_it_opens_leaves_what_can_be_read),
        T(a_child_that_just_ends_leaves_little),
        T(rounds_with_a_file_leave_no_memory),
        T(generations_of_children_leave_no_memory),
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
