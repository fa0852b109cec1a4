/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What two threads make at the same time, of which one is kept, is paid for
 * once: where the budget holds one, both go on with it. The other thread comes
 * when the first one asks for memory, which here is this program's. */
#include "test_support.h"

#include <sys/mman.h>

#include "tally/tally_memory.h"
#include "tally/tally_shadow.h"

#define SLAB_BYTES (256u * AXP__SLAB_RECORD) /* of the first block */
#define PAGE_BYTES (AXP__LIVE_PAGE * sizeof(axp__ref))
#define TABLE_BYTES (4096 * sizeof(struct axp__slot)) /* of the first table */
#define REGIONS_BYTES (AXP__REGIONS * sizeof(struct axp__region))

static void (*meanwhile)(void); /* once */
static struct axp__budget budget;

void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
    void (*fn)(void) = meanwhile;
    meanwhile = NULL;
    if (fn) fn();
    return __real_mmap(at, n, prot, flags, fd, from);
}

static void begin(void (*fn)(void), uint64_t limit_bytes)
{
    budget = (struct axp__budget){.limit_bytes = limit_bytes};
    meanwhile = fn;
}

static struct axp__slab slab;
static axp__ref other_ref;

static void make_record(void)
{
    other_ref = axp__slab_new(&slab, &budget);
}

static void a_block_of_records(void **state)
{
    (void)state;
    begin(make_record, SLAB_BYTES);
    axp__ref ref = axp__slab_new(&slab, &budget);
    assert_int_equal(other_ref, 1);
    assert_int_equal(ref, 2);
    assert_int_equal(budget.used_bytes, SLAB_BYTES);
    while (ref && ref < 255)
        ref = axp__slab_new(&slab, &budget);
    assert_int_equal(ref, 255);
    assert_int_equal(axp__slab_new(&slab, &budget), 0); /* and no more */
    axp__slab_clear(&slab, &budget);
    assert_int_equal(budget.used_bytes, 0);
}

static struct axp__memory memory = {.budget = &budget};
static struct axp__live_name *other_name;

static void make_name(void)
{
    other_name = axp__memory_get(&memory, 6);
}

static void a_page_of_names(void **state)
{
    (void)state;
    begin(make_name, PAGE_BYTES + SLAB_BYTES);
    struct axp__live_name *name = axp__memory_get(&memory, 5);
    assert_non_null(name);
    assert_non_null(other_name);
    assert_ptr_not_equal(name, other_name);
    assert_int_equal(budget.used_bytes, PAGE_BYTES + SLAB_BYTES);
    axp__memory_clear(&memory);
    assert_int_equal(budget.used_bytes, 0);
}

static struct axp__lookup blocks = {.budget = &budget};
static enum axp__put_result other_put;

static void put_block(void)
{
    uint64_t old;
    other_put = axp__lookup_put(&blocks, 0x2000, 2, &old);
}

static void a_table_of_blocks(void **state)
{
    (void)state;
    uint64_t old;
    begin(put_block, TABLE_BYTES);
    assert_int_equal(axp__lookup_put(&blocks, 0x1000, 1, &old), AXP__PUT_NEW);
    assert_int_equal(other_put, AXP__PUT_NEW);
    assert_int_equal(budget.used_bytes, TABLE_BYTES);
    assert_true(axp__lookup_take(&blocks, 0x1000, &old));
    assert_true(axp__lookup_take(&blocks, 0x2000, &old));
    axp__lookup_clear(&blocks);
    assert_int_equal(budget.used_bytes, 0);
}

static struct axp__shadow shadow = {.rest.budget = &budget};

static void put_cell(void)
{
    uint64_t old;
    other_put = axp__shadow_put_slow(&shadow, 0x2000, 2 << 20, &old);
}

/* A table that was refused would be for good. */
static void a_table_of_regions(void **state)
{
    (void)state;
    uint64_t old;
    const struct axp__region *region = NULL;
    begin(put_cell, 4 * REGIONS_BYTES);
    assert_int_equal(axp__shadow_put_slow(&shadow, 0x1000, 1 << 20, &old),
                     AXP__PUT_NEW);
    assert_int_equal(other_put, AXP__PUT_NEW);
    assert_non_null(axp__shadow_cell(&shadow, 0x1000, &region));
    assert_true(axp__region_is_ready(region, 0x2000));
    axp__shadow_clear(&shadow);
    assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_of_records),
        cmocka_unit_test(a_page_of_names),
        cmocka_unit_test(a_table_of_blocks),
        cmocka_unit_test(a_table_of_regions),
    };
    return TS_RUN(tests);
}
