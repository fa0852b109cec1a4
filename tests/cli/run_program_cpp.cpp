// SPDX-License-Identifier: MIT OR Apache-2.0
// A C++ program with threads, exceptions and output at its very end.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Last {
    ~Last() { std::puts("destroyed last"); }
};

static int depth(int n)
{
    if (n == 0) throw std::runtime_error("from below");
    return depth(n - 1) + 1;
}

int main()
{
    static Last last;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([] {
            try {
                depth(50);
            } catch (const std::exception &) {
            }
        });
    for (auto &thread : threads)
        thread.join();
    try {
        depth(10);
    } catch (const std::exception &error) {
        std::puts(error.what());
    }
    return 12;
}
