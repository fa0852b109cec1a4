/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Disks that are full: a small tmpfs under the trace, then under /dev/shm,
 * where the spool would lie, then under both.
 *
 * Each case runs in a mount namespace of its own, by root or by a user
 * namespace; where neither is allowed the test is skipped. Whatever is full:
 * no signal, statistics exact, every event in the timeline or counted as cut,
 * a warning where the file is not complete, and the file can be read. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "axprof/axprof_file.h"
#include "stress_check.h"

#define N_SCOPES 400000u

static char folder[] = "/tmp/axprof-full-XXXXXX";
static char path[64];
static uint64_t n_events;

/* Root's own namespace, or one in which we are root. */
static bool be_apart(void)
{
    if (!unshare(CLONE_NEWNS)) return true;
    return !unshare(CLONE_NEWUSER | CLONE_NEWNS);
}

static bool mount_small(const char *where, const char *size)
{
    return !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
           !mount("none", where, "tmpfs", 0, size);
}

/* Durations that differ, so that packed blocks are large too. */
static void record(axp_profiler *p)
{
    uint64_t state = 88172645463325252u;
    for (unsigned i = 0; i < N_SCOPES; i++) {
        char name[24];
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        snprintf(name, sizeof name, "name %u", (unsigned)(state >> 20) % 64);
        AXP_SCOPE_IN(p, name);
        axp_counter(p, "value", (double)state);
        n_events += 3;
    }
}

static void check_view(const axp_view *v)
{
    uint64_t seen = 0;
    stress_check_view(v);
    CHECK_EQ(stress_all_calls(v), N_SCOPES);
    CHECK_EQ(axp_view_events(v, NULL, stress_count_event, &seen), AXP_OK);
    CHECK_EQ(seen, axp_view_event_count(v));
    CHECK_EQ(seen + axp_view_cut_count(v), n_events);
}

static void check_file(bool is_whole)
{
    axp_view *v = NULL;
    const char *paths[] = {path};
    if (axp_open(paths, 1, &v)) {
        dprintf(2, "%s\n", axp_last_error());
        _exit(1);
    }
    check_view(v);
    CHECK(is_whole || stress_view_warning(v, "write_failed"));
    axp_view_destroy(v);
}

/* What is left goes with the namespace, but for a spool in a real /dev/shm. */
static void drop_spool(void)
{
    char copy[] = "/tmp/axprof-full-copy-XXXXXX";
    int fd = mkstemp(copy);
    CHECK(fd >= 0);
    close(fd);
    unlink(copy);
    CHECK_EQ(axp_file_pack(path, copy), AXP_OK); /* elsewhere there is room */
    unlink(copy);
    /* and here, once there is some */
    CHECK(!mount("none", folder, NULL, MS_REMOUNT, "size=64m"));
    CHECK_EQ(axp_file_pack(path, NULL), AXP_OK);
    check_file(true);
}

static void record_and_check(bool must_fail)
{
    axp_profiler *p = axp_profiler_create(&(axp_options){.path = path});
    if (!p) {
        dprintf(2, "%s\n", axp_last_error());
        _exit(1);
    }
    errno = EDOM;
    record(p);
    CHECK(errno == EDOM);
    axp_status status = axp_finish(p);
    CHECK(!must_fail || status != AXP_OK);
    axp_view *v = axp_snapshot(p);
    CHECK(v != NULL);
    check_view(v);
    CHECK(!status || stress_view_warning(v, "write_failed"));
    axp_view_destroy(v);
    check_file(!status);
    axp_profiler_destroy(p);
    if (must_fail) drop_spool();
}

static void full_under_the_trace(void)
{
    CHECK(be_apart() && mount_small(folder, "size=2m"));
    record_and_check(true);
}

static void full_under_the_spool(void)
{
    CHECK(be_apart() && mount_small("/dev/shm", "size=12m"));
    record_and_check(false);
}

static void full_under_both(void)
{
    CHECK(be_apart() && mount_small("/dev/shm", "size=12m") &&
          mount_small(folder, "size=1m"));
    record_and_check(true);
}

/* Not enough for a spool: it lies beside the trace. */
static void no_room_in_memory(void)
{
    struct stat st;
    char spool[80];
    CHECK(be_apart() && mount_small("/dev/shm", "size=4m"));
    axp_profiler *p = axp_profiler_create(&(axp_options){.path = path});
    CHECK(p != NULL);
    snprintf(spool, sizeof spool, "%s.spool", path);
    CHECK(!stat(spool, &st));
    CHECK((st.st_mode & 0777) == 0600);
    record(p);
    CHECK_EQ(axp_finish(p), AXP_OK);
    axp_profiler_destroy(p);
    check_file(true);
    CHECK(stat(spool, &st) != 0);
}

static void try_it(void)
{
    _exit(be_apart() && mount_small(folder, "size=2m") ? 0 : 1);
}

int main(void)
{
    int n_failed = 0;
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run.axp", folder);
    if (stress_in_child(try_it, 10)) {
        printf("skipped: no mount namespace\n");
        rmdir(folder);
        return 77;
    }
    n_failed += STRESS_RUN(full_under_the_trace, 60);
    n_failed += STRESS_RUN(full_under_the_spool, 60);
    unlink(path);
    n_failed += STRESS_RUN(full_under_both, 60);
    n_failed += STRESS_RUN(no_room_in_memory, 60);
    unlink(path);
    CHECK(!rmdir(folder));
    return n_failed;
}
