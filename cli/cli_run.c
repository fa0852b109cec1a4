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
 * Place      the verb; cli_target, cli_launch, cli_watch, cli_sample and
 *            cli_files each do one part.
 */
#include "cli/cli_args.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <axprof/axprof_read.h>

#include "cli/cli_adapter.h"
#include "cli/cli_files.h"
#include "cli/cli_launch.h"
#include "cli/cli_output.h"
#include "cli/cli_report.h"
#include "cli/cli_sample.h"
#include "cli/cli_say.h"
#include "cli/cli_status.h"
#include "cli/cli_verbs.h"
#include "cli/cli_watch.h"

#define SECOND 1000000000ull

typedef struct run {
    const cli_args *args;
    bool is_quiet;
    cli_target target;
    char *preload; /* adapters; NULL: none */
    cli_files files;
    cli_launch launch;
    axp_profiler *profiler; /* what is seen from outside */
    cli_sampler *sampler;
    cli_status status;
    cli_watch watch;
    uint64_t begin_ns, next_look_ns, next_line_ns;
} run;

/* ---- before the program ------------------------------------------------- */

static int prepare(run *r)
{
    int rc = cli_target_find(&r->target, r->args->rest);
    if (rc == CLI_OK) rc = cli_adapter_choose(r->args, &r->preload);
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
static void start_profiler(run *r)
{
    char *path = cli_files_own(&r->files);
    axp_options options = {.title = r->target.name, .path = path};
    r->profiler = axp_profiler_create(&options);
    if (!r->profiler) {
        options.path = NULL;
        r->profiler = axp_profiler_create(&options);
    }
    free(path);
}

static char **make_environment(run *r)
{
    uint64_t id[2] = {cli_watch_clock(), (uint64_t)getpid()};
    (void)!getrandom(id, sizeof id, GRND_NONBLOCK);
    char *pattern = cli_files_pattern(&r->files);
    char *out = cli_format("AXPROF_OUT=%s", pattern);
    char *run_id =
        cli_format("AXPROF_RUN_ID=%016" PRIx64 "%016" PRIx64, id[0], id[1]);
    char *own[] = {out, run_id, NULL};
    char **environment = cli_launch_environment(own, r->preload);
    /* Ours too, so that what the parent records joins the run. */
    setenv("AXPROF_RUN_ID", run_id + strlen("AXPROF_RUN_ID="), 1);
    free(pattern);
    free(out);
    free(run_id);
    return environment;
}

static int start(run *r)
{
    sigset_t blocked;
    cli_watch_signals(&blocked);
    int rc = cli_launch_fork(&r->launch, &blocked, &r->target, r->args->rest);
    if (rc != CLI_OK) return rc;
    signal(SIGPIPE, SIG_IGN); /* the child has its caller's */
    cli_files_begin(&r->files, r->launch.pid);
    char **environment = make_environment(r);
    r->begin_ns = cli_watch_clock();
    rc = cli_launch_exec(&r->launch, environment, &r->target);
    cli_launch_free(environment);
    if (rc == CLI_OK) start_profiler(r);
    return rc;
}

/* ---- while it runs ------------------------------------------------------ */

static void show_line(run *r, uint64_t now_ns)
{
    char rss[32], size[32], text[256];
    cli_sample_now s = cli_sampler_now(r->sampler);
    uint64_t seconds = (now_ns - r->begin_ns) / SECOND;
    axp_format_bytes(rss, sizeof rss, s.rss_bytes);
    axp_format_bytes(size, sizeof size, cli_files_size(&r->files));
    snprintf(text, sizeof text,
             "axprof  %" PRIu64 ":%02" PRIu64 ":%02" PRIu64 "  %" PRIu64
             " process%s  %" PRIu64 " threads  %s resident  file %s",
             seconds / 3600, seconds / 60 % 60, seconds % 60, s.n_processes,
             s.n_processes == 1 ? "" : "es", s.n_threads, rss, size);
    cli_status_show(&r->status, text);
}

static void on_time(void *ctx, uint64_t now_ns, uint64_t *due_ns)
{
    run *r = ctx;
    if (r->sampler && now_ns >= r->next_look_ns)
        r->next_look_ns = cli_sampler_look(r->sampler, now_ns);
    if (r->sampler && r->status.is_wanted && now_ns >= r->next_line_ns) {
        show_line(r, now_ns);
        r->next_line_ns = now_ns + SECOND / 2;
    }
    *due_ns = r->sampler ? r->next_look_ns : now_ns + SECOND;
    if (r->status.is_wanted && r->next_line_ns < *due_ns)
        *due_ns = r->next_line_ns;
}

static void on_screen(void *ctx)
{
    cli_status_hide(&((run *)ctx)->status);
}

static void on_user(void *ctx)
{
    (void)ctx;
}

static void watch(run *r)
{
    r->sampler =
        r->profiler ? cli_sampler_create(r->profiler, r->launch.pid) : NULL;
    cli_status_init(&r->status, !r->is_quiet);
    r->next_line_ns = r->begin_ns + SECOND;
    r->watch = (cli_watch){.pid = r->launch.pid,
                           .on_time = on_time,
                           .on_user = on_user,
                           .on_screen = on_screen,
                           .ctx = r};
    cli_watch_run(&r->watch);
    cli_status_hide(&r->status);
    if (r->sampler) cli_sampler_end(r->sampler);
}

/* ---- after it ----------------------------------------------------------- */

static void say_how_it_ended(const run *r)
{
    char time[32], rss[32], cpu[32];
    const struct rusage *u = &r->watch.usage;
    int status = r->watch.status;
    uint64_t cpu_us =
        (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000 +
        (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
    axp_format_ns(time, sizeof time, r->watch.end_ns - r->begin_ns);
    axp_format_ns(cpu, sizeof cpu, cpu_us * 1000);
    axp_format_bytes(rss, sizeof rss, (uint64_t)u->ru_maxrss * 1024);
    if (WIFSIGNALED(status))
        cli_note("%s was ended by signal %d (%s) after %s; CPU time %s, "
                 "largest process %s",
                 r->target.name, WTERMSIG(status), strsignal(WTERMSIG(status)),
                 time, cpu, rss);
    else
        cli_note("%s ended with status %d after %s; CPU time %s, largest "
                 "process %s",
                 r->target.name, WEXITSTATUS(status), time, cpu, rss);
}

static void write_report(const run *r, axp_view *view)
{
    const char *path = cli_args_value(r->args, OPT_run_report);
    const cli_choice *ending =
        path ? cli_choice_by_ending(OPT_run_format, path) : NULL;
    int format = cli_args_choice(r->args, OPT_run_format,
                                 ending ? ending->value : AXP_FORMAT_TEXT);
    axp_report_options options = {
        .width = cli_report_width(path ? -1 : STDERR_FILENO),
        .color = !path && cli_report_has_color(CLI_COLOR_AUTO, STDERR_FILENO)};
    cli_output out = {.to = stderr};
    if (path && cli_output_open(&out, path) != CLI_OK) return;
    axp_status status =
        axp_report_write_ex(view, (axp_format)format, &options, out.to);
    if (status != AXP_OK) cli_note("no report: %s", axp_last_error());
    if (path) cli_output_close(&out, status == AXP_OK);
}

static void say_files(const run *r)
{
    const cli_files *f = &r->files;
    if (f->why_not_kept)
        cli_note("the recording was not kept: %s; choose one with --output",
                 f->why_not_kept);
    if (f->is_temporary || !f->n_paths) return;
    const char *name = strrchr(f->paths[0], '/') + 1;
    if (f->n_paths == 1)
        cli_note("recorded %s; \"axprof report %s\" shows this again", name,
                 name);
    else
        cli_note("recorded %zu files, %s.*axp; \"axprof report %s.*axp\" "
                 "shows this again",
                 f->n_paths, f->stem, f->stem);
}

static void report(run *r)
{
    axp_view *view = NULL;
    if (r->profiler) axp_finish(r->profiler);
    cli_files_collect(&r->files, r->launch.pid);
    if (r->is_quiet && !cli_args_has(r->args, OPT_run_report)) return;
    if (r->files.n_paths && axp_open((const char *const *)r->files.paths,
                                     r->files.n_paths, &view) != AXP_OK)
        cli_note("no report: %s", axp_last_error());
    else if (!r->files.n_paths && r->profiler)
        view = axp_snapshot(r->profiler);
    if (view) write_report(r, view);
    axp_view_destroy(view);
    if (r->is_quiet) return;
    say_how_it_ended(r);
    say_files(r);
}

static void finish(run *r)
{
    cli_sampler_destroy(r->sampler);
    axp_profiler_destroy(r->profiler);
    cli_files_fini(&r->files);
    cli_target_fini(&r->target);
    free(r->preload);
}

int cli_run_main(const cli_args *args)
{
    run r = {.args = args, .is_quiet = cli_args_has(args, OPT_run_quiet)};
    int rc = CLI_OK;
    if (cli_args_has(args, OPT_run_list)) return cli_adapter_list(args);
    if (!args->n_rest)
        rc = cli_wrong("run what? \"axprof run -- ./train --epochs 3\"");
    if (rc == CLI_OK) rc = prepare(&r);
    if (rc == CLI_OK) rc = start(&r);
    bool is_started = rc == CLI_OK;
    if (is_started) {
        watch(&r);
        report(&r);
    }
    int status = r.watch.status;
    finish(&r);
    if (is_started) return cli_watch_exit_status(status);
    return rc == CLI_USAGE ? CLI_CANNOT : rc;
}
