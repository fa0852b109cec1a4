/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocations with stacks, from the call to the view: the same stacks live, in
 * a file, packed again, recovered after a kill and joined with others'. */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/base_bytes.h"
#include "file_support.h"
#include "record/record_profiler.h"
#include "wire/wire_block.h"
#include "wire/wire_stack.h"

#define STACKS 50u
#define FIRST_ADDRESS 0x1000u /* in no module */

/* Which stack an allocation has says its size. */
static void allocate(axp_profiler *p, uint64_t stack, uint64_t salt)
{
    void *frames[40];
    uint32_t n = (uint32_t)(1 + stack % 37);
    for (uint32_t i = 0; i < n; i++)
        frames[i] = (void *)(uintptr_t)(FIRST_ADDRESS + salt + stack * 64 + i);
    axp_record_alloc_ex(p, &(axp_alloc){.name = "tensor",
                                        .bytes = 1000 + stack,
                                        .stack = frames,
                                        .n_frames = n});
}

static void allocate_all(axp_profiler *p, unsigned rounds, uint64_t salt)
{
    for (unsigned r = 0; r < rounds; r++) {
        AXP_SCOPE_IN(p, "step");
        for (uint64_t i = 0; i < STACKS; i++)
            allocate(p, (i * 7 + r) % STACKS, salt);
        axp_record_alloc(p, "plain", 5);
    }
}

struct seen {
    const axp_view *v;
    uint64_t salt, n, n_without, n_wrong;
};

static int look(const axp_event_info *e, void *ctx)
{
    struct seen *s = ctx;
    axp_frame frames[64];
    if (e->type != AXP_EVENT_ALLOC) {
        s->n_wrong += e->stack != 0;
        return 0;
    }
    uint64_t stack = (uint64_t)e->value - 1000;
    if (!strcmp(e->name, "plain")) {
        s->n_wrong += e->stack != 0;
        s->n_without++;
        return 0;
    }
    size_t n = axp_view_stack(s->v, e->stack, frames, 64);
    s->n_wrong += n != 1 + stack % 37;
    for (size_t i = 0; i < n && i < 64; i++)
        s->n_wrong +=
            frames[i].offset != FIRST_ADDRESS + s->salt + stack * 64 + i ||
            frames[i].module || frames[i].function;
    s->n++;
    return 0;
}

static void assert_stacks(const axp_view *v, unsigned rounds, uint64_t salt)
{
    struct seen s = {.v = v, .salt = salt};
    assert_int_equal(axp_view_events(v, NULL, look, &s), AXP_OK);
    assert_int_equal(s.n_wrong, 0);
    assert_int_equal(s.n, rounds * STACKS);
    assert_int_equal(s.n_without, rounds);
}

