/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What tests of trace files share: a folder of their own, recordings of every
 * kind of event, bytes of files. */
#ifndef AXP_FILE_SUPPORT_H
#define AXP_FILE_SUPPORT_H
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "test_support.h"

static char fs_folder[64];

static inline const char *fs_path(const char *name)
{
    static char path[8][512];
    static unsigned turn;
    char *to = path[turn++ % 8];
    snprintf(to, sizeof path[0], "%s/%s", fs_folder, name);
    return to;
}

static inline int fs_setup(void **state)
{
    (void)state;
    /* in memory where that can be: thousands of small files */
    snprintf(fs_folder, sizeof fs_folder, "/dev/shm/axprof-file-XXXXXX");
    if (mkdtemp(fs_folder)) return 0;
    snprintf(fs_folder, sizeof fs_folder, "/tmp/axprof-file-XXXXXX");
    return mkdtemp(fs_folder) ? 0 : -1;
}

static inline int fs_teardown(void **state)
{
    (void)state;
    DIR *d = opendir(fs_folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') unlink(fs_path(e->d_name));
    if (d) closedir(d);
    return rmdir(fs_folder);
}

/* Each test has an empty folder, which is gone after it. */
#define FS_TEST(name)                                                          \
    cmocka_unit_test_setup_teardown(name, fs_setup, fs_teardown)

static inline axp_profiler *fs_record(const char *path, axp_options o)
{
    o.path = path;
    axp_profiler *p = axp_profiler_create(&o);
    if (!p) fail_msg("%s", axp_last_error());
    return p;
}

static inline axp_view *fs_open(const char *path)
{
    axp_view *v = NULL;
    if (axp_open(&path, 1, &v)) fail_msg("%s", axp_last_error());
    return v;
}

/* What check says goes to *text, where that is asked for. */
static inline axp_status fs_check(const char *path, char **text)
{
    char *said = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&said, &len);
    axp_status status = axp_file_check(path, to);
    fclose(to);
    if (text)
        *text = said;
    else
        free(said);
    return status;
}

static inline void fs_assert_sound(const char *path)
{
    char *said;
    axp_status status = fs_check(path, &said);
    if (status || !strstr(said, " 0 differ"))
        fail_msg("%s: %s\n%s", path, status ? axp_last_error() : "not compared",
                 said);
    free(said);
}

static inline uint8_t *fs_read(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *len = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(*len + 1);
    assert_int_equal(fread(bytes, 1, *len, f), *len);
    fclose(f);
    return bytes;
}

static inline void fs_write(const char *path, const void *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

/* ---- recordings ------------------------------------------------------------------ */

static inline void fs_layers(axp_profiler *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        AXP_SCOPE_IN(p, "forward");
        axp_category(p, AXP_CAT_FORWARD);
        axp_start_work(p, "matmul",
                       (axp_work){.flops = 2e6 + i % 7,
                                  .bytes = 4096,
                                  .dtype = AXP_F32,
                                  .dims = {64, 64, 256 + i % 3}});
        axp_stop(p, "matmul");
        AXP_SCOPE_IN(p, "softmax");
        axp_add_work(p, (axp_work){.flops = 5.5 * i});
    }
}

static inline void *fs_worker(void *arg)
{
    axp_profiler *p = arg;
    axp_thread_name(p, "worker");
    fs_layers(p, 40);
    axp_stop(p, "handed over"); /* begun by the main thread */
    axp_async_end(p, "request", 7);
    axp_record_alloc(p, "worker's", 300);
    axp_record_free(p, "worker's", 100);
    axp_start(p, "never ended");
    return NULL;
}

static inline void fs_recurse(axp_profiler *p, unsigned depth)
{
    AXP_SCOPE_IN(p, "recursion");
    if (depth) fs_recurse(p, depth - 1);
}

static inline void fs_overlap(axp_profiler *p)
{
    axp_start(p, "first");
    axp_start(p, "second");
    axp_start(p, "first");
    axp_stop(p, "second");
    AXP_SCOPE_IN(p, "within");
    axp_stop(p, "first");
    axp_stop(p, "first");
}

static inline void fs_memory(axp_profiler *p, unsigned i)
{
    static char blocks[64];
    axp_record_alloc_ex(p, &(axp_alloc){.name = "weights",
                                        .ptr = &blocks[i % 64],
                                        .bytes = 1000 + i,
                                        .kind = AXP_MEM_WEIGHT});
    axp_record_alloc(p, "scratch", 64 * (i % 5));
    if (i % 3) axp_track_free(p, &blocks[i % 64]);
    if (i % 2) axp_record_free(p, "scratch", 64 * (i % 5));
}

/* Every kind of event, on two threads and two tracks. */
static inline void fs_everything(axp_profiler *p, unsigned rounds)
{
    axp_track *queue = axp_track_create(p, "queue");
    axp_start(p, "handed over");
    axp_async_begin(p, "request", 7);
    for (unsigned i = 0; i < rounds; i++) {
        AXP_SCOPE_IN(p, "step");
        fs_layers(p, 3);
        fs_recurse(p, i % 5);
        fs_overlap(p);
        fs_memory(p, i);
        axp_counter(p, "loss", 1.0 / (1 + i));
        axp_instant(p, "mark");
        axp_event(p, "note", AXP_EVENT_CUSTOM, i % 2 ? "some text" : NULL);
        axp_flow_out(p, i);
        axp_flow_in(p, i);
        axp_ns now = axp_now(p);
        axp_track_span(queue, "kernel", now, now + 100 + i,
                       &(axp_work){.flops = 1e3, .dtype = AXP_BF16});
        axp_track_alloc_at(queue, "device", i, 512, now);
        if (i % 2) axp_track_free_at(queue, i, now + 5);
        axp_step(p);
    }
    ts_run(fs_worker, p);
    AXP_SCOPE_IN(p, "after");
}

#endif
