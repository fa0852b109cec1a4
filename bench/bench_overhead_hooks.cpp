// SPDX-License-Identifier: MIT OR Apache-2.0
// A program full of tiny functions, built with hooks at each of them, of which
// bench_overhead.py measures what recording them takes:
//
//   bench_overhead_hooks TIMES
//
// Prints the processor time of its thread, in seconds, and then that of each of
// its parts: what a profiler should find.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <vector>

#define NO_HOOK __attribute__((no_instrument_function))

namespace
{

struct Matrix {
    explicit Matrix(int side)
        : n(side), cells(std::size_t(side) * std::size_t(side))
    {
    }
    double &at(int i, int k) { return cells[std::size_t(i * n + k)]; }
    int n;
    std::vector<double> cells;
};

struct Less {
    bool operator()(unsigned a, unsigned b) const { return a < b; }
};

unsigned next(unsigned &state)
{
    state = state * 1664525u + 1013904223u;
    return state;
}

} // namespace

__attribute__((noinline)) unsigned sort_all(unsigned seed)
{
    std::vector<unsigned> v(60000);
    for (auto &x : v)
        x = next(seed);
    std::sort(v.begin(), v.end(), Less());
    return v[v.size() / 2];
}

__attribute__((noinline)) unsigned count_words(unsigned seed)
{
    std::map<unsigned, unsigned> counts;
    for (int i = 0; i < 30000; i++)
        counts[next(seed) % 5000]++;
    return unsigned(counts.size());
}

__attribute__((noinline)) unsigned multiply(unsigned seed)
{
    Matrix a(80), b(80), c(80);
    a.at(3, 4) = seed;
    for (int i = 0; i < 80; i++)
        for (int j = 0; j < 80; j++)
            for (int k = 0; k < 80; k++)
                c.at(i, j) += a.at(i, k) * b.at(k, j);
    return unsigned(c.at(5, 6));
}

/* One long loop, in which nothing is called. */
__attribute__((noinline)) unsigned smooth(unsigned seed)
{
    static double field[20000];
    field[seed % 20000] += 1;
    for (int round = 0; round < 100; round++)
        for (int i = 1; i + 1 < 20000; i++)
            field[i] =
                0.25 * field[i - 1] + 0.5 * field[i] + 0.25 * field[i + 1];
    return unsigned(field[7]);
}

NO_HOOK static double cpu_s()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        unsigned (*run)(unsigned);
    } parts[] = {{"sort_all", sort_all},
                 {"count_words", count_words},
                 {"multiply", multiply},
                 {"smooth", smooth}};
    const unsigned times = argc > 1 ? unsigned(std::atoi(argv[1])) : 10;
    double took[4] = {};
    unsigned sum = 0;
    for (unsigned i = 0; i < times; i++)
        for (int k = 0; k < 4; k++) {
            const double begin = cpu_s();
            sum += parts[k].run(i);
            took[k] += cpu_s() - begin;
        }
    std::printf("%f\n", cpu_s());
    for (int k = 0; k < 4; k++)
        std::printf("%s %f\n", parts[k].name, took[k]);
    return sum == 1;
}
