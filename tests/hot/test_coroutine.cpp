/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scopes in real coroutines, which go on on other threads and in any order:
 * the macros' scopes between two waits, and axp::async_scope across them. (That
 * a macro's scope across a co_await does not compile: tests/abi/test_misuse.py.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coroutine>
#include <thread>
#include <vector>

#include "axprof/axprof.hpp"
#include "axprof/axprof_read.h"

#define CHECK(c)                                                               \
    ((c) ? (void)0                                                             \
         : (fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #c),    \
            exit(1)))

static std::vector<std::coroutine_handle<>> waiting;

struct task {
    struct promise_type {
        task get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { abort(); }
    };
};

struct later {
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> h) { waiting.push_back(h); }
    void await_resume() {}
};

static task request(int n)
{
    axp::async_scope whole("whole");
    for (int i = 0; i < n; i++) {
        {
            AXP_SCOPE("part");
            AXP_FUNCTION();
        }
        co_await later{};
    }
}

static void resume_all()
{
    std::vector<std::coroutine_handle<>> now;
    now.swap(waiting);
    AXP_SCOPE("loop");
    while (!now.empty()) { /* the last first: they end in no order */
        now.back().resume();
        now.pop_back();
    }
}

static void check(uint64_t n_requests, uint64_t n_parts)
{
    axp_op op;
    axp_warning list[64];
    axp_view *v = axp_snapshot(axp_global());
    CHECK(v != nullptr);
    CHECK(axp_view_op(v, "whole", &op) == AXP_OK);
    CHECK(op.calls == n_requests && op.min_ns > 0);
    CHECK(axp_view_op(v, "part", &op) == AXP_OK && op.calls == n_parts);
    CHECK(axp_view_op(v, "request", &op) == AXP_OK && op.calls == n_parts);
    size_t n = axp_view_warnings(v, list, 64);
    for (size_t i = 0; i < n; i++) {
        CHECK(strcmp(list[i].code, "abandoned_scopes") != 0);
        CHECK(strcmp(list[i].code, "foreign_ends") != 0);
        CHECK(strcmp(list[i].code, "open_scopes") != 0);
    }
    axp_view_destroy(v);
}

int main()
{
    {
        AXP_SCOPE("begin");
        for (int i = 0; i < 10; i++)
            request(1 + i % 3);
    }
    while (!waiting.empty()) /* each time on a thread of its own */
        std::thread(resume_all).join();
    check(10, 4 * 1 + 3 * 2 + 3 * 3);
    return 0;
}
