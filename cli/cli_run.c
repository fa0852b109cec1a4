/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof run: starts a program, looks on, reports.
 *
 *   find the program ─► choose adapters ─► name the files ─► fork, exec
 *   ─► watch: signals, /proc, the status line ─► its files ─► the report
 *
 * Whatever fails on our side after the program has started is said at the end
 * and changes nothing for it: it has its streams, its terminal and its exit
 * status.
 *
 * Place      the verb; cli_target, cli_launch, cli_watch, cli_drain,
 *            cli_processes, cli_sampling and cli_files each do one part.
 */
#include "cli/cli_run.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_adapter.h"
#include "cli/cli_clock.h"
#include "cli/cli_environment.h"
#include "cli/cli_memory.h"
#include "cli/cli_output.h"
#include "cli/cli_report.h"
#include "cli/cli_say.h"
#include "cli/cli_verbs.h"

#define SECOND 1000000000ull
#define STACK_BYTES ((rlim_t)8 << 20)

/* ---- before the program ------------------------------------------------- */

/* What other profilers' -o, and an older one of ours, would be. */
static int check_output(const cli_args *args)
{
    const char *output = cli_args_value(args, OPT_run_output);
    const char *ending = cli_report_ending(output);
    if (!output) return CLI_OK;
    if (cli_args_has(args, OPT_run_no_file))
        return cli_wrong("-o and --no-file do not go together");
    if (cli_choice_by_ending(OPT_run_format, output))
        return cli_wrong("-o names the recording, NAME.axp; for a report: "
                         "--report %s",
                         output);
    if (!ending || !strcmp(ending, ".axp") || cli_parts_is_folder(output))
        return CLI_OK;
    return cli_wrong("no recording is a %s file: -o NAME.axp", ending);
}

/* Whether an allocator with operators of its own is linked with the program, or
 * preloaded. */
static bool has_own_new(const cli_target *target)
{
    const char *at = getenv("LD_PRELOAD");
    if (target->elf.needs_allocator) return true;
    while (at && *at) {
        size_t len = strcspn(at, ": ");
        const char *file = memrchr(at, '/', len);
        if (cli_elf_is_allocator(file ? file + 1 : at)) return true;
        at += len + (at[len] != 0);
    }
    return false;
}

/* Of a run that takes hours nobody wants to learn that at its end. */
static int check_report(const cli_args *args)
{
    const char *report = cli_args_value(args, OPT_run_report);
    int rc = CLI_OK;
    if (!cli_args_has(args, OPT_run_format))
        rc = cli_report_check_ending(OPT_run_format, report);
    if (rc != CLI_OK || cli_output_check(report, "--report") == CLI_OK)
        return rc;
    return CLI_CANNOT;
}

static int prepare(cli_run *r)
{
    int rc = check_output(r->args);
    if (rc == CLI_OK) rc = check_report(r->args);
    if (rc == CLI_OK) rc = cli_window_read(r->args, &r->window);
    if (rc == CLI_OK) rc = cli_sampling_read(r->args, &r->sampling);
    if (rc == CLI_OK) rc = cli_memory_read(r->args, &r->memory_bytes);
    if (rc == CLI_OK) rc = cli_target_find(&r->target, r->args->rest);
    if (rc == CLI_OK)
        rc = cli_adapter_choose(r->args, has_own_new(&r->target), &r->preload);
    if (rc == CLI_OK) rc = cli_files_init(&r->files, r->args, r->target.name);
    if (rc != CLI_OK) return rc;
    if (r->target.why_not && !r->is_quiet)
        cli_note("%s: %s", r->target.binary, r->target.why_not);
    if (r->target.is_preload_harmful) {
        free(r->preload);
        r->preload = NULL;
    }
    return CLI_OK;
}

/* Without a file (full disk) what is seen is still kept in memory. */
static void start_profiler(cli_run *r)
{
    char *path = cli_files_own(&r->files);
    axp_options options = {.title = r->target.name, .path = path};
    /* of an axprof around this one; what is seen here nobody else drains */
    unsetenv("AXPROF_DRAIN");
    r->profiler = axp_profiler_create(&options);
    if (!r->profiler) {
        r->why_no_file = cli_format("%s", axp_last_error());
        options.path = NULL;
        r->profiler = axp_profiler_create(&options);
    }
    /* Reports know by this name that it is no thread of the program. */
    axp_outside_row(r->profiler);
    free(path);
}

