/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Debug information that is made to be gone through without end: 60 namespaces
 * within each other, each of which says that what comes after it is what is in it.
 * Who goes in and by each of them has 2^60 ways. symbol_siblings_code is what it is
 * about, and in the innermost called "far_inside". */

__asm__(".text\n"
        ".balign 16\n"
        ".globl symbol_siblings_code\n"
        ".type symbol_siblings_code, %function\n"
        "symbol_siblings_code:\n"
        "nop\n nop\n nop\n nop\n"
        ".Lsiblings_end:\n"
        ".size symbol_siblings_code, . - symbol_siblings_code\n");

__asm__(".section .debug_abbrev,\"\",%progbits\n"
        ".Lsiblings_abbrev:\n"
        /* 1: a unit with low_pc (addr) and high_pc (data4) */
        ".byte 1, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0, 0\n"
        /* 2: a namespace with sibling (ref4) */
        ".byte 2, 0x39, 1, 0x01, 0x13, 0, 0\n"
        /* 3: a subprogram with name (string), low_pc, high_pc */
        ".byte 3, 0x2e, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0\n"
        ".byte 0\n");

/* The first namespace is 24 bytes into the unit, each has 5. */
__asm__(".section .debug_info,\"\",%progbits\n"
        ".Lsiblings_info:\n"
        ".4byte .Lsiblings_info_end - .Lsiblings_unit\n"
        ".Lsiblings_unit:\n"
        ".2byte 4\n"
        ".4byte .Lsiblings_abbrev\n"
        ".byte 8\n"
        ".byte 1\n"
        ".8byte symbol_siblings_code\n"
        ".4byte .Lsiblings_end - symbol_siblings_code\n"
        ".set siblings_at, 29\n"
        ".rept 60\n"
        ".byte 2\n"
        ".4byte siblings_at\n"
        ".set siblings_at, siblings_at + 5\n"
        ".endr\n"
        ".byte 3\n"
        ".asciz \"far_inside\"\n"
        ".8byte symbol_siblings_code\n"
        ".4byte .Lsiblings_end - symbol_siblings_code\n"
        ".zero 61\n"
        ".Lsiblings_info_end:\n");

__asm__(".section .debug_aranges,\"\",%progbits\n"
        ".4byte 44\n"
        ".2byte 2\n"
        ".4byte .Lsiblings_info\n"
        ".byte 8, 0\n"
        ".4byte 0\n"
        ".8byte symbol_siblings_code\n"
        ".8byte .Lsiblings_end - symbol_siblings_code\n"
        ".8byte 0, 0\n"
        ".text\n");
