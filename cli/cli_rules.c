/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof rules: what reports look for, and from when on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axprof/axprof_read.h>

#include "cli/cli_say.h"
#include "cli/cli_verbs.h"

struct known {
    axp_rule *rules;
    axp_rule_threshold *thresholds;
    size_t n_rules, n_thresholds;
};

static void show(const struct known *k, const axp_rule *rule)
{
    size_t len = strlen(rule->id);
    printf("%s (%s)\n  %s\n  needs %s\n", rule->id, rule->name, rule->about,
           rule->needs);
    for (size_t i = 0; i < k->n_thresholds; i++) {
        const axp_rule_threshold *t = &k->thresholds[i];
        if (!strncmp(t->key, rule->id, len) && t->key[len] == '.')
            printf("  %s=%g\n", t->key, t->value);
    }
}

static const axp_rule *find(const struct known *k, const char *word)
{
    for (size_t i = 0; i < k->n_rules; i++)
        if (!strcmp(k->rules[i].id, word) || !strcmp(k->rules[i].name, word))
            return &k->rules[i];
    return NULL;
}

static int no_such(const struct known *k, const char *word)
{
    size_t stride = sizeof *k->rules;
    const char *near = cli_nearest(word, &k->rules->id, k->n_rules, stride);
    if (!near) near = cli_nearest(word, &k->rules->name, k->n_rules, stride);
    return near
               ? cli_wrong("no rule \"%s\"; \"%s\" is one", word, near)
               : cli_wrong("no rule \"%s\"; \"axprof rules\" lists them", word);
}

static int show_all(const struct known *k, const cli_args *args)
{
    for (size_t i = 0; i < args->n_rest; i++)
        if (!find(k, args->rest[i])) return no_such(k, args->rest[i]);
    size_t n = args->n_rest ? args->n_rest : k->n_rules;
    for (size_t i = 0; i < n; i++) {
        if (i) putchar('\n');
        show(k, args->n_rest ? find(k, args->rest[i]) : &k->rules[i]);
    }
    return fflush(stdout) || ferror(stdout)
               ? cli_fail("standard output could not be written")
               : CLI_OK;
}

int cli_rules_main(const cli_args *args)
{
    struct known k = {.n_rules = axp_rules(NULL, 0),
                      .n_thresholds = axp_rule_thresholds(NULL, 0)};
    k.rules = cli_alloc(k.n_rules, sizeof *k.rules);
    k.thresholds = cli_alloc(k.n_thresholds, sizeof *k.thresholds);
    axp_rules(k.rules, k.n_rules);
    axp_rule_thresholds(k.thresholds, k.n_thresholds);
    int rc = show_all(&k, args);
    free(k.rules);
    free(k.thresholds);
    return rc;
}
