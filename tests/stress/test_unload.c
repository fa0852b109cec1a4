/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Plug-ins with a static copy of libaxprof_rt are loaded, record, and are
 * unloaded, while threads that recorded through them live on and end later.
 * This program has no recorder of its own (test_two_copies has).
 *
 *   test_unload PLUGIN... */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include "stress_check.h"

#define N_THREADS 8
#define ROUNDS 50

static const char *path;
static void *library;
static void (*record)(axp_profiler *p, int n);
static uint64_t (*count)(axp_profiler *p, const char *name);
static axp_profiler *(*global)(void);
static void (*enable)(bool enabled);
static sem_t recorded, may_end;

static void get(const char *name, void *fn)
{
    void *symbol = dlsym(library, name);
    CHECK(symbol != NULL);
    memcpy(fn, &symbol, sizeof symbol);
}

static void load(int how)
{
    library = dlopen(path, RTLD_NOW | how);
    if (!library) dprintf(2, "%s\n", dlerror());
    CHECK(library != NULL);
    get("plugin_record", &record);
    get("plugin_count", &count);
    get("plugin_global", &global);
    get("plugin_enable", &enable);
}

static void *live_on(void *arg)
{
    (void)arg;
    record(global(), 10);
    sem_post(&recorded);
    while (sem_wait(&may_end))
        ;
    return NULL;
}

static void wait_for(sem_t *s)
{
    while (sem_wait(s))
        ;
}

static void threads_end_later(void)
{
    pthread_t t[N_THREADS];
    sem_init(&recorded, 0, 0);
    sem_init(&may_end, 0, 0);
    load(RTLD_LOCAL);
    uint64_t before = count(global(), "plugin");
    for (int i = 0; i < N_THREADS; i++)
        CHECK(!pthread_create(&t[i], NULL, live_on, NULL));
    for (int i = 0; i < N_THREADS; i++)
        wait_for(&recorded);
    CHECK_EQ(count(global(), "plugin"), before + 10 * N_THREADS);
    dlclose(library);
    for (int i = 0; i < N_THREADS; i++)
        sem_post(&may_end);
    for (int i = 0; i < N_THREADS; i++)
        CHECK(!pthread_join(t[i], NULL));
    load(RTLD_LOCAL); /* again, after that */
    record(global(), 1);
    enable(false);
    enable(true);
    dlclose(library);
}

static void again_and_again(void)
{
    unsigned before = 0;
    for (int i = 0; i < ROUNDS; i++) {
        load(i % 2 ? RTLD_GLOBAL : RTLD_LOCAL);
        record(global(), 10);
        enable(i % 2);
        enable(true);
        dlclose(library);
        if (i == 4) before = stress_count_maps();
    }
    CHECK(stress_count_maps() < before + 10);
    pid_t pid = fork(); /* whose handlers are still there? */
    if (!pid) {
        load(RTLD_LOCAL);
        record(global(), 3);
        CHECK_EQ(count(global(), "plugin"), 3);
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
}

/* Two plug-ins: the second works on the first one's state, which is unloaded
 * before it. */
static const char *other;

static void second_outlives_first(void)
{
    load(RTLD_GLOBAL);
    void *first = library;
    record(global(), 5);
    path = other;
    load(RTLD_GLOBAL);
    record(global(), 5);
    dlclose(first);
    record(global(), 5);
    enable(false);
    enable(true);
    CHECK(count(global(), "plugin") >= 10);
    dlclose(library);
}

int main(int argc, char **argv)
{
    int failed = 0;
    CHECK(argc >= 2);
    for (int i = 1; i < argc; i++) {
        path = argv[i];
        other = argv[i % (argc - 1) + 1];
        failed += STRESS_RUN(threads_end_later, 30);
        failed += STRESS_RUN(again_and_again, 30);
        failed += STRESS_RUN(second_outlives_first, 30);
    }
    return failed ? 1 : 0;
}
