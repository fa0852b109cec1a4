/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs that do what a profiler inside of them could disturb, and print what
 * came of it: the same with it and without.
 *
 *   same_program handlers         five ways to set a handler, for the signal
 *                                 that a timer of ours might use
 *   same_program pending          all signals blocked, and which have come
 *   same_program directed         a signal of somebody's that is pending, seen
 *                                 and then taken by another thread
 *   same_program vfork            children that become another program
 *   same_program cancelled        who is cancelled starts another program
 *   same_program pointers         another program, by pointers that are none
 *   same_program fork             children of a program whose locks are held
 *                                 over fork, while threads want them
 *   same_program timers           threads that a POSIX timer starts
 *   same_program killed           children that are killed at work
 *   same_program namespace        children in a new namespace of processes
 *   same_program filter           one thread that may call little but memory
 *                                 and its streams, and is killed for the rest
 *   same_program sandbox HOW      a process that forbids itself what the C library
 *                                 does not need for memory, threads and forks
 *                                 before it has done any of these; HOW: by prctl,
 *                                 by syscall; "-exit" after it: ends at once;
 *                                 "-part": who waits is woken late;
 *                                 "-thread": one sets it, and ends;
 *                                 "-clone": a child that fork did not make;
 *                                 "-start": other programs, which may do more;
 *                                 "-vfork": a child that becomes a program;
 *                                 "-all": for all threads, while they make some
 *   same_program runtimes A B     OpenMP libraries, of several compilers,
 *                                 loaded, used and closed again and again
 *   same_program_linked linked    such a library that came with the program
 */
#define _GNU_SOURCE
#define _XOPEN_SOURCE 700
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t n_signals;

static void count_signal(int number)
{
    (void)number;
    n_signals++;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void work(double seconds)
{
    for (double end = now_s() + seconds; now_s() < end;)
        continue;
}

/* ---- handlers ----------------------------------------------------------- */

static const char *name_of(void (*handler)(int))
{
    return handler == SIG_DFL        ? "default"
           : handler == SIG_IGN      ? "ignored"
           : handler == SIG_ERR      ? "error"
           : handler == count_signal ? "ours"
                                     : "somebody's";
}

static void tell(const char *how, void (*before)(int))
{
    struct sigaction now;
    n_signals = 0;
    work(0.02); /* a timer may strike */
    int struck = n_signals;
    raise(SIGURG);
    raise(SIGURG);
    sigaction(SIGURG, NULL, &now);
    printf("%s: before %s, struck %d, twice sent %d, then %s, flags %x\n", how,
           name_of(before), struck, (int)n_signals, name_of(now.sa_handler),
           (unsigned)now.sa_flags & ~0x04000000u); /* SA_RESTORER */
}

/* Deprecated, and still in programs. */
extern void (*__sysv_signal(int, void (*)(int)))(int);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void handlers(void)
{
    struct sigaction action = {.sa_handler = count_signal,
                               .sa_flags = SA_NODEFER},
                     before;
    work(0.02);
    tell("sysv", __sysv_signal(SIGURG, count_signal));
    tell("signal", signal(SIGURG, count_signal));
    tell("sigset", sigset(SIGURG, count_signal));
    tell("ssignal", ssignal(SIGURG, SIG_IGN));
    sigaction(SIGURG, &action, &before);
    tell("sigaction", before.sa_handler);
    tell("default", signal(SIGURG, SIG_DFL));
}
#pragma GCC diagnostic pop

static void pending(void)
{
    sigset_t all, here;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    work(0.1);
    raise(SIGUSR1);
    sigpending(&here);
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&here, i) == 1) printf("%d has come\n", i);
    raise(SIGURG);
    sigpending(&here);
    printf("urgent: %d\n", sigismember(&here, SIGURG));
}

static void *see_pending(void *set)
{
    pthread_cancel(pthread_self()); /* sigpending does not act on it */
    int rc = sigpending(set);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    printf("seen: %d, %d\n", rc, sigismember(set, SIGURG));
    return NULL;
}

