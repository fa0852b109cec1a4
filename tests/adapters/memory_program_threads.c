/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parts of memory_program: several threads, threads that end, and a handler. */
#include "memory_program.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static pthread_t start(void *(*function)(void *), void *arg)
{
    pthread_t thread;
    pthread_attr_t small;
    REQUIRE(!pthread_attr_init(&small));
    REQUIRE(!pthread_attr_setstacksize(&small, 128 << 10));
    REQUIRE(!pthread_create(&thread, &small, function, arg));
    pthread_attr_destroy(&small);
    return thread;
}

static int count_of(int argc, char **argv, int most)
{
    int n = argc > 2 ? atoi(argv[2]) : 2;
    REQUIRE(n > 0 && n <= most);
    return n;
}

/* ---- short threads ------------------------------------------------------ */

enum { THREADS = 3000, AT_A_TIME = 100, LEFT = 4 };

struct short_thread {
    size_t number;
    void *left[LEFT]; /* for the main thread */
};

static size_t size_of(size_t number, size_t i)
{
    return 8 + (number * 31 + i * 97) % 2000;
}

static void *live_shortly(void *arg)
{
    struct short_thread *t = arg;
    void *own[6];
    for (size_t i = 0; i < 6; i++)
        own[i] = truth_malloc(size_of(t->number, i));
    for (size_t i = 0; i < LEFT; i++)
        t->left[i] = truth_calloc(1, size_of(t->number, 10 + i));
    for (size_t i = 0; i < 6; i++)
        truth_free(own[i], size_of(t->number, i));
    return NULL;
}

/* One block of each tenth thread stays. */
int run_threads3000(int argc, char **argv)
{
    static struct short_thread t[AT_A_TIME];
    pthread_t threads[AT_A_TIME];
    (void)argc, (void)argv;
    for (size_t first = 0; first < THREADS; first += AT_A_TIME) {
        for (size_t i = 0; i < AT_A_TIME; i++) {
            t[i] = (struct short_thread){.number = first + i};
            threads[i] = start(live_shortly, &t[i]);
        }
        for (size_t i = 0; i < AT_A_TIME; i++) {
            pthread_join(threads[i], NULL);
            for (size_t k = t[i].number % 10 == 0; k < LEFT; k++)
                truth_free(t[i].left[k], size_of(t[i].number, 10 + k));
        }
    }
    truth_print(TRUTH_OVERLAP, "");
    return 0;
}

/* ---- from one thread to another ----------------------------------------- */

enum { ON_THE_WAY = 256, SENT = 20000 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t has_room, has_some;
    void *block[ON_THE_WAY];
    size_t size[ON_THE_WAY], n_put, n_got;
} way = {.lock = PTHREAD_MUTEX_INITIALIZER,
         .has_room = PTHREAD_COND_INITIALIZER,
         .has_some = PTHREAD_COND_INITIALIZER};

static void *produce(void *arg)
{
    uint64_t random = (uintptr_t)arg + 1;
    for (int i = 0; i < SENT; i++) {
        size_t n = 16 + truth_random(&random) % 1000;
        void *block = truth_malloc(n);
        memset(block, 1, n);
        pthread_mutex_lock(&way.lock);
        while (way.n_put - way.n_got == ON_THE_WAY)
            pthread_cond_wait(&way.has_room, &way.lock);
        size_t at = way.n_put++ % ON_THE_WAY;
        way.block[at] = block;
        way.size[at] = n;
        pthread_cond_signal(&way.has_some);
        pthread_mutex_unlock(&way.lock);
    }
    return NULL;
}

/* The last block of each consumer stays. */
static void *consume(void *unused)
{
    for (int i = 0; i < SENT; i++) {
        pthread_mutex_lock(&way.lock);
        while (way.n_put == way.n_got)
            pthread_cond_wait(&way.has_some, &way.lock);
        size_t at = way.n_got++ % ON_THE_WAY;
        void *block = way.block[at];
        size_t n = way.size[at];
        pthread_cond_signal(&way.has_room);
        pthread_mutex_unlock(&way.lock);
        if (i < SENT - 1) truth_free(block, n);
    }
    return unused;
}

