/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recording to a file while the system says no: each call that makes, maps,
 * grows, writes, shortens or renames trace and spool fails in turn.
 *
 * For each kind of call and each error a recording runs in a child of its own
 * with the nth such call failing, n = 1, 2, … until a run meets no failure;
 * then with every one from the nth on. Whatever fails: no signal, errno stays,
 * statistics are exact, every event is in the timeline or counted as cut, what
 * went wrong is a warning of the report, and the file can be opened and packed.
 *
 * The calls are wrapped by the linker (--wrap) and counted between `arm` and
 * `disarm`, on all threads. The number of failures injected is printed and must
 * not be lower than the one in EXPECTED. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "axprof/axprof_file.h"
#include "record/record_lane.h"
#include "record/record_profiler.h"
#include "stress_check.h"
#include "stress_left.h"

/* ---- what fails ---------------------------------------------------------------- */

enum call {
    OPEN,
    MMAP,
    MREMAP,
    MADVISE,
    PWRITE,
    FTRUNCATE,
    RENAME,
    THREAD,
    CLONE
};
enum mode { ONE, FROM_ON };
#define SHORT_WRITE (-1) /* no error: half of what was asked for */

struct turn {
    enum call call;
    const char *name;
    int error;
};
static const struct turn turns[] = {
    {OPEN, "open: EMFILE", EMFILE},
    {MMAP, "mmap: ENOMEM", ENOMEM},
    {MREMAP, "mremap: ENOMEM", ENOMEM},
    {MADVISE, "madvise: EFAULT", EFAULT}, /* no room */
    {MADVISE, "madvise: EINVAL", EINVAL}, /* an old kernel */
    {PWRITE, "pwrite: ENOSPC", ENOSPC},
    {PWRITE, "pwrite: EIO", EIO},
    {PWRITE, "pwrite: EINTR", EINTR},
    {PWRITE, "pwrite: half", SHORT_WRITE},
    {FTRUNCATE, "ftruncate: EIO", EIO},
    {RENAME, "rename: EACCES", EACCES},
    {RENAME, "rename: EINVAL", EINVAL}, /* an old file system */
    {THREAD, "pthread_create: EAGAIN", EAGAIN},
    {CLONE, "clone: EAGAIN", EAGAIN},
};

static struct {
    const struct turn *turn;
    uint64_t nth; /* 0: none */
    enum mode mode;
    bool is_armed;
    uint64_t n_calls;
    uint64_t *n_failed; /* in memory shared with the parent */
} torture;

static bool is_failing(enum call call)
{
    if (!__atomic_load_n(&torture.is_armed, __ATOMIC_RELAXED) ||
        !torture.turn || torture.turn->call != call)
        return false;
    uint64_t n = __atomic_add_fetch(&torture.n_calls, 1, __ATOMIC_RELAXED);
    if (!torture.nth || n < torture.nth) return false;
    if (torture.mode == ONE && n != torture.nth) return false;
    /* for ever would be a loop of the system's own making */
    if (torture.turn->error == EINTR && n > torture.nth + 10) return false;
    __atomic_add_fetch(torture.n_failed, 1, __ATOMIC_RELAXED);
    if (torture.turn->error != SHORT_WRITE) errno = torture.turn->error;
    return true;
}

int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int mode = flags & O_CREAT ? va_arg(list, int) : 0;
    va_end(list);
    return is_failing(OPEN) ? -1 : __real_openat(folder, path, flags, mode);
}

void *__real_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
    if (is_failing(MMAP)) return MAP_FAILED;
    return __real_mmap(at, len, prot, flags, fd, off);
}

void *__real_mremap(void *at, size_t len, size_t new_len, int flags, ...);
void *__wrap_mremap(void *at, size_t len, size_t new_len, int flags, ...);
void *__wrap_mremap(void *at, size_t len, size_t new_len, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(list, void *) : NULL;
    va_end(list);
    if (is_failing(MREMAP)) return MAP_FAILED;
    return __real_mremap(at, len, new_len, flags, to);
}

int __real_madvise(void *at, size_t len, int advice);
int __wrap_madvise(void *at, size_t len, int advice);
int __wrap_madvise(void *at, size_t len, int advice)
{
    return is_failing(MADVISE) ? -1 : __real_madvise(at, len, advice);
}

int __real___clone(int (*fn)(void *), void *stack, int flags, void *arg);
int __wrap___clone(int (*fn)(void *), void *stack, int flags, void *arg);
int __wrap___clone(int (*fn)(void *), void *stack, int flags, void *arg)
{
    return is_failing(CLONE) ? -1 : __real___clone(fn, stack, flags, arg);
}