static void directed(void)
{
    const struct timespec second = {.tv_sec = 1};
    sigset_t all, urgent;
    siginfo_t info = {0};
    pthread_t thread;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    kill(getpid(), SIGURG);
    if (pthread_create(&thread, NULL, see_pending, &all)) return;
    pthread_join(thread, NULL);
    int number = sigtimedwait(&urgent, &info, &second);
    printf("taken: %d, by user %d, own %d\n", number == SIGURG,
           info.si_code == SI_USER, info.si_pid == getpid());
    sigqueue(getpid(), SIGURG, (union sigval){.sival_int = 7});
    sigpending(&all);
    number = sigtimedwait(&urgent, &info, &second);
    printf("taken: %d, queued %d, value %d\n", number == SIGURG,
           info.si_code == SI_QUEUE, info.si_value.sival_int);
}

/* ---- children ----------------------------------------------------------- */

static void by_vfork(void)
{
    volatile int n_good = 0;
    for (volatile int i = 0; i < 50; i++) {
        int status = -1;
        pid_t pid = vfork();
        if (!pid) {
            execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
            _exit(9);
        }
        waitpid(pid, &status, 0);
        n_good += WIFEXITED(status) && WEXITSTATUS(status) == 3;
    }
    printf("%d children ended with 3\n", n_good);
}

