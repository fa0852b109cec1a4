/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* No file costs more than its length explains: every verb reads each of the
 * family (bomb_family.h) in at most a second of CPU time and 100 MB for each
 * MB of it, and a constant.
 *
 *   test_bombs             some of them, by some verbs
 *   test_bombs all         all, raw by all verbs, packed by the usual ones
 *   test_bombs NAME        that one alone, with what each verb took
 *   test_bombs NAME WORDS  the same of that many words, by the usual verbs: what
 *                          grows faster than the file shows in longer ones
 *
 * A verb runs in a process of its own, which the kernel ends when it is over
 * its time. Time is CPU time, so that a busy machine changes nothing.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "axprof/axprof_read.h"
#include "bomb_family.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SLOW 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ ||             \
    defined AXP_EMULATED
#define IS_SLOW 1
#endif
#ifndef IS_SLOW
#define IS_SLOW 0
#endif

/* What a reader needs whatever it reads: tables of names, buffers. */
#define FREE_SECONDS 2.0
#define FREE_BYTES ((uint64_t)160 << 20)

enum verb { INFO, CHECK, PACK, REPORT, EXPORT = REPORT + 4 };

static const char *folder;
static bool is_talking;
static int n_failed;

/* ---- verbs ------------------------------------------------------------------- */

static const char *verb_name(int verb)
{
    static const char *const names[] = {
        "info",        "check",           "pack",       "report text",
        "report json", "report markdown", "report html"};
    return verb < EXPORT ? names[verb]
                         : axp_export_format_name(
                               (axp_export_format)(verb - EXPORT), NULL);
}

static void do_verb(int verb, const char *path, const char *out)
{
    FILE *nowhere = fopen("/dev/null", "w");
    axp_view *v = NULL;
    if (!nowhere) _exit(9);
    switch (verb) {
    case INFO: axp_file_info_write(&path, 1, nowhere); return;
    case CHECK: axp_file_check(path, nowhere); return;
    case PACK: axp_file_pack(path, out); return;
    default: break;
    }
    if (axp_open(&path, 1, &v)) return;
    if (verb < EXPORT)
        axp_report_write(v, (axp_format)(verb - REPORT), nowhere);
    else
        axp_export_write(v, (axp_export_format)(verb - EXPORT), nowhere);
}

struct cost {
    double seconds;
    uint64_t bytes;
    int status;
};

static struct cost run(int verb, const char *path, const char *out, double most)
{
    struct rusage use;
    struct cost c = {0};
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit r = {(rlim_t)most + 2, (rlim_t)most + 3};
        setrlimit(RLIMIT_CPU, &r);
        if (!IS_SLOW)
            setrlimit(RLIMIT_AS, &(struct rlimit){8ull << 30, 8ull << 30});
        do_verb(verb, path, out);
        _exit(0);
    }
    if (pid < 0 || wait4(pid, &c.status, 0, &use) != pid) abort();
    c.seconds = (double)use.ru_utime.tv_sec + (double)use.ru_stime.tv_sec +
                1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
    c.bytes = (uint64_t)use.ru_maxrss * 1024;
    return c;
}

static void try_verb(int verb, const char *name, const char *path)
{
    char out[512];
    struct stat st;
    if (stat(path, &st)) return;
    double mb = (double)st.st_size / 1e6, slow = IS_SLOW ? 20 : 1;
    double most_seconds = slow * (FREE_SECONDS + mb);
    double most_bytes = (double)FREE_BYTES + 100e6 * mb;
    snprintf(out, sizeof out, "%s/out.axp", folder);
    unlink(out);
    struct cost c = run(verb, path, out, most_seconds);
    bool is_over = c.seconds > most_seconds || c.status ||
                   (!IS_SLOW && (double)c.bytes > most_bytes);
    n_failed += is_over;
    if (is_over || is_talking)
        printf("%s %s, %zu bytes: %.2f s, %.0f MB, status %d%s\n", name,
               verb_name(verb), (size_t)st.st_size, c.seconds,
               (double)c.bytes / 1e6, c.status, is_over ? "  OVER" : "");
    fflush(stdout);
}

