/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Unwind rows out of .eh_frame: programs written by hand, each with the row
 * that DWARF says it has, and this program's own tables, cut off and with
 * anything in them: a row or none comes out, and nothing outside is read. */
#include "test_support.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "adapters/memory/memory_cfi.h"

#define START 0x10000000u

/* ---- programs ------------------------------------------------------------ */

/* What CIEs say: the CFA is rsp + 8, the return address at it - 8; or it is sp,
 * and the return address where it was. */
#if defined(__x86_64__)
static const uint8_t common[] = {0x0c, 7, 8, 0x90, 1};
#define CODE_ALIGN 1
#else
static const uint8_t common[] = {0x0c, 31, 0};
#define CODE_ALIGN 4
#endif

static memory_row run_in(const uint8_t *code, size_t n, uint32_t at,
                         bool is_signal)
{
    struct memory_fde fde = {.start = START,
                             .code_align = CODE_ALIGN,
                             .data_align = -8,
                             .is_signal = is_signal};
    fde.common = (struct memory_bytes){common, common + sizeof common, false};
    fde.own = (struct memory_bytes){code, code + n, false};
    return memory_cfi_run(&fde, START + at);
}

#define RUN(at, ...)                                                           \
    run_in((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}),   \
           at, false)
#define UNKNOWN(...) expect_kind(RUN(0, __VA_ARGS__), MEMORY_ROW_UNKNOWN)

static void expect_kind(memory_row row, enum memory_row_kind kind)
{
    assert_int_equal(memory_row_kind(row), kind);
}

static void expect(memory_row row, enum memory_row_kind kind, int offset,
                   int back, int fp)
{
    expect_kind(row, kind);
    assert_int_equal(memory_row_offset(row), offset);
    assert_int_equal(memory_row_back(row), back);
    assert_int_equal(memory_row_fp(row), fp);
}

static void what_no_row_can_say(void **state)
{
    (void)state;
    UNKNOWN(0x0d, 10);               /* CFA by another register */
    UNKNOWN(0x0e, 9);                /* no word */
    UNKNOWN(0x0f, 3, 0x70, 0, 0x06); /* CFA by an expression */
    UNKNOWN(0x0b);                   /* nothing to restore */
    UNKNOWN(0x3f);                   /* no such instruction */
    UNKNOWN(0x0e, 0x80);             /* cut off */
    UNKNOWN(0x0f, 200, 1);
    UNKNOWN(0x0e, 0x80, 0x80, 0x80, 0x80, 1);
    UNKNOWN(10, 10, 10, 10, 10, 10, 10, 10);
}

#if defined(__x86_64__)
/* push rbp; mov rsp, rbp; … pop rbp; ret; and what comes after it. */
static void a_frame_pointer_comes_and_goes(void **state)
{
    static const uint8_t code[] = {0x41, 0x0e, 16,   0x86, 2,    0x43, 0x0d,
                                   6,    0x42, 0x0a, 0xc6, 0x0c, 7,    8,
                                   0x41, 0x0b, 0x41, 0x0e, 32};
    (void)state;
    expect(run_in(code, sizeof code, 0, false), MEMORY_ROW_SP, 1, -1, 0);
    expect(run_in(code, sizeof code, 1, false), MEMORY_ROW_SP, 2, -1, -2);
    expect(run_in(code, sizeof code, 3, false), MEMORY_ROW_SP, 2, -1, -2);
    expect(run_in(code, sizeof code, 4, false), MEMORY_ROW_FP, 2, -1, -2);
    expect(run_in(code, sizeof code, 6, false), MEMORY_ROW_SP, 1, -1, 0);
    expect(run_in(code, sizeof code, 7, false), MEMORY_ROW_FP, 2, -1, -2);
    expect(run_in(code, sizeof code, 99, false), MEMORY_ROW_FP, 4, -1, -2);
}

