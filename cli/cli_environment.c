/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The environment of a program that is run; see cli_environment.h. */
#include "cli/cli_environment.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli_adapter.h"
#include "cli/cli_clock.h"
#include "cli/cli_say.h"

#define MOST 32

typedef struct {
    char *at[MOST + 1]; /* NULL at the end */
    size_t n;
} variables;

/* The entry is the list's from now on; NULL: none. */
static void add(variables *v, char *entry)
{
    if (entry && v->n < MOST)
        v->at[v->n++] = entry;
    else
        free(entry);
}

static void add_value(variables *v, const char *name, const char *value)
{
    if (value) add(v, cli_format("%s=%s", name, value));
}

static char *make_run_id(void)
{
    uint64_t id[2] = {cli_clock_ns(CLOCK_MONOTONIC), (uint64_t)getpid()};
    (void)!getrandom(id, sizeof id, GRND_NONBLOCK);
    return cli_format("%016" PRIx64 "%016" PRIx64, id[0], id[1]);
}

static bool hides_arguments(const cli_run *r)
{
    const char *args = getenv("AXPROF_ARGS");
    return cli_args_has(r->args, OPT_run_no_args) ||
           (args && !strcmp(args, "0"));
}

/* Ours too, so that what the parent records joins the run. */
static void add_both(variables *v, const char *name, const char *value)
{
    add_value(v, name, value);
    setenv(name, value, 1);
}

char **cli_environment_make(const cli_run *r)
{
    variables v = {.n = 0};
    char *run_id = make_run_id();
    char *pattern = cli_files_pattern(&r->files);
    add_both(&v, "AXPROF_RUN_ID", run_id);
    if (hides_arguments(r)) add_both(&v, "AXPROF_ARGS", "0");
    char cost[80];
    axp_outside_cost(cost, sizeof cost);
    add_value(&v, "AXPROF_COST", cost);
    add_value(&v, "AXPROF_DRAIN", "parent");
    add_value(&v, "AXPROF_OUT", pattern);
    add_value(&v, "AXPROF_COUNT", r->count);
    add_value(&v, "AXPROF_UNRECORDED", r->unrecorded.path);
    add_value(&v, "AXPROF_RING", r->sampling.ring);
    add_value(&v, "AXPROF_STEP_RANGE",
              cli_args_value(r->args, OPT_run_step_range));
    add_value(&v, "AXPROF_STACKS", cli_args_value(r->args, OPT_run_stacks));
    if (r->memory_bytes)
        add(&v, cli_format("AXPROF_MEMORY=%" PRIu64, r->memory_bytes));
    add(&v, cli_window_variable(&r->window, r->begin_ns));
    if (cli_args_choice(r->args, OPT_run_functions, 0))
        add_value(&v, "AXPROF_FUNCTIONS", "all");
    for (size_t i = 0; i < cli_n_adapters; i++)
        add(&v, cli_adapter_entry(r->args, &cli_adapters[i]));
    char **environment = cli_launch_environment(v.at, r->preload);
    for (size_t i = 0; i < v.n; i++)
        free(v.at[i]);
    free(pattern);
    free(run_id);
    return environment;
}
