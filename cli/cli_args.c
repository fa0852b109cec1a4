/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parsing of a verb's words by cli_table.def. */
#include "cli/cli_args.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_meant.h"
#include "cli/cli_say.h"

static const cli_option *find_word(cli_verb_id verb, const char *word,
                                   size_t len)
{
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (cli_options[i].verb == verb &&
            !strncmp(cli_options[i].word, word, len) &&
            !cli_options[i].word[len])
            return &cli_options[i];
    return NULL;
}

static const cli_option *find_letter(cli_verb_id verb, char letter)
{
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (cli_options[i].verb == verb && cli_options[i].letter == letter)
            return &cli_options[i];
    return NULL;
}

static int misspelled_word(cli_verb_id verb, const char *name)
{
    const char *words[N_OPTIONS + 1];
    size_t n = 0;
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (cli_options[i].verb == verb) words[n++] = cli_options[i].word;
    words[n++] = "help";
    const char *near = cli_nearest(name, words, n, sizeof *words);
    if (near)
        return cli_wrong("unknown option --%s; did you mean --%s?", name, near);
    return cli_wrong("unknown option --%s; \"axprof %s --help\" lists them",
                     name, cli_verbs[verb].name);
}

static int unknown_word(cli_verb_id verb, const char *word, size_t len)
{
    char *name = cli_format("%.*s", (int)len, word);
    char *meant = cli_meant_by_option(verb, name);
    int rc =
        meant ? cli_wrong("unknown option --%s; did you mean %s?", name, meant)
              : misspelled_word(verb, name);
    free(meant);
    free(name);
    return rc;
}

/* known: those that there are. */
static int misspelled_choice(const cli_option *option, const char *value,
                             const char *near, const char *known)
{
    if (near)
        return cli_wrong("--%s: unknown word \"%s\"; did you mean %s? "
                         "There are: %s",
                         option->word, value, near, known);
    return cli_wrong("--%s: unknown word \"%s\"; there are: %s", option->word,
                     value, known);
}

static int unknown_choice(const cli_option *option, const char *value)
{
    cli_option_id id = (cli_option_id)(option - cli_options);
    const char *words[64];
    char known[512] = "";
    size_t n = 0;
    for (size_t i = 0; i < cli_n_choices && n < 64; i++) {
        if (!cli_choice_is_shown(i, id)) continue;
        words[n++] = cli_choices[i].word;
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                 cli_choices[i].word);
    }
    char *meant = cli_meant_by_choice(id, value);
    int rc = misspelled_choice(
        option, value,
        meant ? meant : cli_nearest(value, words, n, sizeof *words), known);
    free(meant);
    return rc;
}

static bool has_choices(cli_option_id id)
{
    for (size_t i = 0; i < cli_n_choices; i++)
        if (cli_choices[i].option == id) return true;
    return false;
}

static int no_value(const cli_option *option)
{
    return cli_wrong("--%s wants a value: --%s %s", option->word, option->word,
                     option->argument);
}

static int take(cli_args *args, const cli_option *option, const char *value)
{
    cli_option_id id = (cli_option_id)(option - cli_options);
    if (option->argument && !*value) return no_value(option);
    if (option->argument && has_choices(id) && !cli_choice_find(id, value))
        return unknown_choice(option, value);
    args->given[args->n_given++] = (cli_given){id, value};
    return CLI_OK;
}

/* *next moves on when the following word was the value. */
static int take_word(cli_args *args, const char *word, char **argv, int *next)
{
    size_t len = strcspn(word, "=");
    const cli_option *option = find_word(args->verb, word, len);
    if (!option) return unknown_word(args->verb, word, len);
    if (word[len]) {
        if (!option->argument)
            return cli_wrong("--%s takes no value", option->word);
        return take(args, option, word + len + 1);
    }
    if (!option->argument) return take(args, option, "");
    if (!argv[*next]) return no_value(option);
    return take(args, option, argv[(*next)++]);
}