static void every_way_to_move_on(void **state)
{
    (void)state;
    for (uint32_t at = 0; at < 3; at++)
        expect(RUN(at, 0x02, 2, 0x0e, 16), MEMORY_ROW_SP, at < 2 ? 1 : 2, -1,
               0);
    expect(RUN(299, 0x03, 44, 1, 0x0e, 16), MEMORY_ROW_SP, 1, -1, 0);
    expect(RUN(300, 0x03, 44, 1, 0x0e, 16), MEMORY_ROW_SP, 2, -1, 0);
    expect(RUN(65536, 0x04, 0, 0, 1, 0, 0x0e, 16), MEMORY_ROW_SP, 2, -1, 0);
    expect(RUN(0, 0x12, 7, 0x7e), MEMORY_ROW_SP, 2, -1, 0); /* def_cfa_sf */
    expect(RUN(0, 0x13, 0x7d), MEMORY_ROW_SP, 3, -1, 0);    /* …_offset_sf */
    expect(RUN(0, 0x0e, 32, 0x05, 6, 3), MEMORY_ROW_SP, 4, -1, -3);
    expect(RUN(0, 0x0e, 32, 0x11, 6, 4), MEMORY_ROW_SP, 4, -1, -4);
    expect(RUN(0, 0x0e, 32, 0x86, 3, 0x06, 6), MEMORY_ROW_SP, 4, -1, 0);
    expect(RUN(0, 0x0e, 32, 0x86, 3, 0x08, 6), MEMORY_ROW_SP, 4, -1, 0);
    expect(RUN(0, 0x2e, 8, 0x83, 2, 0x0e, 16), MEMORY_ROW_SP, 2, -1, 0);
    expect(RUN(0, 0x0e, 0x80, 0x80, 1), MEMORY_ROW_SP, 2048, -1, 0);
}

