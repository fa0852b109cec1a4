/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scopes in C++: they end on exceptions, by macro and by axp::scope, which
 * moves, ends early and carries work; functions have their class and namespace;
 * names are strings of any kind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "axprof/axprof.hpp"
#include "axprof/axprof_read.h"

#define CHECK(c)                                                               \
    ((c) ? (void)0                                                             \
         : (fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #c),    \
            exit(1)))

static_assert(!std::is_copy_constructible<axp::scope>::value, "no copies");
static_assert(std::is_nothrow_move_constructible<axp::scope>::value, "moves");
static_assert(sizeof(axp::scope) == sizeof(uint64_t), "a token, no more");

static uint64_t warning(axp_profiler *p, const char *code)
{
    axp_warning list[64];
    axp_view *v = axp_snapshot(p);
    CHECK(v != nullptr);
    uint64_t count = 0;
    size_t n = axp_view_warnings(v, list, 64);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].code, code)) count = list[i].count;
    axp_view_destroy(v);
    return count;
}

static void throw_through_macros(axp_profiler *p, int depth)
{
    AXP_SCOPE("macro");
    AXP_SCOPE_WORK("macro work", .flops = 5);
    AXP_SCOPE_IN(p, "macro in");
    AXP_FUNCTION();
    if (depth) throw_through_macros(p, depth - 1);
    throw std::runtime_error("through macros");
}

static void throw_through_objects(axp_profiler *p, int depth)
{
    axp::scope a("object");
    axp::scope b(p, "object in");
    axp_work work;
    work.flops = 7;
    work.bytes = 3;
    axp::scope c(p, "object work", work);
    CHECK(a && b && c);
    if (depth) throw_through_objects(p, depth - 1);
    throw std::runtime_error("through objects");
}

static void exceptions(axp_profiler *p)
{
    for (int i = 0; i < 100; i++) {
        try {
            throw_through_macros(p, 2);
            CHECK(false);
        } catch (const std::runtime_error &) {
        }
        try {
            throw_through_objects(p, 2);
            CHECK(false);
        } catch (const std::runtime_error &) {
        }
    }
    axp_view *v = axp_snapshot(p);
    axp_op op;
    CHECK(v && axp_view_op(v, "object work", &op) == AXP_OK);
    CHECK(op.calls == 300 && op.flops == 2100 && op.bytes == 900);
    axp_view_destroy(v);
    CHECK(axp_call_count(axp_global(), "macro") == 300);
    CHECK(axp_call_count(axp_global(), "macro work") == 300);
    CHECK(axp_call_count(axp_global(), "throw_through_macros") == 300);
    CHECK(axp_call_count(axp_global(), "object") == 300);
    CHECK(axp_call_count(p, "macro in") == 300);
    CHECK(axp_call_count(p, "object in") == 300);
    for (axp_profiler *q : {p, axp_global()}) {
        CHECK(warning(q, "abandoned_scopes") == 0);
        CHECK(warning(q, "open_scopes") == 0);
        CHECK(warning(q, "foreign_ends") == 0);
    }
}

static axp::scope make(axp_profiler *p, const std::string &name)
{
    axp::scope s(p, name.c_str());
    return s;
}

static void moves(axp_profiler *p)
{
    {
        axp::scope a = make(p, "moved");
        CHECK(warning(p, "open_scopes") == 1);
        axp::scope b(std::move(a));
        CHECK(b);
        b.end();
        b.end();
        CHECK(!b);
        CHECK(warning(p, "open_scopes") == 0);
        a = axp::scope(p, "assigned");
        CHECK(a);
        CHECK(warning(p, "open_scopes") == 1);
    }
    CHECK(axp_call_count(p, "moved") == 1);
    CHECK(axp_call_count(p, "assigned") == 1);
    CHECK(warning(p, "open_scopes") == 0);
}

