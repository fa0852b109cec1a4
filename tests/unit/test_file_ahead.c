/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small reads that follow each other: the same bytes, by fewer calls. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "../file_support.h"
#include "file/file_ahead.h"

#define BYTES 100000u

static uint8_t content[BYTES];

static int make(void)
{
    for (size_t i = 0; i < BYTES; i++)
        content[i] = (uint8_t)(i * 2654435761u >> 11);
    int fd = open(fs_path("x"), O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(fd, content, BYTES), BYTES);
    return fd;
}

static bool get(struct axp__read_ahead *a, int fd, uint64_t at, size_t n)
{
    uint8_t bytes[8192];
    if (!axp__read_ahead_read(a, fd, at, BYTES, bytes, n)) return false;
    assert_memory_equal(bytes, content + at, n);
    return true;
}

static void one_after_the_other(void **state)
{
    (void)state;
    int fd = make();
    struct axp__read_ahead *a = axp__read_ahead_create();
    uint64_t at = 0;
    for (; at + 160 <= BYTES; at += 160) {
        assert_true(get(a, fd, at, 64));
        assert_true(get(a, fd, at + 64, 96));
    }
    assert_true(get(a, fd, at, BYTES - at)); /* to the last byte … */
    assert_false(get(a, fd, BYTES - 4, 8));  /* … and not beyond */
    axp__read_ahead_destroy(a);
    close(fd);
}

static void who_jumps_reads_for_himself(void **state)
{
    (void)state;
    int fd = make();
    struct axp__read_ahead *a = axp__read_ahead_create();
    assert_true(get(a, fd, 0, 64));
    assert_false(get(a, fd, 90000, 64));
    assert_true(get(a, fd, 90064, 64)); /* now he reads on */
    assert_false(get(a, fd, 20000, 64));
    assert_false(get(a, fd, 20064, 8192)); /* worth a call of its own */
    assert_false(axp__read_ahead_read(NULL, fd, 0, BYTES, content, 1));
    axp__read_ahead_destroy(a);
    close(fd);
}

/* What a file loses after it was opened is not made up. */
static void a_file_that_shrinks(void **state)
{
    (void)state;
    int fd = make();
    struct axp__read_ahead *a = axp__read_ahead_create();
    assert_int_equal(ftruncate(fd, 100), 0);
    assert_true(get(a, fd, 0, 64));
    assert_false(get(a, fd, 64, 64));
    axp__read_ahead_destroy(a);
    close(fd);
}

static struct axp__read_ahead *shared;
static int shared_fd;

static void *read_all(void *unused)
{
    for (uint64_t at = 0; at + 100 <= BYTES; at += 100)
        get(shared, shared_fd, at, 100);
    return unused;
}

static void several_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    shared_fd = make();
    shared = axp__read_ahead_create();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    axp__read_ahead_destroy(shared);
    close(shared_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FS_TEST(one_after_the_other),
        FS_TEST(who_jumps_reads_for_himself),
        FS_TEST(a_file_that_shrinks),
        FS_TEST(several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
