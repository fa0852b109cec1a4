/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What programs whose run times are compared have in common: work that takes
 * the same processor time whatever goes on around it, a clock, and for how long
 * their threads wanted a processor and had none. timed_support.py runs them. */
#ifndef AXP_TIMED_SUPPORT_H
#define AXP_TIMED_SUPPORT_H
#include <stdint.h>

/* So many dependent additions. A macro, so that a sample there is of the function
 * that does it: inlined ones have names of their own. */
#define TIMED_SPIN(additions)                                                  \
    do {                                                                       \
        uint64_t x_ = 1, n_ = (uint64_t)(additions);                           \
        for (uint64_t i_ = 0; i_ < n_; i_++) {                                 \
            x_ += i_;                                                          \
            __asm__ volatile("" : "+r"(x_)); /* it is not taken together */    \
        }                                                                      \
    } while (0)

double timed_now(void); /* seconds */
/* Adds for how long this thread was starved: called when it has done its part. */
void timed_thread_done(void);
/* Prints how many seconds the run took since `began`, and for how many all
 * threads together were starved. */
void timed_print(double began);

#endif
