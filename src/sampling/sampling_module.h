/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The files whose code runs in the processes of a run, each once, whoever has
 * it loaded and wherever.
 *
 * Each has a place of its own in one space of addresses that is nobody's, in
 * which stacks are recorded: so 500 processes of one program have one stack of
 * each kind, and what was unloaded can be taken for nothing else.
 *
 * Input  any file that a process maps; what is no ELF file counts by offsets.
 */
#ifndef AXP_SAMPLING_MODULE_H
#define AXP_SAMPLING_MODULE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampling/sampling_jit.h"
#include "sampling/sampling_perf.h"

struct axp__cfi;

#define AXP__MODULE_LOADS 16u
#define AXP__MODULE_ID 64u /* bytes of a build id, at most */

struct axp__mod {
    struct axp__mod *next;
    char *path;             /* "[vdso]", "[anonymous code]" … are no files */
    uint64_t device, inode; /* of such code: where it is, and how long */
    uint64_t generation;    /* of the inode: numbers are used again */
    bool is_ready;          /* it was looked into */
    bool is_told;           /* it is in the recording */
    uint64_t bias; /* of its place: address = bias + what the file counts */
    uint64_t low, high;
    char build_id[2 * AXP__MODULE_ID + 1]; /* or one that is made; "": none */
    struct {
        uint64_t offset, bytes, address;
    } load[AXP__MODULE_LOADS];
    size_t n_loads;
    struct axp__cfi *cfi; /* NULL: none */
    char *bytes;          /* of the vdso */
    int fd;             /* 1 + that of the file, to read code; 0: not opened */
    struct axp__found { /* sampling_unwind.c: return addresses, by place */
        uint64_t place; /* an offset in the file */
        uint32_t
            word; /* above what the register has, mostly the stack pointer */
        uint16_t reg, n_skipped;
    } * found;
};

struct axp__mods {
    struct axp__mod *slot[1024];
    struct axp__mod *kernel;
    uint64_t next; /* place */
    uint32_t n;
    char **own; /* real paths of our own; malloc'd, and so are they */
    size_t n_own;
};

void axp__mods_init(struct axp__mods *m);
/* Files of our own, and libaxprof_rt. False: no memory. */
bool axp__mods_set_own(struct axp__mods *m, const char *const *paths, size_t n);
/* What one of ours is called, AXP__OWN_…; NULL: it is not ours. */
const char *axp__mods_own_name(const struct axp__mods *m,
                               const struct axp__mod *mod);
void axp__mods_fini(struct axp__mods *m);
/* The module of a mapping; NULL: no memory. */
struct axp__mod *axp__mods_get(struct axp__mods *m,
                               const struct axp__perf_mapping *mapping);
/* Code that was made at run time is a module of its own; NULL: no memory. */
struct axp__mod *axp__mods_get_jit(struct axp__mods *m,
                                   const struct axp__jit_code *code);
/* Whether all code that has no file and no name is this one. */
bool axp__mod_is_anonymous(const struct axp__mod *mod);
/* Time in the kernel is one module and one place. */
uint64_t axp__mods_kernel(struct axp__mods *m);
/* Looks into the file, of a process that has it, once. */
void axp__mod_prepare(struct axp__mods *m, struct axp__mod *mod, uint32_t pid,
                      uint64_t mapped_bytes);
/* Bytes of the file at an offset; false: they are not there. */
bool axp__mod_read(struct axp__mod *mod, uint32_t pid, uint64_t offset,
                   void *out, size_t n);
/* What the file calls the place at an offset in it. */
uint64_t axp__mod_address(const struct axp__mod *mod, uint64_t offset);

#endif