/* ---- files ------------------------------------------------------------------------ */

enum how { QUICK, USUAL, ALL };

/* The usual ones go every way that leads from a file to an output; the others
 * write what these have read in another form. */
static bool is_tried(int verb, enum how how)
{
    if (how == ALL) return true;
    if (verb == INFO || verb == EXPORT - 1) return true;
    return how == USUAL &&
           (verb < REPORT || verb == REPORT + (int)AXP_FORMAT_JSON ||
            verb == EXPORT + (int)AXP_EXPORT_PERFETTO ||
            verb == EXPORT + (int)AXP_EXPORT_PPROF ||
            verb == EXPORT + (int)AXP_EXPORT_MEMORY_VIZ);
}

/* And what pack makes of it, which has statistics and an index. */
static void try_file(const char *name, const char *path, enum how how)
{
    char packed[512], said[160];
    for (int verb = INFO; verb < EXPORT || verb_name(verb); verb++)
        if (is_tried(verb, how)) try_verb(verb, name, path);
    if (how == QUICK) return;
    snprintf(packed, sizeof packed, "%s/packed.axp", folder);
    unlink(packed);
    if (!run(PACK, path, packed, 60).status) {
        snprintf(said, sizeof said, "%s, packed:", name);
        try_verb(CHECK, said, packed);
        try_verb(REPORT, said, packed);
        try_verb(PACK, said, packed);
    }
    unlink(packed);
}

static void try_bomb(const struct bomb_case *c, size_t n, bool is_packed,
                     enum how how)
{
    struct bomb b;
    char path[512], name[128];
    snprintf(path, sizeof path, "%s/bomb.axp", folder);
    snprintf(name, sizeof name, "%s (%zu, %s)", c->name, n,
             is_packed ? "packed" : "raw");
    bomb_init(&b);
    c->fill(&b, n);
    if (!b.n_chunks && is_packed) { /* has blocks of its own alone */
        bomb_write(&b, path);
        return;
    }
    bomb_row_end(&b, 1, is_packed);
    bomb_write(&b, path);
    try_file(name, path, how);
}

static bool is_among(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

/* Those that were found in the wild, and one of each kind of cost. */
static bool is_quick_one(const char *name)
{
    static const char *const names[] = {
        "starts_stops_of_another",
        "rows_allocs",
        "drops",
        "stops_under_overlaps",
        "tracks",
        "spans_at_once",
        "only_begins",
        "state_lanes",
    };
    return is_among(names, sizeof names / sizeof *names, name);
}

/* Many rows are few where words are: the square of their number shows in
 * longer files. */
static bool is_long_one(const char *name)
{
    static const char *const names[] = {"rows_frees", "tracks_allocs"};
    return is_among(names, sizeof names / sizeof *names, name);
}

static void remove_folder(void)
{
    static const char *const names[] = {"bomb.axp", "out.axp", "packed.axp"};
    char path[512];
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

int main(int argc, char **argv)
{
    char made[] = "/dev/shm/axprof-bombs-XXXXXX";
    bool is_all = argc > 1 && !strcmp(argv[1], "all");
    const char *only = argc > 1 && !is_all ? argv[1] : NULL;
    size_t n_words = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    folder = mkdtemp(made);
    if (!folder) return 1;
    is_talking = only != NULL;
    for (size_t i = 0; i < N_BOMBS; i++) {
        const struct bomb_case *c = &bomb_cases[i];
        if (only ? strcmp(c->name, only) != 0
                 : !is_all && !is_quick_one(c->name))
            continue;
        if (n_words) {
            try_bomb(c, n_words, false, USUAL);
            try_bomb(c, n_words, true, USUAL);
            continue;
        }
        try_bomb(c, (size_t)1 << 17, false, argc < 2 ? QUICK : ALL);
        try_bomb(c, 260000, true, argc < 2 ? QUICK : only ? ALL : USUAL);
        if (is_all && is_long_one(c->name))
            try_bomb(c, (size_t)1 << 20, false, USUAL);
    }
    remove_folder();
    printf("%d verbs over their bound\n", n_failed);
    return n_failed != 0;
}
