/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Limits of the process that are used up while it records to a file: open
 * files, address space, size of files, number of threads.
 *
 * Each case is a process of its own, which sets a limit before it creates its
 * profiler, after that, or after its first events. It must end by itself, with
 * its own files and signals untouched; what it counted must be right; and the
 * file, if there is one, must be sound or say what it lacks.
 *
 * Usage: attack_limits [ROUNDS]. */
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/resource.h>

#include "axprof/axprof_file.h"
#include "stress_check.h"

#define THREADS 4
#define SCOPES 20000

enum when { BEFORE, CREATED, RECORDING, N_WHEN };
static const char *const when_names[] = {"before", "created", "recording"};

struct limit {
    const char *name;
    int resource;
    rlim_t value; /* of the address space: beyond what is used */
};
static const struct limit limits[] = {
    {"NOFILE", RLIMIT_NOFILE, 0},     {"NOFILE", RLIMIT_NOFILE, 3},
    {"NOFILE", RLIMIT_NOFILE, 5},     {"AS", RLIMIT_AS, 0},
    {"AS", RLIMIT_AS, 1 << 20},       {"AS", RLIMIT_AS, 8 << 20},
    {"FSIZE", RLIMIT_FSIZE, 0},       {"FSIZE", RLIMIT_FSIZE, 100 << 10},
    {"FSIZE", RLIMIT_FSIZE, 4 << 20}, {"NPROC", RLIMIT_NPROC, 0},
};
#define N_LIMITS (sizeof limits / sizeof *limits)

static char folder[] = "/tmp/axprof-limits-XXXXXX", path[300];
static const struct limit *limit;
static enum when when;
static pthread_barrier_t begun, limited;
static axp_profiler *prof;

/* ---- a case ---------------------------------------------------------------------------- */

static uint64_t size_of_process(void)
{
    uint64_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%" SCNu64, &pages) == 1);
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void set_limit(enum when now)
{
    if (now != when) return;
    struct rlimit r = {limit->value, limit->value};
    if (limit->resource == RLIMIT_AS)
        r.rlim_cur = r.rlim_max = size_of_process() + limit->value;
    CHECK(!setrlimit(limit->resource, &r));
}

static void *record(void *arg)
{
    (void)arg;
    for (int i = 0; i < SCOPES; i++) {
        if (i == 10) {
            pthread_barrier_wait(&begun);
            pthread_barrier_wait(&limited);
        }
        AXP_SCOPE_IN(prof, "scope");
        axp_record_alloc(prof, "tensor", 64);
    }
    return NULL;
}

/* What the program itself opened before stays what it is. */
static void check_own_file(int fd)
{
    char text[4] = "";
    CHECK(pread(fd, text, 4, 0) == 4 && !memcmp(text, "mine", 4));
    CHECK(lseek(fd, 0, SEEK_END) == 4);
}

static void check_numbers(void)
{
    uint64_t n = axp_call_count(prof, "scope");
    uint64_t want = (uint64_t)THREADS * SCOPES;
    if (n == want) return;
    /* Only memory that is not there may cost events, and that is said. */
    CHECK(n < want && limit->resource == RLIMIT_AS);
}

static void a_case(void)
{
    pthread_t t[THREADS];
    char own[320];
    snprintf(own, sizeof own, "%s.own", path);
    int fd = open(own, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, "mine", 4) == 4);
    pthread_barrier_init(&begun, NULL, THREADS + 1);
    pthread_barrier_init(&limited, NULL, THREADS + 1);
    set_limit(BEFORE);
    prof = axp_profiler_create(&(axp_options){.path = path});
    if (!prof) _exit(axp_last_error()[0] ? 0 : 1); /* refused, and why */
    if (limit->resource == RLIMIT_NPROC && when == CREATED) when = RECORDING;
    set_limit(CREATED);
    int n = 0;
    while (n < THREADS && !pthread_create(&t[n], NULL, record, NULL))
        n++;
    if (n < THREADS) _exit(0); /* the program's own trouble */
    pthread_barrier_wait(&begun);
    set_limit(RECORDING);
    pthread_barrier_wait(&limited);
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_join(t[i], NULL));
    check_numbers();
    check_own_file(fd);
    (void)axp_finish(prof); /* may fail, and say so */
    axp_profiler_destroy(prof);
    check_own_file(fd);
    _exit(0);
}

/* ---- afterwards -------------------------------------------------------------------------- */

static int list_spool(const axp_spool_info *s, void *ctx)
{
    (void)ctx;
    if (strstr(s->recording, folder)) (void)axp_spool_remove(s->path);
    return 0;
}

/* Sound, or not there, or an end that is missing. */
static void check_file(void)
{
    if (access(path, F_OK)) return;
    axp_status status = axp_file_check(path, stdout);
    if (status == AXP_E_STATE) {
        CHECK_EQ(axp_file_pack(path, NULL), AXP_OK);
        status = axp_file_check(path, stdout);
    }
    CHECK_EQ(status, AXP_OK);
}

/* Root has no limit on processes. */
static void become_nobody(void)
{
    if (limit->resource != RLIMIT_NPROC || geteuid()) return;
    CHECK(!setgroups(0, NULL) && !setresgid(65534, 65534, 65534) &&
          !setresuid(65534, 65534, 65534));
}

static void run_case(void)
{
    become_nobody();
    a_case();
}

static int attack(void)
{
    int failures = 0;
    for (size_t i = 0; i < N_LIMITS; i++)
        for (int w = 0; w < N_WHEN; w++) {
            char name[64];
            limit = &limits[i];
            when = (enum when)w;
            snprintf(name, sizeof name, "RLIMIT_%s %llu %s", limit->name,
                     (unsigned long long)limit->value, when_names[w]);
            failures += stress_run(name, run_case, 60);
            check_file();
            char own[320];
            snprintf(own, sizeof own, "%s.own", path);
            unlink(path);
            unlink(own);
        }
    return failures;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1, failures = 0;
    if (STRESS_TSAN || STRESS_ASAN) return 77; /* need address space */
    CHECK(mkdtemp(folder));
    CHECK(!chmod(folder, 0777));
    snprintf(path, sizeof path, "%s/run.axp", folder);
    for (int i = 0; i < rounds; i++)
        failures += attack();
    axp_spools_list(list_spool, NULL);
    CHECK(!rmdir(folder));
    printf("%d rounds of %zu cases, %d failures\n", rounds, N_LIMITS * N_WHEN,
           failures);
    return failures != 0;
}