static void a_view_has_the_stacks_of_allocations(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    allocate_all(p, 20, 0);
    axp_view *v = ts_snapshot(p);
    assert_stacks(v, 20, 0);
    axp_frame f;
    assert_int_equal(axp_view_stack(v, 0, &f, 1), 0);
    assert_int_equal(axp_view_stack(v, AXP__STACK_FIRST + STACKS, &f, 1), 0);
    assert_int_equal(axp_view_stack(v, AXP__STACKS_OUTSIDE, &f, 1), 0);
    assert_int_equal(axp_view_stack(v, UINT32_MAX, &f, 1), 0);
    assert_int_equal(ts_view_warnings(v, "stacks_full"), 0);
    axp_view_destroy(v);
    assert_int_equal(axp__stacks_end(&axp__prof_of(p)->stacks),
                     AXP__STACK_FIRST + STACKS);
    axp_reset(p); /* ids stay */
    allocate_all(p, 3, 0);
    v = ts_snapshot(p);
    assert_stacks(v, 3, 0);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void without_a_stack_there_is_no_table(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    fs_everything(p, 3);
    axp_record_alloc_ex(p, &(axp_alloc){.name = "x", .bytes = 1});
    axp_record_alloc_ex(
        p, &(axp_alloc){.name = "x", .bytes = 1, .stack = (void *[]){NULL}});
    assert_null(axp__prof_of(p)->stacks.table);
    axp_profiler_destroy(p);
    p = axp_profiler_create(&(axp_options){.flags = AXP_NO_TIMELINE});
    allocate_all(p, 1, 0);
    assert_null(axp__prof_of(p)->stacks.table);
    axp_profiler_destroy(p);
}

static void what_finds_no_room_says_so(void **state)
{
    (void)state;
    enum { N = 30000 };
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.memory_limit = 4u << 20});
    for (uint64_t i = 0; i < N; i++)
        allocate(p, i, 0);
    void *deep[200];
    for (size_t i = 0; i < 200; i++)
        deep[i] = (void *)(uintptr_t)(i + 1);
    axp_view *v = ts_snapshot(p);
    uint64_t n_full = ts_view_warnings(v, "stacks_full");
    assert_true(n_full > 1000 && n_full < N);
    axp_frame f;
    assert_int_equal(axp_view_stack(v, AXP__STACK_NO_ROOM, &f, 1), 1);
    assert_string_equal(f.function, "(no room)");
    axp_view_destroy(v);
    axp_profiler_destroy(p);
    p = ts_profiler();
    axp_record_alloc_ex(
        p, &(axp_alloc){
               .name = "deep", .bytes = 1, .stack = deep, .n_frames = 200});
    v = ts_snapshot(p);
    assert_int_equal(ts_view_warnings(v, "cut_stacks"), 1);
    assert_int_equal(axp_view_stack(v, AXP__STACK_FIRST, &f, 1), 128);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- names ------------------------------------------------------------------------- */

static __attribute__((noinline)) void *where(void)
{
    return __builtin_return_address(0);
}

__attribute__((noinline)) void allocates_here(axp_profiler *p);
void allocates_here(axp_profiler *p)
{
    void *frames[2] = {where(), __builtin_return_address(0)};
    axp_record_alloc_ex(
        p, &(axp_alloc){
               .name = "named", .bytes = 8, .stack = frames, .n_frames = 2});
    __asm__ volatile("");
}

/* An emulator may list code as what it is to the emulator: data. */
static bool is_listed_as_code(void)
{
    char line[4200], rights[8] = "";
    unsigned long at = (unsigned long)(uintptr_t)&allocates_here, begin, end;
    FILE *f = fopen("/proc/self/maps", "r");
    bool is_code = false;
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 &&
            at >= begin && at < end)
            is_code = strchr(rights, 'x') != NULL;
    fclose(f);
    return is_code;
}

static void assert_named(const axp_view *v)
{
    axp_frame f[8];
    size_t n = axp_view_stack(v, AXP__STACK_FIRST, f, 8);
    assert_true(n >= 2);
    assert_non_null(f[0].module);
    assert_non_null(strstr(f[0].module, "test_stack_events"));
    if (!f[0].function) return; /* no libdw here: test_symbol.c skips too */
    assert_string_equal(f[0].function, "allocates_here");
    assert_false(f[n - 1].is_inlined);
    if (f[0].file) assert_non_null(strstr(f[0].file, "test_stack_events.c"));
}

