/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A function that is recorded by its address gets its name from the module; a
 * program's own text that reads the same, with the same file, stays as it is. */
#include "axprof/axprof_adapter.h"
#include "file_support.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "symbol/symbol_libdw.h"

static int take_bias(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    *(uintptr_t *)ctx = info->dlpi_addr; /* the first is the program */
    return 1;
}

/* As the adapter has it: MODULE+0xOFFSET, the module's path, no line. */
static const char *own_address(char text[8192])
{
    static char path[4000];
    uintptr_t bias = 0;
    dl_iterate_phdr(take_bias, &bias);
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(n > 0);
    snprintf(text, 8192, "%s+0x%lx%c%s%c0", strrchr(path, '/') + 1,
             (unsigned long)((uintptr_t)own_address - bias), 0, path, 0);
    return text;
}

static axp_op op_named(const axp_view *v, const char *name)
{
    axp_op op = {0};
    axp_view_op(v, name, &op);
    return op;
}

/* What muted calls took is part of what recording took, no counter of the
 * program's, and in no timeline. */
static void expect_cost_said(const axp_view *v)
{
    axp_warning warnings[8];
    bool is_said = false;
    size_t n = axp_view_warnings(v, warnings, 8);
    for (size_t i = 0; i < n && i < 8; i++)
        is_said |= !strcmp(warnings[i].code, "own_overhead") &&
                   strstr(warnings[i].text, "about 100.0 %") != NULL;
    assert_true(is_said);
}

/* As the adapter had it that took the loader's path, which is a link: here one
 * that leads nowhere on this machine. Only libraries have such names. */
static void call_by_link(const char *base, const char *name)
{
    char text[128];
    Dl_info info;
    struct link_map *map;
    uint32_t site = 0;
    /* A sanitizer's own comes before it. */
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    const void *address = dlsym(libc, name);
    assert_true(dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP));
    snprintf(text, sizeof text, "%s+0x%lx%c/no/such/%s%c0", base,
             (unsigned long)((uintptr_t)address - map->l_addr), 0, base, 0);
    axp_end(axp_function_begin(&site, text));
    dlclose(libc);
}

static void only_the_typed_call_names_a_function(void **state)
{
    (void)state;
    char text[8192];
    const char *file = fs_path("functions.axp");
    uint32_t plain = 0, function = 0, unknown = 0;
    /* In a module that is not there, one of several places in its function. */
    static const char nobody[] = "gone.so+0x1234\0/no/such/gone.so\0001";
    own_address(text);
    assert_int_equal(axp_global_open(file), AXP_OK);
    for (int i = 0; i < 3; i++)
        axp_end(axp_begin_site(&plain, text));
    for (int i = 0; i < 5; i++)
        axp_end(axp_function_begin(&function, text));
    axp_end(axp_function_begin(&unknown, nobody));
    call_by_link("libc.so.6", "setlocale");
    call_by_link("libc.so", "qsort");
    call_by_link("libc", "getenv");
    axp_muted(text, 2, 7, 60000000000u);
    axp_counter(axp_global(), text, 9);
    assert_int_equal(axp_finish(axp_global()), AXP_OK);

    axp_view *v = fs_open(file);
    axp_counter_info counters[4];
    assert_int_equal(op_named(v, text).calls, 3);
    assert_int_equal(op_named(v, "own_address").calls, 5);
    assert_non_null(
        strstr(op_named(v, "own_address").file, "test_kind_function.c"));
    assert_int_equal(op_named(v, nobody).calls, 1);
    assert_int_equal(op_named(v, nobody).line, 0); /* which was a mark */
    assert_int_equal(op_named(v, "setlocale").calls, 1);
    assert_int_equal(op_named(v, "qsort").calls, 1);
    assert_int_equal(op_named(v, "getenv").calls, 0);
    expect_cost_said(v);
    assert_int_equal(axp_view_event_count(v), 2 * 3 + 2 * 5 + 2 + 2 + 2 * 3);
    assert_int_equal(axp_view_counters(v, counters, 4), 2);
    int of_program = !strcmp(counters[0].name, text) ? 0 : 1;
    assert_string_equal(counters[of_program].name, text);
    assert_true(counters[of_program].last == 9);
    assert_string_equal(counters[!of_program].name, "own_address");
    assert_true(counters[!of_program].last == 7);
    axp_view_destroy(v);
    assert_int_equal(axp_file_check(file, stderr), AXP_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FS_TEST(only_the_typed_call_names_a_function),
    };
    if (!axp__libdw_load()) return 77; /* functions have no names then */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
