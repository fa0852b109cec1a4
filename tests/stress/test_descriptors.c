/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that closes all descriptors it did not open, or opens its files
 * over every number there is, again and again, while it records to a file and
 * may have few of them: its files get none of our bytes, none of them is
 * closed, and the recording is whole. The first argument: how many rounds. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "axprof/axprof_file.h"
#include "stress_check.h"

#define N_NUMBERS 256

static char folder[] = "/tmp/axprof-numbers-XXXXXX";
static char path[64], users[64];
static unsigned n_rounds = 400;
static int is_over;
static uint64_t n_calls;
static axp_profiler *prof;

static void *record(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 500; i++) {
            AXP_SCOPE_IN(prof, "scope");
        }
        __atomic_add_fetch(&n_calls, 500, __ATOMIC_RELAXED);
        usleep(200); /* many batches, and not many bytes */
    }
    return NULL;
}

/* Every number there is becomes a file of the program's. */
static void close_and_open(int *own)
{
    for (int fd = 3; fd < N_NUMBERS; fd++)
        close(fd);
    for (int i = 0; i < N_NUMBERS - 3; i++)
        own[i] = open(users, O_RDWR | O_CREAT | O_APPEND, 0600);
}

static void dup_over_all(int *own)
{
    int fd = open(users, O_RDWR | O_CREAT | O_APPEND, 0600);
    CHECK(fd >= 0 || errno == EMFILE);
    for (int i = 0; i < N_NUMBERS - 3; i++)
        if (fd >= 0 || own[0] > 0) own[i] = dup2(fd >= 0 ? fd : own[0], i + 3);
}

/* All of them are still open, and the file is empty. */
static void check_own(const int *own)
{
    struct stat st;
    for (int i = 0; i < N_NUMBERS - 3; i++)
        CHECK(own[i] < 0 || !fstat(own[i], &st));
    CHECK(!stat(users, &st));
    CHECK_EQ((uint64_t)st.st_size, 0);
}

static void run(void (*take_all)(int *own))
{
    struct rlimit few = {N_NUMBERS, N_NUMBERS};
    int own[N_NUMBERS] = {0};
    pthread_t t[2];
    CHECK(!setrlimit(RLIMIT_NOFILE, &few));
    prof = axp_profiler_create(
        &(axp_options){.path = path, .spool_limit = (uint64_t)8 << 20});
    CHECK(prof != NULL);
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_create(&t[i], NULL, record, NULL));
    for (unsigned i = 0; i < n_rounds; i++) {
        take_all(own);
        if (i % 3 == 0) CHECK(!axp_flush(prof));
        if (i % 5 == 0) {
            axp_view *v = axp_snapshot(prof);
            CHECK(v != NULL);
            if (i % 2) take_all(own); /* it has none of these numbers */
            axp_view_destroy(v);
        }
        check_own(own);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_join(t[i], NULL));
    CHECK_EQ(axp_finish(prof), AXP_OK);
    check_own(own);
    axp_profiler_destroy(prof);
    check_own(own);
    for (int i = 0; i < N_NUMBERS - 3; i++)
        close(own[i]);
    axp_view *v = NULL;
    const char *paths[] = {path};
    CHECK_EQ(axp_open(paths, 1, &v), AXP_OK);
    CHECK_EQ(stress_all_calls(v), n_calls);
    CHECK_EQ(axp_view_event_count(v) + axp_view_cut_count(v), 2 * n_calls);
    axp_view_destroy(v);
    CHECK(!unlink(path) && !unlink(users));
}

static void closed_and_opened(void)
{
    run(close_and_open);
}

static void duplicated_over(void)
{
    run(dup_over_all);
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc > 1) n_rounds = (unsigned)atoi(argv[1]);
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run.axp", folder);
    snprintf(users, sizeof users, "%s/users.txt", folder);
    failed += STRESS_RUN(closed_and_opened, 200);
    failed += STRESS_RUN(duplicated_over, 200);
    CHECK(failed || !rmdir(folder));
    return failed;
}