ssize_t __real_pwrite(int fd, const void *bytes, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    if (!is_failing(PWRITE)) return __real_pwrite(fd, bytes, n, at);
    if (torture.turn->error != SHORT_WRITE) return -1;
    return __real_pwrite(fd, bytes, (n + 1) / 2, at);
}

int __real_ftruncate(int fd, off_t len);
int __wrap_ftruncate(int fd, off_t len);
int __wrap_ftruncate(int fd, off_t len)
{
    return is_failing(FTRUNCATE) ? -1 : __real_ftruncate(fd, len);
}

int __real_renameat2(int from_in, const char *from, int to_in, const char *to,
                     unsigned flags);
int __wrap_renameat2(int from_in, const char *from, int to_in, const char *to,
                     unsigned flags);
int __wrap_renameat2(int from_in, const char *from, int to_in, const char *to,
                     unsigned flags)
{
    if (is_failing(RENAME)) return -1;
    return __real_renameat2(from_in, from, to_in, to, flags);
}

int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr,
                          void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr,
                          void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr,
                          void *(*fn)(void *), void *arg)
{
    if (is_failing(THREAD)) return torture.turn->error;
    return __real_pthread_create(t, attr, fn, arg);
}

static void arm(bool is_armed)
{
    __atomic_store_n(&torture.is_armed, is_armed, __ATOMIC_SEQ_CST);
}

/* ---- what is recorded -------------------------------------------------------------- */

#define N_NAMES 40u
#define N_ROUNDS 6u
#define N_SCOPES 4000u /* of each name's round */

static char folder[] = "/tmp/axprof-tapes-XXXXXX";
static char path[64];
static axp_profiler *prof;
static uint64_t n_scopes, n_events, n_allocs;

static void record_round(unsigned round)
{
    char name[32];
    for (unsigned i = 0; i < N_NAMES; i++) {
        snprintf(name, sizeof name, "name %u", round * N_NAMES + i);
        AXP_SCOPE_IN(prof, name);
        axp_counter(prof, name, i);
        axp_record_alloc(prof, "tensor", 100);
        n_events += 4;
        n_allocs++;
    }
    n_scopes += N_NAMES;
    for (unsigned i = 0; i < N_SCOPES; i++) {
        AXP_SCOPE_IN(prof, "outer");
        AXP_SCOPE_IN(prof, "inner");
    }
    n_scopes += 2 * N_SCOPES;
    n_events += 4 * N_SCOPES;
}

static void *other_thread(void *arg)
{
    (void)arg;
    errno = EDOM;
    record_round(N_ROUNDS);
    CHECK(errno == EDOM);
    return NULL;
}

static void record(void)
{
    pthread_t t;
    for (unsigned i = 0; i < N_ROUNDS; i++) {
        errno = EDOM;
        record_round(i);
        CHECK(errno == EDOM);
        if (i % 2) axp_flush(prof);
    }
    bool was_armed = torture.is_armed;
    arm(false); /* the program's own thread */
    CHECK(!pthread_create(&t, NULL, other_thread, NULL));
    arm(was_armed);
    CHECK(!pthread_join(t, NULL));
}

/* ---- what must be true afterwards --------------------------------------------------- */

static int count_files(const char *suffix)
{
    DIR *d = opendir(folder);
    int n = 0;
    CHECK(d != NULL);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.' && strstr(e->d_name, suffix);
    closedir(d);
    return n;
}

/* Events that found no memory: with mmap failing there is none. */
static uint64_t n_lost;

/* Of a view of everything: the timeline and what is cut of it are all. */
static void check_view(const axp_view *v)
{
    uint64_t seen = 0, calls = stress_all_calls(v);
    uint64_t allocs = axp_view_memory(v).n_allocs;
    stress_check_view(v);
    n_lost = stress_view_warning(v, "no_memory") +
             stress_view_warning(v, "folded_paths");
    CHECK(!n_lost || torture.turn->call == MMAP);
    CHECK(calls <= n_scopes && n_scopes - calls <= n_lost);
    CHECK(allocs <= n_allocs && n_allocs - allocs <= n_lost);
    CHECK_EQ(axp_view_events(v, NULL, stress_count_event, &seen), AXP_OK);
    CHECK_EQ(seen, axp_view_event_count(v));
    uint64_t all = axp_view_event_count(v) + axp_view_cut_count(v);
    CHECK(all <= n_events && n_events - all <= 4 * n_lost);
}