static void expressions_that_programs_have(void **state)
{
    static const uint8_t table[] = {0x0f, 11,   0x77, 8,    0x80, 0,   0x3f,
                                    0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    static const uint8_t kernel[] = {0x0f, 4, 0x77, 0xa0, 0x01, 0x06};
    (void)state;
    expect(RUN(0, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0),
           MEMORY_ROW_AT_FP, -1, -1, MEMORY_FP_AT_FP);
    expect(run_in(table, sizeof table, 10, false), MEMORY_ROW_SP, 1, -1, 0);
    expect(run_in(table, sizeof table, 11, false), MEMORY_ROW_SP, 2, -1, 0);
    expect_kind(run_in(kernel, sizeof kernel, 0, true), MEMORY_ROW_SIGNAL);
    expect_kind(run_in(kernel, sizeof kernel, 0, false), MEMORY_ROW_UNKNOWN);
}

static void what_a_row_cannot_say(void **state)
{
    (void)state;
    expect_kind(RUN(0, 0x07, 16), MEMORY_ROW_END);
    UNKNOWN(0x0e, 0);    /* no frame */
    UNKNOWN(0x90, 2);    /* return address */
    UNKNOWN(0x08, 16);   /* in a register */
    UNKNOWN(0x86, 2);    /* rbp below rsp */
    UNKNOWN(0x09, 6, 3); /* rbp in rbx */
    UNKNOWN(0x16, 6, 1, 0x30);
    UNKNOWN(0x10, 6, 1, 0x30);
    UNKNOWN(0x10, 6, 2, 0x76, 0); /* at rbp, but the CFA is not */
    UNKNOWN(0x2d);                /* nothing is signed */
}
#else
static void expect_leaf(memory_row row, int offset)
{
    expect_kind(row, MEMORY_ROW_LEAF);
    assert_int_equal(memory_row_offset(row), offset);
}

/* stp x29, x30, [sp, -48]!; mov x29, sp; … ldp; ret; and what comes after. */
static void a_frame_pointer_comes_and_goes(void **state)
{
    static const uint8_t code[] = {0x41, 0x0e, 48, 0x9d, 6,    0x9e, 5,
                                   0x41, 0x0d, 29, 0x42, 0x0a, 0xde, 0xdd,
                                   0x0c, 31,   0,  0x41, 0x0b};
    (void)state;
    expect_leaf(run_in(code, sizeof code, 0, false), 0);
    expect_leaf(run_in(code, sizeof code, 3, false), 0);
    expect(run_in(code, sizeof code, 4, false), MEMORY_ROW_SP, 6, -5, -6);
    expect(run_in(code, sizeof code, 8, false), MEMORY_ROW_FP, 6, -5, -6);
    expect(run_in(code, sizeof code, 15, false), MEMORY_ROW_FP, 6, -5, -6);
    expect_leaf(run_in(code, sizeof code, 16, false), 0);
    expect(run_in(code, sizeof code, 20, false), MEMORY_ROW_FP, 6, -5, -6);
}

static void every_way_to_move_on(void **state)
{
    (void)state;
    expect_leaf(RUN(7, 0x02, 2, 0x0e, 16), 0);
    expect_leaf(RUN(8, 0x02, 2, 0x0e, 16), 2);
    expect_leaf(RUN(1199, 0x03, 44, 1, 0x0e, 16), 0);
    expect_leaf(RUN(1200, 0x03, 44, 1, 0x0e, 16), 2);
    expect_leaf(RUN(262144, 0x04, 0, 0, 1, 0, 0x0e, 16), 2);
    expect_leaf(RUN(0, 0x12, 31, 0x7e), 2); /* def_cfa_sf */
    expect_leaf(RUN(0, 0x13, 0x7c), 4);     /* …_offset_sf */
    expect(RUN(0, 0x0e, 32, 0x05, 30, 3), MEMORY_ROW_SP, 4, -3, 0);
    expect(RUN(0, 0x0e, 32, 0x11, 30, 4), MEMORY_ROW_SP, 4, -4, 0);
    expect_leaf(RUN(0, 0x0e, 32, 0x9e, 3, 0x06, 30), 4);
    expect(RUN(0, 0x0e, 32, 0x9e, 3, 0x9d, 4, 0x08, 29), MEMORY_ROW_SP, 4, -3,
           0);
}

/* x30 alone, with x19, at the top as clang has it, below variables as gcc does;
 * other registers do not matter. */
static void where_registers_are(void **state)
{
    (void)state;
    expect(RUN(0, 0x0e, 16, 0x9e, 2), MEMORY_ROW_SP, 2, -2, 0);
    expect(RUN(0, 0x0e, 16, 0x9e, 2, 0x93, 1), MEMORY_ROW_SP, 2, -2, 0);
    expect(RUN(0, 0x0e, 0xb0, 1, 0x9e, 1, 0x9d, 2), MEMORY_ROW_SP, 22, -1, -2);
    expect(RUN(0, 0x0e, 80, 0x9d, 10, 0x9e, 9, 0x93, 8, 0x05, 72, 6),
           MEMORY_ROW_SP, 10, -9, -10);
    expect(RUN(0, 0x0e, 48, 0x9e, 3, 0x9d, 5), MEMORY_ROW_SP, 6, -3, -5);
    expect(RUN(0, 0x0c, 29, 16, 0x9e, 1, 0x9d, 2), MEMORY_ROW_FP, 2, -1, -2);
    expect(RUN(0, 0x0c, 29, 24, 0x9e, 2, 0x9d, 3), MEMORY_ROW_FP, 3, -2, -3);
}

/* The last that fit, and the first that do not: 4 MiB, with x30 at its bottom
 * and at its top; x30 in the middle. */
static void large_frames(void **state)
{
    (void)state;
    expect(RUN(0, 0x0e, 0xf0, 0xff, 0xff, 1, 0x9d, 2, 0x9e, 1), MEMORY_ROW_SP,
           (1 << 19) - 2, -1, -2);
    expect(RUN(0, 0x0e, 0xf0, 0xff, 0xff, 1, 0x9d, 0xfe, 0xff, 31, 0x9e, 0xfd,
               0xff, 31),
           MEMORY_ROW_SP, (1 << 19) - 2, 3 - (1 << 19), 2 - (1 << 19));
    UNKNOWN(0x0e, 0x80, 0x80, 0x80, 2, 0x9e, 1);
    expect(RUN(0, 0x0e, 0x90, 8, 0x9e, 64), MEMORY_ROW_SP, 130, -64, 0);
    expect(RUN(0, 0x0e, 0x90, 8, 0x9e, 67), MEMORY_ROW_SP, 130, -67, 0);
    UNKNOWN(0x0e, 0x90, 8, 0x9e, 65);
    UNKNOWN(0x0e, 0x90, 8, 0x9e, 66);
    UNKNOWN(0x0c, 29, 16, 0x9e, 65);
}

/* Before and after, in functions that sign their return address. */
static void signed_addresses(void **state)
{
    static const uint8_t code[] = {0x41, 0x2d, 0x41, 0x0e, 16,  0x9d,
                                   2,    0x9e, 1,    0x41, 0x2c};
    (void)state;
    expect_leaf(run_in(code, sizeof code, 4, false), 0);
    expect(run_in(code, sizeof code, 8, false), MEMORY_ROW_SP, 2, -1, -2);
    expect(run_in(code, sizeof code, 12, false), MEMORY_ROW_SP, 2, -1, -2);
    assert_int_equal(memory_code_plain(0x003faaaabbbbcccc), 0xaaaabbbbcccc);
}

static void what_a_row_cannot_say(void **state)
{
    (void)state;
    expect_kind(RUN(0, 0x07, 30), MEMORY_ROW_END);
    UNKNOWN(0x0e, 16, 0x9e, 3);          /* x30 below sp */
    UNKNOWN(0x0e, 16, 0x9e, 2, 0x9d, 3); /* x29 */
    UNKNOWN(0x0e, 16, 0x9e, 0);          /* x30 in the caller's frame */
    UNKNOWN(0x0e, 32, 0x9e, 2, 0x9d, 1); /* x29 after it */
    UNKNOWN(0x0e, 48, 0x9e, 1, 0x9d, 5); /* far before it */
    UNKNOWN(0x0e, 32, 0x9d, 1);          /* x29 of a leaf */
    UNKNOWN(0x0c, 29, 16);               /* a leaf by x29 */
    UNKNOWN(0x13, 2, 0x9e, 1);           /* CFA below sp */
    UNKNOWN(0x09, 30, 9);                /* x30 in x9 */
    UNKNOWN(0x16, 30, 1, 0x30);
    UNKNOWN(0x0e, 16, 0x9e, 1, 0x10, 29, 2, 0x8d, 0);
    /* the CFA as x86-64 has it, which would be by x6 */
    UNKNOWN(0x0f, 3, 0x76, 0, 0x06, 0x9e, 1);
    /* where older kernels have handlers return to: a record above the CFA */
    UNKNOWN(0x0c, 29, 0, 0x11, 29, 0, 0x11, 30, 0x7f);
}

static void rows_by_record(void **state)
{
    (void)state;
    memory_row row = memory_row_make(MEMORY_ROW_SP, 22, -5, -6);
    expect(memory_row_by_fp(row), MEMORY_ROW_RECORD, 6, -5, -6);
    row = memory_row_make(MEMORY_ROW_SP, 300, -299, -300);
    expect(memory_row_by_fp(row), MEMORY_ROW_RECORD, 300, -299, -300);
    row = memory_row_make(MEMORY_ROW_FP, 3, -2, -3);
    expect(memory_row_by_fp(row), MEMORY_ROW_RECORD, 3, -2, -3);
    row = memory_row_make(MEMORY_ROW_FP, 6, -2, -3); /* another place */
    expect(memory_row_by_fp(row), MEMORY_ROW_FP, 6, -2, -3);
    row = memory_row_make(MEMORY_ROW_FP, 4, -2, -4); /* half of one */
    expect(memory_row_by_fp(row), MEMORY_ROW_FP, 4, -2, -4);
    row = memory_row_make(MEMORY_ROW_SP, 22, -6, 0); /* no record */
    expect_kind(memory_row_by_fp(row), MEMORY_ROW_UNKNOWN);
    row = memory_row_make(MEMORY_ROW_SP, 22, -6, -8);
    expect_kind(memory_row_by_fp(row), MEMORY_ROW_UNKNOWN);
    expect_kind(memory_row_by_fp(RUN(0, 0x07, 30)), MEMORY_ROW_END);
}
#endif

/* What was in x30 is in the row, and nothing else of it has changed. */
static void rows_that_are_an_address(void **state)
{
    (void)state;
    for (intptr_t offset = 0; offset < 1 << 13; offset += 1022) {
        memory_row row = memory_row_link_make(offset, 0xfedcba987654);
        expect_kind(row, MEMORY_ROW_LINK);
        assert_int_equal(memory_row_link(row), 0xfedcba987654);
        assert_int_equal(memory_row_link_offset(row), offset);
    }
    expect_kind(memory_row_link_make(1 << 13, 0x10000), MEMORY_ROW_UNKNOWN);
    expect_kind(memory_row_link_make(3, 0x10000), MEMORY_ROW_UNKNOWN);
}

/* ---- tables -------------------------------------------------------------- */

static void places_of_this_program(void **state)
{
    struct memory_fde fde;
    uintptr_t here = (uintptr_t)places_of_this_program;
    (void)state;
    assert_int_equal(memory_fde_find(here + 1, &fde), MEMORY_FDE_FOUND);
    assert_int_equal(fde.start, here);
    assert_int_equal(memory_fde_find(16, &fde), MEMORY_FDE_NOWHERE);
    assert_int_equal(memory_fde_find((uintptr_t)&fde, &fde),
                     MEMORY_FDE_NOWHERE);
    assert_int_equal(memory_row_kind(memory_cfi_row(16)), MEMORY_ROW_NOWHERE);
}

/* The tables of an object, at the end of a mapping before a page that cannot be
 * read. */
struct tables {
    struct dl_find_object object;
    size_t size, readable; /* of the mapping */
    uint8_t *map, *copy;
};

/* The size of what is loaded from the header on. */
static int find_end(struct dl_phdr_info *info, size_t size, void *p)
{
    struct tables *t = p;
    uintptr_t from = (uintptr_t)t->object.dlfo_eh_frame;
    (void)size;
    for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || from < low ||
            from - low >= part->p_filesz)
            continue;
        t->size = part->p_filesz - (from - low);
        return 1;
    }
    return 0;
}

