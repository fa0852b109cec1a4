/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stacks as the memory adapter walks them are those of glibc's backtrace(),
 * through frames of all kinds and on stacks of all kinds; and whatever is found
 * where a frame should be, the walk ends and nothing breaks.
 *
 * All but the functions of walk_frames.c are compiled without frame pointers.
 */
#include "test_support.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "adapters/memory/memory_rows.h"
#include "walk_pair.h"

struct walk_pair walk_pair;
enum memory_stacks walk_how = MEMORY_STACKS_UNWIND;
uint32_t walk_max = MEMORY_FRAMES;

int walk_frames(int depth);
int walk_over(void (*through)(void (*)(void)), void (*call)(void));
void walk_cpp_sort(void);
void walk_cpp_function(void);
void walk_cpp_new(void);

/* ---- taking and comparing ------------------------------------------------ */

/* A sanitizer's frames may come before ours in theirs. */
WALK_NOINLINE void walk_take(void)
{
    struct walk_pair *p = &walk_pair;
    errno = 77;
    memory_walk(&p->ours, walk_how, walk_max);
    assert_int_equal(errno, 77);
    void *all[256];
    int n = backtrace(all, 256), first = 0;
    while (first < n && (uintptr_t)all[first] != p->ours.frames[0])
        first++;
    p->n_theirs = n - first;
    memcpy(p->theirs, all + first, (size_t)(n - first) * sizeof *all);
    WALK_STAY();
}

static void print_both(void)
{
    char **names = backtrace_symbols(walk_pair.theirs, walk_pair.n_theirs);
    for (int i = 0; i < MEMORY_FRAMES; i++) {
        bool has_ours = i < (int)walk_pair.ours.n;
        bool has_theirs = i < walk_pair.n_theirs;
        if (!has_ours && !has_theirs) break;
        print_message("%2d %16llx %s\n", i,
                      has_ours ? (unsigned long long)walk_pair.ours.frames[i]
                               : 0,
                      has_theirs ? names[i] : "-");
    }
    free(names);
}

void walk_same(int n)
{
    int all = walk_pair.n_theirs;
    if (all > (int)walk_max) all = (int)walk_max;
    if (!n) n = all;
    bool is_same = n > 0 && n <= all && (int)walk_pair.ours.n >= n;
    if (n == all && (int)walk_pair.ours.n != n) is_same = false;
    for (int i = 0; i < n && is_same; i++)
        is_same = walk_pair.ours.frames[i] == (uintptr_t)walk_pair.theirs[i];
    if (!is_same) print_both();
    assert_true(is_same);
    memset(&walk_pair, 0, sizeof walk_pair);
}

/* ---- frames -------------------------------------------------------------- */

#define FRAME(name, next, bytes)                                               \
    static WALK_NOINLINE int name(int x)                                       \
    {                                                                          \
        volatile char pad[bytes];                                              \
        pad[0] = (char)x;                                                      \
        int y = next(x + 1);                                                   \
        return y + pad[0];                                                     \
    }

static WALK_NOINLINE int bottom(int x)
{
    walk_take();
    WALK_STAY();
    return x;
}

FRAME(frame_1, bottom, 8)
FRAME(frame_2, frame_1, 100)
FRAME(frame_3, frame_2, 24)
FRAME(frame_4, frame_3, 4096)
FRAME(frame_5, frame_4, 1)
FRAME(frame_6, frame_5, 16)
FRAME(frame_7, frame_6, 1000)
FRAME(frame_8, frame_7, 65)
FRAME(frame_9, frame_8, 8)
FRAME(frame_10, frame_9, 12345)
FRAME(frame_11, frame_10, 72)
FRAME(frame_12, frame_11, 120)
FRAME(frame_13, frame_12, 3)
FRAME(frame_14, frame_13, 300)
FRAME(frame_15, frame_14, 17)
FRAME(frame_16, frame_15, 40000)
FRAME(frame_17, frame_16, 64)
FRAME(frame_18, frame_17, 9)
FRAME(frame_19, frame_18, 500)
FRAME(frame_20, frame_19, 2)
FRAME(frame_large, frame_20, 300000)

