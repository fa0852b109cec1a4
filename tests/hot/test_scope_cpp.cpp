/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scopes in C++: they end on exceptions, by macro and by axp::scope, which
 * moves, ends early and carries work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stdexcept>
#include <string>
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

int main()
{
    axp_profiler *p = axp_profiler_create(nullptr);
    CHECK(p != nullptr);
    exceptions(p);
    moves(p);
    disabled(p);
    axp_profiler_destroy(p);
    return 0;
}
