/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program with a static libaxprof_rt loads a plug-in that depends on the
 * shared one: there is one recorder, whoever was there first. Both record
 * into the same global profiler, handles and names work across, a switch in
 * one is seen in the other, on every thread.
 *
 * Plug-ins with a static copy of their own do the same, and are unloaded while
 * the program goes on.
 *
 *   test_two_copies PLUGIN STATIC... */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include "stress_check.h"

static const char *path;
static axp_profiler *prof;
static void (*record)(axp_profiler *p, int n);
static axp_profiler *(*other_global)(void);
static uint64_t (*other_count)(axp_profiler *p, const char *name);
static void (*other_enable)(bool enabled);
static void (*other_quiet)(bool is_quiet);
static void (*other_stop)(axp_profiler *p, const char *name);

static void get(void *library, const char *name, void *fn)
{
    void *symbol = dlsym(library, name);
    CHECK(symbol != NULL);
    memcpy(fn, &symbol, sizeof symbol);
}

static void *library;

static void load(int how)
{
    library = dlopen(path, RTLD_NOW | how);
    if (!library) dprintf(2, "%s\n", dlerror());
    CHECK(library != NULL);
    get(library, "plugin_record", &record);
    get(library, "plugin_global", &other_global);
    get(library, "plugin_count", &other_count);
    get(library, "plugin_enable", &other_enable);
    get(library, "plugin_quiet", &other_quiet);
    get(library, "plugin_stop", &other_stop);
}

static void own_scopes(int n)
{
    for (int i = 0; i < n; i++) {
        AXP_SCOPE("both");
        AXP_SCOPE_IN(prof, "both in");
    }
}

static void *in_thread(void *arg)
{
    (void)arg;
    record(prof, 10);
    own_scopes(10);
    record(prof, 10);
    return NULL;
}

