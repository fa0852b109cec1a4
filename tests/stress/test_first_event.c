/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The first event of a process that records to a file opens the file. It may
 * come anywhere: in a handler that interrupted malloc, in a thread that is
 * being cancelled. Nothing is allocated, nobody dies half-way, nobody waits
 * for ever, and there is a whole file afterwards.
 *
 * Each case is this program run anew with AXPROF_OUT set, by itself or as under
 * axprof run (AXPROF_DRAIN=parent). The first argument is how many rounds. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>

#include "axprof/axprof_file.h"
#include "stress_check.h"

static char folder[] = "/tmp/axprof-first-XXXXXX";
static char path[64];
static const char *self;
static unsigned n_rounds = 25;

/* ---- the allocator, watched ---------------------------------------------------------- */

static volatile sig_atomic_t n_broken;
static __thread volatile int is_guarded; /* this thread may not */
static __thread volatile int depth;      /* of this thread in malloc */

#if !STRESS_ASAN && !STRESS_TSAN
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void __libc_free(void *memory);

static void enter(void)
{
    if (is_guarded) n_broken++;
    if (depth++) n_broken++;
}

static void leave(void)
{
    depth--;
}

void *malloc(size_t size)
{
    enter();
    void *m = __libc_malloc(size);
    leave();
    return m;
}

void *calloc(size_t n, size_t size)
{
    enter();
    void *m = __libc_calloc(n, size);
    leave();
    return m;
}

void free(void *memory)
{
    enter();
    __libc_free(memory);
    leave();
}
#endif

/* ---- in a handler ------------------------------------------------------------------ */

static volatile sig_atomic_t is_recorded, was_inside;

static void on_timer(int sig)
{
    (void)sig;
    int keep = errno;
    if (!depth || is_recorded) return; /* not in the middle of it */
    was_inside = 1;
    is_recorded = 1;
    for (int i = 0; i < 3; i++) {
        AXP_SCOPE("in handler");
    }
    if (errno != keep) n_broken++;
}

static void *allocate(void *arg)
{
    void *memory[64] = {0};
    (void)arg;
    for (unsigned i = 0; !is_recorded; i++) {
        void **at = &memory[i * 7 % 64];
        free(*at);
        *at = malloc(i * 37 % 5000 + 1);
    }
    for (int i = 0; i < 64; i++)
        free(memory[i]);
    return NULL;
}

/* Two more threads in malloc: whoever waits for a lock of it hangs. */
static int be_in_handler(void)
{
    struct sigaction a = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    pthread_t t[2];
    sigset_t set;
    alarm(60);
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* the handler is this thread's */
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_create(&t[i], NULL, allocate, NULL));
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    CHECK(!sigaction(SIGPROF, &a, NULL) &&
          !setitimer(ITIMER_PROF, &often, NULL));
    allocate(NULL);
    CHECK(!setitimer(ITIMER_PROF, &never, NULL));
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_join(t[i], NULL));
    CHECK(was_inside && !n_broken);
    return 0;
}

/* ---- without an allocator -------------------------------------------------------------- */

static int be_guarded(void)
{
    is_guarded = 1;
    for (int i = 0; i < 3; i++) {
        AXP_SCOPE("guarded");
    }
    is_guarded = 0;
    CHECK(!n_broken);
    return 0;
}

/* ---- cancelled at each system call -------------------------------------------------------- */

/* Every call of the first event that asks the kernel for something, and so may
 * be a cancellation point or come before one; by the linker. Those with a 1
 * are part of each opening, whatever the kernel. */
#define CALLS(X)                                                               \
    X(openat, 1)                                                               \
    X(close, 1)                                                                \
    X(read, 0)                                                                 \
    X(pread, 0)                                                                \
    X(pwrite, 1)                                                               \
    X(fstat, 1)                                                                \
    X(lstat, 0)                                                                \
    X(statfs, 1)                                                               \
    X(flock, 1)                                                                \
    X(ftruncate, 1)                                                            \
    X(rename, 0)                                                               \
    X(renameat2, 1)                                                            \
    X(unlink, 0)                                                               \
    X(readlink, 0)                                                             \
    X(mmap, 1)                                                                 \
    X(munmap, 1)                                                               \
    X(mremap, 1)                                                               \
    X(madvise, 1)                                                              \
    X(__clone, 1)                                                              \
    X(unshare, 0)                                                              \
    X(getrandom, 1)                                                            \
    X(getrlimit, 1)                                                            \
    X(nanosleep, 0)                                                            \
    X(syscall, 1)

