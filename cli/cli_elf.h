/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What an executable's headers say about it: enough to know whether an
 * adapter can be loaded into it, and what `doctor` tells its owner.
 *
 * Input      any file; every offset in it is checked against its size.
 * Failure    false: not an ELF file, or one cut short.
 */
#ifndef CLI_ELF_H
#define CLI_ELF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_elf {
    bool is_64, is_little;
    uint16_t machine, type; /* EM_*, ET_* */
    bool is_dynamic;        /* a loader runs before it */
    char loader[128];       /* its path; "": none */
    bool is_musl;
    bool needs_asan;      /* a sanitizer that wants to be the first library */
    bool needs_allocator; /* that brings operator new: cli_elf_is_allocator */
    bool needs_rt;        /* links libaxprof_rt; a static one shows when deep */
    bool has_symbols, has_debug;
    char build_id[41 * 2]; /* hex; "": none */
    /* Only when read deep: */
    bool has_hooks;  /* calls __cyg_profile_func_enter */
    bool has_blas;   /* defines products of BLAS */
    bool has_malloc; /* that others see as well … */
    /* … and one that they do not, by its name; NULL: none is known. */
    const char *hidden_malloc;
    /* Functions whose size is known and that are no mere leaves, and those of
     * them that begin by making a frame. */
    uint32_t n_functions, n_with_frame;
} cli_elf;

/* is_deep: every symbol is looked at too, some ms for a large program. */
bool cli_elf_read(const char *path, bool is_deep, cli_elf *out);
/* Is it for the machine and word size that this command was built for? */
bool cli_elf_is_native(const cli_elf *elf);
/* Is a library, by its file's name, one that takes malloc's place and has C++'s
 * operators of its own? */
bool cli_elf_is_allocator(const char *file);
/* "x86-64", "aarch64", … for messages. */
const char *cli_elf_machine(uint16_t machine);

#endif