static int take_letters(cli_args *args, const char *letters, char **argv,
                        int *next)
{
    for (; *letters; letters++) {
        const cli_option *option = find_letter(args->verb, *letters);
        int rc;
        if (!option)
            return cli_wrong("unknown option -%c; \"axprof %s --help\" lists "
                             "them",
                             *letters, cli_verbs[args->verb].name);
        if (!option->argument) {
            if ((rc = take(args, option, "")) != CLI_OK) return rc;
            continue;
        }
        if (letters[1]) return take(args, option, letters + 1);
        if (!argv[*next]) return no_value(option);
        return take(args, option, argv[(*next)++]);
    }
    return CLI_OK;
}

/* Is what follows the options another command, with options of its own? */
static bool is_launcher(cli_verb_id verb)
{
    return strstr(cli_verbs[verb].arguments, "COMMAND") != NULL;
}

int cli_args_init(cli_args *args, cli_verb_id verb, int argc, char **argv)
{
    int rc = CLI_OK, i = 1;

    *args = (cli_args){.verb = verb};
    args->given = cli_alloc((size_t)argc + 1, sizeof *args->given);
    args->rest = cli_alloc((size_t)argc + 1, sizeof *args->rest);
    while (i < argc && rc == CLI_OK) {
        char *word = argv[i++];
        if (!strcmp(word, "--")) break;
        if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
            args->is_help = true;
            return CLI_OK;
        }
        if (word[0] == '-' && word[1] == '-')
            rc = take_word(args, word + 2, argv, &i);
        else if (word[0] == '-' && word[1])
            rc = take_letters(args, word + 1, argv, &i);
        else {
            args->rest[args->n_rest++] = word;
            if (is_launcher(verb)) break;
        }
    }
    while (i < argc)
        args->rest[args->n_rest++] = argv[i++];
    if (rc != CLI_OK) cli_args_fini(args);
    return rc;
}

void cli_args_fini(cli_args *args)
{
    free(args->given);
    free(args->rest);
    *args = (cli_args){0};
}

const char *cli_args_value(const cli_args *args, cli_option_id option)
{
    for (size_t i = args->n_given; i-- > 0;)
        if (args->given[i].option == option) return args->given[i].value;
    return NULL;
}

bool cli_args_has(const cli_args *args, cli_option_id option)
{
    return cli_args_value(args, option) != NULL;
}

size_t cli_args_values(const cli_args *args, cli_option_id option,
                       const char **out, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < args->n_given; i++) {
        if (args->given[i].option != option) continue;
        if (n < cap) out[n] = args->given[i].value;
        n++;
    }
    return n;
}

int cli_args_choice(const cli_args *args, cli_option_id option, int other)
{
    const char *word = cli_args_value(args, option);
    const cli_choice *choice = word ? cli_choice_find(option, word) : NULL;
    return choice ? choice->value : other;
}

int cli_args_number(const cli_args *args, cli_option_id option, uint64_t min,
                    uint64_t max, uint64_t *out)
{
    const char *text = cli_args_value(args, option);
    char *end = NULL;
    if (!text) return CLI_OK;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || *end || text[0] < '0' || text[0] > '9' || value < min ||
        value > max)
        return cli_wrong("--%s wants a whole number from %llu to %llu, not "
                         "\"%s\"",
                         cli_options[option].word, (unsigned long long)min,
                         (unsigned long long)max, text);
    *out = value;
    return CLI_OK;
}

int cli_args_time(const cli_args *args, cli_option_id option, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"", 1e9},   {"s", 1e9},  {"ms", 1e6},   {"us", 1e3},
                 {"ns", 1.0}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
    const char *text = cli_args_value(args, option);
    char *end = NULL;
    if (!text) return CLI_OK;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (end == text || strcmp(end, units[i].unit) != 0) continue;
        double product = value * units[i].ns;
        if (!isfinite(product) || product < 0 || product > 9e18) break;
        *ns = (uint64_t)product;
        return CLI_OK;
    }
    return cli_wrong("--%s wants a time such as 30s, 200ms or 5m, not \"%s\"",
                     cli_options[option].word, text);
}
