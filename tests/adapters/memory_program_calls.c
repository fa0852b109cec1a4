/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parts of memory_program: what each call of malloc's family promises. A size
 * that no compiler may look at is volatile. */
#include "memory_program.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

static volatile size_t half_of_all = SIZE_MAX / 2;

static void fill(void *block, size_t n)
{
    memset(block, (int)(n & 0xff), n);
}

/* The first n bytes are as fill(block, of) left them. */
static int is_filled(const void *block, size_t of, size_t n)
{
    const unsigned char *byte = block;
    for (size_t i = 0; i < n; i++)
        if (byte[i] != (of & 0xff)) return 0;
    return 1;
}

/* ---- realloc ------------------------------------------------------------ */

static void *resize(void *block, size_t old, size_t n)
{
    void *is = truth_realloc(block, old, n);
    REQUIRE(is);
    REQUIRE(is_filled(is, old, old < n ? old : n));
    fill(is, n);
    return is;
}

/* Too much: the block is as it was. */
static void fail_to_grow(void *block, size_t n)
{
    errno = 0;
    REQUIRE(!truth_realloc(block, n, half_of_all));
    REQUIRE(errno == ENOMEM);
    errno = 0;
    REQUIRE(!truth_reallocarray(block, n, half_of_all, 4));
    REQUIRE(errno == ENOMEM);
    REQUIRE(is_filled(block, n, n));
}

/* Grows from `from` bytes to 1 MiB and shrinks again; how many are left. */
static void *run_chain(void *block, size_t *n)
{
    for (; *n < 1 << 20; *n += *n / 2 + 16)
        block = resize(block, *n, *n + *n / 2 + 16);
    fail_to_grow(block, *n);
    for (; *n > 1; *n /= 2)
        block = resize(block, *n, *n / 2);
    return block;
}

static void end_with_zero(void *block, size_t n)
{
    void *is = truth_realloc(block, n, 0);
    if (is) truth_free(is, 0); /* not glibc's way, and allowed */
}

static void run_arrays(void)
{
    void *block = truth_reallocarray(NULL, 0, 10, 10);
    fill(block, 100);
    REQUIRE(block);
    block = truth_reallocarray(block, 100, 100, 10);
    REQUIRE(block && is_filled(block, 100, 100));
    fill(block, 1000);
    fail_to_grow(block, 1000);
    block = truth_reallocarray(block, 1000, 5, 10);
    REQUIRE(block && is_filled(block, 1000, 50));
    truth_free(block, 50);
}

int run_realloc(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (int i = 0; i < 40; i++) {
        size_t n = (size_t)i * 7 + 1;
        void *block = i % 4 == 0   ? truth_realloc(NULL, 0, n)
                      : i % 4 == 1 ? truth_malloc(n)
                      : i % 4 == 2 ? truth_calloc(1, n)
                                   : truth_memalign(256, n);
        REQUIRE(block);
        fill(block, n);
        block = run_chain(block, &n);
        if (i % 2)
            end_with_zero(block, n);
        else if (i % 8)
            truth_free(block, n);
        run_arrays();
    }
    void *none = truth_realloc(NULL, 0, 0);
    REQUIRE(none);
    truth_free(none, 0);
    truth_print(TRUTH_ONE_AT_A_TIME, "");
    return 0;
}

/* ---- alignment, zeroes, errno ------------------------------------------- */

#define UNTOUCHED 4711

/* Is aligned, has room, and errno was left alone by the call and by free. */
static void check_block(void *block, size_t alignment, size_t n)
{
    REQUIRE(block);
    REQUIRE(errno == UNTOUCHED);
    REQUIRE((uintptr_t)block % alignment == 0);
    REQUIRE(malloc_usable_size(block) >= n);
    fill(block, n);
    REQUIRE(is_filled(block, n, n));
}

static void check_and_free(void *block, size_t alignment, size_t n)
{
    check_block(block, alignment, n);
    truth_free(block, n);
    REQUIRE(errno == UNTOUCHED);
}

static void run_alignment(size_t alignment, size_t n)
{
    void *block = NULL;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    REQUIRE(!truth_posix_memalign(&block, alignment, n));
    check_and_free(block, alignment, n);
    size_t whole = (n + alignment - 1) / alignment * alignment;
    check_and_free(truth_aligned_alloc(alignment, whole), alignment, whole);
    check_and_free(truth_memalign(alignment, n), alignment, n);
    check_and_free(truth_valloc(n), page, n);
    check_and_free(truth_pvalloc(n), page, n);
    check_and_free(truth_malloc(n), sizeof(void *), n);
    check_and_free(truth_calloc(n, 3), sizeof(void *), n * 3);
}

