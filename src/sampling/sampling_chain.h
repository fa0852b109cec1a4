/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where the kernel's chain of return addresses, by frame pointers, is right.
 *
 * A chain costs the program next to nothing, a copy of its stack that is long
 * enough for tables several µs; but code that keeps no frame pointer makes a chain
 * pass over its caller, and nothing in the chain shows it. Whether code keeps one
 * is decided when it is compiled: what tables and chain have agreed on for a place
 * holds whenever that place is returned to.
 *
 * Knowledge  of a place that two do not agree on for once is that it leads astray,
 *            and stays so.
 * New        places whose function keeps, by its tables, frame pointer and return
 *            address beside each other: taken to lead on where nearly all such
 *            have, and guessed to until then. (Where frame pointers are left out
 *            the register may be kept like any other, beside that.) Neither if
 *            another object's function would be called where the chain leads;
 *            and from places without such a pair nothing is guessed.
 * Memory     a place may push another one out, which is learned again.
 */
#ifndef AXP_SAMPLING_CHAIN_H
#define AXP_SAMPLING_CHAIN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From a place to what it will return to. */
enum axp__leads {
    AXP__LEADS_UNKNOWN,
    AXP__LEADS_ASTRAY,
    AXP__LEADS_LIKELY, /* on: nearly all of its kind do */
    AXP__LEADS_ON,
    AXP__LEADS_NOWHERE /* it is a thread's first */
};

#define AXP__CHAIN_PLACES 4096u

struct axp__chains {
    struct axp__chain_place {
        uint64_t place; /* in the space of the modules; 0: none */
        enum axp__leads leads;
    } at[AXP__CHAIN_PLACES];
    uint64_t n_on, n_astray; /* that were learned, of places with a pair */
};

/* has_pair: of frame pointer and return address. */
enum axp__leads axp__chains_know(const struct axp__chains *c, uint64_t place,
                                 bool has_pair);
void axp__chains_learn(struct axp__chains *c, uint64_t place, bool has_pair,
                       enum axp__leads leads);

#endif
