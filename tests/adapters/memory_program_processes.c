/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parts of memory_program: children, and a library that comes and goes. */
#include "memory_program.h"

#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- children ----------------------------------------------------------- */

enum { INHERITED = 100, BYTES = 300, CHILDREN = 12 };

static void *inherited[INHERITED];
static int should_end;

/* What the parent made counts nowhere when a child frees it. */
static void free_inherited(void *block)
{
    free(block);
}

/* Handlers of fork that allocate: the block of the first is the parent's, and
 * in the child one that it inherited. */
static void *of_prepare;

static void prepare(void)
{
    of_prepare = truth_malloc(BYTES);
}

static void after_in_parent(void)
{
    truth_free(of_prepare, BYTES);
}

static void after_in_child(void)
{
    truth_reset();
    free_inherited(of_prepare);
    truth_free(truth_malloc(BYTES), BYTES);
}

/* Another thread allocates all the while, so that fork meets it inside. */
static void *never_rest(void *unused)
{
    uint64_t random = 1;
    while (!__atomic_load_n(&should_end, __ATOMIC_SEQ_CST)) {
        size_t n = truth_random(&random) % 3000;
        truth_free(truth_malloc(n), n);
    }
    return unused;
}

static void be_a_child(int to)
{
    void *own[20];
    for (size_t i = 0; i < INHERITED; i += 2)
        free_inherited(inherited[i]);
    for (size_t i = 0; i < 20; i++)
        own[i] = truth_malloc(BYTES + i);
    for (size_t i = 0; i < 10; i++)
        truth_free(own[i], BYTES + i);
    struct truth did = truth_now();
    REQUIRE(write(to, &did, sizeof did) == sizeof did);
}

static void wait_for(pid_t child)
{
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Half of them end by exit, the others by _exit. */
static void run_children(void)
{
    struct truth of_children = {0};
    for (int i = 0; i < CHILDREN; i++) {
        struct truth did;
        int ends[2];
        REQUIRE(!pipe(ends));
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (!child) {
            be_a_child(ends[1]);
            if (i % 2) exit(0);
            _exit(0);
        }
        REQUIRE(read(ends[0], &did, sizeof did) == sizeof did);
        of_children.n_allocs += did.n_allocs;
        of_children.n_frees += did.n_frees;
        of_children.allocated_bytes += did.allocated_bytes;
        of_children.freed_bytes += did.freed_bytes;
        close(ends[0]);
        close(ends[1]);
        wait_for(child);
    }
    truth_add(&of_children);
}

static void run_other_programs(void)
{
    char name[] = "true", *argv[] = {name, NULL};
    for (int i = 0; i < 3; i++) {
        pid_t child = vfork();
        REQUIRE(child >= 0);
        if (!child) {
            execvp(argv[0], argv);
            _exit(127);
        }
        wait_for(child);
        REQUIRE(!posix_spawnp(&child, argv[0], NULL, NULL, argv, environ));
        wait_for(child);
    }
}

int run_fork(int argc, char **argv)
{
    pthread_t thread;
    (void)argc, (void)argv;
    for (size_t i = 0; i < INHERITED; i++)
        inherited[i] = truth_malloc(BYTES);
    REQUIRE(!pthread_atfork(prepare, after_in_parent, after_in_child));
    REQUIRE(!pthread_create(&thread, NULL, never_rest, NULL));
    run_children();
    run_other_programs();
    __atomic_store_n(&should_end, 1, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < INHERITED; i += 4)
        truth_free(inherited[i], BYTES);
    truth_print(TRUTH_OVERLAP, "");
    return 0;
}

/* ---- a library ---------------------------------------------------------- */

enum { OPENED = 20 };

/* Each time it leaves one block behind. */
int run_dl(int argc, char **argv)
{
    REQUIRE(argc > 2);
    for (int i = 0; i < OPENED; i++) {
        void *library = dlopen(argv[2], RTLD_NOW);
        if (!library) fprintf(stderr, "%s\n", dlerror());
        REQUIRE(library);
        void (*use)(void) = NULL;
        *(void **)&use = dlsym(library, "memory_library_use");
        REQUIRE(use);
        use();
        REQUIRE(!dlclose(library));
        REQUIRE(!dlopen(argv[2], RTLD_NOW | RTLD_NOLOAD));
    }
    truth_print(TRUTH_ONE_AT_A_TIME, ", \"opened\": 20");
    return 0;
}
