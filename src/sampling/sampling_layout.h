/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What code the processes of a run have where, as the kernel tells it: a child
 * begins with its parent's, exec with nothing, and a later mapping takes the
 * place of what was there.
 *
 * Memory  a process that has ended is forgotten some hundred ends later: its
 *         last samples may come after its end.
 */
#ifndef AXP_SAMPLING_LAYOUT_H
#define AXP_SAMPLING_LAYOUT_H
#include "sampling/sampling_module.h"

struct axp__code { /* a mapping of code */
    uint64_t first, end, offset;
    struct axp__mod *mod;
};

struct axp__layout {
    uint32_t pid;
    bool has_ended;
    bool is_heard;          /* it said something itself */
    bool is_apart;          /* the recorder's, for an instant (os_apart.h) */
    uint32_t parent, by;    /* who made it: process, thread */
    struct axp__code *code; /* by address; they do not overlap */
    size_t n, cap;
    struct axp__jit *jit;      /* names of code without a file; NULL: none */
    uint64_t read_ns;          /* when it was last read from /proc; 0: never */
    struct axp__layout *next;  /* of its slot */
    struct axp__layout *later; /* of those that have ended */
};

struct axp__layouts {
    struct axp__layout *slot[1024];
    struct axp__layout *first_ended, **last_ended;
    size_t n_ended;
};

void axp__layouts_init(struct axp__layouts *s);
void axp__layouts_fini(struct axp__layouts *s);
/* Made when it is first asked for; NULL: no memory. */
struct axp__layout *axp__layouts_get(struct axp__layouts *s, uint32_t pid);
bool axp__layout_map(struct axp__layout *p, struct axp__code code);
void axp__layout_clear(struct axp__layout *p);
/* NULL: it is not known. */
struct axp__layout *axp__layouts_find(struct axp__layouts *s, uint32_t pid);
/* A child, of whom is not known where from is NULL; NULL: no memory. */
struct axp__layout *axp__layouts_fork(struct axp__layouts *s, uint32_t pid,
                                      const struct axp__layout *from);
void axp__layouts_end(struct axp__layouts *s, uint32_t pid);
/* The code at an address; NULL: none. */
const struct axp__code *axp__layout_find(const struct axp__layout *p,
                                         uint64_t pc);

#endif
