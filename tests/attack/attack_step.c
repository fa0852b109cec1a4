/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* SIGKILL at every instruction, by construction: a child that records is run
 * one instruction at a time (PTRACE_SINGLESTEP). After each one that changed
 * its spool, the files as they are then are recovered from a copy, as if the
 * child had died there:
 *
 *   - the timeline holds the events of all calls that had returned, and
 *     perhaps some of the one that was under way, and nothing else;
 *   - every scope that had begun is in the statistics, once;
 *   - an allocation that was recorded with its stack has it, whole;
 *   - packed, the file is sound: `check` folds the timeline again and finds
 *     the same numbers.
 *
 * Usage: attack_step [EVERY]: each EVERYth call is walked through (10).
 * Skips where nobody may be traced (emulators). */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include "axprof/axprof_file.h"
#include "step_over.h"
#include "step_script.h"

#define PAGE 4096u
#define MOST_STEPS 4000000u /* in a call */

static char folder[] = "/tmp/axprof-step-XXXXXX";
static char trace_path[300], live_path[400], spool_path[300], copy_path[300];
static uint64_t every = 10, n_calls, n_states, n_instructions, n_failures;

/* ---- the spool as it changes ------------------------------------------------------- */

struct image { /* of the live spool */
    char *at;
    size_t len, cap;
};
static struct image now;

struct change { /* a page, as it became */
    struct change *next;
    size_t at;
    char bytes[PAGE];
};
struct state { /* of one instruction: what it changed */
    struct change *changes;
    size_t len; /* of the file */
};
static struct state *states;
static size_t n_call_states, cap_states;