#define CALL_NUMBER(name, is_sure) CALL_##name,
enum call { CALLS(CALL_NUMBER) N_KINDS };

static unsigned cancel_at, n_calls, n_of[N_KINDS];
static pthread_t victim;

static void about_to_call(enum call call)
{
    if (!victim || !pthread_equal(victim, pthread_self())) return;
    __atomic_add_fetch(&n_of[call], 1, __ATOMIC_SEQ_CST);
    if (++n_calls == cancel_at) pthread_cancel(victim);
}

#define WRAP(type, name, parameters, arguments)                                \
    type __real_##name parameters;                                             \
    type __wrap_##name parameters;                                             \
    type __wrap_##name parameters                                              \
    {                                                                          \
        about_to_call(CALL_##name);                                            \
        return __real_##name arguments;                                        \
    }
WRAP(int, close, (int fd), (fd))
WRAP(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
WRAP(ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
WRAP(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t at),
     (fd, b, n, at))
WRAP(int, fstat, (int fd, struct stat *st), (fd, st))
WRAP(int, lstat, (const char *name, struct stat *st), (name, st))
WRAP(int, statfs, (const char *name, struct statfs *fs), (name, fs))
WRAP(int, flock, (int fd, int how), (fd, how))
WRAP(int, ftruncate, (int fd, off_t n), (fd, n))
WRAP(int, rename, (const char *from, const char *to), (from, to))
WRAP(int, renameat2,
     (int in, const char *from, int in_to, const char *to, unsigned how),
     (in, from, in_to, to, how))
WRAP(int, unlink, (const char *name), (name))
WRAP(ssize_t, readlink, (const char *name, char *to, size_t n), (name, to, n))
WRAP(void *, mmap, (void *m, size_t n, int prot, int flags, int fd, off_t at),
     (m, n, prot, flags, fd, at))
WRAP(int, munmap, (void *m, size_t n), (m, n))
WRAP(int, madvise, (void *m, size_t n, int how), (m, n, how))
WRAP(int, __clone, (int (*fn)(void *), void *stack, int flags, void *arg),
     (fn, stack, flags, arg))
WRAP(int, unshare, (int what), (what))
WRAP(ssize_t, getrandom, (void *to, size_t n, unsigned how), (to, n, how))
WRAP(int, getrlimit, (int what, struct rlimit *limit), (what, limit))
WRAP(int, nanosleep, (const struct timespec *time, struct timespec *left),
     (time, left))

int __real_openat(int in, const char *name, int flags, ...);
int __wrap_openat(int in, const char *name, int flags, ...);
int __wrap_openat(int in, const char *name, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int mode = flags & O_CREAT ? va_arg(list, int) : 0;
    va_end(list);
    about_to_call(CALL_openat);
    return __real_openat(in, name, flags, mode);
}

void *__real_mremap(void *m, size_t before, size_t n, int flags, ...);
void *__wrap_mremap(void *m, size_t before, size_t n, int flags, ...);
void *__wrap_mremap(void *m, size_t before, size_t n, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(list, void *) : NULL;
    va_end(list);
    about_to_call(CALL_mremap);
    return __real_mremap(m, before, n, flags, to);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    about_to_call(CALL_syscall);
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void *record_first(void *arg)
{
    __atomic_store_n(&victim, pthread_self(), __ATOMIC_SEQ_CST);
    for (int i = 0; i < 3; i++) {
        AXP_SCOPE("first");
    }
    victim = 0;
    *(int *)arg = 1;
    pthread_testcancel();
    return NULL;
}

/* While the first opens the file, which begins with an id for it. */
static void *record_second(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&n_of[CALL_getrandom], __ATOMIC_SEQ_CST))
        sched_yield();
    for (int i = 0; i < 3; i++) {
        AXP_SCOPE("second");
    }
    return NULL;
}

#define FEWER 253 /* calls than that, this time: others took part */

/* At a call by its number. 0: at none, and the exit status is how many there
 * are. */
static int be_cancelled(const char *nth)
{
#define CALL_IS_SURE(name, is_sure) [CALL_##name] = {#name, is_sure},
    static const struct {
        const char *name;
        bool is_sure;
    } calls[] = {CALLS(CALL_IS_SURE)};
    pthread_t first, second;
    int is_over = 0;
    void *result = NULL;
    alarm(60);
    cancel_at = (unsigned)atoi(nth);
    CHECK(!pthread_create(&first, NULL, record_first, &is_over));
    CHECK(!pthread_create(&second, NULL, record_second, NULL));
    CHECK(!pthread_join(first, &result) && !pthread_join(second, NULL));
    CHECK(is_over); /* not in the middle of an event */
    if (n_calls < cancel_at) return FEWER;
    CHECK(result == (cancel_at ? PTHREAD_CANCELED : NULL));
    for (int i = 0; i < N_KINDS; i++)
        if (calls[i].is_sure && !n_of[i]) {
            dprintf(2, "%s is not called\n", calls[i].name);
            return 254;
        }
    CHECK(n_calls < 200);
    return cancel_at ? 0 : (int)n_calls;
}

/* ---- the cases ------------------------------------------------------------------------------ */

static int run_self(const char *what, const char *argument, bool is_outside)
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        setenv("AXPROF_OUT", path, 1);
        if (is_outside) setenv("AXPROF_DRAIN", "parent", 1);
        execl(self, self, what, argument, (char *)NULL);
        _exit(127);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    if (WIFSIGNALED(status)) dprintf(2, "%s\n", strsignal(WTERMSIG(status)));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* The recording is there, with so many calls; and away with it. */
static void expect_calls(uint64_t calls)
{
    axp_view *v = NULL;
    const char *paths[] = {path};
    CHECK_EQ(axp_file_pack(path, NULL), AXP_OK);
    axp_status status = axp_open(paths, 1, &v);
    if (status) dprintf(2, "%s\n", axp_last_error());
    CHECK_EQ(status, AXP_OK);
    CHECK_EQ(stress_all_calls(v), calls);
    axp_view_destroy(v);
    CHECK(!unlink(path));
}

static void in_a_handler(void)
{
    for (unsigned i = 0; i < 2 * n_rounds; i++) {
        CHECK_EQ(run_self("handler", NULL, i % 2), 0);
        expect_calls(3);
    }
}

static void without_an_allocator(void)
{
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(run_self("guarded", NULL, i), 0);
        expect_calls(3);
    }
}