static void frames_of_many_sizes(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) { /* new, and known */
        frame_large(i);
        walk_same(0);
    }
}

static WALK_NOINLINE int with_array(int n)
{
    volatile char bytes[n];
    bytes[0] = 1;
    char *more = alloca((size_t)n * 3);
    memset(more, 0, (size_t)n * 3);
    int x = n > 10 ? with_array(n / 2) : frame_3(n);
    return x + bytes[0] + more[n];
}

static void frames_of_changing_sizes(void **state)
{
    (void)state;
    with_array(900);
    walk_same(0);
}

static WALK_NOINLINE int aligned(int n)
{
    _Alignas(64) volatile char bytes[64];
    volatile char more[n];
    more[0] = bytes[0] = 1;
    int x = n > 4 ? aligned(n - 3) : frame_2(n);
    return x + bytes[0] + more[0];
}

static void realigned_frames(void **state)
{
    (void)state;
    aligned(20);
    walk_same(0);
}

static int compare(const void *a, const void *b)
{
    if (!walk_pair.ours.n) frame_1(0);
    return *(const int *)a - *(const int *)b;
}

static void a_callback_of_qsort(void **state)
{
    int v[50];
    (void)state;
    for (int i = 0; i < 50; i++)
        v[i] = i * 37 % 50;
    qsort(v, 50, sizeof *v, compare);
    assert_int_equal(v[49], 49);
    walk_same(0);
}

static void through_libstdcxx(void **state)
{
    (void)state;
    walk_cpp_sort();
    walk_cpp_function();
    if (!TS_SLOW) walk_cpp_new(); /* a sanitizer has its own operator new */
}

static void frame_pointers(void **state)
{
    (void)state;
    walk_how = MEMORY_STACKS_FP;
    walk_frames(25);
    walk_how = MEMORY_STACKS_UNWIND;
    walk_same(26);
    for (int i = 0; i < 3; i++) {
        walk_frames(25);
        walk_same(0);
    }
}

/* ---- code of other kinds ------------------------------------------------- */

#define WITHIN __attribute__((visibility("hidden")))
/* A frame pointer and 96 bytes, and no table; it may be copied anywhere. */
WITHIN void untabled(void (*call)(void));
extern WITHIN const char untabled_end[];
/* Has saved its caller's frame pointer, and uses the register otherwise. */
WITHIN void borrowing(void (*call)(void));
__asm__(".text\n"
        ".balign 16\n"
#if defined(__x86_64__)
        "untabled: push %rbp\n mov %rsp, %rbp\n sub $96, %rsp\n"
        "call *%rdi\n leave\n ret\n"
        "untabled_end:\n"
        "borrowing: .cfi_startproc\n"
        "push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset 6, -16\n"
        "mov $5, %ebp\n call *%rdi\n"
        "pop %rbp\n .cfi_def_cfa_offset 8\n ret\n"
#else
        "untabled: stp x29, x30, [sp, -112]!\n mov x29, sp\n"
        "blr x0\n ldp x29, x30, [sp], 112\n ret\n"
        "untabled_end:\n"
        "borrowing: .cfi_startproc\n"
        "stp x29, x30, [sp, -32]!\n .cfi_def_cfa_offset 32\n"
        ".cfi_offset 29, -32\n .cfi_offset 30, -24\n"
        "mov x29, 5\n blr x0\n"
        "ldp x29, x30, [sp], 32\n .cfi_def_cfa_offset 0\n ret\n"
#endif
        ".cfi_endproc\n");

static WALK_NOINLINE void tabled(void (*call)(void))
{
    call();
    WALK_STAY();
}

static void *copy_code(size_t size)
{
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t from = (uintptr_t)untabled;
    memcpy(map, (const void *)from, (uintptr_t)untabled_end - from);
    mprotect(map, size, PROT_READ | PROT_EXEC);
    __builtin___clear_cache(map, map + size);
    return map;
}

