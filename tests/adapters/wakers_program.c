/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that know who ends their waits, run with the adapter loaded: what was
 * recorded says the same, for each kind of wait, of 2 and of 16 threads. */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <threads.h>

#include "wait_check.h"

#define MOST 16
#define ROUNDS 24
#define NOBODY MOST

/* Who ended how many waits of whom, by the program's own count (`may`: a wait
 * that was short or none is among them), and as it was recorded. */
struct counts {
    unsigned of[MOST][MOST + 1];
};
static struct counts may, seen;
static uint64_t seen_ns[MOST];

static unsigned n_threads;
static pid_t tids[MOST + 1];
static pthread_barrier_t all_there;

struct member {
    unsigned i;
};

static void note(unsigned me, unsigned by)
{
    __atomic_add_fetch(&may.of[me][by], 1, __ATOMIC_RELAXED);
}

static void work(void)
{
    usleep(200);
}

/* ---- a ring: each is let go by the one before it ------------------------- */

static sem_t sems[MOST];
static pthread_mutex_t mutexes[MOST];
static pthread_cond_t conds[MOST];
static mtx_t mtxs[MOST];
static cnd_t cnds[MOST];
static int tokens[MOST];

static void sem_get(unsigned i)
{
    while (sem_wait(&sems[i]))
        continue;
}

static void sem_put(unsigned i)
{
    sem_post(&sems[i]);
}

static void cond_get(unsigned i)
{
    pthread_mutex_lock(&mutexes[i]);
    while (!tokens[i])
        pthread_cond_wait(&conds[i], &mutexes[i]);
    tokens[i]--;
    pthread_mutex_unlock(&mutexes[i]);
}

static void cond_put(unsigned i)
{
    pthread_mutex_lock(&mutexes[i]);
    tokens[i]++;
    pthread_cond_signal(&conds[i]);
    pthread_mutex_unlock(&mutexes[i]);
}

static void cond_put_all(unsigned i)
{
    pthread_mutex_lock(&mutexes[i]);
    tokens[i]++;
    pthread_mutex_unlock(&mutexes[i]);
    pthread_cond_broadcast(&conds[i]);
}

static void cnd_get(unsigned i)
{
    mtx_lock(&mtxs[i]);
    while (!tokens[i])
        cnd_wait(&cnds[i], &mtxs[i]);
    tokens[i]--;
    mtx_unlock(&mtxs[i]);
}

static void cnd_put(unsigned i)
{
    mtx_lock(&mtxs[i]);
    tokens[i]++;
    cnd_signal(&cnds[i]);
    mtx_unlock(&mtxs[i]);
}

static void (*get)(unsigned), (*put)(unsigned);

static void ring(unsigned me)
{
    for (int round = 0; round < ROUNDS; round++) {
        get(me);
        note(me, (me + n_threads - 1) % n_threads);
        work();
        put((me + 1) % n_threads);
    }
}

/* ---- one lock for all ---------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static unsigned owner = NOBODY;

static void hold(unsigned me)
{
    if (owner != NOBODY) note(me, owner);
    work();
    owner = me;
}

static void locks(unsigned me)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&mutex);
        hold(me);
        pthread_mutex_unlock(&mutex);
        usleep(10); /* for others to get it */
    }
}

static void writes(unsigned me)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_rwlock_wrlock(&rwlock);
        hold(me);
        pthread_rwlock_unlock(&rwlock);
        usleep(10);
    }
}

/* The first one writes, all others wait to read: each time a lock that nobody has
 * waited for before. */
static void reads(unsigned me)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (!me) {
            pthread_rwlock_destroy(&rwlock);
            pthread_rwlock_init(&rwlock, NULL);
            pthread_rwlock_wrlock(&rwlock);
        }
        pthread_barrier_wait(&all_there);
        if (!me) {
            usleep(2000);
        } else {
            pthread_rwlock_rdlock(&rwlock);
            note(me, 0);
        }
        pthread_rwlock_unlock(&rwlock);
        pthread_barrier_wait(&all_there);
    }
}

