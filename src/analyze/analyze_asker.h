/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who asks the kernel: the function of the program that its thread left the
 * processor in. Where no stack of that is known, and the program does little but ask,
 * below which the kernel was seen at work.
 *
 *   main ─► save ─► fsync ─► [kernel]
 *           ^ it    ^ a library's
 *
 * The program's is the innermost function of the module that the stack begins in;
 * of a thread, whose stack begins in the library that the kernel is asked through,
 * the first of another module than that.
 *
 * Marked  scopes speak for what is in them: the rest is looked at alone, and not what
 *         the kernel was seen to work.
 * Input   samples of a view, which may claim anything.
 */
#ifndef AXP_ANALYZE_ASKER_H
#define AXP_ANALYZE_ASKER_H
#include "model/model_view.h"

enum axp__asked {
    AXP__ASKED_DATA,   /* a read, write or open; or it is not known */
    AXP__ASKED_SLEEP,  /* nothing: to go on later */
    AXP__ASKED_OTHERS, /* that others send, connect or end */
};

struct axp__asker {
    const axp_op *kernel; /* of the view's functions; NULL: it was not seen */
    const char *name;     /* who most of it is for; NULL: nobody */
    const char *file;     /* where it asks; NULL: not known */
    int line;
    const char *call; /* what it waits in; NULL: no stack of that is known */
    enum axp__asked asked;
    axp_ns kernel_ns; /* processor time of the kernel's, for its sake */
};

/* Whether a program does little but ask the kernel. */
static inline bool axp__asks_mostly(const axp_view *v, const axp_op *kernel)
{
    return kernel->time_share > 0.5 &&
           (double)kernel->self_ns >= 0.05 * (double)v->duration_ns;
}
/* False: no memory. */
bool axp__asker_find(const axp_view *v, struct axp__asker *out);

#endif