static void copy_tables(struct tables *t, const void *code)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    assert_false(_dl_find_object((void *)(uintptr_t)code, &t->object));
    assert_true(dl_iterate_phdr(find_end, t));
    t->readable = (t->size + page - 1) & ~(page - 1);
    t->map = mmap(NULL, t->readable + page, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(t->map + t->readable, page, PROT_NONE);
    t->copy = t->map + t->readable - t->size;
    memcpy(t->copy, t->object.dlfo_eh_frame, t->size);
}

static uint64_t random_state = 7;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % n);
}

/* Every place is as far from the copy as it is from the original. */
static uint32_t search(const struct tables *t, size_t size, uint32_t n)
{
    struct memory_fde fde;
    const uint8_t *from = t->object.dlfo_eh_frame;
    uintptr_t low = (uintptr_t)t->object.dlfo_map_start;
    uint32_t range = (uint32_t)((uintptr_t)from - low), n_found = 0;
    for (uint32_t i = 0; i < n; i++) {
        uintptr_t place = (uintptr_t)t->copy - random_below(range);
        if (memory_fde_search(place, t->copy, t->copy, t->copy + size, &fde) !=
            MEMORY_FDE_FOUND)
            continue;
        (void)memory_cfi_run(&fde, place);
        n_found++;
    }
    return n_found;
}

