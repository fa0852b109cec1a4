/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How much of a stack is copied with each sample: what the frames of the last
 * ones took decides.
 *
 *   0: much ──64 in a row have room──► 1: little
 *           ◄────── one was cut ──────
 *
 * Cost     of a copy is the program's: 16 KB take 9 µs, 4 KB take 2 (aarch64, 2.6
 *          GHz). A third tier of 1 KB was no gain: a quarter of the samples of
 *          examples/gpt need more, so that it was never used, and its clocks are
 *          looked at whenever a thread gets its processor, although they are off
 *          (0 to 0.7 % of that run).
 * Room     is three quarters of a copy, so that a call more is not cut at once.
 * Cut      what it is, it stays; from the next look on much is copied again.
 *          A tier that was too small is tried again after four times as many, so
 *          that a program that goes deep now and then is cut more and more
 *          seldom.
 */
#ifndef AXP_SAMPLING_TIERS_H
#define AXP_SAMPLING_TIERS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AXP__TIERS 2u

struct axp__tiers {
    size_t n;   /* that there are, 1 to AXP__TIERS */
    size_t now; /* the one to use */
    struct axp__tier {
        uint32_t bytes;
        uint64_t n_room;  /* samples in a row that had room in it … */
        uint64_t n_asked; /* … and how many it takes */
    } at[AXP__TIERS];
};

void axp__tiers_init(struct axp__tiers *t);
/* A sample whose frames took so many bytes; is_cut: there were more frames than
 * the copy has. */
void axp__tiers_used(struct axp__tiers *t, uint64_t bytes, bool is_cut);

#endif
