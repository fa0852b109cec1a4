/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What sampled_program opens and closes again. */
__attribute__((visibility("default"))) void spin_in_library(long rounds);

static volatile double sink;

void spin_in_library(long rounds)
{
    double x = 1;
    for (long i = rounds; i > 0; i--)
        x = x * 1.0000001 + 0.1;
    sink = x;
}

/* Without tables, and called by way of a link, as whatever a library exports. */
#if defined(__aarch64__)
__asm__(".text\n"
        ".globl library_kernel\n"
        ".type library_kernel, %function\n"
        "library_kernel:\n"
        "1: subs x0, x0, #1\n"
        "b.ne 1b\n"
        "ret\n"
        ".size library_kernel, . - library_kernel\n");
#else
__asm__(".text\n"
        ".globl library_kernel\n"
        ".type library_kernel, @function\n"
        "library_kernel:\n"
        "push %rbp\n"
        "mov $1, %ebp\n"
        "1: dec %rdi\n"
        "jnz 1b\n"
        "pop %rbp\n"
        "ret\n"
        ".size library_kernel, . - library_kernel\n");
#endif
__attribute__((visibility("default"))) void library_kernel(long rounds);
__attribute__((visibility("default"))) void spin_by_link(long rounds);

void spin_by_link(long rounds)
{
    library_kernel(rounds);
    sink = 0;
}