/* Neither call is a point of cancellation, and nor is fork. */
static void cancelled(void)
{
    char *words[] = {"true", NULL};
    int status = -1;
    pid_t pid = -1;
    pthread_cancel(pthread_self());
    int rc = posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ);
    pid_t child = fork();
    if (!child) {
        execl("/bin/false", "false", (char *)NULL);
        _exit(9);
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    waitpid(pid, &status, 0);
    printf("spawned: %d, ended with %x\n", rc, (unsigned)status);
    waitpid(child, &status, 0);
    printf("executed: ended with %x\n", (unsigned)status);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int is_done;

static void take_lock(void)
{
    pthread_mutex_lock(&lock);
}

static void leave_lock(void)
{
    pthread_mutex_unlock(&lock);
}

static void *wants_the_lock(void *unused)
{
    int stop = 0;
    while (!stop) {
        pthread_mutex_lock(&lock);
        stop = is_done;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

/* In the child nobody holds what its parent's threads wanted. */
static int child_of_many(void)
{
    pthread_t thread;
    pthread_mutex_lock(&lock);
    is_done = 1;
    pthread_mutex_unlock(&lock);
    if (pthread_create(&thread, NULL, wants_the_lock, NULL)) return 9;
    pthread_join(thread, NULL);
    return 4;
}

static void by_fork(void)
{
    pthread_t threads[3];
    int n_good = 0;
    pthread_atfork(take_lock, leave_lock, leave_lock);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, wants_the_lock, NULL);
    for (int i = 0; i < 100; i++) {
        int status = -1;
        fflush(stdout);
        pid_t pid = fork();
        if (!pid) {
            alarm(20);
            _exit(child_of_many());
        }
        waitpid(pid, &status, 0);
        n_good += WIFEXITED(status) && WEXITSTATUS(status) == 4;
    }
    pthread_mutex_lock(&lock);
    is_done = 1;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%d children ended with 4\n", n_good);
}

/* ---- timers ------------------------------------------------------------- */

static int n_struck;

static void strike(union sigval value)
{
    (void)value;
    __atomic_fetch_add(&n_struck, 1, __ATOMIC_RELAXED);
}

static void timers(void)
{
    struct sigevent how = {.sigev_notify = SIGEV_THREAD,
                           .sigev_notify_function = strike};
    struct itimerspec every = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    int error = timer_create(CLOCK_MONOTONIC, &how, &timer);
    timer_settime(timer, 0, &every, NULL);
    for (double end = now_s() + 20; n_struck < 50 && now_s() < end;)
        work(0.005);
    timer_delete(timer);
    printf("error %d, struck 50 times: %d\n", error, n_struck >= 50);
}

/* ---- killed ------------------------------------------------------------- */

static void *works(void *unused)
{
    work(10);
    return unused;
}

static void killed(void)
{
    int n_killed = 0;
    for (int i = 0; i < 20; i++) {
        int status = -1;
        pid_t pid = fork();
        if (!pid) {
            pthread_t thread;
            pthread_create(&thread, NULL, works, NULL);
            works(NULL);
            _exit(0);
        }
        usleep((useconds_t)(3000 + 1700 * i));
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        n_killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }
    work(0.3); /* goes on being seen */
    printf("%d were killed\n", n_killed);
}

/* ---- namespaces --------------------------------------------------------- */

static void use_heap(void)
{
    char *volatile block[100];
    for (size_t i = 0; i < 100; i++)
        block[i] = malloc(1000);
    for (size_t i = 0; i < 100; i++)
        free(block[i]);
}

/* Its first child is the namespace's first process: once that has ended there
 * can be no other. The kernel is asked directly, and nothing was allocated. */
static void namespace(void)
{
    int status = -1;
    long rc = syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWPID);
    use_heap();
    pid_t pid = rc ? -1 : fork();
    if (!pid) {
        use_heap();
        _exit(getpid() == 1 ? 3 : 4);
    }
    if (pid > 0) waitpid(pid, &status, 0);
    printf("%ld: child %d, ended with %d\n", rc, pid > 0,
           WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* ---- a filter of system calls ------------------------------------------- */

#define ALLOW(call)                                                            \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                     \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void filter(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(read),
        ALLOW(write),
        ALLOW(close),
        ALLOW(brk),
        ALLOW(mmap),
        ALLOW(munmap),
        ALLOW(mremap),
        ALLOW(mprotect),
        ALLOW(madvise),
        ALLOW(futex),
        ALLOW(rt_sigprocmask),
        ALLOW(rt_sigreturn),
        ALLOW(clock_gettime),
        ALLOW(getpid),
        ALLOW(gettid),
        ALLOW(exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    char *block[100] = {0};
    printf("filter: %d ", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    printf("%d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    for (size_t i = 0; i < 20000; i++) {
        free(block[i % 100]);
        block[i % 100] = calloc(1, i * 37 % 90000 + 1);
    }
    printf("end\n");
}

/* What memory, threads and forks take, and no more. */
static const unsigned needed[] = {
    SYS_read,         SYS_write,  SYS_futex,           SYS_brk,
    SYS_mmap,         SYS_munmap, SYS_mprotect,        SYS_madvise,
    SYS_clone,        SYS_wait4,  SYS_set_robust_list, SYS_rt_sigprocmask,
    SYS_rt_sigaction, SYS_exit,   SYS_exit_group,      SYS_getrandom,
#ifdef SYS_clone3
    SYS_clone3,
#endif
#ifdef SYS_rseq
    SYS_rseq,
#endif
};

/* And what programs take that do little: a shell, true. */
static const unsigned started[] = {
    SYS_execve,     SYS_execveat,     SYS_openat,    SYS_close,
    SYS_newfstatat, SYS_fstat,        SYS_pread64,   SYS_set_tid_address,
    SYS_prlimit64,  SYS_rt_sigreturn, SYS_faccessat, SYS_getpid,
    SYS_getppid,    SYS_getuid,       SYS_getgid,    SYS_geteuid,
    SYS_getegid,    SYS_pipe2,        SYS_fcntl,     SYS_dup3,
    SYS_getcwd,     SYS_lseek,
#ifdef __x86_64__
    SYS_arch_prctl, SYS_access,       SYS_stat,      SYS_dup2,
    SYS_vfork,
#endif
};
static bool may_start;
static unsigned long filter_flags;

static int forbid(bool by_prctl)
{
    enum { N = sizeof needed / sizeof *needed };
    enum { M = sizeof started / sizeof *started };
    struct sock_filter code[(N + M) * 2 + 4];
    unsigned short n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, nr));
    for (int i = 0; i < (may_start ? N + M : N); i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, i < N ? needed[i] : started[i - N], 0,
            1);
        code[n++] =
            (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
    return by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                    : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                   filter_flags, &program);
}

static void *use_heap_in_thread(void *unused)
{
    pthread_mutex_lock(&lock);
    use_heap();
    pthread_mutex_unlock(&lock);
    return unused;
}

static void put(const char *text)
{
    (void)!write(1, text, strlen(text));
}

static void *wait_for_ever(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&condition, &lock);
    return unused;
}

/* Wakes who has waited since before the filter, once the part is over. */
static int sandbox_in_part(bool by_prctl)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_ever, NULL)) return 9;
    work(0.05);
    if (forbid(by_prctl)) return 9;
    work(0.7);
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&lock);
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&lock);
        work(0.01);
    }
    _exit(6);
}

