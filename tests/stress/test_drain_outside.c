/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A process records and another drains it: all events arrive, and none is cut
 * while the drain keeps up. One that loads a library and is killed: what its
 * stacks are of is known. Then files that are no recordings. */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <axprof/axprof_file.h>
#include <axprof/axprof_read.h>

#include "stress_check.h"

#define N_SCOPES 400000u

static char folder[] = "/tmp/axprof-drain-XXXXXX";

/* The program: started again, with the environment that a run would set. */
static int record(void)
{
    for (unsigned i = 0; i < N_SCOPES; i++) {
        AXP_SCOPE("scope");
        if (i % 1000 == 0) axp_step(axp_global());
    }
    axp_finish(axp_global());
    /* The drain comes too late for the rest if this ends at once, and the
     * spool keeps that for readers: here it must be seen to be moved. */
    char byte;
    return read(STDIN_FILENO, &byte, 1) == 0 ? 0 : 1;
}

/* A library that comes after the first event, a stack in it, an open scope. */
static int record_stacks(void)
{
    axp_profiler *p = axp_global();
    char byte;
    axp_instant(p, "first");
    void *library = dlopen("libresolv.so.2", RTLD_NOW);
    struct link_map *map;
    uintptr_t at = 1;
    if (library && !dlinfo(library, RTLD_DI_LINKMAP, &map))
        at = map->l_addr + 0x1001;
    axp_start(p, "open");
    axp_record_alloc_ex(p, &(axp_alloc){.name = "late",
                                        .bytes = 8,
                                        .stack = (void *[]){(void *)at},
                                        .n_frames = 1});
    return read(STDIN_FILENO, &byte, 1) == 0 ? 0 : 1;
}

static pid_t start(const char *path, const char *what, int *to_child)
{
    int ends[2];
    CHECK(!pipe(ends));
    pid_t pid = fork();
    if (pid == 0) {
        setenv("AXPROF_OUT", path, 1);
        setenv("AXPROF_DRAIN", "parent", 1);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "test_drain_outside", what, NULL);
        _exit(99);
    }
    close(ends[0]);
    *to_child = ends[1];
    return pid;
}

static int remove_if_ours(const axp_spool_info *s, void *path)
{
    if (!strcmp(s->recording, path)) CHECK(!unlink(s->path));
    return 0;
}

static void test_all_arrive(void)
{
    char path[128];
    int to_child, status;
    axp_drain *d = NULL;
    axp_drain_info now = {0};
    snprintf(path, sizeof path, "%s/one.axp", folder);
    pid_t pid = start(path, "record", &to_child);
    while (!d) {
        CHECK(waitpid(pid, &status, WNOHANG) == 0);
        d = axp_drain_open(path);
        usleep(500);
    }
    /* Each scope is two events, and a step is one. */
    while (now.events < 2 * N_SCOPES + N_SCOPES / 1000) {
        CHECK(waitpid(pid, &status, WNOHANG) == 0);
        while (axp_drain_step(d))
            continue;
        now = axp_drain_info_of(d);
        usleep(500);
    }
    CHECK(now.events == 2 * N_SCOPES + N_SCOPES / 1000);
    CHECK(now.steps == N_SCOPES / 1000);
    CHECK(now.process_id == (uint64_t)pid);
    struct stat st;
    CHECK(!stat(path, &st) && (uint64_t)st.st_size == now.file_bytes);
    close(to_child);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    axp_drain_close(d, false);
    axp_spools_list(remove_if_ours, path); /* it was left to us */
}

struct seen {
    const axp_view *v;
    unsigned n_in_library;
};

static int see_event(const axp_event_info *e, void *ctx)
{
    struct seen *x = ctx;
    axp_frame f;
    if (e->type != AXP_EVENT_ALLOC) return 0;
    CHECK(axp_view_stack(x->v, e->stack, &f, 1) == 1);
    if (f.module && strstr(f.module, "libresolv")) x->n_in_library++;
    return 0;
}

static void test_stacks(void)
{
    char path[128];
    int to_child, status;
    axp_drain *d = NULL;
    snprintf(path, sizeof path, "%s/two.axp", folder);
    pid_t pid = start(path, "stacks", &to_child);
    for (; !d; usleep(500)) {
        CHECK(waitpid(pid, &status, WNOHANG) == 0);
        d = axp_drain_open(path);
    }
    for (; axp_drain_info_of(d).events < 3; usleep(500)) {
        CHECK(waitpid(pid, &status, WNOHANG) == 0);
        axp_drain_step(d);
    }
    axp_drain_step(
        d); /* the last of them may have come after the step before */
    CHECK(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid);
    close(to_child);
    CHECK(axp_drain_close(d, true) == AXP_OK);
    struct seen x = {0};
    axp_view *v = NULL;
    const char *paths[] = {path};
    CHECK(axp_open(paths, 1, &v) == AXP_OK);
    x.v = v;
    CHECK(axp_view_events(v, NULL, see_event, &x) == AXP_OK);
    CHECK(x.n_in_library == 1 || !dlopen("libresolv.so.2", RTLD_NOW));
    axp_view_destroy(v);
}

static void test_not_a_recording(void)
{
    char path[128], link[128];
    snprintf(path, sizeof path, "%s/other.axp", folder);
    snprintf(link, sizeof link, "%s/link.axp", folder);
    CHECK(!axp_drain_open(path));
    FILE *f = fopen(path, "w");
    CHECK(f);
    for (int i = 0; i < 1000; i++)
        fputc(i & 255, f);
    fclose(f);
    CHECK(!axp_drain_open(path));
    CHECK(strlen(axp_last_error()));
    CHECK(!symlink(path, link));
    CHECK(!axp_drain_open(link));
    CHECK(!axp_drain_open(folder));
    CHECK(!axp_drain_open("/dev/zero"));
    CHECK(axp_drain_close(NULL, true) == AXP_OK);
}

static void clean(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "record")) return record();
    if (argc > 1 && !strcmp(argv[1], "stacks")) return record_stacks();
    CHECK(mkdtemp(folder));
    test_not_a_recording();
    test_all_arrive();
    test_stacks();
    clean();
    puts("drained from outside");
    return 0;
}
