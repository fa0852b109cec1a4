/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What `run` says: the report, how the program ended, where the files are. All
 * of it on standard error, or nothing with --quiet; the report alone goes to
 * the file of --report. */
#include "cli/cli_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <axprof/axprof_file.h>
#include <axprof/axprof_read.h>

#include "cli/cli_blas.h"
#include "cli/cli_clock.h"
#include "cli/cli_count.h"
#include "cli/cli_machine.h"
#include "cli/cli_malloc.h"
#include "cli/cli_output.h"
#include "cli/cli_report.h"
#include "cli/cli_say.h"
#include "cli/cli_start.h"

static void say_killed(const cli_run *r, cli_oom_kills killed)
{
    bool is_own =
        WIFSIGNALED(r->watch.status) && WTERMSIG(r->watch.status) == SIGKILL;
    char limit[32] = "";
    if (killed.limit_bytes != UINT64_MAX)
        axp_format_bytes(limit, sizeof limit, killed.limit_bytes);
    cli_note("OUT OF MEMORY: the kernel killed %s%s%s",
             is_own ? "it" : "a process of the run",
             *limit ? ": its control group allows " : "", limit);
}

static void say_how_it_ended(const cli_run *r)
{
    char time[32], rss[32], cpu[32];
    const struct rusage *u = &r->watch.usage;
    int status = r->watch.status;
    uint64_t cpu_us =
        (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000 +
        (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
    axp_format_ns(time, sizeof time, r->watch.end_ns - r->begin_ns);
    axp_format_ns(cpu, sizeof cpu, cpu_us * 1000);
    cli_processes_now seen = {.peak_bytes = (uint64_t)u->ru_maxrss * 1024};
    if (r->processes) seen = cli_processes_info(r->processes);
    axp_format_bytes(rss, sizeof rss, seen.peak_bytes);
    if (WIFSIGNALED(status))
        cli_note("%s was ended by signal %d (%s) after %s; CPU time %s, "
                 "largest process %s",
                 r->target.name, WTERMSIG(status), strsignal(WTERMSIG(status)),
                 time, cpu, rss);
    else
        cli_note("%s ended with status %d after %s; CPU time %s, largest "
                 "process %s",
                 r->target.name, WEXITSTATUS(status), time, cpu, rss);
    if (seen.killed.n) say_killed(r, seen.killed);
    uint64_t n_all = seen.n_processes_seen + seen.n_missed;
    if (n_all > 1)
        cli_note(
            "%llu processes, at most %s of memory and %llu thread%s at once",
            (unsigned long long)n_all,
            axp_format_bytes(rss, sizeof rss, seen.max_rss_bytes),
            (unsigned long long)seen.max_threads,
            seen.max_threads == 1 ? "" : "s");
    if (seen.n_missed)
        cli_note("%llu of them %s over before %s memory could be looked at",
                 (unsigned long long)seen.n_missed,
                 seen.n_missed == 1 ? "was" : "were",
                 seen.n_missed == 1 ? "its" : "their");
    uint64_t n_left = seen.n_left;
    if (n_left)
        cli_note("%llu process%s that it started go%s on",
                 (unsigned long long)n_left, n_left == 1 ? "" : "es",
                 n_left == 1 ? "es" : "");
}

/* What to type to see it: with its folder, unless it is this one. */
static char *shown_path(const cli_files *f)
{
    char here[4096];
    if (getcwd(here, sizeof here) && !strcmp(here, f->folder))
        return cli_format("%s.axp", f->stem);
    return cli_format("%s", f->path);
}

static axp_status put_report(const cli_run *r, axp_view *view,
                             axp_format format, FILE *to)
{
    bool is_shown = to == stderr;
    axp_report_options options = {
        .size = sizeof options,
        .width = cli_report_width(is_shown ? STDERR_FILENO : -1),
        .has_shapes = cli_args_has(r->args, OPT_run_shapes),
        .color =
            is_shown && cli_report_has_color(CLI_COLOR_AUTO, STDERR_FILENO)};
    return cli_report_write(view, format, &options, to);
}

static void show_report(const cli_run *r, axp_view *view, axp_format format)
{
    if (put_report(r, view, format, stderr) != AXP_OK)
        cli_note("no report: %s", axp_last_error());
}

/* What a file was asked for, and there is none: the report can be made again, or
 * else it is shown, whatever was asked to be quiet. */
static void make_up_for_it(const cli_run *r, axp_view *view)
{
    const cli_files *f = &r->files;
    if (f->is_temporary || !f->now.n) {
        show_report(r, view, AXP_FORMAT_TEXT);
        return;
    }
    char *path = shown_path(f);
    cli_note("the recording is %s; \"axprof report %s\" makes the report", path,
             path);
    free(path);
}

static void write_report(const cli_run *r, axp_view *view)
{
    const char *path = cli_args_value(r->args, OPT_run_report);
    const cli_choice *ending =
        path ? cli_choice_by_ending(OPT_run_format, path) : NULL;
    axp_format format = (axp_format)cli_args_choice(
        r->args, OPT_run_format, ending ? ending->value : AXP_FORMAT_TEXT);
    cli_output out;
    if (!path) {
        show_report(r, view, format);
        return;
    }
    int rc = cli_output_open(&out, path, "--report");
    if (rc == CLI_OK)
        rc = cli_output_close(&out, put_report(r, view, format, out.to));
    if (rc != CLI_OK && strcmp(path, "-") != 0) make_up_for_it(r, view);
}

static void say_steps(const cli_run *r, const axp_view *view)
{
    const char *name = cli_args_value(r->args, OPT_run_step_range);
    if (name && !axp_view_steps(view).count)
        cli_note("no step: no range of NVTX and no task of ITT was called "
                 "\"%s\"",
                 name);
}

/* Whether a thread of the program did more than allocate. */
static bool has_events(const axp_view *view)
{
    size_t n = axp_view_threads(view, NULL, 0);
    axp_thread_info *threads = cli_alloc(n + 1, sizeof *threads);
    bool is_any = false;
    n = axp_view_threads(view, threads, n);
    for (size_t i = 0; i < n; i++)
        if (threads[i].events) is_any = true;
    free(threads);
    return is_any;
}

/* Whether something was recorded in the program, or nothing would have been. */
static bool could_record(const cli_run *r)
{
    return cli_drains_count(r->drains) > 0 || r->target.why_not;
}

/* Where nothing can be loaded into the program, and where there is no place for
 * what it records, that was said at the start. */
static void say_what_was_recorded(const cli_run *r)
{
    char *part = cli_window_text(&r->window);
    bool is_said = cli_unrecorded_say(&r->unrecorded, could_record(r));
    bool is_any = cli_drains_count(r->drains) > 0 && !r->has_no_events;
    if (part && is_any)
        cli_note("recorded was a part of the run: %s", part);
    else if (part)
        cli_note("nothing was recorded in the part of the run that was asked "
                 "for: %s",
                 part);
    else if (!is_any && !r->target.why_not && r->files.parts && !is_said)
        cli_note("nothing in it records what it does: this is what was seen "
                 "from outside; \"axprof doctor %s\" says how to see more",
                 r->args->rest[0]);
    free(part);
}

/* A file that was asked for by name is missed, whatever was asked to be quiet. */
static void say_not_kept(const cli_run *r)
{
    const cli_files *f = &r->files;
    bool is_named = cli_args_value(r->args, OPT_run_output);
    const char *why = f->why_not_kept                 ? f->why_not_kept
                      : !f->is_temporary && !f->now.n ? r->why_no_file
                                                      : NULL;
    if (why && (is_named || !r->is_quiet))
        cli_note("the recording was not kept: %s; choose %s with --output", why,
                 is_named ? "another place" : "one");
}

static void say_files(const cli_run *r, bool is_joined)
{
    const cli_files *f = &r->files;
    say_not_kept(r);
    if (cli_drains_problem(r->drains))
        cli_note("%s", cli_drains_problem(r->drains));
    if (f->is_temporary || !f->now.n) return;
    char *path = shown_path(f);
    if (!is_joined)
        cli_note("its parts are in %s.parts: \"axprof pack %s\" makes one file "
                 "of them",
                 path, path);
    else if (f->now.n > 1)
        cli_note("recorded %s; what goes on is in %s.parts, and \"axprof pack "
                 "%s\" adds it when it has ended",
                 path, path, path);
    else
        cli_note("recorded %s; \"axprof report %s\" shows this again", path,
                 path);
    free(path);
}

/* Of the files that there are; without one (full disk) of what is in memory. */
static void report_files(cli_run *r)
{
    const cli_parts *now = &r->files.now;
    axp_view *view = NULL;
    if (now->n &&
        axp_open((const char *const *)now->paths, now->n, &view) != AXP_OK)
        cli_note("no report: %s", axp_last_error());
    else if (!now->n && r->profiler)
        view = axp_snapshot(r->profiler);
    if (view) write_report(r, view);
    if (view && !r->is_quiet) say_steps(r, view);
    if (view && !r->is_quiet) cli_blas_say(r->args, &r->target, view);
    if (view && !r->is_quiet) cli_malloc_say(r->args, &r->target);
    r->has_no_events = view && !has_events(view);
    axp_view_destroy(view);
}

enum { HAS_EVENTS, HAS_NO_EVENTS = 77 }; /* none of cli_say.h's */

static void say_no_report(const cli_run *r, int number)
{
    char *path = r->files.is_temporary ? NULL : shown_path(&r->files);
    cli_note("no report: making it was ended by signal %d (%s), %s%s%s", number,
             strsignal(number),
             number == SIGKILL ? "as where there is too little memory"
                               : "which is a defect of axprof",
             path ? "; the recording is " : "", path ? path : "");
    free(path);
}

/* In a child: whatever becomes of the report, the program's status is what this
 * command ends with. Without files there is what is in this process alone. */
static void report_apart(cli_run *r)
{
    int status;
    fflush(NULL);
    pid_t child = r->files.now.n ? fork() : -1;
    if (child < 0) {
        report_files(r);
        return;
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGINT); /* nobody waits for it then */
        report_files(r);
        fflush(NULL);
        _exit(r->has_no_events ? HAS_NO_EVENTS : HAS_EVENTS);
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return;
    r->has_no_events =
        WIFEXITED(status) && WEXITSTATUS(status) == HAS_NO_EVENTS;
    if (WIFSIGNALED(status)) say_no_report(r, WTERMSIG(status));
}

void cli_run_report_so_far(cli_run *r)
{
    if (r->profiler) axp_flush(r->profiler);
    cli_drains_step(r->drains, cli_clock_ns(CLOCK_MONOTONIC));
    cli_sampling_step(&r->sampling, cli_clock_ns(CLOCK_MONOTONIC));
    cli_files_list(&r->files);
    report_apart(r);
}

static bool has_ended(void *ctx, const char *part)
{
    return cli_drains_has_ended(ctx, part);
}

/* Into the recording of what was seen from outside. */
static void record_machine(const cli_run *r)
{
    const char *without[64], *variable = getenv("AXPROF_MACHINE");
    size_t n = cli_args_values(r->args, OPT_run_without, without, 64);
    if (variable && !strcmp(variable, "off")) return;
    for (size_t i = 0; i < n && i < 64; i++)
        if (!strcmp(without[i], "machine")) return;
    axp_machine *m = cli_machine_for_run(r->is_quiet);
    if (m) axp_machine_record(m);
    axp_machine_destroy(m);
}

/* Of a few programs it is too little to speak of. */
enum { MANY_BEGUN = 8 };

static void record_starts(const cli_run *r)
{
    uint64_t begun = r->preload ? cli_count_begun(r->count) : 0;
    if (begun < MANY_BEGUN) return;
    uint64_t all = begun * cli_start_ns(r->preload);
    if (all) axp_outside_took(r->profiler, "axprof.start_ns", all);
}

/* There was no place for its spool. The recording is small, and has what nobody
 * else knows: what is missing. */
static void save_own(cli_run *r)
{
    char *path = r->why_no_file ? cli_files_own(&r->files) : NULL;
    if (path && axp_file_save(r->profiler, path) != AXP_OK) {
        free(r->why_no_file);
        r->why_no_file = cli_format("%s", axp_last_error());
    }
    free(path);
}

void cli_run_report(cli_run *r)
{
    cli_drains_finish(r->drains);
    cli_sampling_stop(&r->sampling);
    if (r->profiler) record_machine(r);
    if (r->profiler && r->sampling.seen.followed_ns)
        axp_outside_took(r->profiler, "axprof.follow_ns",
                         r->sampling.seen.followed_ns);
    if (r->profiler) record_starts(r);
    if (r->profiler) axp_outside_lost(r->profiler, r->sampling.seen.lost);
    if (r->profiler)
        cli_unrecorded_record(&r->unrecorded, r->profiler, could_record(r));
    cli_drains_wait(r->drains);
    if (r->processes)
        cli_processes_record_left(r->processes, cli_drains_left(r->drains));
    if (r->profiler) axp_finish(r->profiler);
    if (r->profiler) save_own(r);
    bool is_joined = cli_files_join(&r->files, has_ended, r->drains);
    if (!is_joined) cli_note("%s", axp_last_error());
    cli_watch_release_keys(); /* a report of a long run may take seconds */
    if (!r->is_quiet || cli_args_has(r->args, OPT_run_report)) report_apart(r);
    if (r->is_quiet) {
        say_not_kept(r);
        return;
    }
    say_how_it_ended(r);
    say_what_was_recorded(r);
    cli_sampling_say(&r->sampling);
    say_files(r, is_joined);
}