/* The first one lets all others go at once, with a post for each. */
static void posts(unsigned me)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&all_there);
        if (me) {
            sem_get(0);
            note(me, 0);
        } else {
            usleep(2000);
            for (unsigned i = 1; i < n_threads; i++)
                sem_put(0);
        }
        pthread_barrier_wait(&all_there);
    }
}

/* ---- a barrier: who comes last is late on purpose ------------------------ */

static pthread_barrier_t barrier;
static unsigned n_arrived[ROUNDS], last_of[ROUNDS];

static void meets(unsigned me)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (round % n_threads == me) usleep(3000);
        if (__atomic_add_fetch(&n_arrived[round], 1, __ATOMIC_ACQ_REL) ==
            n_threads)
            last_of[round] = me;
        pthread_barrier_wait(&barrier);
        if (last_of[round] != me) note(me, last_of[round]);
    }
}

/* ---- what was recorded --------------------------------------------------- */

static unsigned index_of(uint64_t tid)
{
    for (unsigned i = 0; i < n_threads; i++)
        if ((uint64_t)tids[i] == tid) return i;
    return NOBODY;
}

static int add(const axp_waits *w, void *name)
{
    if (strcmp(w->name, name) != 0) return 0;
    unsigned me = index_of(w->thread_id);
    if (me == NOBODY) return 0;
    seen.of[me][index_of(w->by_thread_id)] += (unsigned)w->count;
    seen_ns[me] += w->total_ns;
    CHECK(w->max_ns <= w->total_ns);
    return 0;
}

/* No wait has another end than the true one, and most were waits. Of a few nobody
 * knows who ended them: of the first for an object, since he may have looked for
 * those that wait before there was one; and of those that were no waits, but a
 * thread that had no processor between trying and taking. */
static void compare(const char *text, const char *name, unsigned least)
{
    unsigned n_may = 0, n_seen = 0, n_unknown = 0;
    for (unsigned i = 0; i < n_threads; i++) {
        n_unknown += seen.of[i][NOBODY];
        for (unsigned by = 0; by < MOST; by++) {
            if (seen.of[i][by] > may.of[i][by])
                printf("%s, %u threads: %u ended %u waits of %u, not %u\n",
                       text, n_threads, by, seen.of[i][by], i, may.of[i][by]);
            CHECK(seen.of[i][by] <= may.of[i][by]);
            n_may += may.of[i][by];
            n_seen += seen.of[i][by];
        }
    }
    printf("%s, %u threads: %u of %u were waits (%s)\n", text, n_threads,
           n_seen, n_may, name);
    CHECK(100 * n_seen >= least * n_may && n_unknown <= 1 + n_may / 25);
}

static void (*body)(unsigned);
static unsigned n_begun;

static void *member_main(void *p)
{
    unsigned me = ((struct member *)p)->i;
    tids[me] = gettid();
    __atomic_add_fetch(&n_begun, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&n_begun, __ATOMIC_ACQUIRE) < n_threads)
        usleep(100);
    body(me);
    return NULL;
}