/* The streams are the program's: whoever reads its output must see the end
 * of it when the program ends, and not when we do. */
static void leave_streams(const cli_run *r)
{
    const char *report = cli_args_value(r->args, OPT_run_report);
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    dup2(fd, STDIN_FILENO);
    if (!report || strcmp(report, "-") != 0) dup2(fd, STDOUT_FILENO);
    close(fd);
}

/* What the program may use is not what we may. Each process that records takes
 * three descriptors here, and reports take some 100 KB of stack. */
static void allow_more(int what, rlim_t wanted)
{
    struct rlimit limit;
    if (getrlimit(what, &limit) || limit.rlim_cur >= wanted) return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(what, &limit);
}

/* What samples by a timer is loaded as well where it has to. */
static void start_sampling(cli_run *r)
{
    char *timer = r->target.is_preload_harmful
                      ? NULL
                      : cli_adapter_when_needed(r->args, "timer");
    char *all = timer && r->preload ? cli_format("%s:%s", r->preload, timer)
                : timer             ? cli_format("%s", timer)
                                    : NULL;
    char *path = cli_files_sampled(&r->files);
    char *ring = timer ? cli_files_ring(&r->files) : NULL;
    cli_sampling_start(&r->sampling,
                       &(cli_sampling_of){.path = path,
                                          .ring = ring,
                                          .title = r->target.name,
                                          .own = all ? all : r->preload,
                                          .pid = r->launch.pid});
    if (r->sampling.ring) {
        free(r->preload);
        r->preload = all;
        all = NULL;
    }
    free(all);
    free(timer);
    free(path);
    free(ring);
}

static int start(cli_run *r)
{
    sigset_t blocked;
    cli_watch_signals(&blocked);
    int rc = cli_launch_fork(&r->launch, &blocked, &r->target, r->args->rest);
    if (rc != CLI_OK) return rc;
    cli_witness_init(&r->watch.witness);
    signal(SIGPIPE, SIG_IGN); /* the child has its caller's, and its limits */
    signal(SIGXFSZ, SIG_IGN); /* an error like others */
    allow_more(RLIMIT_NOFILE, RLIM_INFINITY);
    allow_more(RLIMIT_STACK, STACK_BYTES);
    leave_streams(r);
    rc = cli_files_begin(&r->files, r->launch.pid);
    if (rc != CLI_OK) {
        cli_launch_cancel(&r->launch);
        return rc;
    }
    r->count = cli_files_count(&r->files);
    cli_unrecorded_begin(&r->unrecorded, r->files.parts);
    r->begin_ns = cli_clock_ns(CLOCK_MONOTONIC);
    cli_window_announce(&r->window, r->begin_ns);
    r->drains = cli_drains_create(&r->files, &r->window.keep,
                                  cli_window_end(&r->window, r->begin_ns));
    start_sampling(r);
    char **environment = cli_environment_make(r);
    rc = cli_launch_exec(&r->launch, environment, &r->target);
    cli_launch_free(environment);
    if (rc == CLI_OK)
        start_profiler(r);
    else
        cli_sampling_stop(&r->sampling);
    return rc;
}

/* ---- while it runs ------------------------------------------------------ */

static int put_steps(const cli_run *r, uint64_t now_ns, uint64_t n_steps,
                     char *text, size_t size)
{
    double seconds = (double)(now_ns - r->line_ns) / 1e9;
    text[0] = 0;
    if (!n_steps || seconds <= 0) return 0;
    return snprintf(text, size, "%.3g steps/s  ",
                    (double)(n_steps - r->line_steps) / seconds);
}