static void *forbid_and_end(void *how)
{
    use_heap_in_thread(NULL);
    work(0.05);
    return forbid(!strncmp(how, "prctl", 5)) ? how : NULL;
}

/* Of a child that no handler of fork knows of. */
static int sandbox_of_clone(bool by_prctl)
{
    pthread_t thread;
    int status = -1;
    use_heap();
    pid_t pid = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
    if (!pid) {
        if (forbid(by_prctl)) _exit(9);
        use_heap();
        if (pthread_create(&thread, NULL, use_heap_in_thread, NULL) ||
            pthread_join(thread, NULL))
            _exit(9);
        _exit(3);
    }
    if (waitpid(pid, &status, 0) != pid || status != 3 << 8) put("no child\n");
    return 8;
}

static void put_ended(const char *what, int status)
{
    char line[64];
    snprintf(line, sizeof line, "%s: ended with %x\n", what, (unsigned)status);
    put(line);
}

/* Each way to another program: by the C library, within it, past it. */
static int sandbox_starts(bool by_prctl)
{
    char *words[] = {"true", NULL};
    int status = -1;
    may_start = true;
    if (forbid(by_prctl)) return 9;
    put_ended("system", system("echo preloaded: $LD_PRELOAD; exit 3"));
    FILE *pipe = popen("exit 3", "r");
    put_ended("popen", pipe ? pclose(pipe) : -1);
    for (int way = 0; way < 5; way++) {
        pid_t pid = way == 3 ? vfork() : fork();
        if (!pid) {
            if (way == 0) execve("/bin/true", words, environ);
            if (way == 1) execveat(AT_FDCWD, "/bin/true", words, environ, 0);
            if (way == 2) syscall(SYS_execve, "/bin/true", words, environ);
            if (way == 3) execv("/bin/true", words);
            if (way == 4)
                fexecve(open("/bin/true", O_RDONLY | O_CLOEXEC), words,
                        environ);
            _exit(9);
        }
        if (waitpid(pid, &status, 0) == pid) put_ended("a program", status);
    }
    return 10;
}

static int sandbox_of_vfork(bool by_prctl)
{
    char *words[] = {"true", NULL};
    int status = -1;
    may_start = true;
    pid_t pid = vfork();
    if (!pid) {
        if (forbid(by_prctl)) _exit(9);
        execve("/nowhere", words, environ);
        execve("/bin/true", words, environ);
        _exit(9);
    }
    if (waitpid(pid, &status, 0) == pid) put_ended("a program", status);
    use_heap();
    return 11;
}

static void *end_at_once(void *unused)
{
    free(malloc(1000));
    return unused;
}

static void *make_threads(void *unused)
{
    pthread_t thread;
    for (;;)
        if (!pthread_create(&thread, NULL, end_at_once, NULL))
            pthread_join(thread, NULL);
    return unused;
}

static int sandbox_of_all(void)
{
    int n_good = 0;
    filter_flags = SECCOMP_FILTER_FLAG_TSYNC;
    for (int i = 0; i < 40; i++) {
        pthread_t threads[2];
        int status = -1;
        pid_t pid = fork();
        if (!pid) {
            for (int k = 0; k < 2; k++)
                pthread_create(&threads[k], NULL, make_threads, NULL);
            usleep((useconds_t)(500 + 97 * i));
            if (forbid(false)) _exit(9);
            work(0.005);
            _exit(3);
        }
        waitpid(pid, &status, 0);
        n_good += status == 3 << 8;
    }
    printf("%d ended with 3\n", n_good);
    return 12;
}

