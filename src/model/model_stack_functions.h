/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which functions the stacks of a view are of: each function once, each stack
 * as a list of them.
 *
 * A function is a name in a module, inlined ones too. What has no name is called
 * by where it is.
 *
 * Ownership  init with {.v = …}; fini frees. Names that were made here are the
 *            caller's once it has taken them (is_made).
 */
#ifndef AXP_MODEL_STACK_FUNCTIONS_H
#define AXP_MODEL_STACK_FUNCTIONS_H
#include "model/model_slots.h"
#include "model/model_view.h"

struct axp__function {
    const char *name, *module;
    const char *file; /* where most of one stack's time was */
    int line;
    uint64_t best_ns, self_ns, total_ns, samples; /* of the caller */
    uint64_t last;    /* that it was counted in: recursion once */
    bool is_made;     /* its name is to be freed */
    bool is_standard; /* symbol_standard.h */
};

struct axp__stack_frame {
    uint32_t function;
    int line; /* of the place in it */
    const char *file;
};

struct axp__stack_of {
    uint32_t id;
    uint32_t first, n; /* of its frames, innermost first */
    uint32_t n_inside; /* of them: in the scope that an adapter has open */
    uint64_t ns;       /* of the caller; 0 at first */
};

struct axp__stack_functions {
    const axp_view *v;
    struct axp__function *functions;
    size_t n_functions, cap_functions;
    struct axp__slots function_slots;
    struct axp__stack_of *stacks;
    size_t n_stacks, cap_stacks;
    struct axp__slots stack_slots;
    struct axp__stack_frame *frames;
    size_t n_frames, cap_frames;
};

void axp__stack_functions_fini(struct axp__stack_functions *s);
/* NULL: no memory. Valid until the next call. */
struct axp__stack_of *axp__stack_functions_get(struct axp__stack_functions *s,
                                               uint32_t stack);
/* That a frame's function is in; NULL: not known. */
const char *axp__stack_functions_module(const struct axp__stack_functions *s,
                                        uint32_t frame);
/* The program's own: not a library's of the system, the kernel's, the profiler's
 * or the standard library's. */
bool axp__function_is_programs(const struct axp__function *f);
/* The innermost frame of the program's own: not the system's libraries', the
 * kernel's or the profiler's. The innermost, if there is none; the stack has one. */
uint32_t axp__stack_functions_own(const struct axp__stack_functions *s,
                                  const struct axp__stack_of *of);

#endif