static bool reports(const axp_view *v, const char *code)
{
    char *text = NULL;
    size_t size = 0;
    const char *what = NULL;
    axp_warning list[64];
    size_t n = axp_view_warnings(v, list, 64);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].code, code)) what = list[i].text;
    if (!what) return false;
    FILE *f = open_memstream(&text, &size);
    CHECK(f && axp_report_write(v, AXP_FORMAT_TEXT, f) == AXP_OK);
    fclose(f);
    /* lines are folded: its first words */
    char begin[24];
    snprintf(begin, sizeof begin, "! %.20s", what);
    bool is_there = strstr(text, begin) != NULL;
    free(text);
    return is_there;
}

/* The recorder's own count of what did not come into the timeline. */
static uint64_t cut_by_recorder(void)
{
    const struct axp__prof *p = axp__prof_of(prof);
    uint64_t n = p->n_merged_unlogged + p->pool.n_cut_events;
    for (const struct axp__lane *l = p->lanes; l; l = l->next)
        n += axp__lane_unlogged(l);
    return n;
}

/* Whether the file alone, without its spool, has its statistics: then all but
 * the index was written. */
static bool has_statistics(void)
{
    char copy[80], command[200];
    axp_view *v = NULL;
    const char *paths[] = {copy};
    snprintf(copy, sizeof copy, "%s.copy", path);
    snprintf(command, sizeof command, "cp '%s' '%s'", path, copy);
    CHECK(!system(command) && !axp_open(paths, 1, &v));
    bool is_whole = !stress_view_warning(v, "folded_again");
    axp_view_destroy(v);
    unlink(copy);
    return is_whole;
}

static void check_file(bool is_whole, uint64_t n_cut)
{
    axp_view *v = NULL;
    const char *paths[] = {path};
    if (axp_open(paths, 1, &v)) {
        dprintf(2, "%s\n", axp_last_error());
        _exit(1);
    }
    check_view(v);
    CHECK(is_whole || reports(v, "write_failed") || has_statistics());
    /* of a chunk that was overwritten a flush may have saved the beginning */
    CHECK(axp_view_cut_count(v) <= n_cut);
    axp_view_destroy(v);
    if (!is_whole) CHECK_EQ(axp_file_pack(path, NULL), AXP_OK);
    FILE *nowhere =
        fopen(getenv("TORTURE_SHOW") ? "/dev/stderr" : "/dev/null", "w");
    CHECK(nowhere != NULL);
    axp_status sound = axp_file_check(path, nowhere);
    fclose(nowhere);
    CHECK_EQ(sound, AXP_OK);
    CHECK_EQ(axp_open(paths, 1, &v), AXP_OK);
    check_view(v);
    axp_view_destroy(v);
}

static void check_recording(bool is_limited)
{
    axp_status status = axp_finish(prof);
    CHECK(status == AXP_OK || axp_last_error()[0]);
    arm(false);
    axp_view *v = axp_snapshot(prof);
    CHECK(v != NULL);
    check_view(v);
    CHECK(n_lost || axp_call_count(prof, "inner") == (N_ROUNDS + 1) * N_SCOPES);
    CHECK(status == AXP_OK || reports(v, "write_failed"));
    /* what gave way to a limit was in the file once */
    uint64_t n_cut = is_limited ? UINT64_MAX : cut_by_recorder();
    CHECK(axp_view_cut_count(v) <= n_cut); /* as in check_file */
    axp_view_destroy(v);
    check_file(status == AXP_OK, n_cut);
    axp_profiler_destroy(prof);
    CHECK_EQ(count_files(".spool"), 0);
    CHECK_EQ(count_files(".tmp"), 0);
    CHECK_EQ(count_files(""), 1);
}

static void from_the_beginning(void)
{
    arm(true);
    prof = axp_profiler_create(
        &(axp_options){.path = path, .spool_limit = (uint64_t)2 << 20});
    if (!prof) {
        CHECK(axp_last_error()[0]);
        CHECK_EQ(count_files(""), 0);
        return;
    }
    record();
    check_recording(false);
}

/* The file gives way to its limit: written anew, renamed. */
static void with_a_limit(void)
{
    prof = axp_profiler_create(
        &(axp_options){.path = path, .file_limit = (uint64_t)48 << 10});
    CHECK(prof != NULL);
    arm(true);
    record();
    check_recording(true);
}

