// SPDX-License-Identifier: MIT OR Apache-2.0
// Stacks through libstdc++, for test_memory_walk.
#include <algorithm>
#include <functional>
#include <new>
#include <stdexcept>
#include <vector>

#include "walk_pair.h"

extern "C" void walk_cpp_sort(void);
extern "C" void walk_cpp_function(void);
extern "C" void walk_cpp_new(void);

static int n_compared;

struct Less {
    WALK_NOINLINE bool operator()(int a, int b) const
    {
        if (n_compared++ == 20) walk_take();
        WALK_STAY();
        return a < b;
    }
};

void walk_cpp_sort(void)
{
    std::vector<int> v;
    for (int i = 0; i < 100; i++)
        v.push_back(i * 7919 % 101);
    n_compared = 0;
    std::sort(v.begin(), v.end(), Less{});
    walk_same(0);
}

static WALK_NOINLINE int call(const std::function<int(int)> &f, int depth)
{
    int x = depth ? call([&](int y) { return f(y) + 1; }, depth - 1) : f(1);
    WALK_STAY();
    return x;
}

void walk_cpp_function(void)
{
    call(
        [](int x) {
            walk_take();
            WALK_STAY();
            return x;
        },
        5);
    walk_same(0);
}

// operator new has no memory and asks for some: libstdc++'s frames are in
// between, and an exception goes over them afterwards.
static void no_memory()
{
    walk_take();
    throw std::bad_alloc();
}

void walk_cpp_new(void)
{
    std::new_handler old = std::set_new_handler(no_memory);
    volatile std::size_t much = std::size_t(1) << 62;
    try {
        void *p = ::operator new(much);
        ::operator delete(p);
    } catch (const std::bad_alloc &) {
    }
    std::set_new_handler(old);
    walk_same(0);
}
