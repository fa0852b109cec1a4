/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Spools that killed programs leave: listed with their recordings, removed
 * when nobody uses them, and never anything else. */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "os/os_space.h"
#include "outside/outside_recover.h"
#include "test_support.h"

static char folder[] = "/tmp/axprof-spools-XXXXXX";
static char path[64];

struct found {
    pid_t pid;
    int n;
    char spool[512], recording[512];
    bool is_in_use;
    uint64_t bytes;
};

static int look(const axp_spool_info *s, void *ctx)
{
    struct found *f = ctx;
    if (s->process_id != (uint64_t)f->pid || strcmp(s->recording, path) != 0)
        return 0;
    f->n++;
    snprintf(f->spool, sizeof f->spool, "%s", s->path);
    snprintf(f->recording, sizeof f->recording, "%s", s->recording);
    f->is_in_use = s->is_in_use;
    f->bytes = s->bytes;
    return 0;
}

static struct found find(pid_t pid)
{
    struct found f = {.pid = pid};
    assert_int_equal(axp_spools_list(look, &f), AXP_OK);
    return f;
}

static int n_scopes = 10;

/* A child that records and waits; its id. */
static pid_t start(bool closes_all)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (!pid) {
        alarm(240); /* a hang, and not a busy machine */
        axp_profiler *p = axp_profiler_create(&(axp_options){.path = path});
        if (!p) _exit(1);
        for (int i = 0; i < n_scopes; i++) {
            AXP_SCOPE_IN(p, "scope");
        }
        if (write(ready[1], "x", 1) != 1) _exit(1);
        for (int fd = 3; closes_all && fd < 1024; fd++)
            close(fd);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    if (closes_all) assert_int_equal(read(ready[0], &byte, 1), 0);
    close(ready[0]);
    return pid;
}

static void end(pid_t pid)
{
    int status;
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static void a_killed_program_leaves_one_that_pack_takes(void **state)
{
    (void)state;
    pid_t pid = start(false);
    struct found f = find(pid);
    assert_int_equal(f.n, 1);
    assert_true(f.is_in_use);
    assert_true(f.bytes > 0);
    assert_int_equal(axp_spool_remove(f.spool), AXP_E_STATE);
    end(pid);
    f = find(pid);
    assert_int_equal(f.n, 1);
    assert_false(f.is_in_use);
    assert_int_equal(axp_file_pack(path, NULL), AXP_OK);
    assert_int_equal(find(pid).n, 0);
    unlink(path);
}

/* As a program leaves it that is killed while it opens its files: of what it
 * recorded nothing is missing. */
static void one_that_had_not_begun_misses_nothing(void **state)
{
    (void)state;
    const uint64_t no = 0;
    axp_view *v = NULL;
    n_scopes = 0;
    pid_t pid = start(false);
    n_scopes = 10;
    struct found f = find(pid);
    assert_int_equal(f.n, 1);
    int fd = open(f.spool, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(
        pwrite(fd, &no, sizeof no, offsetof(struct axp__space, is_complete)),
        sizeof no);
    close(fd);
    assert_int_equal(axp_file_pack(path, NULL), AXP_E_STATE); /* it goes on */
    end(pid);
    assert_int_equal(axp_open(&(const char *){path}, 1, &v), AXP_OK);
    assert_int_equal(axp_view_damage(v), 0);
    axp_view_destroy(v);
    assert_int_equal(axp_file_pack(path, NULL), AXP_OK);
    assert_int_equal(find(pid).n, 0);
    FILE *to = fopen("/dev/null", "w");
    assert_non_null(to);
    assert_int_equal(axp_file_check(path, to), AXP_OK);
    fclose(to);
    unlink(path);
}

static void one_that_nobody_uses_can_be_removed(void **state)
{
    (void)state;
    pid_t pid = start(false);
    end(pid);
    struct found f = find(pid);
    assert_int_equal(f.n, 1);
    assert_int_equal(axp_spool_remove(f.spool), AXP_OK);
    assert_int_equal(find(pid).n, 0);
    assert_int_equal(axp_spool_remove(f.spool), AXP_E_NOT_FOUND);
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    assert_non_null(to);
    /* What was in the spool is gone. */
    assert_int_equal(axp_file_info_write(&(const char *){path}, 1, to),
                     AXP_E_DAMAGED);
    fclose(to); /* one of them is not "1 recordings" */
    assert_non_null(strstr(text, "warning   recordings without their "));
    free(text);
    unlink(path);
}

/* Programs close what they do not know. */
static void it_is_in_use_though_its_descriptor_is_closed(void **state)
{
    (void)state;
    pid_t pid = start(true);
    struct found f = find(pid);
    assert_int_equal(f.n, 1);
    assert_true(f.is_in_use);
    end(pid);
    assert_int_equal(axp_spool_remove(f.spool), AXP_OK);
    unlink(path);
}

static void nothing_else_is_removed(void **state)
{
    (void)state;
    char name[sizeof((struct found *)0)->spool + 32], link[128];
    pid_t pid = start(false);
    end(pid);
    struct found f = find(pid);
    /* a link to it, a copy under another name, files that are none */
    snprintf(link, sizeof link, "/dev/shm/axprof-%032d.spool", 7);
    (void)unlink(link);
    assert_int_equal(symlink(f.spool, link), 0);
    assert_int_equal(axp_spool_remove(link), AXP_E_NOT_FOUND);
    assert_int_equal(unlink(link), 0);
    int fd = open(link, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0 && write(fd, "AXSPOOL", 8) == 8);
    close(fd);
    assert_int_equal(axp_spool_remove(link), AXP_E_NOT_FOUND);
    assert_int_equal(unlink(link), 0);
    snprintf(name, sizeof name, "/dev/shm/..%s", f.spool);
    assert_int_equal(axp_spool_remove(name), AXP_E_NOT_FOUND);
    assert_int_equal(axp_spool_remove(path), AXP_E_NOT_FOUND);
    assert_int_equal(axp_spool_remove(NULL), AXP_E_NOT_FOUND);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(axp_spool_remove(f.spool), AXP_OK);
    unlink(path);
}

/* ---- the lock --------------------------------------------------------------------- */

static int locked_fd;

static void let_go(int number)
{
    (void)number;
    (void)flock(locked_fd, LOCK_UN);
}

/* As of a killed process whose memory the kernel has not given back yet. */
static void a_lock_may_outlive_its_process(void **state)
{
    (void)state;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    locked_fd = open(path, O_RDWR);
    assert_true(fd >= 0 && locked_fd >= 0);
    pid_t gone = fork();
    if (!gone) _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    assert_int_equal(flock(locked_fd, LOCK_EX), 0);
    assert_true(axp__spool_is_in_use_by(fd, (uint64_t)getpid()));
    assert_true(
        axp__spool_is_in_use_by(fd, (uint64_t)gone)); /* a lock is one */
    signal(SIGALRM, let_go);
    struct itimerval soon = {.it_value.tv_usec = 20000};
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    assert_false(axp__spool_is_in_use_by(fd, (uint64_t)gone));
    signal(SIGALRM, SIG_DFL);
    close(locked_fd);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_program_leaves_one_that_pack_takes),
        cmocka_unit_test(one_that_had_not_begun_misses_nothing),
        cmocka_unit_test(one_that_nobody_uses_can_be_removed),
        cmocka_unit_test(it_is_in_use_though_its_descriptor_is_closed),
        cmocka_unit_test(nothing_else_is_removed),
        cmocka_unit_test(a_lock_may_outlive_its_process),
    };
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/run.axp", folder);
    int failed = TS_RUN(tests);
    rmdir(folder);
    return failed;
}