static void run(void (*what)(unsigned))
{
    struct member members[MOST];
    pthread_t threads[MOST];
    body = what;
    n_begun = 0;
    for (unsigned i = 0; i < n_threads; i++) {
        members[i].i = i;
        CHECK(!pthread_create(&threads[i], NULL, member_main, &members[i]));
    }
    for (unsigned i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
}

static void try(const char *text, char *name, void (*what)(unsigned),
                unsigned least)
{
    memset(&may, 0, sizeof may);
    memset(&seen, 0, sizeof seen);
    memset(n_arrived, 0, sizeof n_arrived);
    owner = NOBODY;
    run(what);
    axp_view *view = axp_snapshot(axp_global());
    CHECK(view && !axp_view_waits(view, add, name));
    compare(text, name, least);
    axp_view_destroy(view);
}

static void try_ring(const char *text, char *name, void (*take)(unsigned),
                     void (*give)(unsigned))
{
    get = take;
    put = give;
    memset(tokens, 0, sizeof tokens);
    give(0); /* not a member's: the first get of the first is not one's */
    try(text, name, ring, 30);
    take(0);
}

/* Those that main waits for, each ended by the thread itself. */
static void *late(void *p)
{
    *(pid_t *)p = gettid();
    usleep(2000);
    return NULL;
}

static int count_joins(const axp_waits *w, void *n)
{
    if (strcmp(w->name, "join wait") != 0) return 0;
    for (unsigned i = 0; i < MOST; i++)
        *(unsigned *)n += w->thread_id == (uint64_t)getpid() &&
                          w->by_thread_id == (uint64_t)tids[i];
    return 0;
}

static void try_joins(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < MOST; i++) {
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, late, &tids[i]));
        pthread_join(thread, NULL);
    }
    axp_view *view = axp_snapshot(axp_global());
    CHECK(view && !axp_view_waits(view, count_joins, &n));
    printf("%u of %d joins waited, and know their thread\n", n, MOST);
    CHECK(n >= MOST / 2); /* a busy machine comes to some too late */
    axp_view_destroy(view);
}

/* What a thread does at its very end, when it has said that it is over: whoever
 * comes then waits for it as well. */
static pthread_key_t at_end;

static void take_long(void *over)
{
    __atomic_store_n((int *)over, 1, __ATOMIC_RELEASE);
    usleep(50000);
}

static void *end_slowly(void *over)
{
    tids[0] = gettid();
    pthread_setspecific(at_end, over);
    return NULL;
}

static int count_slow(const axp_waits *w, void *n)
{
    if (w->by_thread_id == (uint64_t)tids[0]) *(uint64_t *)n += w->max_ns;
    return 0;
}

static void try_late_join(void)
{
    pthread_t slow;
    int is_over = 0;
    uint64_t slow_ns = 0;
    CHECK(!pthread_key_create(&at_end, take_long));
    CHECK(!pthread_create(&slow, NULL, end_slowly, &is_over));
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
        usleep(100);
    pthread_join(slow, NULL);
    axp_view *view = axp_snapshot(axp_global());
    CHECK(view && !axp_view_waits(view, count_slow, &slow_ns));
    CHECK(slow_ns >= 20000000);
    axp_view_destroy(view);
}

static void try_all(unsigned n)
{
    n_threads = n;
    for (unsigned i = 0; i < n; i++) {
        sem_init(&sems[i], 0, 0);
        pthread_mutex_init(&mutexes[i], NULL);
        pthread_cond_init(&conds[i], NULL);
        mtx_init(&mtxs[i], mtx_plain);
        cnd_init(&cnds[i]);
    }
    pthread_barrier_init(&barrier, NULL, n);
    pthread_barrier_init(&all_there, NULL, n);
    try_ring("semaphores", "semaphore wait", sem_get, sem_put);
    try_ring("conditions", "condition wait", cond_get, cond_put);
    try_ring("broadcasts", "condition wait", cond_get, cond_put_all);
    try_ring("C11 conditions", "condition wait", cnd_get, cnd_put);
    try("a mutex", "mutex wait", locks, 2);
    try("a write lock", "write lock wait", writes, 2);
    try("a read lock", "read lock wait", reads, 10);
    try("posts for all", "semaphore wait", posts, 50);
    try("a barrier", "barrier wait", meets, 100);
    pthread_barrier_destroy(&barrier);
    pthread_barrier_destroy(&all_there);
}

int main(void)
{
    try_all(2);
    try_all(MOST);
    try_joins();
    try_late_join();
    puts("waits know who ended them");
    return 0;
}