/* Holes take no memory: they are never touched. */
static void widen(struct image *m, size_t len)
{
    if (len > m->cap) {
        size_t cap = len + ((size_t)64 << 20);
        char *wider =
            m->at ? mremap(m->at, m->cap, cap, MREMAP_MAYMOVE)
                  : mmap(NULL, cap, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(wider != MAP_FAILED);
        m->at = wider;
        m->cap = cap;
    }
    if (len > m->len) m->len = len;
}

/* The live spool as the tracer has it mapped, and the parts of it that are no
 * holes. These are asked for each time: what was allocated and not yet written
 * is a hole as well. */
static struct {
    const char *at;
    off_t bytes;
    size_t n;
    struct {
        off_t at, end;
    } part[256];
} live;

static void map_live(int fd)
{
    struct stat st;
    CHECK(!fstat(fd, &st));
    if (!live.at || st.st_size != live.bytes) {
        if (live.at) munmap((void *)(uintptr_t)live.at, (size_t)live.bytes);
        live.at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        CHECK(live.at != MAP_FAILED);
        live.bytes = st.st_size;
    }
    live.n = 0;
    off_t at = lseek(fd, 0, SEEK_DATA), end;
    for (; at >= 0; at = lseek(fd, end, SEEK_DATA)) {
        end = lseek(fd, at, SEEK_HOLE);
        CHECK(live.n < 256);
        live.part[live.n].at = at;
        live.part[live.n++].end = end;
    }
}

static struct change *add_change(struct change *list, struct image *m, off_t at,
                                 size_t len)
{
    struct change *c = calloc(1, sizeof *c);
    CHECK(c != NULL);
    c->next = list;
    c->at = (size_t)at;
    memcpy(c->bytes, live.at + at, len);
    memcpy(m->at + at, live.at + at, len);
    return c;
}

/* Compares the file with what is known; pages that differ go into the list
 * and are known. */
static struct change *look(int fd, struct image *m)
{
    struct change *list = NULL;
    map_live(fd);
    widen(m, (size_t)live.bytes);
    for (size_t i = 0; i < live.n; i++) {
        off_t at = live.part[i].at, end = live.part[i].end;
        if (!memcmp(m->at + at, live.at + at, (size_t)(end - at))) continue;
        for (; at < end; at += PAGE) {
            size_t len = end - at < PAGE ? (size_t)(end - at) : PAGE;
            if (memcmp(m->at + at, live.at + at, len))
                list = add_change(list, m, at, len);
        }
    }
    return list;
}

static void keep_state(int fd)
{
    struct change *changes = look(fd, &now);
    if (!changes) return;
    if (n_call_states == cap_states) {
        cap_states = cap_states ? 2 * cap_states : 256;
        states = realloc(states, cap_states * sizeof *states);
        CHECK(states != NULL);
    }
    states[n_call_states++] = (struct state){changes, now.len};
}

/* ---- what a copy says ------------------------------------------------------------------ */

struct event {
    axp_event_type type;
    double value;
    char name[24];
};
struct found {
    struct event *event;
    size_t n, cap;
    const axp_view *v;
    uint64_t n_bad_stacks;
};

/* Its first address says how large the block was. */
static bool has_stack(const axp_view *v, const axp_event_info *e)
{
    axp_frame f[STEP_FRAMES + 1];
    size_t n = axp_view_stack(v, e->stack, f, STEP_FRAMES + 1);
    for (size_t i = 0; i < n && i < STEP_FRAMES; i++)
        if (f[i].offset != (uint64_t)e->value + i) return false;
    return n == STEP_FRAMES;
}

static int take_event(const axp_event_info *e, void *ctx)
{
    struct found *f = ctx;
    if (f->n == f->cap) {
        f->cap = f->cap ? 2 * f->cap : 4096;
        f->event = realloc(f->event, f->cap * sizeof *f->event);
        CHECK(f->event != NULL);
    }
    struct event *to = &f->event[f->n++];
    memset(to, 0, sizeof *to);
    to->type = e->type;
    to->value = e->value;
    snprintf(to->name, sizeof to->name, "%s", e->name ? e->name : "");
    if (e->type == AXP_EVENT_ALLOC && !strcmp(to->name, "m:stack"))
        f->n_bad_stacks += !has_stack(f->v, e);
    return 0;
}

static uint64_t count_of(const struct found *f, axp_event_type type,
                         const char *name)
{
    uint64_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        n += f->event[i].type == type &&
             (!name || !strcmp(f->event[i].name, name));
    return n;
}

static bool differ(const char *what, uint64_t a, uint64_t b)
{
    if (a == b) return false;
    printf("  %s: %" PRIu64 " in the statistics, %" PRIu64 " in the timeline\n",
           what, a, b);
    return true;
}

/* Whether the statistics have what the timeline has. */
static bool is_counted(const axp_view *v, const struct found *f)
{
    size_t n = axp_view_ops(v, AXP_BY_CALLS, NULL, 0);
    axp_op *ops = calloc(n + 1, sizeof *ops);
    axp_counter_info counter[4];
    bool ok = true;
    uint64_t calls = 0;
    CHECK(ops != NULL);
    axp_view_ops(v, AXP_BY_CALLS, ops, n);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(ops[i].name, "s:", 2) && strncmp(ops[i].name, "x:", 2))
            continue;
        uint64_t begun = count_of(f, AXP_EVENT_START, ops[i].name);
        ok = !differ(ops[i].name, ops[i].calls, begun) && ok;
        calls += begun;
    }
    free(ops);
    uint64_t begun = 0;
    for (size_t i = 0; i < f->n; i++)
        begun += f->event[i].type == AXP_EVENT_START &&
                 (f->event[i].name[0] == 's' || f->event[i].name[0] == 'x');
    ok = !differ("scopes", calls, begun) && ok;
    ok = !differ("allocations", axp_view_memory(v).n_allocs,
                 count_of(f, AXP_EVENT_ALLOC, NULL)) &&
         ok;
    ok = !differ("steps", axp_view_steps(v).count,
                 count_of(f, AXP_EVENT_STEP, NULL)) &&
         ok;
    size_t n_counters = axp_view_counters(v, counter, 4);
    return !differ("counters", n_counters ? counter[0].count : 0,
                   count_of(f, AXP_EVENT_COUNTER, NULL)) &&
           ok;
}

