/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Work apart: what it writes and maps is here, what it opens never is. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os_apart.h"
#include "test_support.h"

static char path[] = "/tmp/axprof-apart-XXXXXX";

/* By those who make it a fork, and then it is done in place. */
static bool is_emulated(void)
{
    const char *preload = getenv("LD_PRELOAD");
    return AXP_EMULATED || (preload && strstr(preload, "vgpreload"));
}

static int count_open(void)
{
    int n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

struct opened {
    int fd;
    int n_open;
    char *memory;
    int error;
};

static void open_and_map(void *ctx)
{
    struct opened *o = ctx;
    o->fd = open(path, O_RDWR);
    o->n_open = count_open();
    o->memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, o->fd, 0);
    if (flock(o->fd, LOCK_EX | LOCK_NB)) o->error = errno;
    close(o->fd);
}

static bool is_locked(void)
{
    int fd = open(path, O_RDWR);
    bool is = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    close(fd);
    return is;
}

static void what_is_mapped_stays_and_what_is_opened_does_not(void **state)
{
    (void)state;
    struct opened o = {.fd = -1};
    int before = count_open();
    errno = EDOM;
    assert_true(axp__apart(open_and_map, &o));
    assert_int_equal(errno, EDOM);
    assert_true(o.fd >= 0 && !o.error);
    assert_true(o.memory != MAP_FAILED);
    assert_int_equal(count_open(), before);
    if (!is_emulated()) assert_int_equal(o.n_open, 1);
    strcpy(o.memory, "here");
    char text[5] = "";
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, text, 4), 4);
    close(fd);
    assert_string_equal(text, "here");
    /* and the lock is held by the mapping */
    assert_true(is_locked());
    munmap(o.memory, 4096);
    assert_false(is_locked());
}

static volatile sig_atomic_t n_children;

static void count_child(int sig)
{
    (void)sig;
    n_children++;
}

static void do_nothing(void *ctx)
{
    (void)ctx;
}

static void the_program_sees_no_child(void **state)
{
    (void)state;
    signal(SIGCHLD, count_child);
    for (int i = 0; i < 20; i++)
        assert_true(axp__apart(do_nothing, NULL));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    if (!is_emulated()) assert_int_equal(n_children, 0);
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 20; i++)
        assert_true(axp__apart(do_nothing, NULL));
    signal(SIGCHLD, SIG_DFL);
}

/* With every call in it a cancellation point. */
static void read_and_sleep(void *ctx)
{
    char byte;
    int fd = open(path, O_RDONLY);
    *(int *)ctx += read(fd, &byte, 1) == 1;
    usleep(1000);
    close(fd);
}

static int n_read;

static void *cancelled(void *arg)
{
    (void)arg;
    pthread_cancel(pthread_self()); /* it is due at the next such point */
    axp__apart(read_and_sleep, &n_read);
    n_read += 10;
    pthread_testcancel();
    n_read += 100;
    return NULL;
}

static void nobody_is_cancelled_in_it(void **state)
{
    (void)state;
    void *result;
    pthread_t t = ts_spawn(cancelled, NULL);
    assert_int_equal(pthread_join(t, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(n_read, 11);
}

static void write_far(void *ctx)
{
    int fd = open(path, O_RDWR);
    *(bool *)ctx = pwrite(fd, "x", 1, 1 << 20) < 0 && errno == EFBIG;
    close(fd);
}

/* SIGXFSZ would end the process. */
static void a_limit_on_files_is_an_error(void **state)
{
    (void)state;
    bool is_error = false;
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = 65536;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_true(axp__apart(write_far, &is_error));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_true(is_error);
}

/* In a process of its own: 0 if all is well, 77 where it is not allowed. */
static int go_elsewhere(void)
{
    int status = -1;
    if (!axp__apart(do_nothing, NULL)) return 1;
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID)) return 77;
    if (axp__apart(do_nothing, NULL) || errno != EPERM) return 2;
    if (axp__apart_is_possible()) return 3;
    pid_t first = fork();
    if (first < 0) return 4;
    if (!first) _exit(getpid() == 1 && axp__apart(do_nothing, NULL) ? 0 : 5);
    if (waitpid(first, &status, 0) != first || status) return 6;
    return axp__apart(do_nothing, NULL) ? 7 : 0;
}

/* What is first in a namespace of processes ends it for all. */
static void no_child_of_ours_is_a_namespaces_first(void **state)
{
    (void)state;
    int status = -1;
    pid_t pid = fork();
    if (!pid) _exit(go_elsewhere());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77 || is_emulated()) skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

struct named {
    char name[16];
};

static void be_named(void *arg)
{
    static const uint8_t id[16] = {0x01, 0x23, 0xab, 0xcd, 0xef, 0xff};
    struct named *n = arg;
    axp__apart_tell(id);
    prctl(PR_GET_NAME, n->name);
}

/* Who sees it knows whose it is; the program's own thread is called as before. */
static void its_name_says_which_recording_it_makes(void **state)
{
    (void)state;
    struct named before, child, after;
    prctl(PR_GET_NAME, before.name);
    assert_true(axp__apart(be_named, &child));
    prctl(PR_GET_NAME, after.name);
    assert_string_equal(after.name, before.name);
    const char *told = axp__apart_told(child.name);
    assert_int_equal(told != NULL, axp__apart_is_possible());
    if (told) assert_memory_equal(told, "0123abcdef", AXP__APART_DIGITS);
    be_named(&after); /* not there: nobody's name changes */
    assert_string_equal(after.name, before.name);
}

static void other_names_tell_nothing(void **state)
{
    (void)state;
    static const char *const others[] = {
        AXP__APART_NAME,  "", "(axp", "(axp012345678)", "(axp01234567890",
        "(axp01234x6789)"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_null(axp__apart_told(others[i]));
    assert_true(axp__apart_is(AXP__APART_NAME));
    assert_true(axp__apart_is("(axp0123456789)"));
    assert_false(axp__apart_is("worker"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_mapped_stays_and_what_is_opened_does_not),
        cmocka_unit_test(the_program_sees_no_child),
        cmocka_unit_test(nobody_is_cancelled_in_it),
        cmocka_unit_test(a_limit_on_files_is_an_error),
        cmocka_unit_test(its_name_says_which_recording_it_makes),
        cmocka_unit_test(other_names_tell_nothing),
        cmocka_unit_test(no_child_of_ours_is_a_namespaces_first),
    };
    int fd = mkstemp(path);
    if (fd < 0 || ftruncate(fd, 4096)) return 1;
    close(fd);
    int failed = TS_RUN(tests);
    unlink(path);
    return failed;
}
