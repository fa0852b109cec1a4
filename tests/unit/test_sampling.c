/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sampling without the kernel's part: layouts beside a plain array, stacks of
 * this very program, stacks and registers that are nonsense, states of threads.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include "os/os_apart.h"
#include "os/os_clock.h"
#include "sampling/sampling_cpus.h"
#include "sampling/sampling_cfi.h"
#include "sampling/sampling_perf.h"
#include "sampling/sampling_regs.h"
#include "sampling/sampling_states.h"
#include "sampling/sampling_tasks.h"
#include "sampling/sampling_tiers.h"
#include "sampling/sampling_toll.h"
#include "sampling/sampling_unwind.h"
#include "symbol/symbol_libdw.h"
#include "test_support.h"
#include "wire/wire_states.h"

/* ---- layouts ------------------------------------------------------------ */

#define CELLS 200u

struct model {
    struct axp__mod *mod[CELLS]; /* NULL: nothing there */
    uint64_t offset[CELLS];
};

static void assert_same(const struct axp__layout *l, const struct model *m)
{
    for (uint64_t i = 0; i < CELLS; i++) {
        const struct axp__code *c = axp__layout_find(l, i);
        assert_ptr_equal(c ? c->mod : NULL, m->mod[i]);
        if (c) assert_int_equal(i - c->first + c->offset, m->offset[i]);
    }
}

static void layouts_are_what_was_mapped_last(void **state)
{
    (void)state;
    struct axp__layouts all;
    struct axp__mod mods[4] = {0};
    struct model truth[3] = {0};
    uint64_t rng = 7;
    axp__layouts_init(&all);
    for (unsigned i = 0; i < (TS_SLOW ? 3000 : 30000); i++) {
        uint32_t pid = (uint32_t)(ts_random(&rng) % 3);
        struct axp__layout *l = axp__layouts_get(&all, pid);
        uint64_t what = ts_random(&rng) % 100;
        if (what < 2) {
            axp__layout_clear(l);
            truth[pid] = (struct model){0};
        } else if (what < 4) {
            uint32_t parent = (pid + 1) % 3;
            axp__layouts_fork(&all, pid, axp__layouts_get(&all, parent));
            truth[pid] = truth[parent];
        } else if (what < 5) {
            axp__layouts_end(&all, pid); /* what it had stays for a while */
        } else {
            uint64_t first = ts_random(&rng) % CELLS;
            uint64_t end = first + 1 + ts_random(&rng) % 30;
            struct axp__code code = {first, end < CELLS ? end : CELLS,
                                     ts_random(&rng) % 1000,
                                     &mods[ts_random(&rng) % 4]};
            assert_true(axp__layout_map(l, code));
            for (uint64_t k = code.first; k < code.end; k++) {
                truth[pid].mod[k] = code.mod;
                truth[pid].offset[k] = code.offset + k - code.first;
            }
        }
        if (i % 16 == 0)
            for (uint32_t k = 0; k < 3; k++)
                assert_same(axp__layouts_get(&all, k), &truth[k]);
    }
    axp__layouts_fini(&all);
}

static void many_processes_come_and_go(void **state)
{
    (void)state;
    struct axp__layouts all;
    struct axp__mod mod = {0};
    axp__layouts_init(&all);
    struct axp__code code = {1, 2, 0, &mod};
    assert_true(axp__layout_map(axp__layouts_get(&all, 1), code));
    for (uint32_t pid = 2; pid < 20000; pid++) {
        axp__layouts_fork(&all, pid % 5000 + 2, axp__layouts_get(&all, 1));
        assert_non_null(
            axp__layout_find(axp__layouts_get(&all, pid % 5000 + 2), 1));
        axp__layouts_end(&all, pid % 5000 + 2);
        assert_true(all.n_ended <= 257);
    }
    axp__layouts_fini(&all);
}

/* ---- stacks ------------------------------------------------------------- */

#define STACK_BYTES 16384u
#define DEPTH 12
#define CALL_ROOM 64u

struct taken { /* as the kernel would give it */
    uint64_t regs[AXP__REGS_N];
    uint8_t stack[STACK_BYTES];
    uint64_t n_stack;
    uint64_t returns[DEPTH + 1]; /* that it must find */
    size_t n_returns;
};