static WALK_NOINLINE void walk_through(void (*way)(void (*)(void)))
{
    walk_over(way, walk_take);
    WALK_STAY();
}

/* Of an object that has no table for it, and of none: their frame pointers lead
 * to a function that has one, too, and what is above it has none. */
static void over_frames_without_rows(void **state)
{
    size_t size = 4096;
    void *copy = copy_code(size);
    void (*ways[])(void (*)(void)) = {tabled, untabled, NULL};
    struct memory_stack first = {0};
    (void)state;
    memcpy(&ways[2], &copy, sizeof copy);
    for (volatile int i = 0; i < 6; i++) { /* one call, not six */
        if (i < 3) memory_rows_forget();   /* new, and known */
        walk_through(ways[i % 3]);
        if (!i) first = walk_pair.ours;
        assert_int_equal(walk_pair.ours.n, first.n);
        assert_memory_equal(walk_pair.ours.frames + 1, first.frames + 1,
                            (first.n - 1) * sizeof *first.frames);
        if (i % 3 == 0) walk_same(0);
    }
    munmap(copy, size);
}

static int n_left;

static void again(void);

/* With frame pointers and without, in turn. */
static WALK_NOINLINE void in_turn(void (*call)(void))
{
    volatile char bytes[72];
    bytes[0] = 1;
    if (n_left-- <= 0)
        call();
    else if (n_left % 3)
        walk_over(in_turn, call);
    else
        walk_over(borrowing, again);
    bytes[1] = bytes[0];
}

static WALK_NOINLINE void again(void)
{
    in_turn(walk_take);
    WALK_STAY();
}

static void frames_of_both_kinds(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        n_left = i % 10;
        in_turn(walk_take);
        walk_same(0);
    }
}

/* ---- how much ------------------------------------------------------------ */

static WALK_NOINLINE int recurse(int depth)
{
    int x = depth ? recurse(depth - 1) : bottom(0);
    WALK_STAY();
    return x + 1;
}

static void no_more_than_asked_for(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= MEMORY_FRAMES; n++) {
        walk_max = n;
        recurse(150);
        assert_int_equal(walk_pair.ours.n, n);
        walk_same((int)n);
    }
    walk_max = 1000;
    recurse(20000);
    assert_int_equal(walk_pair.ours.n, MEMORY_FRAMES);
    walk_max = MEMORY_FRAMES;
    walk_same(MEMORY_FRAMES);
}

static void nothing(void **state)
{
    (void)state;
    walk_how = MEMORY_STACKS_NONE;
    bottom(0);
    assert_int_equal(walk_pair.ours.n, 0);
    assert_int_equal(walk_pair.ours.hash, 0);
    walk_how = MEMORY_STACKS_UNWIND;
    walk_max = 0;
    bottom(0);
    assert_int_equal(walk_pair.ours.n, 0);
    walk_max = MEMORY_FRAMES;
}

static void hashes(void **state)
{
    static struct memory_stack seen[60];
    (void)state;
    for (int i = 0; i < 60; i++) {
        recurse(i % 30);
        seen[i] = walk_pair.ours;
        assert_true(seen[i].hash);
        for (int j = 0; j < i; j++) {
            bool is_same = seen[i].n == seen[j].n &&
                           !memcmp(seen[i].frames, seen[j].frames,
                                   seen[i].n * sizeof *seen[i].frames);
            assert_true(is_same == (seen[i].hash == seen[j].hash));
        }
    }
    assert_int_not_equal(seen[0].hash, seen[1].hash);
}

/* ---- stacks -------------------------------------------------------------- */

static sigjmp_buf back;

/* qemu-user does not align their stacks (7.2). */
#if AXP_EMULATED && defined(__x86_64__)
#define HANDLER __attribute__((force_align_arg_pointer))
#else
#define HANDLER
#endif