/* The first event opens the file: in the child of a fork. */
static void by_the_first_event(void)
{
    arm(true);
    record();
    axp_status status = axp_finish(prof);
    arm(false);
    axp_view *v = axp_snapshot(prof);
    CHECK(v != NULL);
    check_view(v);
    if (!count_files(".axp"))
        CHECK(reports(v, "no_file"));
    else
        CHECK(status == AXP_OK || reports(v, "write_failed"));
    axp_view_destroy(v);
    _exit(0); /* not prof's destructor: its parent's */
}

static void in_a_child(void)
{
    prof = axp_profiler_create(&(axp_options){.path = path});
    CHECK(prof != NULL);
    int status = stress_in_child(by_the_first_event, 30);
    CHECK_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : 255, 0);
    axp_profiler_destroy(prof);
}

/* ---- the turns ---------------------------------------------------------------------- */

static int n_bad;

/* Files of the run, and spools in memory that it left because it should. */
static void clean(void)
{
    DIR *d = opendir(folder);
    char name[400];
    const char *paths[] = {name};
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        axp_view *v = NULL;
        if (!axp_open(paths, 1, &v)) (void)axp_file_pack(name, NULL);
        axp_view_destroy(v);
        unlink(name);
    }
    if (d) closedir(d);
}

/* False: the run met no failure. */
static bool one_turn(void (*scenario)(void), uint64_t nth, enum mode mode)
{
    *torture.n_failed = 0;
    torture.nth = nth;
    torture.mode = mode;
    int status = stress_in_child(scenario, 60);
    clean();
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        printf("FAILED  %s, %s %" PRIu64 ": %s %d\n", torture.turn->name,
               mode == ONE ? "only" : "from", nth,
               WIFEXITED(status) ? "exit status" : "signal",
               WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        fflush(stdout);
        n_bad++;
    }
    return *torture.n_failed > 0;
}

/* The first n_first and every stride-th after them; under the race detector,
 * where a turn takes a second, fewer. */
#define MOST_FIRST (STRESS_TSAN ? 2 : UINT64_MAX)
#define WIDER (STRESS_TSAN ? 2 : 1)

static uint64_t all_turns(void (*scenario)(void), uint64_t n_first,
                          uint64_t stride)
{
    if (n_first > MOST_FIRST) n_first = MOST_FIRST;
    uint64_t n_all = 0;
    for (enum mode mode = ONE; mode <= FROM_ON; mode++) {
        uint64_t n = 0, nth = 1;
        while (n_bad < 50 && one_turn(scenario, nth, mode)) {
            n++;
            nth += n < n_first ? 1 : stride * WIDER;
        }
        n_all += n;
    }
    return n_all;
}

/* The number beside this stride in EXPECTED. */
static uint64_t expected_number(const char *file, uint64_t stride)
{
    unsigned long long at, n, found = 0;
    char line[128];
    FILE *f = fopen(file, "r");
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "tape %llu %llu", &at, &n) == 2 && at == stride)
            found = n;
    fclose(f);
    CHECK(found > 0);
    return found;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {{"from the beginning", from_the_beginning},
                     {"with a limit", with_a_limit},
                     {"in a child", in_a_child}};
    uint64_t n_all = 0;
    CHECK(argc == 4);
    uint64_t n_first = (uint64_t)atoi(argv[2]);
    uint64_t stride = (uint64_t)atoi(argv[3]);
    CHECK(n_first > 0 && stride > 0 && mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run.axp", folder);
    torture.n_failed = __real_mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(torture.n_failed != MAP_FAILED);
    size_t n_scenarios = sizeof scenarios / sizeof *scenarios;
    if (STRESS_TSAN) n_scenarios--; /* it has no threads in such a child */
    for (size_t s = 0; s < n_scenarios; s++)
        for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
            torture.turn = &turns[i];
            uint64_t n = all_turns(scenarios[s].run, n_first, stride);
            printf("%-20s %-24s %4" PRIu64 "\n", scenarios[s].name,
                   turns[i].name, n);
            fflush(stdout);
            n_all += n;
        }
    printf("%" PRIu64 " failures injected, %d bad\n", n_all, n_bad);
    CHECK(!rmdir(folder));
    stress_left_remove(folder); /* spools of files that could not be made */
    if (n_all < expected_number(argv[1], stride) / (STRESS_TSAN ? 6 : 1)) {
        printf("FAILED  fewer than tests/torture/EXPECTED says\n");
        return 1;
    }
    return n_bad ? 1 : 0;
}