static void set_regs(struct taken *t, const ucontext_t *u)
{
#if defined(__x86_64__)
    static const int order[AXP__REGS_N] = {
        REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
        REG_RBP, REG_RSP, REG_RIP, REG_R8,  REG_R9,  REG_R10,
        REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (size_t i = 0; i < AXP__REGS_N; i++)
        t->regs[i] = (uint64_t)u->uc_mcontext.gregs[order[i]];
#else
    for (size_t i = 0; i < 31; i++)
        t->regs[i] = u->uc_mcontext.regs[i];
    t->regs[31] = u->uc_mcontext.sp;
    t->regs[32] = u->uc_mcontext.pc;
#endif
}

/* Not looked at by the sanitizer: it reads above the frame that it is in. */
__attribute__((noinline, no_sanitize("address", "thread"))) static void copy(
    uint8_t *to, const volatile uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
}

__attribute__((noinline)) static void take(struct taken *t)
{
    static ucontext_t u; /* some 4 KB on aarch64: not in the stack looked at */
    getcontext(&u);
    set_regs(t, &u);
    uint64_t sp = t->regs[axp__reg_place[AXP__DWARF_SP]];
    t->returns[t->n_returns++] =
        (uint64_t)(uintptr_t)__builtin_return_address(0);
    uint64_t above = getauxval(AT_EXECFN) - sp; /* there the stack begins */
    t->n_stack = above < STACK_BYTES ? above : STACK_BYTES;
    copy(t->stack, (const uint8_t *)(uintptr_t)sp, t->n_stack);
}

__attribute__((noinline)) static int call(struct taken *t, int depth)
{
    volatile char room[CALL_ROOM] = {0};
    if (depth)
        room[depth] = (char)call(t, depth - 1);
    else
        take(t);
    t->returns[t->n_returns++] =
        (uint64_t)(uintptr_t)__builtin_return_address(0);
    return room[depth] + 1;
}

/* As the kernel gives it: valgrind knows of each byte of a stack whether it was
 * ever written, and what comes from the kernel was. */
static struct taken *take_own(void)
{
    struct taken *t = calloc(1, sizeof *t), *given = calloc(1, sizeof *t);
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    call(t, DEPTH - 1);
    if (fd < 0 || pread(fd, given, sizeof *given, (off_t)(uintptr_t)t) !=
                      (ssize_t)sizeof *given)
        memcpy(given, t, sizeof *t); /* under an emulator */
    if (fd >= 0) close(fd);
    free(t);
    return given;
}

/* This process's own, as /proc has it. */
static void read_maps(struct axp__mods *mods, struct axp__layout *l)
{
    char line[4200], path[4200], rights[8];
    FILE *f = fopen("/proc/self/maps", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        unsigned long first, end, offset, inode;
        path[0] = 0;
        if (sscanf(line, "%lx-%lx %7s %lx %*s %lu %4100s", &first, &end, rights,
                   &offset, &inode, path) < 5 ||
            rights[2] != 'x')
            continue;
        struct axp__perf_mapping m = {.address = first,
                                      .bytes = end - first,
                                      .offset = offset,
                                      .inode = inode,
                                      .is_code = true,
                                      .path = path[0] ? path : "//anon"};
        struct axp__code code = {first, end, offset, axp__mods_get(mods, &m)};
        assert_non_null(code.mod);
        assert_true(axp__layout_map(l, code));
    }
    fclose(f);
}

/* Where the layout has an address of this process. */
static uint64_t placed(struct axp__mods *mods, const struct axp__layout *l,
                       uint64_t address)
{
    const struct axp__code *c = axp__layout_find(l, address);
    assert_non_null(c);
    axp__mod_prepare(mods, c->mod, l->pid, c->end - c->first);
    return c->mod->bias +
           axp__mod_address(c->mod, address - c->first + c->offset);
}

static void own_stacks_are_found(void **state)
{
    (void)state;
    if (!axp__libdw_load()) skip();
    struct taken *t = take_own();
    struct axp__mods mods;
    struct axp__layouts all;
    uint64_t frames[512];
    axp__mods_init(&mods);
    axp__layouts_init(&all);
    struct axp__layout *l = axp__layouts_get(&all, (uint32_t)getpid());
    read_maps(&mods, l);
    struct axp__perf_sample s = {
        .regs = t->regs, .stack = t->stack, .n_stack = t->n_stack};
    static struct axp__chains chains;
    struct axp__unwind u = {&mods, l, &s, &chains};
    struct axp__unwound whole = axp__unwind(&u, frames, 512);
    assert_true(whole.n > t->n_returns);
    for (size_t i = 0; i < t->n_returns; i++)
        assert_int_equal(frames[i + 1], placed(&mods, l, t->returns[i]));
    assert_true(whole.n < 100);        /* where the copy or the program ends */
    s.n_stack = DEPTH * CALL_ROOM / 2; /* it ends in the midst of the calls */
    struct axp__unwound part = axp__unwind(&u, frames, 512);
    assert_int_equal(part.copy, AXP__COPY_CUT);
    assert_true(part.n < whole.n);
    assert_true(part.bytes > 0 && part.bytes < whole.bytes);
    axp__layouts_fini(&all);
    axp__mods_fini(&mods);
    free(t);
}

/* Whatever registers and stack hold, it ends, and reads nothing else. */
static void nonsense_is_no_harm(void **state)
{
    (void)state;
    struct taken *t = take_own();
    struct axp__mods mods;
    struct axp__layouts all;
    static struct axp__chains chains;
    uint64_t frames[512], rng = 11;
    axp__mods_init(&mods);
    axp__layouts_init(&all);
    struct axp__layout *l = axp__layouts_get(&all, (uint32_t)getpid());
    read_maps(&mods, l);
    for (unsigned i = 0; i < (TS_SLOW ? 2000 : 20000); i++) {
        size_t n_stack = ts_random(&rng) % t->n_stack;
        uint8_t *stack = malloc(n_stack + 1); /* to its last byte */
        struct taken x = {.n_stack = n_stack};
        memcpy(stack, t->stack, n_stack);
        memcpy(x.regs, t->regs, sizeof x.regs);
        for (uint64_t k = ts_random(&rng) % 20; k; k--) {
            size_t at = n_stack > 8 ? ts_random(&rng) % (n_stack - 8) : 0;
            uint64_t value = ts_random(&rng);
            const struct axp__code *c = &l->code[ts_random(&rng) % l->n];
            if (k % 2) value = c->first + value % (c->end - c->first);
            if (k % 3 == 0) value = t->regs[axp__reg_place[AXP__DWARF_SP]] + at;
            if (n_stack > 8) memcpy(stack + at, &value, 8);
            if (k % 5 == 0) x.regs[ts_random(&rng) % AXP__REGS_N] = value;
        }
        struct axp__perf_sample s = {.regs = i % 50 ? x.regs : NULL,
                                     .stack = stack,
                                     .n_stack = n_stack,
                                     .is_kernel = i % 7 == 0,
                                     .chain = x.regs,
                                     .n_chain = ts_random(&rng) % AXP__REGS_N};
        struct axp__unwind u = {&mods, l, &s, &chains};
        assert_true(axp__unwind(&u, frames, 512).n <= 512);
        free(stack);
    }
    axp__layouts_fini(&all);
    axp__mods_fini(&mods);
    free(t);
}

/* ---- chains ------------------------------------------------------------- */

#define CHAIN_MOST 100u

/* As the kernel makes it: from one frame record to the next. */
static size_t make_chain(const struct taken *t, uint64_t *chain)
{
    uint64_t sp = t->regs[axp__reg_place[AXP__DWARF_SP]];
    uint64_t fp = t->regs[axp__reg_place[AXP__DWARF_FP]], before = sp;
    size_t n = 0;
    chain[n++] = t->regs[axp__reg_place[AXP__DWARF_PC]];
    while (n < CHAIN_MOST && fp >= before && fp - sp + 16 <= t->n_stack) {
        uint64_t record[2];
        memcpy(record, t->stack + (fp - sp), sizeof record);
        if (!record[1]) break;
        chain[n++] = record[1];
        before = fp + 16;
        fp = record[0];
    }
    return n;
}

struct chained {
    struct taken *t;
    struct axp__mods mods;
    struct axp__layouts all;
    struct axp__chains chains;
    struct axp__perf_sample sample;
    struct axp__unwind unwind;
    uint64_t chain[CHAIN_MOST];
    uint64_t frames[512], found[512]; /* of all of the stack, and of less */
    struct axp__unwound whole;
};

static void set_chained(struct chained *c, struct taken *t)
{
    c->t = t;
    axp__mods_init(&c->mods);
    axp__layouts_init(&c->all);
    struct axp__layout *l = axp__layouts_get(&c->all, (uint32_t)getpid());
    read_maps(&c->mods, l);
    c->sample = (struct axp__perf_sample){.regs = c->t->regs,
                                          .stack = c->t->stack,
                                          .n_stack = c->t->n_stack,
                                          .chain = c->chain};
    c->sample.n_chain = make_chain(c->t, c->chain);
    c->unwind = (struct axp__unwind){&c->mods, l, &c->sample, &c->chains};
    c->whole = axp__unwind(&c->unwind, c->frames, 512);
}

static void end_chained(struct chained *c)
{
    axp__layouts_fini(&c->all);
    axp__mods_fini(&c->mods);
    free(c->t);
    free(c);
}

/* NULL: the code of this program keeps no frame pointers, or that of a library
 * which calls it. */
static struct chained *begin_chained(void)
{
    if (!axp__libdw_load()) return NULL;
    struct chained *c = calloc(1, sizeof *c);
    set_chained(c, take_own());
    bool has_all = c->sample.n_chain > c->t->n_returns;
    for (size_t i = 0; has_all && i < c->t->n_returns; i++)
        has_all = c->chain[i + 1] == c->t->returns[i] ||
                  c->chain[i] == c->t->returns[i];
#if defined(__aarch64__)
    assert_true(has_all);
#else
    has_all = has_all && c->sample.n_chain + 1 >= c->whole.n;
#endif
    if (has_all) return c;
    end_chained(c);
    return NULL;
}

/* The copy ends in the midst of the calls. */
static struct axp__unwound unwind_part(struct chained *c)
{
    c->sample.n_stack = DEPTH * CALL_ROOM / 2;
    return axp__unwind(&c->unwind, c->found, 512);
}

/* What tables and chain agreed on is gone on with where the copy ends. */
static void chains_go_on_where_a_copy_ends(void **state)
{
    (void)state;
    struct chained *c = begin_chained();
    if (!c) skip();
    assert_int_equal(c->whole.copy, AXP__COPY_ENOUGH);
    assert_true(c->whole.bytes < DEPTH * CALL_ROOM / 2);
    struct axp__unwound part = unwind_part(c);
    assert_int_equal(part.copy, AXP__COPY_ENOUGH);
    assert_int_equal(part.n, c->whole.n);
    assert_memory_equal(c->found, c->frames, part.n * sizeof *c->found);
    memset(&c->chains, 0, sizeof c->chains); /* nothing is known */
    part = unwind_part(c);
    assert_int_equal(part.copy, AXP__COPY_GUESSED);
    assert_in_range(part.n, DEPTH, c->whole.n); /* but none is made up */
    assert_memory_equal(c->found, c->frames, part.n * sizeof *c->found);
    end_chained(c);
}

/* A function that keeps no frame pointer makes it pass over its caller. */
static void chains_that_lead_astray_are_known(void **state)
{
    (void)state;
    struct chained *c = begin_chained();
    if (!c) skip();
    memset(&c->chains, 0, sizeof c->chains);
    size_t at = DEPTH; /* of the outer calls, all of the same place */
    memmove(&c->chain[at], &c->chain[at + 1],
            (--c->sample.n_chain - at) * sizeof *c->chain);
    struct axp__unwound whole = axp__unwind(&c->unwind, c->found, 512);
    assert_int_equal(whole.n, c->whole.n); /* tables know better */
    assert_memory_equal(c->found, c->frames, whole.n * sizeof *c->found);
    assert_true(whole.bytes > DEPTH * CALL_ROOM / 2);
    assert_int_equal(unwind_part(c).copy, AXP__COPY_CUT);
    end_chained(c);
}

#if defined(__aarch64__)

/* Keeps what it returns to, and leaves the frame pointer as it is. */
void without_pair(struct taken *t, void (*then)(struct taken *t));
__asm__(".text\n"
        "without_pair:\n"
        "    .cfi_startproc\n"
        "    sub sp, sp, #1024\n"
        "    .cfi_def_cfa_offset 1024\n"
        "    str x30, [sp, #1016]\n"
        "    .cfi_offset 30, -8\n"
        "    blr x1\n"
        "    ldr x30, [sp, #1016]\n"
        "    .cfi_restore 30\n"
        "    add sp, sp, #1024\n"
        "    .cfi_def_cfa_offset 0\n"
        "    ret\n"
        "    .cfi_endproc\n"
        "    .size without_pair, . - without_pair\n");

static void take_below(struct taken *t)
{
    take(t);
    t->returns[t->n_returns++] =
        (uint64_t)(uintptr_t)__builtin_return_address(0);
}

/* Where the copy ends in such a function nobody knows who called it; that a place
 * is new is no reason to take the chain's word. */
static void chains_do_not_pass_over_a_caller(void **state)
{
    (void)state;
    struct chained *c = calloc(1, sizeof *c);
    struct taken *t = calloc(1, sizeof *t);
    without_pair(t, take_below);
    if (axp__libdw_load()) {
        set_chained(c, t);
        assert_int_equal(c->whole.copy, AXP__COPY_ENOUGH);
        memset(&c->chains, 0, sizeof c->chains);
        c->sample.n_stack = 1000;
        struct axp__unwound part = axp__unwind(&c->unwind, c->found, 512);
        assert_int_equal(part.copy, AXP__COPY_GUESSED);
        assert_int_equal(part.n, 3); /* take, take_below and that */
        assert_memory_equal(c->found, c->frames, 3 * sizeof *c->found);
        end_chained(c);
    } else {
        free(t);
        free(c);
    }
}
#endif

/* The kernel may end a chain where a page cannot be read. */
static void chains_that_end_early_are_known(void **state)
{
    (void)state;
    struct chained *c = begin_chained();
    if (!c) skip();
    c->sample.n_chain = DEPTH;
    struct axp__unwound part = unwind_part(c);
    assert_int_equal(part.copy, AXP__COPY_CUT);
    assert_true(part.n < c->whole.n);
    end_chained(c);
}

static void places_are_learned(void **state)
{
    (void)state;
    struct axp__chains *c = calloc(1, sizeof *c);
    uint64_t rng = 3;
    assert_int_equal(axp__chains_know(c, 77, false), AXP__LEADS_UNKNOWN);
    axp__chains_learn(c, 77, false, AXP__LEADS_ON);
    assert_int_equal(axp__chains_know(c, 77, false), AXP__LEADS_ON);
    axp__chains_learn(c, 77, false, AXP__LEADS_ASTRAY);
    axp__chains_learn(c, 77, false, AXP__LEADS_ON); /* once is enough */
    assert_int_equal(axp__chains_know(c, 77, false), AXP__LEADS_ASTRAY);
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t place = 1 + ts_random(&rng) % 100000;
        bool leads = place % 3;
        enum axp__leads known = axp__chains_know(c, place, false);
        enum axp__leads truth = leads ? AXP__LEADS_ON : AXP__LEADS_NOWHERE;
        assert_true(known == AXP__LEADS_UNKNOWN || known == truth ||
                    place == 77);
        axp__chains_learn(c, place, false, truth);
        if (place != 77)
            assert_int_equal(axp__chains_know(c, place, false), truth);
    }
    memset(c, 0, sizeof *c);
    for (uint64_t place = 1; place <= 1000; place++) /* none is pushed out */
        axp__chains_learn(c, place << 4, true, AXP__LEADS_ON);
    for (uint64_t place = 1; place <= 1000; place++)
        axp__chains_learn(c, place << 4, true, AXP__LEADS_ON);
    assert_int_equal(c->n_on, 1000);
    free(c);
}