static void tables_that_are_broken(void **state)
{
    struct tables t;
    (void)state;
    copy_tables(&t, (const void *)(uintptr_t)tables_that_are_broken);
    assert_true(search(&t, t.size, 2000) > 0); /* whole, it finds something */
    for (size_t size = 0; size < t.size; size += 1 + size / 50) {
        uint8_t *whole = t.copy;
        t.copy = t.map + t.readable - size;
        memmove(t.copy, whole, size);
        search(&t, size, 20);
        t.copy = whole;
        memcpy(t.copy, t.object.dlfo_eh_frame, t.size);
    }
    for (int i = 0; i < (TS_SLOW || AXP_EMULATED ? 300 : 3000); i++) {
        for (int j = 0; j < 8; j++)
            t.copy[random_below((uint32_t)t.size)] = (uint8_t)random_below(256);
        if (i % 10 == 0) memcpy(t.copy, t.object.dlfo_eh_frame, t.size);
        search(&t, t.size, 50);
    }
    munmap(t.map, t.readable + (size_t)sysconf(_SC_PAGESIZE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_pointer_comes_and_goes),
        cmocka_unit_test(every_way_to_move_on),
#if defined(__x86_64__)
        cmocka_unit_test(expressions_that_programs_have),
#else
        cmocka_unit_test(where_registers_are),
        cmocka_unit_test(large_frames),
        cmocka_unit_test(signed_addresses),
        cmocka_unit_test(rows_by_record),
#endif
        cmocka_unit_test(what_a_row_cannot_say),
        cmocka_unit_test(what_no_row_can_say),
        cmocka_unit_test(rows_that_are_an_address),
        cmocka_unit_test(places_of_this_program),
        cmocka_unit_test(tables_that_are_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