static void frames_get_names(void **state)
{
    if (AXP_EMULATED && !is_listed_as_code()) skip();
    (void)state;
    axp_profiler *p = fs_record(fs_path("a.axp"), (axp_options){0});
    allocates_here(p);
    axp_view *v = ts_snapshot(p);
    assert_named(v);
    axp_view_destroy(v);
    assert_int_equal(axp_finish(p), AXP_OK);
    v = fs_open(fs_path("a.axp"));
    assert_named(v);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* An address in a library that is loaded for so long, and its stack recorded. */
static void record_in_library(axp_profiler *p)
{
    void *library = dlopen("libresolv.so.2", RTLD_NOW);
    struct link_map *map;
    if (!library) skip();
    assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    void *frames[] = {(void *)(map->l_addr + 0x1001)};
    axp_record_alloc_ex(
        p, &(axp_alloc){
               .name = "late", .bytes = 8, .stack = frames, .n_frames = 1});
    assert_int_equal(axp_flush(p), AXP_OK);
    dlclose(library);
}

static void what_was_loaded_for_a_while_is_known(void **state)
{
    if (AXP_EMULATED && !is_listed_as_code()) skip();
    (void)state;
    axp_frame f;
    axp_profiler *p = fs_record(fs_path("a.axp"), (axp_options){0});
    allocates_here(p);
    assert_int_equal(axp_flush(p), AXP_OK); /* it was not loaded then */
    record_in_library(p);
    axp_view *v = ts_snapshot(p);
    assert_int_equal(axp_view_stack(v, AXP__STACK_FIRST + 1, &f, 1), 1);
    assert_true(f.module && strstr(f.module, "libresolv"));
    axp_view_destroy(v);
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_profiler_destroy(p);
    assert_int_equal(axp_file_pack(fs_path("a.axp"), NULL), AXP_OK);
    v = fs_open(fs_path("a.axp"));
    assert_int_equal(axp_view_stack(v, AXP__STACK_FIRST + 1, &f, 1), 1);
    assert_true(f.module && strstr(f.module, "libresolv"));
    assert_int_equal(f.offset, 0x1001);
    assert_named(v);
    axp_view_destroy(v);
}

/* ---- files ------------------------------------------------------------------------- */

static void a_file_has_them(void **state)
{
    (void)state;
    axp_profiler *p = fs_record(fs_path("a.axp"), (axp_options){0});
    allocate_all(p, 200, 0);
    axp_view *v = ts_snapshot(p);
    assert_stacks(v, 200, 0);
    axp_view_destroy(v);
    allocate_all(p, 300, 0);
    assert_int_equal(axp_finish(p), AXP_OK);
    v = ts_snapshot(p);
    assert_stacks(v, 500, 0);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
    fs_assert_sound(fs_path("a.axp"));
    v = fs_open(fs_path("a.axp"));
    assert_stacks(v, 500, 0);
    axp_view_destroy(v);
    assert_int_equal(axp_file_pack(fs_path("a.axp"), fs_path("b.axp")), AXP_OK);
    fs_assert_sound(fs_path("b.axp"));
    v = fs_open(fs_path("b.axp"));
    assert_stacks(v, 500, 0);
    axp_view_destroy(v);
}

/* Lets a child record so much and kills it. */
static void record_and_die(const char *path, unsigned rounds)
{
    pid_t child = fork();
    if (!child) {
        axp_profiler *p = axp_profiler_create(&(axp_options){.path = path});
        if (p) allocate_all(p, rounds, 0);
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

static void a_killed_process_leaves_them(void **state)
{
    if (AXP_EMULATED) skip(); /* no threads in the child */
    (void)state;
    record_and_die(fs_path("a.axp"), 100);
    axp_view *v = fs_open(fs_path("a.axp"));
    assert_stacks(v, 100, 0);
    axp_view_destroy(v);
    assert_int_equal(axp_file_pack(fs_path("a.axp"), NULL), AXP_OK);
    fs_assert_sound(fs_path("a.axp"));
    v = fs_open(fs_path("a.axp"));
    assert_stacks(v, 100, 0);
    axp_view_destroy(v);
}

static void record_one(const char *path, unsigned rounds, uint64_t salt)
{
    axp_profiler *p = fs_record(path, (axp_options){0});
    allocate_all(p, rounds, salt);
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_profiler_destroy(p);
}

struct joined {
    const axp_view *v;
    uint64_t n[2], n_wrong;
};

static int look_joined(const axp_event_info *e, void *ctx)
{
    struct joined *j = ctx;
    axp_frame f;
    if (e->type != AXP_EVENT_ALLOC || strcmp(e->name, "tensor") != 0) return 0;
    uint64_t stack = (uint64_t)e->value - 1000;
    size_t n = axp_view_stack(j->v, e->stack, &f, 1);
    uint64_t salt = f.offset - FIRST_ADDRESS - stack * 64;
    if (n != 1 + stack % 37 || (salt && salt != 1u << 20))
        j->n_wrong++;
    else
        j->n[salt != 0]++;
    return 0;
}

static void stacks_of_several_processes_are_kept_apart(void **state)
{
    (void)state;
    record_one(fs_path("a.axp"), 7, 0);
    axp_profiler *p = fs_record(fs_path("b.axp"), (axp_options){0});
    fs_layers(p, 3); /* has none */
    axp_finish(p);
    axp_profiler_destroy(p);
    record_one(fs_path("c.axp"), 9, 1u << 20);
    const char *paths[] = {fs_path("a.axp"), fs_path("b.axp"),
                           fs_path("c.axp")};
    assert_int_equal(axp_file_join(paths, 3, fs_path("all.axp"), false),
                     AXP_OK);
    axp_view *v = fs_open(fs_path("all.axp"));
    struct joined j = {.v = v};
    assert_int_equal(axp_view_events(v, NULL, look_joined, &j), AXP_OK);
    assert_int_equal(j.n_wrong, 0);
    assert_int_equal(j.n[0], 7 * STACKS);
    assert_int_equal(j.n[1], 9 * STACKS);
    axp_view_destroy(v);
}

struct sums {
    uint64_t n, n_live, live_bytes, n_allocs, last_live;
    bool is_sorted;
    char first[32];
};

static int add_sums(const axp_memory_stack *m, void *ctx)
{
    struct sums *s = ctx;
    if (!s->n++) {
        snprintf(s->first, sizeof s->first, "%s", m->name);
        s->is_sorted = true;
    } else if (m->live_bytes > s->last_live) {
        s->is_sorted = false;
    }
    s->last_live = m->live_bytes;
    s->n_live += m->n_live;
    s->live_bytes += m->live_bytes;
    s->n_allocs += m->n_allocs;
    return 0;
}

static void track(axp_profiler *p, const char *name, uintptr_t at,
                  uintptr_t frame)
{
    void *frames[] = {(void *)frame};
    axp_record_alloc_ex(p, &(axp_alloc){.name = name,
                                        .ptr = (void *)at,
                                        .bytes = 100,
                                        .stack = frames,
                                        .n_frames = 1});
}

static void memory_is_summed_up_by_name_and_stack(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (uintptr_t i = 0; i < 5000; i++) {
        track(p, "a", 0x100000 + i * 64, 1 + i % 3);
        track(p, "b", 0x900000 + i * 64, 1);
        if (i % 2) axp_track_free(p, (void *)(0x100000 + i * 64));
        axp_track_free(p, (void *)(0x900000 + i * 64));
    }
    axp_record_alloc(p, "c", 1 << 20); /* by name: never live by address */
    axp_view *v = ts_snapshot(p);
    struct sums s = {0};
    assert_int_equal(axp_view_memory_stacks(v, add_sums, &s), AXP_OK);
    assert_int_equal(s.n, 5); /* a with 3, b with 1, c without */
    assert_string_equal(s.first, "a");
    assert_true(s.is_sorted);
    assert_int_equal(s.n_live, 2500);
    assert_int_equal(s.live_bytes, 250000);
    assert_int_equal(s.n_allocs, 10001);
    assert_int_equal(axp_view_memory_stacks(NULL, add_sums, &s), AXP_E_INVALID);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void the_snapshot_of_memory_shows_stacks(void **state)
{
    if (AXP_EMULATED && !is_listed_as_code()) skip();
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "scope");
    allocates_here(p);
    track(p, "raw", 0x4000, 0xf00000123456); /* of no module, ever */
    axp_view *v = ts_snapshot(p);
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    assert_int_equal(axp_export_write(v, AXP_EXPORT_MEMORY_VIZ, to), AXP_OK);
    fclose(to);
    assert_non_null(memmem(text, len, "0xf00000123456", 14));
    assert_non_null(memmem(text, len, "test_stack_events", 17));
    free(text);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- damage ------------------------------------------------------------------------ */

/* The head of the first block of a kind. */
static uint8_t *find_block(uint8_t *bytes, size_t len,
                           enum axp__block_kind kind)
{
    struct axp__block b;
    for (size_t at = AXP__FILE_HEAD; at + AXP__BLOCK_HEAD <= len;
         at += axp__block_span(&b)) {
        if (axp__block_get(bytes + at, &b)) return NULL;
        if (b.kind == kind) return bytes + at;
    }
    return NULL;
}

/* Changes the head of the block of stacks, and its body, and seals it again. */
static void change_stacks(const char *from, const char *to,
                          void (*change)(struct axp__block *, uint8_t *))
{
    size_t len;
    uint8_t *bytes = fs_read(from, &len);
    uint8_t *head = find_block(bytes, len, AXP__B_STACKS);
    struct axp__block b;
    assert_non_null(head);
    assert_int_equal(axp__block_get(head, &b), AXP__BLOCK_OK);
    change(&b, head + AXP__BLOCK_HEAD);
    b.body_crc = axp__crc32c(0, head + AXP__BLOCK_HEAD, (size_t)b.body_bytes);
    axp__block_put(head, &b);
    /* without an index: heads are read as they are */
    fs_write(to, bytes, len - AXP__FILE_TAIL);
    free(bytes);
}

static void claim_far(struct axp__block *b, uint8_t *body)
{
    (void)body;
    b->seq = AXP__STACKS_OUTSIDE - 1;
}

static void claim_many(struct axp__block *b, uint8_t *body)
{
    (void)body;
    b->n = UINT32_MAX;
}

static void claim_deep(struct axp__block *b, uint8_t *body)
{
    (void)b;
    memset(body, 0xff, 9);
}

static void claim_above(struct axp__block *b, uint8_t *body)
{
    (void)body;
    b->seq = UINT64_MAX - 1;
}

static void what_stacks_claim_is_not_believed(void **state)
{
    (void)state;
    static void (*const changes[])(struct axp__block *, uint8_t *) = {
        claim_far, claim_many, claim_deep, claim_above};
    record_one(fs_path("a.axp"), 5, 0);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        change_stacks(fs_path("a.axp"), fs_path("b.axp"), changes[i]);
        axp_view *v = fs_open(fs_path("b.axp"));
        struct joined j = {.v = v};
        assert_int_equal(axp_view_events(v, NULL, look_joined, &j), AXP_OK);
        assert_int_equal(j.n[0] + j.n_wrong, 5 * STACKS);
        axp_view_destroy(v);
        assert_int_not_equal(fs_check(fs_path("b.axp"), NULL), AXP_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_has_the_stacks_of_allocations),
        cmocka_unit_test(without_a_stack_there_is_no_table),
        cmocka_unit_test(what_finds_no_room_says_so),
        FS_TEST(frames_get_names),
        FS_TEST(what_was_loaded_for_a_while_is_known),
        FS_TEST(a_file_has_them),
        FS_TEST(a_killed_process_leaves_them),
        FS_TEST(stacks_of_several_processes_are_kept_apart),
        cmocka_unit_test(memory_is_summed_up_by_name_and_stack),
        cmocka_unit_test(the_snapshot_of_memory_shows_stacks),
        FS_TEST(what_stacks_claim_is_not_believed),
    };
    return TS_RUN(tests);
}