/* A new place is judged by others of its kind. */
static void places_are_expected(void **state)
{
    (void)state;
    struct axp__chains *c = calloc(1, sizeof *c);
    assert_int_equal(axp__chains_know(c, 1, true), AXP__LEADS_UNKNOWN);
    for (uint64_t place = 100; place < 108; place++)
        axp__chains_learn(c, place, true, AXP__LEADS_ON);
    assert_int_equal(axp__chains_know(c, 1, true), AXP__LEADS_LIKELY);
    assert_int_equal(axp__chains_know(c, 1, false), AXP__LEADS_UNKNOWN);
    axp__chains_learn(c, 1, true, AXP__LEADS_ASTRAY);
    assert_int_equal(axp__chains_know(c, 1, true), AXP__LEADS_ASTRAY);
    assert_int_equal(axp__chains_know(c, 2, true), AXP__LEADS_UNKNOWN);
    for (unsigned i = 0; i < 100; i++) /* one is no more than one */
        axp__chains_learn(c, 140, true, AXP__LEADS_ON);
    assert_int_equal(axp__chains_know(c, 2, true), AXP__LEADS_UNKNOWN);
    for (uint64_t place = 200; place < 207; place++)
        axp__chains_learn(c, place, true, AXP__LEADS_ON);
    assert_int_equal(axp__chains_know(c, 2, true), AXP__LEADS_LIKELY);
    free(c);
}