static int sandbox(char *how)
{
    pthread_t thread;
    void *failed;
    int status = -1;
    if (strstr(how, "-part")) return sandbox_in_part(!strncmp(how, "prctl", 5));
    if (strstr(how, "-thread"))
        return pthread_create(&thread, NULL, forbid_and_end, how) ||
                       pthread_join(thread, &failed) || failed
                   ? 9
                   : 7;
    if (strstr(how, "-all")) return sandbox_of_all();
    if (strstr(how, "-vfork"))
        return sandbox_of_vfork(!strncmp(how, "prctl", 5));
    if (strstr(how, "-start")) return sandbox_starts(!strncmp(how, "prctl", 5));
    if (strstr(how, "-clone"))
        return sandbox_of_clone(!strncmp(how, "prctl", 5));
    if (forbid(!strncmp(how, "prctl", 5))) return 9;
    if (strstr(how, "-exit")) _exit(5);
    for (int i = 0; i < 1000; i++)
        use_heap();
    for (int i = 0; i < 3; i++)
        if (!pthread_create(&thread, NULL, use_heap_in_thread, NULL) &&
            !pthread_join(thread, NULL))
            put("a thread\n");
    pid_t pid = fork();
    if (!pid) {
        use_heap_in_thread(NULL);
        _exit(3);
    }
    if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
        WEXITSTATUS(status) == 3)
        put("a child\n");
    return 4;
}

/* ---- OpenMP ------------------------------------------------------------- */

/* GNU's runtime does not survive being unloaded: it stays, the libraries that
 * use it do not. */
static int runtimes(char **paths)
{
    (void)dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    for (int round = 0; round < 5; round++)
        for (char **path = paths; *path; path++) {
            double (*sum)(long);
            void *library = dlopen(*path, RTLD_NOW | RTLD_LOCAL);
            void *found = library ? dlsym(library, "omp_sum") : NULL;
            if (!found) return 9;
            memcpy(&sum, &found, sizeof sum);
            printf("%.1f\n", sum(100000));
            dlclose(library);
        }
    return 0;
}

/* ---- pointers that are none ---------------------------------------------- */

/* The kernel refuses them. */
static void pointers(void)
{
    char *nowhere = (char *)8, *words[] = {"true", NULL};
    char *bad[] = {"A=1", nowhere, NULL}, **none = (char **)(void *)nowhere;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *open_end = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(open_end + page, page);
    char **endless = (char **)(void *)(open_end + page) - 1;
    *endless = words[0];
    struct {
        const char *path;
        char **argv, **env;
    } of[] = {{nowhere, words, words},     {"/bin/true", none, words},
              {"/bin/true", words, none},  {"/bin/true", bad, words},
              {"/bin/true", words, bad},   {"/bin/true", words, endless},
              {"/nowhere", words, endless}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        int rc = execve(of[i].path, of[i].argv, of[i].env);
        printf("%d %s\n", rc, strerror(errno));
    }
}

#ifdef LINKED
double omp_sum(long n);

static void linked(void)
{
    for (int i = 0; i < 3; i++)
        printf("%.1f\n", omp_sum(100000));
}
#endif

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (!strcmp(word, "handlers")) handlers();
    if (!strcmp(word, "pending")) pending();
    if (!strcmp(word, "directed")) directed();
    if (!strcmp(word, "vfork")) by_vfork();
    if (!strcmp(word, "cancelled")) cancelled();
    if (!strcmp(word, "pointers")) pointers();
    if (!strcmp(word, "fork")) by_fork();
    if (!strcmp(word, "timers")) timers();
    if (!strcmp(word, "killed")) killed();
    if (!strcmp(word, "namespace")) namespace();
    if (!strcmp(word, "filter")) filter();
#ifdef LINKED
    if (!strcmp(word, "linked")) linked();
#endif
    if (!strcmp(word, "sandbox")) return sandbox(argv[2]);
    if (!strcmp(word, "runtimes")) return runtimes(argv + 2);
    return 0;
}
