/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An id for a program or library that its linker gave no build id: made of what
 * is the same in its file and where it is loaded, so that one can be known by
 * the other. That is its ELF header, which also says where its section headers
 * are and so changes with the length of the file, its program headers, and the
 * first bytes of its table of functions (PT_GNU_EH_FRAME): where each begins.
 *
 * Two builds of which none of that differs have one id: a function that got
 * another name of the same length, say. 4096 bytes of the table are its head and
 * the first 510 functions.
 *
 * It has 12 bytes, as no linker's has: those are of 8, 16, 20 or 32.
 *
 * Place    in the target, of what is loaded (os_objects.c); of a file, when a
 *          run is sampled and when names are looked for (symbol_build_id.c).
 * Input    headers of any file: nothing that they say is followed.
 * Threads  anywhere, in a signal handler too: nothing but its arguments.
 * Not here what has a build id; who reads the bytes.
 */
#ifndef AXP_OS_MADE_ID_H
#define AXP_OS_MADE_ID_H
#include <link.h>
#include <stddef.h>

#define AXP__MADE_ID 25u         /* 24 hex digits, and the 0 after them */
#define AXP__MADE_ID_FRAME 4096u /* bytes of that table that count, at most */

struct axp__made_from {
    const ElfW(Ehdr) * head;
    const ElfW(Phdr) * part;
    size_t n_parts;
    const char *frame; /* what axp__made_id_frame says; NULL: none */
    size_t n_frame;
};

/* The segment whose first n bytes count; NULL: none, and n is 0. */
const ElfW(Phdr) *
    axp__made_id_frame(const ElfW(Phdr) * part, size_t n_parts, size_t *n);
void axp__made_id(const struct axp__made_from *from, char out[AXP__MADE_ID]);

#endif