/* ---- how much of a stack is copied -------------------------------------- */

static void use(struct axp__tiers *t, unsigned times, uint64_t bytes)
{
    while (times--)
        axp__tiers_used(t, bytes,
                        bytes > t->at[t->now].bytes ? AXP__COPY_CUT
                                                    : AXP__COPY_ENOUGH);
}

static uint32_t copied(const struct axp__tiers *t)
{
    return t->at[t->now].bytes;
}

#define LITTLE (AXP__HAS_CHAIN ? 1024u : 4096u)

static void as_much_is_copied_as_is_used(void **state)
{
    (void)state;
    struct axp__tiers t;
    axp__tiers_init(&t);
    use(&t, 1000, LITTLE / 4 * 3 + 1); /* no room for a call more */
    assert_int_equal(copied(&t), 16384);
    use(&t, 63, LITTLE / 4 * 3);
    assert_int_equal(copied(&t), 16384);
    use(&t, 1, LITTLE / 4 * 3);
    assert_int_equal(copied(&t), LITTLE);
    use(&t, 1000, LITTLE - 8); /* it had room, barely */
    assert_int_equal(copied(&t), LITTLE);
}

static void a_cut_stack_is_copied_whole_from_then_on(void **state)
{
    (void)state;
    struct axp__tiers t;
    axp__tiers_init(&t);
    use(&t, 64, 500);
    assert_int_equal(copied(&t), LITTLE);
    use(&t, 1, 10000);
    assert_int_equal(copied(&t), 16384);
    use(&t, 255, 500); /* it has to show more than before */
    assert_int_equal(copied(&t), 16384);
    use(&t, 1, 500);
    assert_int_equal(copied(&t), LITTLE);
}