static void disabled(axp_profiler *p)
{
    axp_set_enabled(p, false);
    axp_set_enabled(axp_global(), false);
    {
        axp::scope a(p, "while off");
        axp::scope b("while off");
        CHECK(!a && !b);
    }
    axp_set_enabled(p, true);
    axp_set_enabled(axp_global(), true);
    CHECK(axp_call_count(p, "while off") == 0);
    CHECK(axp_call_count(axp_global(), "while off") == 0);
    axp::scope none(nullptr, "no profiler");
    CHECK(!none);
}

namespace net
{
namespace
{
void hidden(int)
{
    AXP_FUNCTION();
}
} // namespace

template <class T> struct layer {
    static T *make(T)
    {
        AXP_FUNCTION();
        return nullptr;
    }

    bool operator<(int) const
    {
        AXP_FUNCTION();
        return true;
    }

    explicit operator bool() const
    {
        AXP_FUNCTION();
        return true;
    }

    void operator()(const std::string &) const { AXP_FUNCTION(); }

    struct inner {
        ~inner() { AXP_FUNCTION(); }
    };
};

template <class T> void multiply(T)
{
    AXP_FUNCTION();
}

void run(int n)
{
    for (int i = 0; i < n; i++) {
        hidden(i);
        layer<int>::make(1);
        CHECK(layer<int>() < 1 && layer<int>());
        layer<int>()("x");
        layer<int>::inner();
        multiply(1.0F);
        multiply(1.0);
        [](auto) { AXP_FUNCTION(); }(1);
    }
}
} // namespace net

/* gcc and clang write a template's arguments and unnamed things each in its
 * own way. */
static uint64_t calls(const char *gcc, const char *clang)
{
#ifdef __clang__
    bool is_clang = true;
#else
    bool is_clang = false;
#endif
    return axp_call_count(axp_global(), is_clang ? clang : gcc);
}

static void functions()
{
    net::run(5);
    CHECK(calls("net::{anonymous}::hidden",
                "net::(anonymous namespace)::hidden") == 5);
    CHECK(calls("net::layer<T>::make [T = int]",
                "net::layer<int>::make [T = int]") == 5);
    CHECK(calls("net::layer<T>::operator< [T = int]",
                "net::layer<int>::operator< [T = int]") == 5);
    CHECK(calls("net::layer<T>::operator bool [T = int]",
                "net::layer<int>::operator bool [T = int]") == 5);
    CHECK(calls("net::layer<T>::operator() [T = int]",
                "net::layer<int>::operator() [T = int]") == 5);
    CHECK(calls("net::layer<T>::inner::~inner [T = int]",
                "net::layer<int>::inner::~inner [T = int]") == 5);
    CHECK(calls("net::multiply [T = float]", "net::multiply [T = float]") == 5);
    CHECK(calls("net::multiply [T = double]", "net::multiply [T = double]") ==
          5);
}

static void strings(axp_profiler *p)
{
    const std::string name("a string"), longest(5000, 'x');
    const std::string_view view(std::string_view("view, cut").substr(0, 4));
    for (int i = 0; i < 3; i++) {
        AXP_SCOPE_NAME(name);
        AXP_SCOPE_NAME(view);
        AXP_SCOPE_IN(p, name + " more");
        AXP_SCOPE_IN(p, std::string_view());
        axp::scope a(p, name), b(p, view), c(name), d(p, longest);
        axp::scope e(p, std::string_view(longest));
        AXP_START(view);
        AXP_STOP(name.substr(0, 0) + "view");
        axp::async_scope f(p, "async");
    }
    CHECK(axp_call_count(axp_global(), "a string") == 6);
    CHECK(axp_call_count(axp_global(), "view") == 6);
    CHECK(axp_call_count(p, "a string more") == 3);
    CHECK(axp_call_count(p, "a string") == 3);
    CHECK(axp_call_count(p, "view") == 3);
    CHECK(warning(p, "bad_names") == 3);
    CHECK(axp_call_count(p, "async") == 3);
    CHECK(axp_call_count(p, longest.c_str()) == 6);
}

int main()
{
    axp_profiler *p = axp_profiler_create(nullptr);
    CHECK(p != nullptr);
    exceptions(p);
    moves(p);
    disabled(p);
    functions();
    strings(p);
    axp_profiler_destroy(p);
    return 0;
}