/* Blocks that lie beside one another and are freed in another order. */
static void run_many_aligned(void)
{
    enum { N = 200 };
    void *block[N];
    for (size_t i = 0; i < N; i++) {
        block[i] = truth_memalign((size_t)16 << i % 9, 40 + i);
        check_block(block[i], (size_t)16 << i % 9, 40 + i);
    }
    for (size_t i = 0; i < N; i++) {
        size_t k = i * 77 % N;
        REQUIRE(is_filled(block[k], 40 + k, 40 + k));
        truth_free(block[k], 40 + k);
    }
}

static void run_zeroes(void)
{
    for (size_t n = 1; n < 300000; n = n * 3 + 5) {
        void *dirty = truth_malloc(n);
        memset(dirty, 0xff, n);
        truth_free(dirty, n);
        unsigned char *clean = truth_calloc(1, n);
        REQUIRE(clean);
        for (size_t i = 0; i < n; i++)
            REQUIRE(!clean[i]);
        truth_free(clean, n);
    }
}

static void run_refusals(void)
{
    void *block = &block;
    void *const before = block;
    errno = UNTOUCHED;
    REQUIRE(truth_posix_memalign(&block, 3, 10) == EINVAL);
    REQUIRE(truth_posix_memalign(&block, 4, 10) == EINVAL);
    REQUIRE(truth_posix_memalign(&block, 64, half_of_all * 2) == ENOMEM);
    REQUIRE(block == before);
    size_t n = half_of_all;
    errno = 0;
    REQUIRE(!truth_malloc(n * 2) && errno == ENOMEM);
    errno = 0;
    REQUIRE(!truth_calloc(n, 4) && errno == ENOMEM);
    errno = 0;
    REQUIRE(!truth_calloc(4, n) && errno == ENOMEM);
    errno = 0;
    REQUIRE(!truth_reallocarray(NULL, 0, n, 4) && errno == ENOMEM);
    errno = 0;
    REQUIRE(!truth_memalign(64, n * 2) && errno == ENOMEM);
    errno = 0;
    REQUIRE(!truth_aligned_alloc(64, n * 2 & ~(size_t)63) && errno == ENOMEM);
    errno = 0;
    REQUIRE(!truth_valloc(n * 2) && errno == ENOMEM);
    errno = 0;
    REQUIRE(!truth_pvalloc(n * 2) && errno == ENOMEM);
}

int run_align(int argc, char **argv)
{
    static const size_t sizes[] = {0, 1, 24, 1000, 100000};
    (void)argc, (void)argv;
    errno = UNTOUCHED;
    for (size_t alignment = 8; alignment <= (size_t)1 << 20; alignment *= 2)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            run_alignment(alignment, sizes[i]);
    run_many_aligned();
    run_zeroes();
    truth_free(NULL, 0);
    REQUIRE(errno == UNTOUCHED);
    run_refusals();
    truth_print(TRUTH_ONE_AT_A_TIME, "");
    return 0;
}

/* ---- all of a block ----------------------------------------------------- */

/* Programs do use what malloc_usable_size says that there is. */
int run_usable(int argc, char **argv)
{
    enum { N = 500 };
    static void *block[N];
    static size_t usable[N];
    (void)argc, (void)argv;
    for (size_t i = 0; i < N; i++) {
        block[i] = truth_malloc(i * 13);
        usable[i] = malloc_usable_size(block[i]);
        REQUIRE(block[i] && usable[i] >= i * 13);
        fill(block[i], usable[i]);
    }
    for (size_t i = 0; i < N; i++) {
        REQUIRE(is_filled(block[i], usable[i], usable[i]));
        if (i % 3 == 0) {
            void *is = truth_realloc(block[i], i * 13, usable[i]);
            REQUIRE(is && is_filled(is, usable[i], usable[i]));
            truth_free(is, usable[i]);
        } else {
            truth_free(block[i], i * 13);
        }
    }
    REQUIRE(malloc_usable_size(NULL) == 0);
    truth_print(TRUTH_ONE_AT_A_TIME, "");
    return 0;
}