int run_foreign(int argc, char **argv)
{
    pthread_t threads[128];
    int n = count_of(argc, argv, 64);
    for (int i = 0; i < n; i++) {
        threads[2 * i] = start(produce, (void *)(uintptr_t)i);
        threads[2 * i + 1] = start(consume, NULL);
    }
    for (int i = 0; i < 2 * n; i++)
        pthread_join(threads[i], NULL);
    truth_print(TRUTH_OVERLAP, "");
    return 0;
}

/* ---- random sizes ------------------------------------------------------- */

enum { WINDOW = 500, ROUNDS = 20000 };

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static int is_serial;
static pthread_barrier_t gate;

static void *resize_at_random(void *block, size_t old, size_t n, unsigned how)
{
    if (is_serial) pthread_mutex_lock(&one_at_a_time);
    if (how < 10) {
        block = truth_realloc(block, old, n);
    } else {
        truth_free(block, old);
        block = how < 80   ? truth_malloc(n)
                : how < 95 ? truth_calloc(1, n)
                           : truth_memalign(64, n);
    }
    if (is_serial) pthread_mutex_unlock(&one_at_a_time);
    REQUIRE(block);
    return block;
}

/* Threads begin and end between the gates: libc's own blocks for them are not
 * made while the program's are counted. */
static void *mix(void *arg)
{
    void *block[WINDOW] = {NULL};
    size_t size[WINDOW] = {0};
    uint64_t random = (uintptr_t)arg * 1000 + 17;
    pthread_barrier_wait(&gate);
    for (int i = 0; i < ROUNDS; i++) {
        size_t at = truth_random(&random) % WINDOW;
        size_t n = (size_t)1 << truth_random(&random) % 14;
        n += truth_random(&random) % n;
        unsigned how = (unsigned)(truth_random(&random) % 100);
        block[at] = resize_at_random(block[at], size[at], n, how);
        size[at] = n;
    }
    pthread_barrier_wait(&gate);
    for (size_t i = 0; i < WINDOW; i++) /* some stay */
        if (i % 50) truth_free(block[i], size[i]);
    pthread_barrier_wait(&gate);
    return NULL;
}

int run_mixed(int argc, char **argv)
{
    pthread_t threads[64];
    int n = count_of(argc, argv, 64);
    is_serial = argc > 3 && !strcmp(argv[3], "serial");
    REQUIRE(!pthread_barrier_init(&gate, NULL, (unsigned)n));
    for (int i = 0; i < n; i++)
        threads[i] = start(mix, (void *)(uintptr_t)i);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    truth_print(is_serial ? TRUTH_ONE_AT_A_TIME : TRUTH_OVERLAP, "");
    return 0;
}

/* ---- a handler ---------------------------------------------------------- */

enum { HELD = 32 };

static void *held[HELD];
static size_t held_size[HELD];
static volatile unsigned n_handled;

APART static void truth_handle(int number)
{
    size_t at = n_handled % HELD, n = 50 + n_handled % 300;
    (void)number;
    if (held[at]) {
        truth_did_free(held_size[at]);
        free(held[at]);
    }
    held[at] = malloc(n);
    held_size[at] = n;
    REQUIRE(held[at]);
    truth_did_alloc(n);
    n_handled++;
}

/* The handler interrupts anything but the program's own calls of malloc, during
 * which the signal is blocked. */
int run_signal(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = truth_handle};
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    sigset_t alarm;
    volatile double work = 1;
    (void)argc, (void)argv;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    REQUIRE(!sigaction(SIGALRM, &action, NULL));
    REQUIRE(!setitimer(ITIMER_REAL, &often, NULL));
    for (size_t i = 0; n_handled < 1000; i++) {
        sigprocmask(SIG_BLOCK, &alarm, NULL);
        void *block = truth_malloc(i % 1000);
        truth_free(block, i % 1000);
        sigprocmask(SIG_UNBLOCK, &alarm, NULL);
        for (int k = 0; k < 1000; k++)
            work = work * 1.0000001;
    }
    REQUIRE(!setitimer(ITIMER_REAL, &never, NULL));
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    truth_print(TRUTH_ONE_AT_A_TIME, "");
    return 0;
}

enum { ROOM = 3072 }; /* what a call of malloc may take, and be looked at */

/* On a stack with just that much beside what the kernel puts there, and a page
 * below it that nobody may touch. */
