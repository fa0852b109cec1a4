/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names, files, lines and inlined functions of this very program; C++ names;
 * what is not there, or is something else. */
#include "test_support.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os_about.h"
#include "symbol/symbol_demangle.h"
#include "symbol/symbol_find.h"
#include "symbol/symbol_libdw.h"
#include "symbol/symbol_standard.h"

__attribute__((noinline)) static void *caller(void)
{
    return __builtin_return_address(0);
}

enum { INNER_LINE = __LINE__ + 2 };
static inline __attribute__((always_inline)) void *inner(void)
{
    void *address = caller();
    __asm__ volatile("" : "+r"(address));
    return address;
}

enum { MIDDLE_LINE = __LINE__ + 2 };
static inline __attribute__((always_inline)) void *middle(void)
{
    void *address = inner();
    __asm__ volatile("" : "+r"(address));
    return address;
}

enum { OUTER_LINE = __LINE__ + 2 };
__attribute__((noinline)) static void *outer(void)
{
    void *address = middle();
    __asm__ volatile("" : "+r"(address));
    return address;
}

/* An instruction that the compiler made for no line in particular: number 0, as
 * clang writes it; gcc's assembler leaves it to the line before by itself. */
#if defined __x86_64__
#define ADDRESS_OF_1 "leaq 1f(%%rip), %0"
#else
#define ADDRESS_OF_1 "adr %0, 1f"
#endif
enum { NO_LINE = __LINE__ + 2 };
__attribute__((noinline)) static void *of_no_line(void)
{
    void *address;
    __asm__ volatile(ADDRESS_OF_1 "\n\t.loc 1 0\n1:\tnop\n\tnop"
                     : "=r"(address));
    return address;
}

static int take_bias(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    *(uintptr_t *)ctx = info->dlpi_addr; /* the first is the program */
    return 1;
}

static const char *self(void)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(n > 0);
    path[n] = 0;
    return path;
}

/* The first map is the program: "bias first last id path". */
static bool take_id(void *ctx, const char *key, const char *value, size_t len)
{
    char text[4096];
    if (strcmp(key, "map.0") != 0 || len >= sizeof text) return false;
    memcpy(text, value, len);
    text[len] = 0;
    return sscanf(text, "%*s %*s %*s %127s", (char *)ctx) == 1 && false;
}

/* As a recording has it. */
static const char *own_id(void)
{
    static char id[128];
    if (!*id) axp__about_maps(take_id, id);
    return id;
}

static struct axp__place place_of(uintptr_t address)
{
    uintptr_t bias = 0;
    dl_iterate_phdr(take_bias, &bias);
    return (struct axp__place){self(), own_id(), address - bias};
}

enum { FUNCTION_LINE = __LINE__ + 2 };
static void test_function(void **state)
{
    (void)state;
    struct axp__symbol frames[8] = {{0}};
    struct axp__symbolizer *s =
        axp__symbolizer_create((struct axp__folders){0});
    struct axp__place place = place_of((uintptr_t)test_function);
    size_t n = axp__symbol_find(s, &place, frames, 8);
    assert_int_equal(n, 1);
    assert_string_equal(frames[0].name, "test_function");
    assert_non_null(frames[0].file);
    assert_non_null(strstr(frames[0].file, "test_symbol.c"));
    /* gcc has it begin at its name, clang at its brace. */
    assert_in_range(frames[0].line, FUNCTION_LINE - 1, FUNCTION_LINE);
    axp__symbolizer_destroy(s);
}

static void test_inlined(void **state)
{
    (void)state;
    struct axp__symbol frames[8] = {{0}};
    struct axp__symbolizer *s =
        axp__symbolizer_create((struct axp__folders){0});
    struct axp__place place = place_of((uintptr_t)outer());
    place.address--; /* as for a return address */
    size_t n = axp__symbol_find(s, &place, frames, 8);
    assert_true(n >= 3);
    assert_string_equal(frames[n - 3].name, "inner");
    assert_in_range(frames[n - 3].line, INNER_LINE, INNER_LINE + 5);
    assert_string_equal(frames[n - 2].name, "middle");
    assert_in_range(frames[n - 2].line, MIDDLE_LINE, MIDDLE_LINE + 5);
    assert_string_equal(frames[n - 1].name, "outer");
    assert_in_range(frames[n - 1].line, OUTER_LINE, OUTER_LINE + 5);
    /* The count does not depend on the room. */
    assert_int_equal(axp__symbol_find(s, &place, frames, 0), n);
    axp__symbolizer_destroy(s);
}

static void test_no_line(void **state)
{
    (void)state;
    struct axp__symbol frames[8] = {{0}};
    struct axp__symbolizer *s =
        axp__symbolizer_create((struct axp__folders){0});
    struct axp__place place = place_of((uintptr_t)of_no_line());
    size_t n = axp__symbol_find(s, &place, frames, 8);
    assert_true(n >= 1);
    assert_string_equal(frames[0].name, "of_no_line");
    assert_in_range(frames[0].line, NO_LINE, NO_LINE + 5);
    axp__symbolizer_destroy(s);
}

