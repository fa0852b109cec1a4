/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Thresholds in force: the defaults of rules.def, the fields of
 * axp_thresholds, then its strings, each over the ones before.
 *
 * Input  the user's: a string that is not understood is an error that names
 *        it and lists what there is, never ignored.
 */
#include <math.h>
#include <string.h>

#include "base/base_sized.h"
#include "analyze/analyze.h"
#include "base/base_number.h"
#include "record/record_thread.h"

const struct axp__threshold_info axp__thresholds[AXP__N_THRESHOLDS] = {
#define THRESHOLD(id, name, value) {#id "." #name, value},
#include "analyze/rules.def"
};

const char *axp__rule_name(enum axp__rule_id rule)
{
    static const char *const names[AXP__N_RULES] = {
#define RULE(type, id, name, inputs, least, about, needs) #id,
#include "analyze/rules.def"
    };
    return names[rule];
}

/* The rule that "rule", "rule:name" or "rule.threshold" begins with;
 * AXP__N_RULES: none. */
static enum axp__rule_id rule_of(const char *text, const char *end)
{
    size_t len = strcspn(text, end);
    for (int i = 0; i < AXP__N_RULES; i++) {
        const char *id = axp__rule_name((enum axp__rule_id)i);
        if (strlen(id) == len && !memcmp(id, text, len))
            return (enum axp__rule_id)i;
    }
    return AXP__N_RULES;
}

static void list_rules(char *out, size_t size)
{
    size_t len = axp__append(out, size, 0, "");
    for (int i = 0; i < AXP__N_RULES; i++) {
        len = axp__append(out, size, len, i ? ", " : "");
        len = axp__append(out, size, len, axp__rule_name((enum axp__rule_id)i));
    }
}

/* Of the rule that it names, or else of all the rules. */
static axp_status bad_threshold(const char *text)
{
    char known[700] = "";
    enum axp__rule_id rule = rule_of(text, ".=");
    list_rules(known, sizeof known);
    if (rule == AXP__N_RULES)
        return axp__fail(AXP_E_INVALID,
                         "'%.60s' is no threshold: write rule.name=number; "
                         "rules: %s",
                         text, known);
    size_t len = 0, prefix = strlen(axp__rule_name(rule)) + 1;
    for (size_t i = 0; i < AXP__N_THRESHOLDS; i++) {
        if (rule_of(axp__thresholds[i].key, ".") != rule) continue;
        len = axp__append(known, sizeof known, len, len ? ", " : "");
        len = axp__append(known, sizeof known, len,
                          axp__thresholds[i].key + prefix);
    }
    return axp__fail(AXP_E_INVALID,
                     "'%.60s' is no threshold: write %s.name=number, with a "
                     "name of %s",
                     text, axp__rule_name(rule), known);
}

static axp_status bad_rule(const char *text)
{
    char known[700];
    list_rules(known, sizeof known);
    return axp__fail(AXP_E_INVALID,
                     "'%.60s' cannot be ignored: write rule or rule:name; "
                     "rules: %s",
                     text, known);
}

static bool is_sane(double value)
{
    return isfinite(value) && value >= 0;
}

static axp_status set_one(struct axp__analysis *a, const char *text)
{
    const char *equals = text ? strchr(text, '=') : NULL;
    if (!equals) return bad_threshold(text ? text : "");
    size_t len = (size_t)(equals - text);
    double value = axp__parse_number(equals + 1);
    if (!is_sane(value)) return bad_threshold(text);
    for (size_t i = 0; i < AXP__N_THRESHOLDS; i++)
        if (strlen(axp__thresholds[i].key) == len &&
            !memcmp(axp__thresholds[i].key, text, len)) {
            a->threshold[i] = value;
            return AXP_OK;
        }
    return bad_threshold(text);
}

static axp_status set_fields(struct axp__analysis *a, const axp_thresholds *t)
{
    const struct {
        const char *name;
        enum axp__threshold at;
        double value;
    } fields[] = {
        {"slow_op_pct", AXP__T_slow_operation_percent, t->slow_op_pct},
        {"memory_hotspot_pct", AXP__T_memory_hotspot_percent,
         t->memory_hotspot_pct},
        {"leak_pct", AXP__T_memory_leak_percent, t->leak_pct},
        {"min_gflops", AXP__T_low_throughput_gflops, t->min_gflops},
        {"high_call_count", AXP__T_high_call_count_calls,
         (double)t->high_call_count},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (!is_sane(fields[i].value))
            return axp__fail(AXP_E_INVALID, "%s must be 0 or more",
                             fields[i].name);
        if (fields[i].value > 0) a->threshold[fields[i].at] = fields[i].value;
    }
    return AXP_OK;
}

axp_status axp__thresholds_read(struct axp__analysis *a,
                                const axp_thresholds *given)
{
    axp_status status = AXP_OK;
    if (given && !axp__sized_take(&a->given, sizeof a->given, given,
                                  AXP__SIZE_TO(axp_thresholds, n_ignore)))
        return axp__fail(AXP_E_INVALID, "axp_thresholds has no valid size");
    for (size_t i = 0; i < AXP__N_THRESHOLDS; i++)
        a->threshold[i] = axp__thresholds[i].value;
    status = set_fields(a, &a->given);
    for (size_t i = 0; !status && i < a->given.n_set; i++)
        status = set_one(a, a->given.set[i]);
    for (size_t i = 0; !status && i < a->given.n_ignore; i++) {
        const char *text = a->given.ignore[i] ? a->given.ignore[i] : "";
        if (rule_of(text, ":") == AXP__N_RULES) status = bad_rule(text);
    }
    return status;
}

bool axp__is_ignored(const struct axp__analysis *a, enum axp__rule_id rule,
                     const char *name)
{
    if (rule == AXP__RULE_memory_leak && a->given.skip_memory_leaks)
        return true;
    for (size_t i = 0; i < a->given.n_ignore; i++) {
        const char *only = strchr(a->given.ignore[i], ':');
        if (rule_of(a->given.ignore[i], ":") != rule) continue;
        if (!only || (name && !strcmp(only + 1, name))) return true;
    }
    return false;
}