HANDLER static void on_signal(int number)
{
    frame_3(number);
    WALK_STAY();
}

HANDLER static void on_fault(int number)
{
    frame_3(number);
    siglongjmp(back, 1);
}

static WALK_NOINLINE void fault(void)
{
    __builtin_trap(); /* in the middle of a function that has no frame */
}

static WALK_NOINLINE void fault_in_frame(void)
{
    volatile char bytes[300];
    bytes[1] = bytes[0] = 1;
    __builtin_trap(); /* of one that calls nobody */
}

static void set_handler(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    sigaction(SIGTRAP, &action, NULL);
}

static WALK_NOINLINE int raise_it(int x)
{
    volatile char bytes[77];
    bytes[0] = (char)x;
    raise(SIGUSR1);
    return bytes[0];
}

/* The frames of the handler, and what is below it as well. */
static void handlers(int flags)
{
    set_handler(on_signal, flags);
    raise_it(1);
    walk_same(0);
    set_handler(on_fault, flags);
    if (!sigsetjmp(back, 1)) fault();
    walk_same(0);
    if (!sigsetjmp(back, 1)) fault_in_frame();
    walk_same(0);
    set_handler(SIG_DFL, 0);
}

static void signal_handlers(void **state)
{
    static char bytes[64 * 1024];
    stack_t stack = {.ss_sp = bytes, .ss_size = sizeof bytes}, old;
    (void)state;
    handlers(0);
    sigaltstack(&stack, &old);
    handlers(SA_ONSTACK);
    sigaltstack(&old, NULL);
}

static void on_overflow(int number)
{
    walk_take();
    siglongjmp(back, number);
}

static WALK_NOINLINE int overflow(int x)
{
    volatile char bytes[500];
    bytes[0] = (char)x;
    return (x < 1 << 30 ? overflow(x + 1) : 0) + bytes[0];
}

/* The stack pointer that the signal saved points to what cannot be read. */
static void *in_overflow(void *unused)
{
    static char bytes[64 * 1024];
    stack_t stack = {.ss_sp = bytes, .ss_size = sizeof bytes};
    struct sigaction action = {.sa_handler = on_overflow,
                               .sa_flags = SA_ONSTACK},
                     old;
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, &old);
    if (!sigsetjmp(back, 1)) overflow(0);
    sigaction(SIGSEGV, &old, NULL);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    return unused;
}

static void a_stack_that_overflowed(void **state)
{
    pthread_t thread;
    (void)state;
    if (TS_SLOW || AXP_EMULATED) return; /* they look at stacks themselves */
    assert_false(pthread_create(&thread, NULL, in_overflow, NULL));
    pthread_join(thread, NULL);
    walk_same(2);
}

static void *in_thread(void *unused)
{
    frame_20(1);
    return unused;
}

static void threads_of_their_own(void **state)
{
    pthread_t thread;
    pthread_attr_t attr;
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_false(pthread_create(&thread, NULL, in_thread, NULL));
        pthread_join(thread, NULL);
        walk_same(0);
    }
    size_t size = 1 << 20;
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, bytes, size);
    assert_false(pthread_create(&thread, &attr, in_thread, NULL));
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    walk_same(0);
    munmap(bytes, size);
}

static ucontext_t here, there;

static void in_context(void)
{
    frame_20(1);
    with_array(100);
}

/* Between pages that cannot be read, and in the heap. */
static void other_stacks(void **state)
{
    size_t size = 256 * 1024, page = (size_t)sysconf(_SC_PAGESIZE);
    (void)state;
    for (int i = 0; i < 2; i++) {
        char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(bytes, page, PROT_NONE);
        mprotect(bytes + size - page, page, PROT_NONE);
        getcontext(&there);
        there.uc_stack.ss_sp = bytes + page;
        there.uc_stack.ss_size = size - 2 * page;
        there.uc_link = &here;
        makecontext(&there, in_context, 0);
        swapcontext(&here, &there);
        walk_same(0);
        munmap(bytes, size);
    }
}

