/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How much of a stack is copied with each sample: what the frames of the last
 * ones took decides.
 *
 *   0: much ──64 in a row have room──► 1: little
 *           ◄── one was cut, guessed ──
 *
 * Cost     of a copy is the program's: 16 KB take 9 µs, 4 KB take 2 (aarch64, 2.6
 *          GHz, all of it in the cache). Where code keeps frame pointers as a rule
 *          (AXP__HAS_CHAIN) little is 1 KB: the kernel's chain goes on where the
 *          copy ends. A third tier is no gain: its clocks are looked at whenever
 *          a thread gets its processor, although they are off.
 * Room     is three quarters of a copy, so that a call more is not cut at once.
 * Cut      what it is, it stays; from the next look on much is copied again.
 *          A tier that was too small is tried again after four times as many, so
 *          that a program that goes deep now and then is cut more and more
 *          seldom.
 * Guessed  the same, for as long as at first: code that is new, which is known
 *          the next time.
 */
#ifndef AXP_SAMPLING_TIERS_H
#define AXP_SAMPLING_TIERS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AXP__TIERS 2u

/* What a copy was for the frames of its sample. */
enum axp__copy {
    AXP__COPY_ENOUGH,
    AXP__COPY_GUESSED, /* there may be more: a place is not known */
    AXP__COPY_CUT      /* there are more frames */
};

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
/* A sample whose frames took so many bytes. */
void axp__tiers_used(struct axp__tiers *t, uint64_t bytes, enum axp__copy copy);

#endif