static void show_line(cli_run *r, uint64_t now_ns)
{
    char rss[32], size[32], steps[48], text[256];
    cli_processes_now s = cli_processes_info(r->processes);
    cli_drains_now d = cli_drains_look(r->drains);
    uint64_t seconds = (now_ns - r->begin_ns) / SECOND;
    axp_format_bytes(rss, sizeof rss, s.rss_bytes);
    axp_format_bytes(size, sizeof size,
                     r->files.parts ? cli_parts_bytes(r->files.parts) : 0);
    put_steps(r, now_ns, d.n_steps, steps, sizeof steps);
    snprintf(text, sizeof text,
             "axprof  %" PRIu64 ":%02" PRIu64 ":%02" PRIu64 "  %s%" PRIu64
             " events  file %s  %" PRIu64 " process%s  %s resident",
             seconds / 3600, seconds / 60 % 60, seconds % 60, steps, d.n_events,
             size, s.n_processes, s.n_processes == 1 ? "" : "es", rss);
    cli_status_show(&r->status, text);
    r->line_ns = now_ns;
    r->line_steps = d.n_steps;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* While we have a processor, a program with as many threads as there are waits for
 * one of them, and then finds its cache cold: what can wait is done together. */
static uint64_t together(uint64_t now_ns, uint64_t next_ns)
{
    uint64_t moment = SECOND / 20;
    if (next_ns < now_ns + moment) return next_ns;
    return next_ns - next_ns % moment;
}

static void on_time(void *ctx, uint64_t now_ns, uint64_t *due_ns)
{
    cli_run *r = ctx;
    if (now_ns >= r->next_drain_ns)
        r->next_drain_ns = together(now_ns, cli_drains_step(r->drains, now_ns));
    if (now_ns >= r->next_sampling_ns)
        r->next_sampling_ns =
            together(now_ns, cli_sampling_step(&r->sampling, now_ns));
    if (r->processes && now_ns >= r->next_look_ns)
        r->next_look_ns =
            together(now_ns, cli_processes_look(r->processes, now_ns));
    if (r->processes && r->status.is_wanted && now_ns >= r->next_line_ns) {
        show_line(r, now_ns);
        r->next_line_ns = now_ns + SECOND / 2;
    }
    *due_ns = least(r->next_drain_ns, r->next_sampling_ns);
    if (r->processes) *due_ns = least(*due_ns, r->next_look_ns);
    if (r->processes && r->status.is_wanted)
        *due_ns = least(*due_ns, r->next_line_ns);
}

static void on_user(void *ctx)
{
    cli_run *r = ctx;
    cli_status_hide(&r->status);
    cli_run_report_so_far(r);
}

static void on_screen(void *ctx)
{
    cli_status_hide(&((cli_run *)ctx)->status);
}

static cli_own own_of(void *drains, pid_t pid)
{
    return cli_drains_own(drains, pid);
}

static void watch(cli_run *r)
{
    r->processes =
        r->profiler
            ? cli_processes_create(r->profiler, r->launch.pid, r->target.name)
            : NULL;
    if (r->processes && r->drains)
        cli_processes_set_own(r->processes, own_of, r->drains);
    if (r->processes) cli_processes_set_count(r->processes, r->count);
    cli_status_init(&r->status, !r->is_quiet);
    r->next_line_ns = r->begin_ns + SECOND;
    r->line_ns = r->begin_ns;
    r->watch.pid = r->launch.pid;
    r->watch.on_time = on_time;
    r->watch.on_user = on_user;
    r->watch.on_screen = on_screen;
    r->watch.ctx = r;
    cli_watch_run(&r->watch);
    cli_status_hide(&r->status);
    if (r->processes)
        cli_processes_end(r->processes, r->watch.status, &r->watch.usage);
}

static void finish(cli_run *r)
{
    cli_witness_fini(&r->watch.witness);
    cli_sampling_stop(&r->sampling);
    cli_drains_destroy(r->drains);
    cli_processes_destroy(r->processes);
    axp_profiler_destroy(r->profiler);
    cli_unrecorded_fini(&r->unrecorded);
    cli_files_fini(&r->files);
    cli_target_fini(&r->target);
    free(r->why_no_file);
    free(r->count);
    free(r->preload);
}

int cli_run_main(const cli_args *args)
{
    cli_run r = {.args = args, .is_quiet = cli_args_has(args, OPT_run_quiet)};
    int rc = CLI_OK;
    if (cli_args_has(args, OPT_run_list)) return cli_adapter_list(args);
    if (!args->n_rest)
        rc = cli_wrong("run what? \"axprof run -- ./train --epochs 3\"");
    if (rc == CLI_OK) rc = prepare(&r);
    if (rc == CLI_OK) rc = start(&r);
    bool is_started = rc == CLI_OK;
    if (is_started) {
        watch(&r);
        cli_run_report(&r);
    }
    int status = r.watch.status;
    finish(&r);
    if (is_started) return cli_watch_exit_status(status);
    return rc == CLI_USAGE ? CLI_CANNOT : rc;
}