/* A few calls more or less are made as the drain and the other thread come in
 * between: the least of some runs, and again where there were fewer. */
static void cancelled_at_each_call(void)
{
    int least = 200, status, tries;
    for (int i = 0; i < 5; i++) {
        int n = run_self("cancelled", "0", false);
        CHECK(n >= N_KINDS / 2 && n < 200);
        expect_calls(6);
        if (n < least) least = n;
    }
    for (int nth = 1; nth <= least; nth++) {
        char text[16];
        snprintf(text, sizeof text, "%d", nth);
        status = FEWER;
        for (tries = 0; status == FEWER && tries < 100; tries++) {
            status = run_self("cancelled", text, false);
            expect_calls(6);
        }
        CHECK_EQ(status, 0);
    }
    dprintf(1, "        cancelled at each of %d calls\n", least);
}

int main(int argc, char **argv)
{
    static char exe[4096];
    int failed = 0;
    if (argc > 1 && !strcmp(argv[1], "handler")) return be_in_handler();
    if (argc > 1 && !strcmp(argv[1], "guarded")) return be_guarded();
    if (argc > 2 && !strcmp(argv[1], "cancelled")) return be_cancelled(argv[2]);
    if (argc > 1) n_rounds = (unsigned)atoi(argv[1]);
    if (STRESS_TSAN || STRESS_ASAN || STRESS_EMULATED) {
        printf("skipped: not with an allocator of its own\n");
        return 77;
    }
    CHECK(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    self = exe;
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run.axp", folder);
    failed += STRESS_RUN(in_a_handler, 900);
    failed += STRESS_RUN(without_an_allocator, 60);
    failed += STRESS_RUN(cancelled_at_each_call, 300);
    CHECK(failed || !rmdir(folder));
    return failed;
}
