/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where a mapping cannot be made by way of another, as under emulators and in
 * some sandboxes, the spool is opened again for each: everything is recorded
 * all the same, and only in the file that is ours. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "test_support.h"

#define N_THREADS 8
#define N_SCOPES 30000u

static char folder[] = "/tmp/axprof-again-XXXXXX";
static char path[64];

/* ---- mremap, refused ---------------------------------------------------------------- */

static int reason;
static unsigned n_refused;

void *__real_mremap(void *m, size_t before, size_t n, int flags, ...);
void *__wrap_mremap(void *m, size_t before, size_t n, int flags, ...);
void *__wrap_mremap(void *m, size_t before, size_t n, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(list, void *) : NULL;
    va_end(list);
    if (before) return __real_mremap(m, before, n, flags, to);
    __atomic_fetch_add(&n_refused, 1, __ATOMIC_RELAXED);
    errno = reason;
    return MAP_FAILED;
}

/* ---- cases ---------------------------------------------------------------------------- */

static void *record(void *arg)
{
    for (unsigned i = 0; i < N_SCOPES; i++) {
        AXP_SCOPE_IN((axp_profiler *)arg, "scope");
    }
    return NULL;
}

static void record_in_threads(axp_profiler *p)
{
    pthread_t t[N_THREADS];
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, record, p), 0);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(t[i], NULL), 0);
}

static axp_profiler *begin(int error)
{
    reason = error;
    n_refused = 0;
    axp_profiler *p = axp_profiler_create(
        &(axp_options){.path = path, .flags = AXP_OVERWRITE});
    assert_non_null(p);
    return p;
}

static void expect_calls(uint64_t calls)
{
    axp_view *v = NULL;
    const char *paths[] = {path};
    if (axp_open(paths, 1, &v)) fail_msg("%s", axp_last_error());
    assert_int_equal(ts_view_op(v, "scope").calls, calls);
    axp_view_destroy(v);
}

static void everything_is_recorded_all_the_same(void **state)
{
    static const int reasons[] = {EINVAL, EFAULT, ENOMEM, EPERM, ENOSYS};
    (void)state;
    int free_before = dup(0);
    close(free_before);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        axp_profiler *p = begin(reasons[i]);
        record_in_threads(p);
        int free_now = dup(0);
        assert_int_equal(free_now, free_before); /* none was left open */
        close(free_now);
        assert_int_equal(axp_finish(p), AXP_OK);
        axp_profiler_destroy(p);
        assert_true(n_refused > 0);
        expect_calls((uint64_t)N_THREADS * N_SCOPES);
    }
}

static char spool[512];

static int note_spool(const axp_spool_info *s, void *ctx)
{
    (void)ctx;
    if (!strcmp(s->recording, path))
        snprintf(spool, sizeof spool, "%s", s->path);
    return 0;
}

/* What has come to have the spool's name is not written to. */
static void another_file_of_that_name_is_left_alone(void **state)
{
    char found[64] = "";
    (void)state;
    axp_profiler *p = begin(EINVAL);
    {
        AXP_SCOPE_IN(p, "scope");
    }
    axp_spools_list(note_spool, NULL);
    assert_true(spool[0]);
    assert_int_equal(unlink(spool), 0);
    int fd = open(spool, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a stranger's", 12), 12);
    record_in_threads(p);
    axp_view *v = ts_snapshot(p);
    assert_int_equal(ts_view_op(v, "scope").calls,
                     (uint64_t)N_THREADS * N_SCOPES + 1);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 12);
    assert_int_equal(st.st_nlink, 1);
    assert_int_equal(pread(fd, found, sizeof found - 1, 0), 12);
    assert_string_equal(found, "a stranger's");
    close(fd);
    unlink(spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_recorded_all_the_same),
        cmocka_unit_test(another_file_of_that_name_is_left_alone),
    };
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/run.axp", folder);
    int failed = TS_RUN(tests);
    unlink(path);
    rmdir(folder);
    return failed;
}
