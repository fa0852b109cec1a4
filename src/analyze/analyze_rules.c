/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rules and their thresholds as lists, for who wants to choose among them. */
#include "analyze/analyze.h"
#include "base/base_sized.h"

static const axp_rule rules[AXP__N_RULES] = {
#define RULE(type, id, name, inputs, least, about, needs)                      \
    {type, #id, name, about, needs},
#include "analyze/rules.def"
};

size_t axp_rules_sized(axp_rule *out, size_t cap, size_t size)
{
    for (size_t i = 0; out && i < cap && i < AXP__N_RULES; i++)
        axp__sized_copy((char *)out + i * size, size, &rules[i],
                        sizeof rules[i]);
    return AXP__N_RULES;
}

size_t axp_rule_thresholds_sized(axp_rule_threshold *out, size_t cap,
                                 size_t size)
{
    for (size_t i = 0; out && i < cap && i < AXP__N_THRESHOLDS; i++) {
        axp_rule_threshold one = {axp__thresholds[i].key,
                                  axp__thresholds[i].value};
        axp__sized_copy((char *)out + i * size, size, &one, sizeof one);
    }
    return AXP__N_THRESHOLDS;
}