int run_altstack(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = truth_handle,
                               .sa_flags = SA_ONSTACK};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t n = ((size_t)sysconf(_SC_MINSIGSTKSZ) + ROOM + 15) & ~(size_t)15;
    char *low = mmap(NULL, page + n, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)argc, (void)argv;
    REQUIRE(low != MAP_FAILED && !mprotect(low, page, PROT_NONE));
    REQUIRE(!sigaltstack(&(stack_t){.ss_sp = low + page, .ss_size = n}, NULL));
    REQUIRE(!sigaction(SIGUSR1, &action, NULL));
    for (int i = 0; i < 200; i++)
        REQUIRE(!raise(SIGUSR1));
    truth_print(TRUTH_ONE_AT_A_TIME, "");
    return 0;
}

/* ---- threads that end --------------------------------------------------- */

/* glibc's own, which C++ calls for a thread_local with a destructor. */
extern int __cxa_thread_atexit_impl(void (*function)(void *), void *object,
                                    void *of);
extern void *__dso_handle;

enum { ENDING = 200 }; /* bytes of each block here */
static pthread_key_t once, again;

static void free_it(void *block)
{
    truth_free(block, ENDING);
}

/* Sets its key anew while there are rounds left for that. */
static void free_and_come_back(void *block)
{
    unsigned char round = *(unsigned char *)block;
    truth_free(block, ENDING);
    if (round == 2) return;
    unsigned char *next = truth_malloc(ENDING);
    *next = (unsigned char)(round + 1);
    pthread_setspecific(again, next);
}

static void *begin_to_end(void)
{
    unsigned char *first = truth_calloc(1, ENDING);
    pthread_setspecific(once, truth_malloc(ENDING));
    pthread_setspecific(again, first);
    REQUIRE(!__cxa_thread_atexit_impl(free_it, truth_malloc(ENDING),
                                      &__dso_handle));
    return truth_malloc(ENDING);
}

static void *end_by_return(void *unused)
{
    free_it(begin_to_end());
    return unused;
}

static void *end_by_exit(void *unused)
{
    void *block = begin_to_end();
    pthread_cleanup_push(free_it, block);
    pthread_exit(unused);
    pthread_cleanup_pop(1);
    return NULL;
}

static void *end_by_cancellation(void *unused)
{
    void *block = begin_to_end();
    pthread_cleanup_push(free_it, block);
    for (;;)
        pause();
    pthread_cleanup_pop(1);
    return unused;
}

static int n_waiting;

static void *never_end(void *unused)
{
    begin_to_end(); /* what it took stays */
    __atomic_add_fetch(&n_waiting, 1, __ATOMIC_SEQ_CST);
    for (;;)
        pause();
    return unused;
}

int run_exitthread(int argc, char **argv)
{
    void *(*const ends[])(void *) = {end_by_return, end_by_exit,
                                     end_by_cancellation};
    pthread_t threads[30];
    (void)argc, (void)argv;
    REQUIRE(!pthread_key_create(&once, free_it));
    REQUIRE(!pthread_key_create(&again, free_and_come_back));
    for (int i = 0; i < 30; i++)
        threads[i] = start(ends[i % 3], NULL);
    for (int i = 0; i < 30; i++) {
        if (i % 3 == 2) pthread_cancel(threads[i]);
        pthread_join(threads[i], NULL);
    }
    pthread_detach(start(never_end, NULL));
    while (!__atomic_load_n(&n_waiting, __ATOMIC_SEQ_CST))
        usleep(1000);
    truth_print(TRUTH_OVERLAP, "");
    return 0;
}

/* Detached, and at it while exit runs. */
static void *never_rest(void *arg)
{
    uint64_t random = (uintptr_t)arg + 1;
    for (;;) {
        size_t n = truth_random(&random) % 4000;
        void *block = truth_malloc(n);
        truth_free(block, n);
        __atomic_store_n(&n_waiting, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

int run_exitbusy(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (uintptr_t i = 0; i < 4; i++)
        pthread_detach(start(never_rest, (void *)i));
    while (!__atomic_load_n(&n_waiting, __ATOMIC_SEQ_CST))
        usleep(1000);
    puts("busy");
    return 7;
}
