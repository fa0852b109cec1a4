// SPDX-License-Identifier: MIT OR Apache-2.0
// C++ that allocates in each of its ways, and counts that as memory_truth.h
// says: new and delete of one and of many, sized, aligned, nothrow; through
// exceptions; in destructors of thread_local and of static objects. What it
// prints is the same each time. Sizes are multiples of their alignment, since
// libstdc++ asks malloc for such.
#include "memory_truth.h"

#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static void *volatile seen; // or a compiler may leave new and delete out

struct Plain {
    char bytes[120];
};

struct alignas(256) Wide {
    char bytes[512];
};

// Throws when it is made: what new took is given back.
struct Refuses {
    char bytes[80];
    explicit Refuses(int n)
    {
        seen = this;
        if (n >= 0) throw std::runtime_error("refused");
    }
};

template <class T> APART static T *truth_new()
{
    T *object = new T;
    seen = object;
    truth_did_alloc(sizeof(T));
    return object;
}

template <class T> static void delete_it(T *object)
{
    truth_did_free(sizeof(T));
    delete object;
}

APART static char *truth_new_many(size_t n)
{
    char *bytes = new char[n];
    truth_did_alloc(n);
    std::memset(bytes, 1, n);
    return bytes;
}

APART static void truth_new_refused()
{
    truth_did_alloc(sizeof(Refuses));
    truth_did_free(sizeof(Refuses));
    delete new Refuses(1);
}

APART static void *truth_new_sized(size_t n, std::align_val_t alignment)
{
    void *block = ::operator new(n, alignment);
    truth_did_alloc(n);
    return block;
}

// Frees when its thread ends, or when the program does.
struct Owner {
    char *bytes = nullptr;
    ~Owner()
    {
        if (!bytes) return;
        truth_did_free(333);
        delete[] bytes;
    }
};

static thread_local Owner of_thread;

static void run_thread()
{
    of_thread.bytes = truth_new_many(333);
    try {
        truth_new_refused();
    } catch (const std::runtime_error &) {
    }
}

static int throw_below(int depth)
{
    std::string text(100, 'x');
    if (depth == 0) throw std::runtime_error(text);
    return throw_below(depth - 1) + (int)text.size();
}

static void run_exceptions()
{
    int n_caught = 0;
    for (int i = 0; i < 100; i++) {
        try {
            throw_below(i % 30);
        } catch (const std::exception &error) {
            n_caught += std::strlen(error.what()) == 100;
        }
        try {
            truth_new_refused();
        } catch (const std::runtime_error &) {
            n_caught++;
        }
    }
    std::printf("caught %d\n", n_caught);
}

static void run_too_much()
{
    volatile size_t too_much = SIZE_MAX / 4;
    try {
        seen = new char[too_much];
        std::puts("no exception");
    } catch (const std::bad_alloc &) {
        std::puts("bad_alloc");
    }
    char *none = new (std::nothrow) char[too_much];
    std::printf("nothrow gave %s\n", none ? "something" : "nothing");
    delete[] none;
}

static void run_ways()
{
    for (int i = 0; i < 100; i++) {
        delete_it(truth_new<Plain>());
        Wide *wide = truth_new<Wide>();
        REQUIRE((uintptr_t)wide % 256 == 0);
        delete_it(wide);
        char *many = truth_new_many(1000);
        truth_did_free(1000);
        delete[] many;
        auto alignment = std::align_val_t(1024);
        void *sized = truth_new_sized(4096, alignment);
        truth_did_free(4096);
        ::operator delete(sized, 4096, alignment);
    }
}

// The library's own blocks: found as well, and counted by nobody here.
static void run_containers()
{
    std::map<int, std::string> names;
    std::vector<std::shared_ptr<std::string>> shared;
    for (int i = 0; i < 1000; i++) {
        names[i * 7919 % 1000] = std::string(40, (char)('a' + i % 26));
        shared.push_back(std::make_shared<std::string>(names.begin()->second));
    }
    std::printf("%zu names, the last %s\n", names.size(),
                names.rbegin()->second.c_str());
}

int main()
{
    static Owner of_program;
    static char buffer[BUFSIZ];
    std::setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    run_ways();
    run_exceptions();
    run_too_much();
    run_containers();
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back(run_thread);
    for (auto &thread : threads)
        thread.join();
    // Two that are freed at exit: they are not live when all has ended.
    of_thread.bytes = truth_new_many(333);
    of_program.bytes = truth_new_many(333);
    truth_did_free(333);
    truth_did_free(333);
    truth_print(TRUTH_OVERLAP, "");
    return 12;
}
