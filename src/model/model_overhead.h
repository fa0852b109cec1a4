/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What recording took of what threads worked, in words. */
#ifndef AXP_MODEL_OVERHEAD_H
#define AXP_MODEL_OVERHEAD_H
#include "model/model_view.h"

struct axp__overhead {
    char text[320];
    uint64_t count;   /* of what took most of it; 0: too little to speak of */
    const char *name; /* that was called most; NULL: no one */
    double share;     /* 0 to 1 */
};

/* Once more when there are samples: they may change it. */
struct axp__overhead axp__overhead(const axp_view *v);

/* The processor time of the run, as threads or samples know more of it. */
double axp__ran_ns(const axp_view *v);

#endif
