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
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "axprof/axprof_file.h"
#include "stress_check.h"

#ifdef AXP_EMULATED /* what was built cannot be executed by itself */
#define EMULATED 1
#else
#define EMULATED 0
#endif

static char folder[] = "/tmp/axprof-first-XXXXXX";
static char path[64];
static const char *self;
static unsigned n_rounds = 25;

/* ---- the allocator, watched ---------------------------------------------------------- */

static volatile sig_atomic_t n_broken;
static __thread volatile int is_guarded; /* this thread may not */
static __thread volatile int depth; /* of this thread in malloc */

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

static unsigned cancel_at, n_calls;
static pthread_t victim;

/* Every call of the first event that may be a cancellation point, or after
 * which one may come; by the linker. */
static void about_to_call(void)
{
    if (!victim || !pthread_equal(victim, pthread_self())) return;
    if (++n_calls == cancel_at) pthread_cancel(victim);
}

#define WRAP(type, name, parameters, arguments)                                \
    type __real_##name parameters;                                             \
    type __wrap_##name parameters;                                             \
    type __wrap_##name parameters                                              \
    {                                                                          \
        about_to_call();                                                       \
        return __real_##name arguments;                                        \
    }
WRAP(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
WRAP(int, close, (int fd), (fd))
WRAP(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t at),
     (fd, b, n, at))
WRAP(int, madvise, (void *m, size_t n, int how), (m, n, how))
WRAP(int, munmap, (void *m, size_t n), (m, n))
WRAP(int, ftruncate, (int fd, off_t n), (fd, n))
WRAP(int, clone, (int (*fn)(void *), void *stack, int flags, void *arg),
     (fn, stack, flags, arg))
WRAP(void *, mmap, (void *m, size_t n, int prot, int flags, int fd, off_t at),
     (m, n, prot, flags, fd, at))

int __real_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int mode = flags & O_CREAT ? va_arg(list, int) : 0;
    va_end(list);
    about_to_call();
    return __real_open(name, flags, mode);
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

static void *record_second(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        AXP_SCOPE("second");
    }
    return NULL;
}

/* 3: there are fewer calls than that. */
static int be_cancelled(const char *nth)
{
    pthread_t first, second;
    int is_over = 0;
    void *result = NULL;
    alarm(60);
    cancel_at = (unsigned)atoi(nth);
    CHECK(!pthread_create(&first, NULL, record_first, &is_over));
    CHECK(!pthread_create(&second, NULL, record_second, NULL));
    CHECK(!pthread_join(first, &result) && !pthread_join(second, NULL));
    CHECK(is_over); /* not in the middle of an event */
    if (n_calls < cancel_at) return 3;
    CHECK(result == PTHREAD_CANCELED);
    return 0;
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

static void cancelled_at_each_call(void)
{
    int n = 0;
    for (int nth = 1, status = 0; status != 3; nth++, n++) {
        char text[16];
        snprintf(text, sizeof text, "%d", nth);
        status = run_self("cancelled", text, false);
        CHECK(status == 0 || status == 3);
        expect_calls(6);
    }
    printf("        cancelled at %d calls\n", n - 1);
    CHECK(n > 20);
}

int main(int argc, char **argv)
{
    static char exe[4096];
    int failed = 0;
    if (argc > 1 && !strcmp(argv[1], "handler")) return be_in_handler();
    if (argc > 1 && !strcmp(argv[1], "guarded")) return be_guarded();
    if (argc > 2 && !strcmp(argv[1], "cancelled")) return be_cancelled(argv[2]);
    if (argc > 1) n_rounds = (unsigned)atoi(argv[1]);
    if (STRESS_TSAN || STRESS_ASAN || EMULATED) {
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