static void what_was_guessed_is_learned_from_whole_stacks(void **state)
{
    (void)state;
    struct axp__tiers t;
    axp__tiers_init(&t);
    for (unsigned i = 0; i < 3; i++) {
        use(&t, 64, 500);
        assert_int_equal(copied(&t), LITTLE);
        axp__tiers_used(&t, 500, AXP__COPY_GUESSED);
        assert_int_equal(copied(&t), 16384);
        use(&t, 63, 500); /* it need not show more than before */
        assert_int_equal(copied(&t), 16384);
        use(&t, 1, 500);
    }
}

static void what_goes_deep_now_and_then_is_cut_ever_more_seldom(void **state)
{
    (void)state;
    struct axp__tiers t;
    axp__tiers_init(&t);
    unsigned n_cut = 0;
    for (unsigned i = 0; i < 100000; i++) {
        bool is_deep = i % 1000 == 999;
        n_cut += is_deep && copied(&t) < 10000;
        use(&t, 1, is_deep ? 10000 : 100);
    }
    assert_in_range(n_cut, 1, 8); /* of 100 */
}

static void without_tiers_the_most_is_copied(void **state)
{
    (void)state;
    struct axp__tiers t;
    axp__tiers_init(&t);
    t.n = 1;
    use(&t, 1000, 100);
    assert_int_equal(copied(&t), 16384);
}

/* ---- which CPUs, and what they cost ------------------------------------- */

/* A program may widen its affinity again; who asks keeps the one it has. */
static void cpus_are_those_that_may_be_had(void **state)
{
    cpu_set_t before, one, after;
    struct axp__cpus all, now;
    int first = -1;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    axp__cpus_reach(&all);
    assert_true(all.is_known);
    for (int i = CPU_SETSIZE - 1; i >= 0; i--) {
        if (CPU_ISSET(i, &before)) first = i;
        assert_true(!CPU_ISSET(i, &before) || axp__cpus_has(&all, i));
    }
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    axp__cpus_reach(&now);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_true(CPU_EQUAL(&one, &after));
    assert_true(now.is_known);
    assert_memory_equal(all.set, now.set, sizeof all.set);
    now.is_known = false;
    assert_true(axp__cpus_has(&now, 8191));
}

static int n_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* A machine that is busy may hide it, but not each time. */
static void to_be_followed_has_its_price(void **state)
{
    int n = n_files(), error;
    struct axp__perf_options how = {
        .pid = getpid(), .hz = 997, .is_blind = true};
    struct axp__perf *p = axp__perf_open(&how, &error);
    bool is_allowed = p;
    uint64_t ns = 0;
    (void)state;
    axp__perf_close(p);
    for (int i = 0; i < 20 && !ns; i++)
        ns = axp__toll_ns(997);
    assert_int_equal(ns > 0, is_allowed);
    assert_true(ns < 100000000);
    assert_int_equal(n_files(), n);
}

/* ---- code made at run time ---------------------------------------------- */

