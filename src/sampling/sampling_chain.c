/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is known of places; see sampling_chain.h. */
#include "sampling/sampling_chain.h"

#define PAIRS_LEAST 8u /* that led on, for each that did not, and before any */
#define PROBES 8u

/* Where it is, or could be: one that is pushed out is where it would best be. */
static size_t slot_of(const struct axp__chains *c, uint64_t place)
{
    size_t best = (size_t)(place * UINT64_C(0x9e3779b97f4a7c15) >> 52);
    for (size_t i = 0; i < PROBES; i++) {
        size_t slot = (best + i) % AXP__CHAIN_PLACES;
        if (!c->at[slot].place || c->at[slot].place == place) return slot;
    }
    return best;
}
_Static_assert(AXP__CHAIN_PLACES == 1u << (64 - 52), "slot_of");

static enum axp__leads learned(const struct axp__chains *c, uint64_t place)
{
    const struct axp__chain_place *known = &c->at[slot_of(c, place)];
    return known->place == place ? known->leads : AXP__LEADS_UNKNOWN;
}

enum axp__leads axp__chains_know(const struct axp__chains *c, uint64_t place,
                                 bool has_pair)
{
    enum axp__leads leads = learned(c, place);
    bool is_expected = c->n_on >= PAIRS_LEAST * (c->n_astray + 1);
    if (leads == AXP__LEADS_UNKNOWN && has_pair && is_expected)
        return AXP__LEADS_LIKELY;
    return leads;
}

void axp__chains_learn(struct axp__chains *c, uint64_t place, bool has_pair,
                       enum axp__leads leads)
{
    enum axp__leads before = learned(c, place);
    if (before == leads) return;
    if (before != AXP__LEADS_UNKNOWN) leads = AXP__LEADS_ASTRAY;
    c->at[slot_of(c, place)] = (struct axp__chain_place){place, leads};
    c->n_on += has_pair && leads == AXP__LEADS_ON;
    c->n_astray += has_pair && leads == AXP__LEADS_ASTRAY;
}