static void use_both(void)
{
    pthread_t t;
    CHECK(other_global() == axp_global());
    prof = axp_profiler_create(NULL);
    CHECK(prof != NULL);
    uint64_t before = axp_call_count(axp_global(), "both");
    uint64_t plugin = axp_call_count(axp_global(), "plugin");
    record(prof, 100);
    own_scopes(50);
    record(prof, 100);
    CHECK_EQ(axp_call_count(axp_global(), "both"), before + 250);
    CHECK_EQ(other_count(axp_global(), "both"), before + 250);
    CHECK_EQ(axp_call_count(axp_global(), "plugin"), plugin + 200);
    CHECK_EQ(axp_call_count(prof, "both in"), 250);
    CHECK_EQ(other_count(prof, "both in"), 250);
    CHECK_EQ(axp_current_memory(prof), 2000);

    for (int i = 0; i < 50; i++) {
        CHECK(!pthread_create(&t, NULL, in_thread, NULL));
        CHECK(!pthread_join(t, NULL));
    }
    CHECK_EQ(axp_call_count(prof, "both in"), 250 + 50 * 30);
    CHECK_EQ(other_count(axp_global(), "plugin"), plugin + 200 + 50 * 20);

    /* A scope of the one nests in a scope of the other. */
    axp_start(prof, "across");
    record(prof, 1);
    other_stop(prof, "across");
    CHECK_EQ(axp_call_count(prof, "across"), 1);

    uint64_t now = axp_call_count(axp_global(), "both");
    other_enable(false);
    CHECK(!axp_is_enabled(axp_global()));
    own_scopes(5);
    record(prof, 5);
    CHECK_EQ(axp_call_count(axp_global(), "both"), now);
    axp_set_enabled(axp_global(), true);
    own_scopes(5);
    record(prof, 5);
    CHECK_EQ(axp_call_count(axp_global(), "both"), now + 10);

    other_quiet(true); /* one filters the process's system calls */
    axp_set_enabled(axp_global(), true);
    CHECK(!axp_is_enabled(axp_global()));
    other_quiet(false);
    CHECK(axp_is_enabled(axp_global()));
    axp_profiler_destroy(prof);
    record(prof, 5); /* a stale handle, in the other copy */
    pid_t pid = fork();
    if (!pid) {
        CHECK_EQ(other_count(axp_global(), "both"), 0);
        record(NULL, 7);
        own_scopes(3);
        CHECK_EQ(axp_call_count(axp_global(), "both"), 10);
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
}

/* The program has recorded before the plug-in comes. */
static void program_first_local(void)
{
    own_scopes(20);
    load(RTLD_LOCAL);
    use_both();
}

static void program_first_global(void)
{
    own_scopes(20);
    load(RTLD_GLOBAL);
    use_both();
}

static void plugin_first(void)
{
    load(RTLD_LOCAL);
    record(NULL, 3);
    use_both();
}

/* ---- unloaded ------------------------------------------------------------------ */

static sem_t recorded, may_end;

static void *live_on(void *arg)
{
    (void)arg;
    record(prof, 10);
    sem_post(&recorded);
    while (sem_wait(&may_end))
        ;
    own_scopes(10);
    return NULL;
}

/* The plug-in goes, its threads live on, and the program records on, to a
 * file: which the plug-in's end does not finish. */
static void plugin_goes(void)
{
    enum { N = 4, ROUNDS = 50 };
    pthread_t t[N];
    unsigned before = 0;
    char file[64];
    snprintf(file, sizeof file, "/tmp/axprof-copies-%ld.axp", (long)getpid());
    sem_init(&recorded, 0, 0);
    sem_init(&may_end, 0, 0);
    own_scopes(20);
    prof = axp_profiler_create(&(axp_options){.path = file});
    CHECK(prof != NULL);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        load(round % 2 ? RTLD_LOCAL : RTLD_GLOBAL);
        for (int i = 0; i < N; i++)
            CHECK(!pthread_create(&t[i], NULL, live_on, NULL));
        for (int i = 0; i < N; i++)
            while (sem_wait(&recorded))
                ;
        dlclose(library);
        axp_set_enabled(axp_global(), false);
        axp_set_enabled(axp_global(), true);
        for (int i = 0; i < N; i++)
            sem_post(&may_end);
        for (int i = 0; i < N; i++)
            CHECK(!pthread_join(t[i], NULL));
        CHECK_EQ(axp_call_count(prof, "both in"), round * N * 20);
        if (round == 20) before = stress_count_maps();
    }
    /* The sanitizers have mappings of their own: that of addresses some 30 for
     * each time that a library of its kind was loaded, that of races some for
     * each thread. */
    CHECK(STRESS_ASAN || STRESS_TSAN || stress_count_maps() < before + 10);
    CHECK(axp_is_enabled(axp_global()));
    CHECK(axp_finish(prof) == AXP_OK);
    axp_profiler_destroy(prof);
    unlink(file);
}

/* Of a profiler that it made, and whose drain runs, the program has the
 * handle. */
static void maker_goes(void)
{
    axp_profiler *(*make)(const char *path);
    char file[64];
    snprintf(file, sizeof file, "/tmp/axprof-copies-%ld.axp", (long)getpid());
    load(RTLD_LOCAL);
    get(library, "plugin_create", &make);
    prof = make(file);
    CHECK(prof != NULL);
    record(prof, 10);
    dlclose(library);
    own_scopes(20000);
    CHECK(axp_flush(prof) == AXP_OK);
    CHECK_EQ(axp_call_count(prof, "both in"), 20010);
    CHECK(axp_finish(prof) == AXP_OK);
    axp_profiler_destroy(prof);
    unlink(file);
}

int main(int argc, char **argv)
{
    int failed = 0;
    CHECK(argc >= 2);
    path = argv[1];
    failed += STRESS_RUN(program_first_local, 30);
    failed += STRESS_RUN(program_first_global, 30);
    failed += STRESS_RUN(plugin_first, 30);
    for (int i = 2; i < argc; i++) {
        path = argv[i];
        failed += STRESS_RUN(program_first_local, 30);
        failed += STRESS_RUN(program_first_global, 30);
        failed += STRESS_RUN(plugin_first, 30);
        failed += STRESS_RUN(plugin_goes, 30);
        failed += STRESS_RUN(maker_goes, 30);
    }
    return failed ? 1 : 0;
}