static void write_map(const char *text, bool is_more)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    int fd =
        open(path, O_WRONLY | O_CREAT | (is_more ? O_APPEND : O_TRUNC), 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static const char *name_at(struct axp__jit *j, uint64_t pc)
{
    struct axp__jit_code code;
    return axp__jit_find(j, pc, &code) ? code.path : "none";
}

static void maps_for_perf_are_read(void **state)
{
    (void)state;
    char path[64], link[64];
    struct axp__jit *j = axp__jit_create((uint32_t)getpid());
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    snprintf(link, sizeof link, "/tmp/axprof-jit-%d", (int)getpid());
    assert_string_equal(name_at(j, 0x1000), "none");
    usleep(60000); /* it looks again after 50 ms */
    write_map("1000 10 one\n"
              "zzz\n\n1 2\n4000 0 empty\nffffffffffffffff 10 around\n"
              "2000 100 a name\twith all \033[1m\n1008 8 within\n2000 10 new\n"
              "3000 10 half",
              false);
    assert_string_equal(name_at(j, 0x1000), "[jit] one");
    assert_string_equal(name_at(j, 0x1008), "[jit] within");
    assert_string_equal(name_at(j, 0x100f), "[jit] within");
    assert_string_equal(name_at(j, 0x200f), "[jit] new");
    assert_string_equal(name_at(j, 0x2010), "[jit] a name?with all ?[1m");
    assert_string_equal(name_at(j, 0x2100), "none");
    assert_string_equal(name_at(j, 0x4000), "none");
    assert_string_equal(name_at(j, UINT64_MAX), "none");
    write_map(" written\n", true);
    usleep(60000);
    assert_string_equal(name_at(j, 0x3000), "[jit] half written");
    char *late = calloc(1, 200000); /* one line too long, then what counts */
    memset(late, 'x', 199000);
    strcpy(late + 199000, "\n1000 10 two\n");
    write_map(late, true);
    free(late);
    usleep(60000);
    assert_string_equal(name_at(j, 0x1000), "[jit] two"); /* and not one */
    write_map("1000 10 three\n", false); /* written anew, and shorter */
    usleep(60000);
    assert_string_equal(name_at(j, 0x1000), "[jit] three");
    assert_string_equal(name_at(j, 0x3000), "none");
    axp__jit_destroy(j);
    assert_int_equal(rename(path, link), 0); /* a link is not followed */
    assert_int_equal(symlink(link, path), 0);
    j = axp__jit_create((uint32_t)getpid());
    assert_string_equal(name_at(j, 0x1000), "none");
    axp__jit_destroy(j);
    unlink(path);
    unlink(link);
}

/* ---- states ------------------------------------------------------------- */

struct given {
    struct axp__thread_states at[8];
    size_t n;
    struct axp__off off[8]; /* the first of them */
    size_t n_off;
};

static void give(void *ctx, const struct axp__thread_states *s)
{
    struct given *g = ctx;
    assert_true(g->n < 8);
    g->at[g->n++] = *s;
}

static void give_off(void *ctx, const struct axp__off *off)
{
    struct given *g = ctx;
    if (g->n_off < 8) g->off[g->n_off] = *off;
    g->n_off++;
}

static void tell(struct axp__states *s, uint32_t type, uint32_t tid,
                 uint64_t at, const char *turn)
{
    struct axp__perf_record r = {
        .type = type, .pid = 10, .tid = tid, .time_ns = at};
    if (type == PERF_RECORD_SWITCH) {
        r.turn.is_out = turn && turn[0] == 'o';
        r.turn.is_preempted = turn && turn[1] == 'p';
    }
    if (type == PERF_RECORD_COMM) {
        r.comm.is_exec = !turn;
        r.comm.name = turn ? turn : "first";
    }
    if (type == PERF_RECORD_FORK) r.fork.parent = 10;
    axp__states_take(s, &r);
}

/* A process that waits for 20 us to run, runs for 10, and ends after that. */
static void tell_child(struct axp__states *s, const char *name)
{
    struct axp__perf_record r = {
        .type = PERF_RECORD_FORK, .pid = 20, .tid = 20, .time_ns = 1000};
    r.fork.parent = 10;
    axp__states_take(s, &r);
    r = (struct axp__perf_record){
        .type = PERF_RECORD_SWITCH, .pid = 20, .tid = 20, .time_ns = 21000};
    axp__states_take(s, &r);
    if (name) {
        r.type = PERF_RECORD_COMM;
        r.comm.name = name;
        r.comm.is_exec = false;
        r.time_ns = 22000;
        axp__states_take(s, &r);
    }
    r = (struct axp__perf_record){
        .type = PERF_RECORD_EXIT, .pid = 20, .tid = 20, .time_ns = 31000};
    axp__states_take(s, &r);
}

/* What the recorder does in a child of its own is no process of the program's. */
static void states_of_the_recorder(void **state)
{
    (void)state;
    static const char *const names[] = {NULL, "worker", AXP__APART_NAME,
                                        "(axp0123456789)"};
    for (int i = 0; i < 4; i++) {
        struct given g = {.n = 0};
        size_t n = i < 2;
        struct axp__states *s =
            axp__states_create(&(struct axp__states_to){give, give_off, &g});
        tell_child(s, names[i]);
        axp__states_end(s, 40000);
        axp__states_destroy(s);
        assert_int_equal(g.n, n);
        assert_int_equal(g.n_off, n);
        if (!n) continue;
        assert_int_equal(g.at[0].ran_ns, 10000);
        assert_int_equal(g.at[0].ready_ns, 20000);
        assert_int_equal(g.off[0].begin_ns, 1000);
        assert_int_equal(g.off[0].end_ns, 21000);
        assert_true(g.off[0].is_ready);
    }
}

/* Nor is that its thread waits for one: that is ours, and the next wait is not. */
static void waits_for_the_recorder(void **state)
{
    (void)state;
    struct given g = {.n = 0};
    struct axp__states *s =
        axp__states_create(&(struct axp__states_to){give, give_off, &g});
    struct axp__perf_record r = {
        .type = PERF_RECORD_FORK, .pid = 20, .tid = 20, .time_ns = 2000};
    tell(s, PERF_RECORD_COMM, 10, 1000, NULL);
    r.fork.parent = r.fork.by = 10;
    axp__states_take(s, &r);
    tell(s, PERF_RECORD_SWITCH, 10, 3000, "o");
    r = (struct axp__perf_record){
        .type = PERF_RECORD_COMM, .pid = 20, .tid = 20, .time_ns = 4000};
    r.comm.name = AXP__APART_NAME;
    axp__states_take(s, &r);
    tell(s, PERF_RECORD_SWITCH, 10, 100000, "i");
    tell(s, PERF_RECORD_SWITCH, 10, 110000, "o");
    tell(s, PERF_RECORD_SWITCH, 10, 150000, "i");
    axp__states_end(s, 200000);
    axp__states_destroy(s);
    assert_int_equal(g.n_off, 1);
    assert_int_equal(g.off[0].begin_ns, 110000);
}

static void states_add_up(void **state)
{
    (void)state;
    struct given g = {.n = 0};
    struct axp__states *s =
        axp__states_create(&(struct axp__states_to){give, give_off, &g});
    tell(s, PERF_RECORD_COMM, 10, 1000, NULL);  /* runs */
    tell(s, PERF_RECORD_SWITCH, 10, 1100, "o"); /* waits after 100 */
    tell(s, PERF_RECORD_FORK, 11, 1100, NULL);  /* ready */
    tell(s, PERF_RECORD_SWITCH, 11, 1150, "i"); /* runs after 50 */
    tell(s, PERF_RECORD_COMM, 12, 1160, "a name that is far too long");
    tell(s, PERF_RECORD_SWITCH, 11, 1250, "op"); /* ready after 100 */
    tell(s, PERF_RECORD_SWITCH, 11, 1450, "i");  /* runs after 200 */
    tell(s, PERF_RECORD_EXIT, 11, 1500, NULL);   /* 50 more */
    tell(s, PERF_RECORD_SWITCH, 10, 1600, "i");  /* waited 500 */
    tell(s, PERF_RECORD_SWITCH, 12, 1700, "o");  /* of before: not known */
    tell(s, PERF_RECORD_EXIT, 99, 1700, NULL);   /* nobody's */
    tell(s, PERF_RECORD_FORK, 12, 1800, NULL);   /* its end was missed */
    axp__states_end(s, 2000);
    axp__states_destroy(s);
    assert_int_equal(g.n_off, 0); /* all are short */
    assert_int_equal(g.n, 4);
    assert_int_equal(g.at[0].tid, 11);
    assert_int_equal(g.at[0].ran_ns, 150);
    assert_int_equal(g.at[0].ready_ns, 250);
    assert_int_equal(g.at[0].waited_ns, 0);
    assert_int_equal(g.at[0].end_ticks - g.at[0].begin_ticks, 400);
    assert_string_equal(g.at[0].name, "first");
    assert_int_equal(g.at[1].tid, 12);
    assert_string_equal(g.at[1].name, "a name that is ");
    assert_int_equal(g.at[1].waited_ns, 100);
    for (size_t i = 2; i < 4; i++) {
        bool is_first = g.at[i].tid == 10;
        assert_int_equal(g.at[i].ran_ns, is_first ? 500 : 0);
        assert_int_equal(g.at[i].waited_ns, is_first ? 500 : 0);
        assert_int_equal(g.at[i].ready_ns, is_first ? 0 : 200);
    }
}

/* Another thread than the first becomes a program; records are missing. */
static void states_end_and_are_forgotten(void **state)
{
    (void)state;
    struct given g = {.n = 0};
    struct axp__states *s =
        axp__states_create(&(struct axp__states_to){give, give_off, &g});
    tell(s, PERF_RECORD_COMM, 10, 1000, NULL);
    tell(s, PERF_RECORD_FORK, 11, 1000, NULL);
    tell(s, PERF_RECORD_SWITCH, 11, 1000, "i");
    tell(s, PERF_RECORD_COMM, 10, 1500, NULL);
    assert_int_equal(g.n, 1); /* 11 is 10 now */
    assert_int_equal(g.at[0].tid, 11);
    assert_int_equal(g.at[0].ran_ns, 500);
    tell(s, PERF_RECORD_SAMPLE, 10, 1800, NULL); /* ran until then */
    tell(s, PERF_RECORD_LOST, 0, 2000, NULL);
    tell(s, PERF_RECORD_SAMPLE, 10, 8000, NULL);
    tell(s, PERF_RECORD_SWITCH, 10, 9000, "o");
    tell(s, PERF_RECORD_SWITCH, 12, 9060, "o");
    axp__states_end(s, 9100); /* 10 may have ended before */
    axp__states_destroy(s);
    assert_int_equal(g.n, 3);
    assert_int_equal(g.at[1].ran_ns, 800);
    assert_int_equal(g.at[1].waited_ns, 60);
    assert_int_equal(g.at[1].end_ticks, 9060);
}

static void states_ignored(void *ctx, const struct axp__thread_states *s)
{
    (void)ctx;
    (void)s;
}

static void give_place(void *ctx, const struct axp__off *off)
{
    uint64_t *sums = ctx;
    for (size_t i = 0; i < off->n_frames; i++)
        sums[off->end_ns / 100000] += off->frames[i];
}

/* Where a thread was when it left is told of that time off, and of no other. */
static void times_off_have_a_place(void **state)
{
    (void)state;
    static const uint64_t frames[] = {1, 20, 300};
    uint64_t sums[8] = {0};
    struct axp__states *s = axp__states_create(
        &(struct axp__states_to){states_ignored, give_place, sums});
    tell(s, PERF_RECORD_COMM, 10, 1000, NULL);
    axp__states_leaves(s, 10, frames, 3);
    tell(s, PERF_RECORD_SWITCH, 10, 2000, "o");
    tell(s, PERF_RECORD_SWITCH, 10, 100000, "i");
    tell(s, PERF_RECORD_SWITCH, 10, 110000, "o");
    tell(s, PERF_RECORD_SWITCH, 10, 200000, "i");
    axp__states_leaves(s, 10, frames, 1);
    axp__states_leaves(s, 99, frames, 3); /* nobody */
    tell(s, PERF_RECORD_SWITCH, 10, 210000, "op");
    tell(s, PERF_RECORD_SWITCH, 10, 300000, "i");
    axp__states_leaves(s, 10, frames + 1, 2);
    tell(s, PERF_RECORD_SWITCH, 10, 310000, "o");
    tell(s, PERF_RECORD_SWITCH, 10, 400000, "i");
    axp__states_leaves(s, 10, frames, 3);
    tell(s, PERF_RECORD_LOST, 0, 410000, NULL); /* when it left, among others */
    tell(s, PERF_RECORD_SWITCH, 10, 420000, "o");
    tell(s, PERF_RECORD_SWITCH, 10, 500000, "i");
    axp__states_end(s, 510000);
    axp__states_destroy(s);
    assert_int_equal(sums[1], 321);
    assert_int_equal(sums[2], 0);
    assert_int_equal(sums[3], 1);
    assert_int_equal(sums[4], 320);
    assert_int_equal(sums[5], 0);
}

/* Each time off a processor from 10 µs on; then, of very many, the longer. */
/* Waits when it is known how long of them a thread was ready. */
static void times_off_are_told(void **state)
{
    (void)state;
    struct given g = {.n = 0};
    struct axp__states *s =
        axp__states_create(&(struct axp__states_to){give, give_off, &g});
    uint64_t now = 1000;
    tell(s, PERF_RECORD_COMM, 10, now, NULL);
    static const struct {
        const char *out;
        uint64_t ns;
    } times[] = {{"o", 9999}, {"o", 10000}, {"op", 30000}, {"o", 50000}};
    for (size_t i = 0; i < 4; i++) {
        tell(s, PERF_RECORD_SWITCH, 10, now += 5000, times[i].out);
        tell(s, PERF_RECORD_SWITCH, 10, now += times[i].ns, "i");
    }
    assert_int_equal(g.n_off, 1);
    axp__states_end(s, now);
    axp__states_destroy(s);
    assert_int_equal(g.n_off, 3);
    static const size_t order[] = {2, 1, 3};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(g.off[i].tid, 10);
        assert_int_equal(g.off[i].is_ready, i == 0);
        assert_int_equal(g.off[i].end_ns - g.off[i].begin_ns,
                         times[order[i]].ns);
    }
    assert_int_equal(g.off[2].end_ns, now);
}