#ifndef __clang__ /* has none of these */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
/* Where a function is in another, as gcc has those that run loops of OpenMP. */
static void test_nested(void **state)
{
    (void)state;
    __attribute__((noinline)) void *nested(void)
    {
        void *address = middle();
        __asm__ volatile("nop" : "+r"(address)); /* unlike outer */
        return address;
    }
    struct axp__symbol frames[8] = {{0}};
    struct axp__symbolizer *s =
        axp__symbolizer_create((struct axp__folders){0});
    struct axp__place place = place_of((uintptr_t)nested());
    place.address--;
    size_t n = axp__symbol_find(s, &place, frames, 8);
    assert_int_equal(n, 3);
    assert_string_equal(frames[0].name, "inner");
    assert_string_equal(frames[1].name, "middle");
    assert_memory_equal(frames[2].name, "nested", 6);
    axp__symbolizer_destroy(s);
}
#pragma GCC diagnostic pop
#endif

extern void symbol_siblings_code(void);

/* Debug information that leads back to itself (symbol_siblings.c) is not followed
 * without end; the table of symbols has the name. */
static void test_siblings(void **state)
{
    (void)state;
    struct axp__symbol frames[8] = {{0}};
    struct axp__symbolizer *s =
        axp__symbolizer_create((struct axp__folders){0});
    struct axp__place place = place_of((uintptr_t)symbol_siblings_code);
    assert_int_equal(axp__symbol_find(s, &place, frames, 8), 1);
    assert_string_equal(frames[0].name, "symbol_siblings_code");
    axp__symbolizer_destroy(s);
}

extern void *symbol_in_lambda(int which, int *line);

/* Each by the line that it is written in. */
static void test_lambdas(void **state)
{
    (void)state;
    struct axp__symbol frames[8] = {{0}};
    struct axp__symbolizer *s =
        axp__symbolizer_create((struct axp__folders){0});
    for (int which = 0; which < 2; which++) {
        int line;
        char name[64];
        struct axp__place place =
            place_of((uintptr_t)symbol_in_lambda(which, &line));
        snprintf(name, sizeof name, "lambda at symbol_cpp.cpp:%d", line);
        place.address--;
        size_t n = axp__symbol_find(s, &place, frames, 8);
        assert_int_equal(n, 2);
        /* clang gives them a name of their own. */
        if (strncmp(frames[0].name, "symbol_in_lambda::", 18) != 0)
            assert_string_equal(frames[0].name, name);
        assert_string_equal(frames[1].name, "symbol_in_lambda");
    }
    axp__symbolizer_destroy(s);
}

static void test_standard(void **state)
{
    (void)state;
    const char *const its[] = {
        "std::vector<int, std::allocator<int> >::push_back(int&&)",
        "void std::vector<int>::_M_realloc_insert<int>(int*, int&&)",
        "std::enable_if<a<b>::value, int>::type std::copy<int>(int (*)(int))",
        "unsigned long const& std::max<unsigned long>(unsigned long const&)",
        "__gnu_cxx::new_allocator<int>::allocate(unsigned long)",
        "std::function<int (int)>::operator()(int) const",
        "std::operator+(std::string const&, char const*)",
    };
    const char *const programs[] = {
        "work(std::vector<int>)",
        "std::string work<int>(int)",
        "Stack<std::string>::push(std::string)",
        "mystd::vector::push(int)",
        "(anonymous namespace)::work(int)",
        "operator<<(std::ostream&, Point const&)",
        "std",
        "main",
        "",
        "> > >",
        "a<b",
    };
    for (size_t i = 0; i < sizeof its / sizeof *its; i++)
        assert_true(axp__code_is_standard(its[i], NULL));
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        assert_false(axp__code_is_standard(programs[i], "/home/me/work.cc"));
    assert_true(axp__code_is_standard("hash", "/usr/include/c++/12/bits/h.h"));
    assert_false(axp__code_is_standard(NULL, NULL));
}

static size_t n_found(const char *path, const char *build_id)
{
    struct axp__symbolizer *s =
        axp__symbolizer_create((struct axp__folders){0});
    struct axp__place place = place_of((uintptr_t)outer);
    struct axp__symbol frame;
    place.path = path;
    place.build_id = build_id;
    size_t n = axp__symbol_find(s, &place, &frame, 1);
    axp__symbolizer_destroy(s);
    return n;
}

static void test_not_there(void **state)
{
    (void)state;
    assert_int_equal(n_found(self(), own_id()), 1);
    assert_int_equal(n_found("/nothing/here", own_id()), 0);
    assert_int_equal(n_found("relative", own_id()), 0);
    assert_int_equal(n_found("/dev/zero", own_id()), 0);
    assert_int_equal(n_found("/etc/passwd", own_id()), 0);
    assert_int_equal(n_found("/", own_id()), 0);
}

/* Opening one for reading would wait for whoever writes. */
static void test_fifo(void **state)
{
    (void)state;
    char path[] = "/tmp/axprof-fifo-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(n_found(path, own_id()), 0);
    unlink(path);
}

/* A recording that does not say which build a module was of has no symbols:
 * else it could have any file read. */