static void write_at(int fd, const char *bytes, size_t len, off_t at)
{
    while (len) {
        ssize_t n = pwrite(fd, bytes, len, at);
        CHECK(n > 0);
        bytes += n;
        len -= (size_t)n;
        at += n;
    }
}

/* With the holes that the live one has. */
static void write_spool(const struct image *m)
{
    int fd = open(spool_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && !ftruncate(fd, (off_t)m->len));
    for (size_t i = 0; i < live.n; i++) {
        off_t at = live.part[i].at, end = live.part[i].end;
        if (end > (off_t)m->len) end = (off_t)m->len;
        if (at < end) write_at(fd, m->at + at, (size_t)(end - at), at);
    }
    close(fd);
}

static void copy_trace(void)
{
    struct stat st;
    int fd = open(trace_path, O_RDONLY);
    CHECK(fd >= 0 && !fstat(fd, &st));
    char *bytes = malloc((size_t)st.st_size + 1);
    CHECK(bytes && pread(fd, bytes, (size_t)st.st_size, 0) == st.st_size);
    close(fd);
    fd = open(copy_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    write_at(fd, bytes, (size_t)st.st_size, 0);
    close(fd);
    free(bytes);
}

/* What a report would see, then pack and check; false: something is wrong. */
static bool recover(const struct image *m, struct found *f)
{
    const char *paths[] = {copy_path};
    axp_view *v = NULL;
    f->n = 0;
    copy_trace();
    write_spool(m); /* nobody has it locked */
    if (axp_open(paths, 1, &v)) {
        printf("  cannot be opened: %s\n", axp_last_error());
        return false;
    }
    f->v = v;
    f->n_bad_stacks = 0;
    CHECK_EQ(axp_view_events(v, NULL, take_event, f), AXP_OK);
    bool ok = is_counted(v, f);
    if (f->n_bad_stacks) {
        printf("  %" PRIu64 " stacks are not whole\n", f->n_bad_stacks);
        ok = false;
    }
    axp_view_destroy(v);
    if (axp_file_pack(copy_path, NULL)) {
        printf("  cannot be packed: %s\n", axp_last_error());
        return false;
    }
    FILE *to = tmpfile();
    CHECK(to != NULL);
    if (axp_file_check(copy_path, to)) {
        char line[200];
        printf("  packed and checked: %s\n", axp_last_error());
        rewind(to);
        while (fgets(line, sizeof line, to))
            fputs(line, stdout);
        ok = false;
    }
    fclose(to);
    return ok;
}

static bool is_prefix(const struct found *a, const struct found *b)
{
    return a->n <= b->n &&
           (!a->n || !memcmp(a->event, b->event, a->n * sizeof *a->event));
}

/* Of one call: before it, after it, and what lies in between. */
static void verify(size_t call, struct image *then, struct found *before)
{
    struct found after = {0}, at = {0};
    bool ok = recover(&now, &after);
    if (!is_prefix(before, &after) || after.n == before->n) {
        printf("  %zu events before the call, %zu after it\n", before->n,
               after.n);
        ok = false;
    }
    if (!ok) printf("after call %zu\n", call);
    n_failures += !ok;
    for (size_t i = 0; i < n_call_states; i++) {
        widen(then, states[i].len);
        for (struct change *c = states[i].changes, *next; c; c = next) {
            next = c->next;
            memcpy(then->at + c->at, c->bytes, PAGE);
            free(c);
        }
        n_states++;
        bool is_right = recover(then, &at);
        if (!is_prefix(before, &at) || !is_prefix(&at, &after)) {
            printf("  %zu events, not between %zu and %zu\n", at.n, before->n,
                   after.n);
            is_right = false;
        }
        if (is_right) continue;
        printf("call %zu (round %zu, %zu in it), change %zu of %zu\n", call,
               call / STEP_CALLS, call % STEP_CALLS, i, n_call_states);
        n_failures++;
    }
    n_call_states = 0;
    free(before->event);
    free(at.event);
    *before = after;
}

/* ---- the tracer ---------------------------------------------------------------------------- */

static void run_until_stop(pid_t pid)
{
    int sig = 0;
    do {
        CHECK(!ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)sig));
        sig = wait_stop(pid);
    } while (sig != SIGSTOP);
}

