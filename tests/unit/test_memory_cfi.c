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

/* What x86-64's CIEs say: the CFA is rsp + 8, the return address at it - 8. */
static const uint8_t common[] = {0x0c, 7, 8, 0x90, 1};

static memory_row run_in(const uint8_t *code, size_t n, uint32_t at,
                         bool is_signal)
{
    struct memory_fde fde = {.start = START,
                             .code_align = 1,
                             .data_align = -8,
                             .is_signal = is_signal};
    fde.common = (struct memory_bytes){common, common + sizeof common, false};
    fde.own = (struct memory_bytes){code, code + n, false};
    return memory_cfi_run(&fde, START + at);
}

#define RUN(at, ...)                                                           \
    run_in((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}),   \
           at, false)

static void expect(memory_row row, enum memory_row_kind kind, int32_t offset,
                   int8_t rbp)
{
    assert_int_equal(memory_row_kind(row), kind);
    assert_int_equal(memory_row_offset(row), offset);
    assert_int_equal(memory_row_rbp(row), rbp);
}

/* push rbp; mov rsp, rbp; … pop rbp; ret; and what comes after it. */
static void a_frame_pointer_comes_and_goes(void **state)
{
    static const uint8_t code[] = {0x41, 0x0e, 16,   0x86, 2,    0x43, 0x0d,
                                   6,    0x42, 0x0a, 0xc6, 0x0c, 7,    8,
                                   0x41, 0x0b, 0x41, 0x0e, 32};
    (void)state;
    expect(run_in(code, sizeof code, 0, false), MEMORY_ROW_RSP, 1, 0);
    expect(run_in(code, sizeof code, 1, false), MEMORY_ROW_RSP, 2, -2);
    expect(run_in(code, sizeof code, 3, false), MEMORY_ROW_RSP, 2, -2);
    expect(run_in(code, sizeof code, 4, false), MEMORY_ROW_RBP, 2, -2);
    expect(run_in(code, sizeof code, 6, false), MEMORY_ROW_RSP, 1, 0);
    expect(run_in(code, sizeof code, 7, false), MEMORY_ROW_RBP, 2, -2);
    expect(run_in(code, sizeof code, 99, false), MEMORY_ROW_RBP, 4, -2);
}

static void every_way_to_move_on(void **state)
{
    (void)state;
    for (uint32_t at = 0; at < 3; at++)
        expect(RUN(at, 0x02, 2, 0x0e, 16), MEMORY_ROW_RSP, at < 2 ? 1 : 2, 0);
    expect(RUN(299, 0x03, 44, 1, 0x0e, 16), MEMORY_ROW_RSP, 1, 0);
    expect(RUN(300, 0x03, 44, 1, 0x0e, 16), MEMORY_ROW_RSP, 2, 0);
    expect(RUN(65536, 0x04, 0, 0, 1, 0, 0x0e, 16), MEMORY_ROW_RSP, 2, 0);
    expect(RUN(0, 0x12, 7, 0x7e), MEMORY_ROW_RSP, 2, 0); /* def_cfa_sf */
    expect(RUN(0, 0x13, 0x7d), MEMORY_ROW_RSP, 3, 0);    /* …_offset_sf */
    expect(RUN(0, 0x0e, 32, 0x05, 6, 3), MEMORY_ROW_RSP, 4, -3);
    expect(RUN(0, 0x0e, 32, 0x11, 6, 4), MEMORY_ROW_RSP, 4, -4);
    expect(RUN(0, 0x0e, 32, 0x86, 3, 0x06, 6), MEMORY_ROW_RSP, 4, 0);
    expect(RUN(0, 0x0e, 32, 0x86, 3, 0x08, 6), MEMORY_ROW_RSP, 4, 0);
    expect(RUN(0, 0x2e, 8, 0x83, 2, 0x0e, 16), MEMORY_ROW_RSP, 2, 0);
    expect(RUN(0, 0x0e, 0x80, 0x80, 1), MEMORY_ROW_RSP, 2048, 0);
}

static void expressions_that_programs_have(void **state)
{
    static const uint8_t table[] = {0x0f, 11,   0x77, 8,    0x80, 0,   0x3f,
                                    0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    static const uint8_t kernel[] = {0x0f, 4, 0x77, 0xa0, 0x01, 0x06};
    (void)state;
    expect(RUN(0, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0),
           MEMORY_ROW_AT_RBP, -1, MEMORY_RBP_AT_RBP);
    expect(run_in(table, sizeof table, 10, false), MEMORY_ROW_RSP, 1, 0);
    expect(run_in(table, sizeof table, 11, false), MEMORY_ROW_RSP, 2, 0);
    expect(run_in(kernel, sizeof kernel, 0, true), MEMORY_ROW_SIGNAL, 0, 0);
    expect(run_in(kernel, sizeof kernel, 0, false), MEMORY_ROW_UNKNOWN, 0, 0);
}

static void what_a_row_cannot_say(void **state)
{
    (void)state;
    expect(RUN(0, 0x07, 16), MEMORY_ROW_END, 0, 0);
    expect(RUN(0, 0x0d, 10), MEMORY_ROW_UNKNOWN, 0, 0);   /* r10 */
    expect(RUN(0, 0x0e, 9), MEMORY_ROW_UNKNOWN, 0, 0);    /* no word */
    expect(RUN(0, 0x0e, 0), MEMORY_ROW_UNKNOWN, 0, 0);    /* no frame */
    expect(RUN(0, 0x90, 2), MEMORY_ROW_UNKNOWN, 0, 0);    /* return address */
    expect(RUN(0, 0x86, 2), MEMORY_ROW_UNKNOWN, 0, 0);    /* rbp below rsp */
    expect(RUN(0, 0x09, 6, 3), MEMORY_ROW_UNKNOWN, 0, 0); /* rbp in rbx */
    expect(RUN(0, 0x16, 6, 1, 0x30), MEMORY_ROW_UNKNOWN, 0, 0);
    expect(RUN(0, 0x10, 6, 1, 0x30), MEMORY_ROW_UNKNOWN, 0, 0);
    expect(RUN(0, 0x0f, 3, 0x70, 0, 0x06), MEMORY_ROW_UNKNOWN, 0, 0);
    expect(RUN(0, 0x0b), MEMORY_ROW_UNKNOWN, 0, 0); /* nothing to restore */
    expect(RUN(0, 0x3f), MEMORY_ROW_UNKNOWN, 0, 0); /* no such instruction */
    expect(RUN(0, 0x0e, 0x80), MEMORY_ROW_UNKNOWN, 0, 0); /* cut off */
    expect(RUN(0, 0x0f, 200, 1), MEMORY_ROW_UNKNOWN, 0, 0);
    expect(RUN(0, 0x0e, 0x80, 0x80, 0x80, 0x80, 1), MEMORY_ROW_UNKNOWN, 0, 0);
    expect(RUN(0, 10, 10, 10, 10, 10, 10, 10, 10), MEMORY_ROW_UNKNOWN, 0, 0);
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
        cmocka_unit_test(expressions_that_programs_have),
        cmocka_unit_test(what_a_row_cannot_say),
        cmocka_unit_test(places_of_this_program),
        cmocka_unit_test(tables_that_are_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
