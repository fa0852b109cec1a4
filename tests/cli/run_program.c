/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs that `axprof run` must leave as they are, one a word:
 *
 *   run_program WORD [NUMBER [NUMBER]]
 *
 * Built several times: as it comes, without PIE, stripped, static.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static volatile int *volatile nowhere;

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&t, &t) && errno == EINTR)
        continue;
}

/* What a program inherits: all of it must be as its caller left it. */
static int say_inherited(void)
{
    sigset_t mask;
    struct sigaction action;
    char folder[4096];
    printf("folder %s\n", getcwd(folder, sizeof folder));
    printf("group is parent's %d, session is parent's %d\n",
           getpgid(0) == getpgid(getppid()), getsid(0) == getsid(getppid()));
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int i = 1; i < 65; i++) {
        if (sigismember(&mask, i) == 1) printf("blocked %d\n", i);
        if (!sigaction(i, NULL, &action) && action.sa_handler == SIG_IGN)
            printf("ignored %d\n", i);
    }
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0) printf("open %d\n", fd);
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit;
        if (!getrlimit(i, &limit))
            printf("limit %d %llu %llu\n", i,
                   (unsigned long long)limit.rlim_cur,
                   (unsigned long long)limit.rlim_max);
    }
    return 0;
}

static int print_bytes(long megabytes)
{
    static char block[1 << 16];
    unsigned x = 1;
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)('a' + (x = x * 1664525u + 1013904223u) % 26);
    for (long i = 0; i < megabytes * 16; i++)
        for (size_t done = 0; done < sizeof block;) {
            ssize_t n = write(1, block + done, sizeof block - done);
            if (n < 0) return 1;
            done += (size_t)n;
        }
    return 0;
}

static int close_all(void)
{
    for (int fd = 3; fd < 4096; fd++)
        close(fd);
    int fd = open("mine.txt", O_WRONLY | O_CREAT | O_EXCL, 0600);
    printf("got %d\n", fd);
    for (int i = 0; i < 1000; i++)
        if (write(fd, "line\n", 5) != 5) return 1;
    return close(fd);
}

static int fork_many(long n)
{
    volatile int n_bad = 0; /* vfork's child shares them */
    for (volatile long i = 0; i < n; i++) {
        int status;
        pid_t pid = i % 2 ? fork() : vfork();
        if (pid == 0) _exit(7);
        if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
            n_bad++;
    }
    printf("%d of %ld children were lost\n", n_bad, n);
    return n_bad != 0;
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *thread_main(void *argument)
{
    pthread_mutex_lock(&gate); /* until all are there */
    pthread_mutex_unlock(&gate);
    return argument;
}

static int many_threads(long n)
{
    pthread_t *threads = calloc((size_t)n, sizeof *threads);
    pthread_attr_t small;
    long n_made = 0, n_joined = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_mutex_lock(&gate);
    while (n_made < n &&
           !pthread_create(&threads[n_made], &small, thread_main, NULL))
        n_made++;
    pthread_mutex_unlock(&gate);
    for (long i = 0; i < n_made; i++)
        n_joined += pthread_join(threads[i], NULL) == 0;
    free(threads);
    printf("%ld threads, %ld joined\n", n_made, n_joined);
    return 0;
}

static void *compute(void *argument)
{
    volatile double sum = 0;
    for (int i = 0; i < 100000; i++)
        sum += 1.0 / (i + 1);
    (void)sum;
    return argument;
}

/* Threads that begin, work and end as the machine likes. */
static int herd(long n)
{
    pthread_t *threads = calloc((size_t)n, sizeof *threads);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (long i = 0; i < n; i++)
        if (pthread_create(&threads[i], &small, compute, NULL)) return 1;
    for (long i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return 0;
}

/* A child that outlives its parent, and is nobody's concern. */
static int leave_orphan(void)
{
    if (fork() == 0) {
        close(0);
        close(1);
        close(2);
        sleep_ms(300);
        _exit(0);
    }
    puts("left");
    return 0;
}

static volatile sig_atomic_t n_caught[65];
static void on_signal(int number)
{
    n_caught[number]++;
}

/* How often each signal has come, said when it comes: until n have (a minute
 * at most), and then for some time more, in which none should. */
static int count_signals(long n, long ms)
{
    const int numbers[] = {SIGHUP,  SIGINT,   SIGQUIT, SIGTERM,     SIGUSR1,
                           SIGUSR2, SIGWINCH, SIGXCPU, SIGRTMIN + 3};
    enum { N = sizeof numbers / sizeof *numbers };
    int said[N] = {0};
    long n_said = 0;
    for (size_t i = 0; i < N; i++)
        signal(numbers[i], on_signal);
    puts("ready");
    for (long left = ms, waited = 0; left > 0; waited += 10) {
        sleep_ms(10);
        if (n_said >= n || waited > 60000) left -= 10;
        for (size_t i = 0; i < N; i++) {
            int now = n_caught[numbers[i]];
            if (now == said[i]) continue;
            printf("signal %d: %d\n", numbers[i], now);
            n_said += now - said[i];
            said[i] = now;
        }
    }
    return 5;
}

static int say_terminal(void)
{
    for (int fd = 0; fd < 3; fd++)
        printf("terminal %d: %d\n", fd, isatty(fd));
    printf("foreground %d\n", tcgetpgrp(0) == getpgrp());
    return 0;
}

/* As editors do it. */
static int raw_terminal(long ms)
{
    struct termios old, raw;
    tcgetattr(0, &old);
    raw = old;
    cfmakeraw(&raw);
    tcsetattr(0, TCSANOW, &raw);
    puts("raw");
    sleep_ms(ms);
    puts("no longer");
    tcsetattr(0, TCSANOW, &old);
    return 0;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    long number = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    long number_2 = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
#define IS(text) !strcmp(word, text)
    if (IS("exit")) exit((int)number);
    if (IS("_exit")) puts("out"), _exit((int)number);
    if (IS("signal")) kill(getpid(), (int)number), pause();
    if (IS("abort")) abort();
    if (IS("crash")) return *nowhere;
    if (IS("exec"))
        return execl("/bin/sh", "sh", "-c", "echo $0 $$ >&2; exit 9", "x",
                     NULL);
    if (IS("inherited")) return say_inherited();
    if (IS("print")) return print_bytes(number);
    if (IS("close")) return close_all();
    if (IS("clear"))
        return environ = NULL, execl("/bin/sh", "sh", "-c", "echo clear", NULL);
    if (IS("fork")) return fork_many(number);
    if (IS("threads")) return many_threads(number);
    if (IS("herd")) return herd(number);
    if (IS("orphan")) return leave_orphan();
    if (IS("count")) return count_signals(number, number_2);
    if (IS("terminal")) return say_terminal();
    if (IS("raw")) return raw_terminal(number);
    if (IS("sleep")) return puts("ready"), sleep_ms(number), 0;
    if (IS("cat")) {
        puts("ready");
        for (int c; (c = getchar()) != EOF;)
            putchar(c);
        return 3;
    }
    fprintf(stderr, "unknown word \"%s\"\n", word);
    return 2;
}