/* Of those that are told twice as long ones alone, as many as wait to be told may
 * be more. */
static void short_times_off_are_told_so_often(void **state)
{
    (void)state;
    struct given g = {.n = 0};
    struct axp__states *s =
        axp__states_create(&(struct axp__states_to){give, give_off, &g});
    uint64_t now = 1000;
    tell(s, PERF_RECORD_COMM, 10, now, NULL);
    for (uint32_t i = 0; i < 1000000; i++) {
        tell(s, PERF_RECORD_SWITCH, 10, now += 1, "o");
        tell(s, PERF_RECORD_SWITCH, 10, now += 15000, "i");
    }
    ts_assert_between(262144, (double)g.n_off, 262144 + 32768);
    size_t n = g.n_off;
    tell(s, PERF_RECORD_SWITCH, 10, now += 1, "o");
    tell(s, PERF_RECORD_SWITCH, 10, now += 20000, "i");
    axp__states_end(s, now);
    axp__states_destroy(s);
    assert_int_equal(g.n_off, n + 1);
}

static uint64_t own_delay_ns(void)
{
    char text[128] = "", *rest = text;
    FILE *f = fopen("/proc/thread-self/schedstat", "re");
    if (!f) return 0;
    if (!fgets(text, sizeof text, f)) text[0] = 0;
    fclose(f);
    (void)strtoull(text, &rest, 10);
    return strtoull(rest, NULL, 10);
}

