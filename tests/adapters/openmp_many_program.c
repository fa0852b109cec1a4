/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* More regions than there is room for, by GNU's entries: each is recorded. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "wait_check.h"

#define MANY 20000u

extern void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);

/* Of operations that have a name; what has none is counted apart. */
static uint64_t n_calls(const axp_view *view, uint64_t *others)
{
    static axp_op ops[2 * MANY];
    uint64_t calls = 0;
    size_t n = axp_view_ops(view, AXP_BY_TIME, ops, 2 * MANY);
    *others = 0;
    for (size_t i = 0; i < n && i < 2 * MANY; i++)
        if (!strcmp(ops[i].name, "OpenMP (other)"))
            *others += ops[i].calls;
        else if (strncmp(ops[i].name, "OpenMP ", 7) != 0)
            calls += ops[i].calls;
    return calls;
}

/* Functions that return at once, each at an address of its own. */
static uint32_t *make_functions(void)
{
    size_t bytes = MANY * sizeof(uint32_t);
    uint32_t *code = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(code != MAP_FAILED);
    for (unsigned i = 0; i < MANY; i++)
#if defined __x86_64__
        code[i] = 0xc3;
#else
        code[i] = 0xd65f03c0;
#endif
    __builtin___clear_cache((char *)code, (char *)code + bytes);
    CHECK(!mprotect(code, bytes, PROT_READ | PROT_EXEC));
    return code;
}

static void more_than_there_is_room_for(void)
{
    uint32_t *code = make_functions();
    for (unsigned i = 0; i < MANY; i++) {
        void (*function)(void *), *at = code + i;
        memcpy(&function, &at, sizeof function);
        GOMP_parallel(function, NULL, 1, 0);
    }
    axp_view *view = axp_snapshot(axp_global());
    uint64_t others, named = n_calls(view, &others);
    printf("%llu with a name, %llu others\n", (unsigned long long)named,
           (unsigned long long)others);
    CHECK(named >= 10000 && others > 0 && named + others == MANY);
    axp_view_destroy(view);
    axp_reset(axp_global());
}

int main(void)
{
    more_than_there_is_room_for();
    puts("all as expected");
    return 0;
}
