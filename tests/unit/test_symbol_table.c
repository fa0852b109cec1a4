/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The sorted names of modules, held against libdw's own search. */
#include "test_support.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "symbol/symbol_debug.h"
#include "symbol/symbol_libdw.h"
#include "symbol/symbol_table.h"

static const struct axp__libdw *dw;
static __typeof__(&dwfl_module_addrinfo) addrinfo; /* not used outside */

/* Both name the same function: the same beginning, whatever alias. */
static bool agree(const struct axp__name_table *t, Dwfl_Module *m, uint64_t at)
{
    GElf_Off offset;
    GElf_Sym symbol;
    const char *theirs = addrinfo(m, at, &offset, &symbol, NULL, NULL, NULL);
    const struct axp__named_code *ours = axp__name_table_find(t, at);
    if (ours && theirs && ours->begin == at - offset) return true;
    print_message("%#llx: %s at %#llx, libdw: %s at %#llx\n",
                  (unsigned long long)at, ours ? ours->name : "-",
                  (unsigned long long)(ours ? ours->begin : 0),
                  theirs ? theirs : "-", (unsigned long long)(at - offset));
    return false;
}

static Dwfl_Module *open_module(const char *path, Dwfl **session)
{
    static Dwfl_Callbacks callbacks;
    callbacks.find_debuginfo = axp__debug_find;
    callbacks.section_address = dw->dwfl_offline_section_address;
    *session = dw->dwfl_begin(&callbacks);
    dw->dwfl_report_begin(*session);
    Dwfl_Module *m = dw->dwfl_report_offline(*session, path, path, -1);
    dw->dwfl_report_end(*session, NULL, NULL);
    assert_non_null(m);
    return m;
}

static void compare_module(const char *path, size_t at_least)
{
    struct axp__name_table t;
    Dwfl *session;
    Dwfl_Module *m = open_module(path, &session);
    axp__name_table_fill(&t, dw, m);
    assert_true(t.n >= at_least);
    size_t n_asked = 0, n_other = 0;
    size_t stride = t.n / 300 + 1; /* libdw goes through all of them */
    for (size_t i = 0; i < t.n; i += stride) {
        const struct axp__named_code *s = &t.at[i];
        uint64_t last = s->is_label ? s->begin + 1 : s->end - 1;
        n_other += !agree(&t, m, s->begin);
        n_other += !agree(&t, m, s->begin + (last - s->begin) / 2);
        n_asked += 2;
    }
    print_message("%s: %zu names, %zu of %zu answers differ\n", path, t.n,
                  n_other, n_asked);
    assert_true(n_other * 100 <=
                n_asked); /* nested ones, which it may mix up */
    assert_null(axp__name_table_find(&t, 0));
    assert_null(axp__name_table_find(&t, UINT64_MAX));
    axp__name_table_fini(&t);
    dw->dwfl_end(session);
}

static void test_this_program(void **state)
{
    (void)state;
    compare_module("/proc/self/exe", 10);
}

static void test_libc(void **state)
{
    Dl_info info;
    (void)state;
    assert_true(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info));
    compare_module(info.dli_fname, 1000);
}

/* One function by the names that a C library has for its own. */
void _IO_of_several(int *p);
void _IO_of_several(int *p)
{
    *p = 1;
}
void of_several(int *p)
    __attribute__((weak, visibility("default"), alias("_IO_of_several")));
void __libc_of_several(int *p) __attribute__((alias("_IO_of_several")));

void hidden_from_all(int *p) __attribute__((visibility("hidden")));
void hidden_from_all(int *p)
{
    *p = 2;
}
static void __GI_it(int *p) __attribute__((alias("hidden_from_all"), used));

/* What the function that has that name, too, is called. */
static const char *name_of(const char *like)
{
    uint64_t begin = 0;
    static char name[64];
    struct axp__name_table t;
    Dwfl *session;
    Dwfl_Module *m = open_module("/proc/self/exe", &session);
    axp__name_table_fill(&t, dw, m);
    for (size_t i = 0; i < t.n && !begin; i++)
        if (!strcmp(t.at[i].name, like)) begin = t.at[i].begin;
    const struct axp__named_code *s = axp__name_table_find(&t, begin);
    snprintf(name, sizeof name, "%s", s ? s->name : "none");
    axp__name_table_fini(&t);
    dw->dwfl_end(session);
    return name;
}

static void test_aliases(void **state)
{
    int i = 0;
    (void)state;
    of_several(&i);
    hidden_from_all(&i);
    assert_string_equal(name_of("__libc_of_several"), "of_several");
    assert_string_equal(name_of("__GI_it"), "hidden_from_all");
}

/* Tables made by hand: nested, labels, gaps. */
static void test_rules(void **state)
{
    struct axp__named_code at[] = {
        {.begin = 10, .end = 50, .reach = 50, .name = "outer"},
        {.begin = 20, .end = 30, .reach = 50, .name = "inner"},
        {.begin = 25, .end = 90, .reach = 50, .name = "within", .is_label = 1},
        {.begin = 60, .end = 90, .reach = 50, .name = "label", .is_label = 1},
        {.begin = 70, .end = 80, .reach = 80, .name = "late"},
    };
    struct axp__name_table t = {at, sizeof at / sizeof at[0]};
    static const struct {
        uint64_t address;
        const char *name; /* NULL: none */
    } cases[] = {{9, NULL},     {10, "outer"}, {20, "inner"}, {26, "inner"},
                 {30, "outer"}, {49, "outer"}, {50, NULL},    {60, "label"},
                 {69, "label"}, {70, "late"},  {80, NULL},    {95, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct axp__named_code *s =
            axp__name_table_find(&t, cases[i].address);
        if (cases[i].name)
            assert_string_equal(s ? s->name : "none", cases[i].name);
        else
            assert_null(s);
    }
    t.n = 0;
    assert_null(axp__name_table_find(&t, 20));
}

int main(void)
{
    dw = axp__libdw_load();
    void *library = dlopen("libdw.so.1", RTLD_LAZY);
    if (!dw || !library) return 77;
    void *found = dlsym(library, "dwfl_module_addrinfo");
    memcpy(&addrinfo, &found, sizeof found);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_this_program),
        cmocka_unit_test(test_libc),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
