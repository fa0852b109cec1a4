/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The command: finds the verb, reads its options, calls it.
 *
 *   argv ─► cli_args (by cli_table.def) ─► cli_VERB_main ─► exit status
 *
 * Place      a client of the public headers, as any program is.
 * Not here   what a verb does: one file each, cli_VERB.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <axprof/axprof.h>

#include "cli/cli_help.h"
#include "cli/cli_say.h"
#include "cli/cli_verbs.h"

static int (*const mains[N_VERBS])(const cli_args *) = {
#define VERB(id, arguments, summary, text) cli_##id##_main,
#include "cli/cli_table.def"
};

/* A standard stream that is closed would be the next file we open, and what
 * is printed would land in it. The holes are filled with something that fails
 * in that direction, and that a program we start does not inherit. */
static void fill_standard_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null",
                        (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

/* What other tools call a verb. */
static const struct {
    const char *theirs, *ours;
} other_words[] = {
    {"record", "run"},     {"profile", "run"},      {"exec", "run"},
    {"launch", "run"},     {"start", "run"},        {"stat", "run"},
    {"trace", "run"},      {"show", "report"},      {"view", "report"},
    {"print", "report"},   {"open", "report"},      {"html", "report"},
    {"analyze", "report"}, {"top", "report"},       {"stats", "report"},
    {"convert", "export"}, {"dump", "export"},      {"verify", "check"},
    {"merge", "pack"},     {"join", "pack"},        {"recover", "pack"},
    {"repair", "pack"},    {"ls", "info"},          {"list", "info"},
    {"clean", "doctor"},   {"version", "--version"}};
#define N_OTHER_WORDS (sizeof other_words / sizeof *other_words)

static const char *ours(const char *word)
{
    for (size_t i = 0; i < N_OTHER_WORDS; i++)
        if (!strcmp(word, other_words[i].theirs)) return other_words[i].ours;
    return NULL;
}

/* By its name, or by what others call it, of which short words are near to
 * anything; NULL: none. */
static const char *nearest_verb(const char *word)
{
    const char *words[N_VERBS + N_OTHER_WORDS], *near = ours(word);
    size_t n = 0;
    if (near) return near;
    for (size_t i = 1; i < N_VERBS; i++)
        words[n++] = cli_verbs[i].name;
    for (size_t i = 0; i < N_OTHER_WORDS; i++)
        if (strlen(other_words[i].theirs) > 4)
            words[n++] = other_words[i].theirs;
    near = cli_nearest(word, words, n, sizeof *words);
    return near && ours(near) ? ours(near) : near;
}

static int find_verb(const char *word, cli_verb_id *out)
{
    for (int i = 0; i < N_VERBS; i++) {
        if (i == VERB_top || strcmp(cli_verbs[i].name, word) != 0) continue;
        *out = (cli_verb_id)i;
        return CLI_OK;
    }
    const char *near = nearest_verb(word);
    if (near) return cli_wrong("no verb \"%s\"; did you mean %s?", word, near);
    return cli_wrong("no verb \"%s\"; \"axprof --help\" lists them", word);
}

/* `axprof` without a verb that is one. */
int cli_top_main(const cli_args *args)
{
    cli_help_write(args->verb, stdout);
    return CLI_OK;
}

static int unknown_option(const char *word)
{
    static const char *const words[] = {"help", "version"};
    const char *near =
        cli_nearest(word + strspn(word, "-"), words, 2, sizeof *words);
    if (near)
        return cli_wrong("unknown option %s; did you mean --%s?", word, near);
    return cli_wrong("unknown option %s; options stand after the verb: "
                     "\"axprof --help\"",
                     word);
}

static int run_verb(int argc, char **argv)
{
    cli_args args;
    cli_verb_id verb = VERB_top;
    int rc = find_verb(argv[0], &verb);
    if (rc != CLI_OK) return rc;
    cli_say_verb(cli_verbs[verb].name);
    rc = cli_args_init(&args, verb, argc, argv);
    /* 2 may be what the program says that it would have run. */
    if (rc != CLI_OK) return verb == VERB_run ? CLI_CANNOT : rc;
    if (args.is_help)
        cli_help_write(verb, stdout);
    else
        rc = mains[verb](&args);
    cli_args_fini(&args);
    return rc;
}

static bool is_version(const char *word)
{
    return !strcmp(word, "--version") || !strcmp(word, "-V") ||
           !strcmp(word, "version");
}

static int start(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word) {
        cli_help_write(VERB_top, stderr);
        return CLI_USAGE;
    }
    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        return cli_top_main(&(cli_args){.verb = VERB_top});
    if (is_version(word)) {
        printf("axprof %s\n", axp_version());
        return CLI_OK;
    }
    if (!strcmp(word, "help")) {
        char *help[] = {argc > 2 ? argv[2] : argv[1], "--help", NULL};
        return argc > 2 ? run_verb(2, help) : cli_top_main(&(cli_args){0});
    }
    if (!strcmp(word, "generate")) return cli_generate_main(argc - 1, argv + 1);
    if (word[0] == '-') return unknown_option(word);
    return run_verb(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    /* Whoever reads our output may stop: that is no error, and no message.
     * `run` passes on what it was started with. */
    if (argc < 2 || strcmp(argv[1], "run") != 0) signal(SIGPIPE, SIG_DFL);
    int rc = start(argc, argv);
    /* A full disk shows only now when standard output is a file. */
    errno = 0;
    if (rc == CLI_OK && (fflush(stdout) || ferror(stdout)))
        rc = cli_fail("cannot write standard output%s%s", errno ? ": " : "",
                      errno ? strerror(errno) : "");
    return rc;
}