static void test_no_build_id(void **state)
{
    (void)state;
    assert_int_equal(n_found(self(), NULL), 0);
    assert_int_equal(n_found(self(), ""), 0);
    assert_int_equal(n_found(self(), "-"), 0);
}

/* Another build of the program must give no names. */
static void test_other_build(void **state)
{
    (void)state;
    assert_int_equal(n_found(self(), "00112233445566778899"), 0);
    assert_int_equal(n_found(self(), "zz"), 0);
}

/* Every cut of a program is opened or refused, and nothing worse. */
static void test_cut_module(void **state)
{
    (void)state;
    char path[] = "/tmp/axprof-symbol-XXXXXX";
    int fd = mkstemp(path);
    FILE *from = fopen(self(), "r");
    assert_true(fd >= 0 && from);
    char *bytes = malloc(1 << 16);
    size_t len = fread(bytes, 1, 1 << 16, from);
    fclose(from);
    for (size_t size = 0; size <= len; size += size < 256 ? 7 : 4093) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, bytes, size, 0), (ssize_t)size);
        n_found(path, own_id());
    }
    free(bytes);
    close(fd);
    unlink(path);
}

static void test_far_address(void **state)
{
    (void)state;
    struct axp__symbolizer *s =
        axp__symbolizer_create((struct axp__folders){0});
    struct axp__symbol frame;
    const uint64_t far[] = {0, UINT64_MAX, 1ull << 63, 1ull << 40};
    for (size_t i = 0; i < 4; i++) {
        struct axp__place place = {self(), own_id(), far[i]};
        assert_int_equal(axp__symbol_find(s, &place, &frame, 1), 0);
    }
    axp__symbolizer_destroy(s);
}

/* The name that its function was given. */
static void test_names_of_copies(void **state)
{
    (void)state;
    static const struct {
        const char *symbol;
        size_t length;
    } names[] = {{"", 0},
                 {"scale", 5},
                 {"expf@@GLIBC_2.27", 4},
                 {"scale.constprop.0", 5},
                 {"scale.isra.0.part.1", 5},
                 {"main.cold", 4},
                 {"net.layer", 9}, /* other languages' */
                 {".cold", 5},
                 {"@plt", 4}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(axp__symbol_name_length(names[i].symbol),
                         names[i].length);
}

static void test_demangle(void **state)
{
    (void)state;
    char *text = axp__symbol_demangle("_ZN3net6matmulEPKfi");
    if (!text) skip(); /* no C++ runtime on this machine */
    assert_string_equal(text, "net::matmul(float const*, int)");
    free(text);
    assert_null(axp__symbol_demangle("matmul"));
    assert_null(axp__symbol_demangle("_Z"));
    assert_null(axp__symbol_demangle("_ZNotAName"));
    assert_null(axp__symbol_demangle(""));
}

/* Of a map "bias first last id path". */
struct library {
    const char *path;
    char id[128];
};

static bool take_library(void *ctx, const char *key, const char *value,
                         size_t len)
{
    char text[4096], id[128], path[3000];
    struct library *of = ctx;
    if (strncmp(key, "map.", 4) != 0 || len >= sizeof text) return true;
    memcpy(text, value, len);
    text[len] = 0;
    if (sscanf(text, "%*s %*s %*s %127s %2999s", id, path) == 2 &&
        !strcmp(path, of->path))
        memcpy(of->id, id, sizeof id);
    return true;
}

/* A name of the C library's has no version, and no line: its debug information,
 * where it is installed, lies elsewhere. */
static void test_library_of_the_system(void **state)
{
    (void)state;
    Dl_info info;
    char path[PATH_MAX];
    assert_true(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info));
    assert_non_null(realpath(info.dli_fname, path));
    struct library of = {.path = path};
    axp__about_maps(take_library, &of);
    if (!*of.id) skip(); /* an emulator's tree */
    struct axp__symbolizer *s =
        axp__symbolizer_create((struct axp__folders){0});
    struct axp__symbol found[8];
    uintptr_t at = (uintptr_t)gnu_get_libc_version - (uintptr_t)info.dli_fbase;
    size_t n = axp__symbol_find(s, &(struct axp__place){path, of.id, at + 4},
                                found, 8);
    assert_int_equal(n, 1);
    assert_string_equal(found[0].name, "gnu_get_libc_version");
    assert_null(found[0].file);
    axp__symbolizer_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_function),
        cmocka_unit_test(test_inlined),
        cmocka_unit_test(test_no_line),
#ifndef __clang__
        cmocka_unit_test(test_nested),
#endif
        cmocka_unit_test(test_siblings),
        cmocka_unit_test(test_lambdas),
        cmocka_unit_test(test_standard),
        cmocka_unit_test(test_not_there),
        cmocka_unit_test(test_other_build),
        cmocka_unit_test(test_cut_module),
        cmocka_unit_test(test_far_address),
        cmocka_unit_test(test_names_of_copies),
        cmocka_unit_test(test_demangle),
        cmocka_unit_test(test_fifo),
        cmocka_unit_test(test_no_build_id),
        cmocka_unit_test(test_library_of_the_system),
    };
    if (!axp__libdw_load()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
