// SPDX-License-Identifier: MIT OR Apache-2.0
// Addresses in two lambdas of one function, both inlined, for test_symbol.c.

extern "C" void *symbol_in_lambda(int which, int *line);

__attribute__((noinline)) static void *where(int which)
{
    asm volatile("" : "+r"(which));
    return __builtin_return_address(0);
}

void *symbol_in_lambda(int which, int *line)
{
    void *address;
    if (which) {
        *line = __LINE__ + 1;
        auto first = []() __attribute__((always_inline)) { return where(1); };
        address = first();
        asm volatile("# first" : "+r"(address));
    } else {
        *line = __LINE__ + 1;
        auto second = []() __attribute__((always_inline)) { return where(2); };
        address = second();
        asm volatile("# second" : "+r"(address));
    }
    return address;
}