static int is_ours(const axp_spool_info *s, void *ctx)
{
    (void)ctx;
    if (strcmp(s->recording, trace_path) != 0) return 0;
    snprintf(spool_path, sizeof spool_path, "%s", s->path);
    return 1;
}

/* Where the recorder's spool is; it is given another name, so that the copies
 * may have its own. */
static int take_spool(void)
{
    axp_spools_list(is_ours, NULL);
    CHECK(spool_path[0]);
    snprintf(live_path, sizeof live_path, "%s.live", spool_path);
    CHECK(!rename(spool_path, live_path));
    int fd = open(live_path, O_RDONLY);
    CHECK(fd >= 0);
    return fd;
}

static void step_through(pid_t pid, int spool)
{
    uint64_t done = step_shared->n_done;
    for (uint64_t n = 0; step_shared->n_done == done; n++) {
        CHECK(n < MOST_STEPS);
        step_one(pid);
        keep_state(spool);
        n_instructions++;
    }
}

static void attack(pid_t pid)
{
    struct image then = {0};
    struct found before = {0};
    run_until_stop(pid); /* files are open */
    int spool = take_spool();
    for (size_t call = 0; !step_shared->is_over; call++) {
        if (call % every) {
            run_until_stop(pid);
            continue;
        }
        n_calls++;
        struct change *unseen = look(spool, &now);
        for (struct change *next; unseen; unseen = next) {
            next = unseen->next;
            free(unseen);
        }
        widen(&then, now.len);
        for (size_t i = 0; i < live.n; i++)
            memcpy(then.at + live.part[i].at, now.at + live.part[i].at,
                   (size_t)(live.part[i].end - live.part[i].at));
        if (!recover(&now, &before)) {
            printf("before call %zu\n", call);
            n_failures++;
        }
        step_through(pid, spool);
        verify(call, &then, &before);
        run_until_stop(pid);
    }
    free(before.event);
    close(spool);
}

static void become_child(char **argv)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) _exit(77);
    setenv("AXPROF_OUT", trace_path, 1);
    setenv("AXPROF_DRAIN", "parent", 1);
    execl("/proc/self/exe", argv[0], "--child", folder, (char *)NULL);
    _exit(1);
}

static void map_shared(const char *in)
{
    char path[300];
    snprintf(path, sizeof path, "%s/shared", in);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && !ftruncate(fd, PAGE));
    step_shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(step_shared != MAP_FAILED);
    close(fd);
}

static void clean_up(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/shared", folder);
    unlink(path);
    unlink(trace_path);
    unlink(copy_path);
    unlink(live_path);
    unlink(spool_path);
    CHECK(!rmdir(folder));
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--child")) {
        map_shared(argv[2]);
        step_child();
    }
    if (STRESS_TSAN || STRESS_ASAN) return 77;
    if (argc > 1 && atoi(argv[1]) > 0) every = (uint64_t)atoi(argv[1]);
    CHECK(mkdtemp(folder));
    snprintf(trace_path, sizeof trace_path, "%s/run.axp", folder);
    snprintf(copy_path, sizeof copy_path, "%s/copy.axp", folder);
    map_shared(folder);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) become_child(argv);
    int status;
    CHECK(waitpid(pid, &status, __WALL) == pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        clean_up();
        return 77;
    }
    CHECK(WIFSTOPPED(status)); /* at its execve */
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(intptr_t)PTRACE_O_EXITKILL);
    attack(pid);
    kill(pid, SIGKILL);
    waitpid(pid, &status, __WALL);
    clean_up();
    printf("%" PRIu64 " calls, %" PRIu64 " instructions, %" PRIu64
           " of which changed the spool and were recovered from, %" PRIu64
           " failures\n",
           n_calls, n_instructions, n_states, n_failures);
    return n_failures != 0;
}