static void children(void **state)
{
    int status;
    (void)state;
    pid_t child = fork();
    if (!child) {
        frame_20(1);
        walk_same(0);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- objects that go ----------------------------------------------------- */

static void run_plugin(const char *path, uintptr_t *pc)
{
    void *handle = dlopen(path, RTLD_NOW);
    if (!handle) fail_msg("%s", dlerror());
    int (*plugin)(void (*)(void));
    void *address = dlsym(handle, "walk_plugin");
    memcpy(&plugin, &address, sizeof plugin);
    for (int i = 0; i < 2; i++) {
        plugin(walk_take);
        *pc = (uintptr_t)walk_pair.ours.frames[0];
        walk_same(0);
    }
    dlclose(handle);
    memory_rows_forget();
}

static void another_object_at_the_same_place(void **state)
{
    uintptr_t first = 0, second = 0;
    (void)state;
    run_plugin(WALK_PLUGIN_1000, &first);
    run_plugin(WALK_PLUGIN_2000, &second);
    /* Or else this has shown nothing. A sanitizer keeps what was loaded. */
    if (!TS_SLOW && !AXP_EMULATED) assert_int_equal(first, second);
}

/* ---- many at once -------------------------------------------------------- */

static int is_over;

static WALK_NOINLINE int take_own(struct memory_stack *out, int depth)
{
    volatile char bytes[100];
    bytes[0] = 1;
    if (depth)
        take_own(out, depth - 1);
    else
        memory_walk(out, walk_how, MEMORY_FRAMES_DEFAULT);
    WALK_STAY();
    return bytes[0];
}

/* But for one frame, at most: a compiler may write a loop's call twice. */
static bool is_like(const struct memory_stack *a, const struct memory_stack *b)
{
    uint32_t n_other = 0;
    for (uint32_t i = 0; i < a->n && i < b->n; i++)
        n_other += a->frames[i] != b->frames[i];
    return a->n == b->n && n_other <= 1 && (a->hash == b->hash) == !n_other;
}

/* The same each time, whatever others do. Returns how often it was not. */
static void *in_crowd(void *unused)
{
    struct memory_stack stacks[10];
    uintptr_t n_wrong = 0;
    (void)unused;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
        for (int depth = 3; depth < 20; depth += 4) {
            for (int i = 0; i < 10; i++)
                take_own(&stacks[i], depth);
            for (int i = 1; i < 10; i++)
                n_wrong += stacks[i].n < 3 || !is_like(&stacks[i], &stacks[0]);
        }
    return (void *)n_wrong;
}

static void while_rows_are_forgotten(void **state)
{
    pthread_t threads[4];
    (void)state;
    is_over = 0;
    for (int i = 0; i < 4; i++)
        assert_false(pthread_create(&threads[i], NULL, in_crowd, NULL));
    for (int i = 0; i < 200; i++) {
        memory_rows_forget();
        usleep(100);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++) {
        void *n_wrong;
        pthread_join(threads[i], &n_wrong);
        assert_null(n_wrong);
    }
}

/* ---- garbage ------------------------------------------------------------- */

#define N_WORDS 1024u
static uint64_t random_state = 1;

static uint64_t random_number(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Mostly what might be taken for a frame's: places in the same words, a little
 * beyond them, code; and numbers of any kind. */
static uintptr_t garbage(uintptr_t base)
{
    uint64_t r = random_number();
    switch (r >> 60) {
    case 0: return (uintptr_t)(r << 4);
    case 1: return (uintptr_t)(r << 4 | 0xffff000000000000u);
    case 2: return (uintptr_t)(r & 0xffff);
    case 3: return base + N_WORDS * 8 - (r & 31);
    case 4: return base + (r & 0x3ffff);
    case 5: return base - (r & 0xffff);
    case 6: return UINTPTR_MAX - (r & 31);
    case 7: return (uintptr_t)__builtin_frame_address(0) + (r & 0xffff);
    case 8:
    case 9: return (uintptr_t)qsort + (r & 0xffff);
    case 10: return (uintptr_t)frame_20 + (r & 0xfff);
    default: return base + (r & (N_WORDS - 1)) * 8;
    }
}

/* Words up to the last before a page that cannot be read. */
static uintptr_t *map_words(size_t *size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = (N_WORDS * 8 + page - 1) & ~(page - 1);
    *size = bytes + page;
    char *map = mmap(NULL, *size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(map + bytes, page, PROT_NONE);
    return (uintptr_t *)(void *)(map + bytes - N_WORDS * 8);
}

static void walk_garbage(uintptr_t *words)
{
    for (uint32_t i = 0; i < N_WORDS; i++)
        words[i] = garbage((uintptr_t)words);
    for (uint32_t i = 0; i < N_WORDS - 1; i += 5) {
        uint32_t n = (uint32_t)(random_number() % 70);
        enum memory_stacks how =
            i & 1 ? MEMORY_STACKS_FP : MEMORY_STACKS_UNWIND;
        memory_walk_from(&walk_pair.ours, how, n, words + i);
        assert_true(walk_pair.ours.n <= MEMORY_FRAMES);
        assert_true(walk_pair.ours.n <= n);
    }
}

static void whatever_is_there(void **state)
{
    size_t size;
    uintptr_t *words = map_words(&size);
    (void)state;
    for (int i = 0; i < (AXP_EMULATED || TS_SLOW ? 20 : 200); i++)
        walk_garbage(words);
    char *end = (char *)(words + N_WORDS);
    munmap(end + sysconf(_SC_PAGESIZE) - size, size);
}

static uintptr_t lost;

/* Whoever was interrupted has a stack pointer that is none, in the middle of a
 * function. */
HANDLER static void on_signal_lost(int number, siginfo_t *info, void *p)
{
    ucontext_t *context = p;
    mcontext_t real = context->uc_mcontext;
    (void)number;
    (void)info;
#if defined(__x86_64__)
    context->uc_mcontext.gregs[REG_RSP] = 0x12345678000;
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)lost;
#else
    context->uc_mcontext.sp = 0x12345678000;
    context->uc_mcontext.pc = lost;
#endif
    memory_walk(&walk_pair.ours, MEMORY_STACKS_UNWIND, 10);
    context->uc_mcontext = real;
}

static void a_signal_frame_of_garbage(void **state)
{
    struct sigaction action = {.sa_sigaction = on_signal_lost,
                               .sa_flags = SA_SIGINFO};
    (void)state;
    if (TS_TSAN) return; /* which calls handlers itself */
    frame_20(0);
    lost = walk_pair.ours.frames[20]; /* in frame_20, after its call */
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    set_handler(SIG_DFL, 0);
    assert_int_equal(walk_pair.ours.n, 2);
    assert_int_equal(walk_pair.ours.frames[1], lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_many_sizes),
        cmocka_unit_test(frames_of_changing_sizes),
        cmocka_unit_test(realigned_frames),
        cmocka_unit_test(a_callback_of_qsort),
        cmocka_unit_test(through_libstdcxx),
        cmocka_unit_test(frame_pointers),
        cmocka_unit_test(over_frames_without_rows),
        cmocka_unit_test(frames_of_both_kinds),
        cmocka_unit_test(no_more_than_asked_for),
        cmocka_unit_test(nothing),
        cmocka_unit_test(hashes),
        cmocka_unit_test(signal_handlers),
        cmocka_unit_test(a_stack_that_overflowed),
        cmocka_unit_test(threads_of_their_own),
        cmocka_unit_test(other_stacks),
        cmocka_unit_test(children),
        cmocka_unit_test(another_object_at_the_same_place),
        cmocka_unit_test(while_rows_are_forgotten),
        cmocka_unit_test(whatever_is_there),
        cmocka_unit_test(a_signal_frame_of_garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