static void *spin(void *arg)
{
    const _Atomic int *is_over = arg;
    while (!*is_over) {}
    return NULL;
}

/* On the processor of another, until it has wanted one for 2 ms in all; false: it
 * cannot be made to, or nobody says. */
static bool be_delayed(void)
{
    _Atomic int is_over = 0;
    pthread_t other;
    cpu_set_t was, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof was, &was)) return false;
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one)) return false;
    assert_int_equal(pthread_create(&other, NULL, spin, &is_over), 0);
    uint64_t begin = axp__clock_of(CLOCK_MONOTONIC);
    while (own_delay_ns() < 2000000 &&
           axp__clock_of(CLOCK_MONOTONIC) - begin < 2000000000) {}
    is_over = 1;
    pthread_join(other, NULL);
    sched_setaffinity(0, sizeof was, &was);
    return own_delay_ns() >= 2000000;
}

/* What /proc says of a thread is of all its life: where that began before the
 * records, its first waits have nothing of it. */
static void who_was_there_before_is_not_known(void **state)
{
    (void)state;
    uint32_t pid = (uint32_t)getpid();
    const uint64_t wait_ns = 10000000000; /* longer than anybody is delayed */
    if (!be_delayed() || own_delay_ns() > wait_ns / 2) skip();
    for (int is_new = 0; is_new < 2; is_new++) {
        struct given g = {.n = 0};
        uint64_t now = axp__clock_of(CLOCK_MONOTONIC_RAW) - 2 * wait_ns;
        struct axp__tasks *tasks = axp__tasks_create();
        struct axp__states *s =
            axp__states_create(&(struct axp__states_to){give, give_off, &g});
        struct axp__perf_record r = {.type = is_new ? PERF_RECORD_FORK
                                                    : PERF_RECORD_SWITCH,
                                     .pid = pid,
                                     .tid = pid,
                                     .time_ns = now};
        axp__states_take(s, &r);
        r.type = PERF_RECORD_SWITCH;
        for (int i = 0; i < 3; i++) { /* runs, waits, runs */
            r.turn.is_out = i == 1;
            r.time_ns = now += i == 2 ? wait_ns : 1000;
            axp__states_take(s, &r);
        }
        assert_true(axp__tasks_begin(tasks));
        assert_true(axp__tasks_look(tasks, pid));
        axp__tasks_end(tasks);
        axp__states_look(s, tasks);
        axp__states_end(s, axp__clock_of(CLOCK_MONOTONIC_RAW));
        axp__states_destroy(s);
        axp__tasks_destroy(tasks);
        assert_int_equal(g.n_off, is_new ? 2 : 1);
        assert_false(g.off[0].is_ready);
        if (is_new) assert_true(g.off[1].is_ready);
    }
}

static void state_bytes_come_back(void **state)
{
    (void)state;
    uint8_t bytes[AXP__STATES_BYTES];
    struct axp__thread_states s = {7, UINT64_MAX,       5, 9, UINT64_MAX, 0,
                                   1, "fifteen letters"};
    size_t n = axp__states_put(bytes, &s);
    for (size_t len = 0; len <= n; len++) {
        struct axp__bytes b = {bytes, bytes + len, false};
        struct axp__thread_states got = axp__states_get(&b);
        assert_int_equal(b.is_bad, len < n);
        if (len == n) assert_memory_equal(&got, &s, sizeof s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_what_was_mapped_last),
        cmocka_unit_test(many_processes_come_and_go),
        cmocka_unit_test(own_stacks_are_found),
        cmocka_unit_test(nonsense_is_no_harm),
        cmocka_unit_test(chains_go_on_where_a_copy_ends),
        cmocka_unit_test(chains_that_lead_astray_are_known),
#if defined(__aarch64__)
        cmocka_unit_test(chains_do_not_pass_over_a_caller),
#endif
        cmocka_unit_test(chains_that_end_early_are_known),
        cmocka_unit_test(places_are_learned),
        cmocka_unit_test(places_are_expected),
        cmocka_unit_test(as_much_is_copied_as_is_used),
        cmocka_unit_test(what_was_guessed_is_learned_from_whole_stacks),
        cmocka_unit_test(a_cut_stack_is_copied_whole_from_then_on),
        cmocka_unit_test(what_goes_deep_now_and_then_is_cut_ever_more_seldom),
        cmocka_unit_test(without_tiers_the_most_is_copied),
        cmocka_unit_test(cpus_are_those_that_may_be_had),
        cmocka_unit_test(to_be_followed_has_its_price),
        cmocka_unit_test(maps_for_perf_are_read),
        cmocka_unit_test(states_of_the_recorder),
        cmocka_unit_test(waits_for_the_recorder),
        cmocka_unit_test(states_add_up),
        cmocka_unit_test(states_end_and_are_forgotten),
        cmocka_unit_test(who_was_there_before_is_not_known),
        cmocka_unit_test(times_off_are_told),
        cmocka_unit_test(short_times_off_are_told_so_often),
        cmocka_unit_test(times_off_have_a_place),
        cmocka_unit_test(state_bytes_come_back),
    };
    return TS_RUN(tests);
}
