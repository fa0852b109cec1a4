/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Samples of a program by timers of its own, one a thread, that count its
 * processor time: for where perf_event_open is not allowed (containers, often).
 * Only registers and stack are copied here, into the ring that axprof reads
 * (axprof_ring.h); what they mean is found out there.
 *
 * Signal     SIGURG, which does nothing by default: a program that takes its
 *            signals back is not killed. One that wants it for itself gets it,
 *            and no more samples are taken. SA_RESTART; a call that waits with a
 *            limit of its own may still return early, as after any signal.
 * Rate       the kernel looks at such timers with its clock tick: 250 to 1000
 *            times a second, whatever was asked for. A sample stands for the
 *            processor time since the one before it.
 * Handler    no lock, no allocation, errno kept; the stack is read up to its
 *            known end, or to the end of a page where it is not known.
 * Filters    of system calls, which a program sets for all of its threads at once,
 *            wait until no timer is being made or deleted and no handler runs: that
 *            ends in a system call. A handler has all signals blocked, by which
 *            /proc shows it from its very begin to its very end.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <axprof/axprof_adapter.h>
#include <axprof/axprof_ring.h>

#include "timer_real.h"
#include "adapters/common/common_clock.h"
#include "adapters/common/common_own.h"

#define WRAPPER __attribute__((visibility("default")))
#define THE_SIGNAL SIGURG
#define PAGE 4096u
#define MOST_TIMERS 4096u
enum { TAKEN = 1, RUNNING };

static axp_ring *ring; /* NULL: nothing is to be done */
static uint64_t pid_namespace;
static int is_given_up;

static int is_quiet;      /* nothing is asked of the kernel */
static uint32_t n_asking; /* threads that ask it something about timers */

/* All that there are, so that whoever has to can delete them. */
static struct {
    timer_t timer;
    pid_t thread;     /* whose it is, or was */
    uint32_t is_used; /* 0, TAKEN or RUNNING */
} timers[MOST_TIMERS];

static __thread struct {
    uint32_t timer;                 /* 1 + its place; 0: none */
    uintptr_t stack_low, stack_end; /* 0: not known */
    uint64_t seen_ns;               /* processor time at the last sample */
} self __attribute__((tls_model("initial-exec")));

/* ---- samples ------------------------------------------------------------ */

/* The stack pointer. */
static uintptr_t copy_registers(uint64_t *to, const ucontext_t *from)
{
#if defined(__x86_64__)
    static const uint8_t order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI,
                                    REG_RDI, REG_RBP, REG_RSP, REG_RIP, REG_R8,
                                    REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13,
                                    REG_R14, REG_R15};
    for (size_t i = 0; i < sizeof order; i++)
        to[i] = (uint64_t)from->uc_mcontext.gregs[order[i]];
    return (uintptr_t)from->uc_mcontext.gregs[REG_RSP];
#else
    for (size_t i = 0; i < 31; i++)
        to[i] = from->uc_mcontext.regs[i];
    to[31] = from->uc_mcontext.sp;
    to[32] = from->uc_mcontext.pc;
    return (uintptr_t)from->uc_mcontext.sp;
#endif
}

static uint32_t bytes_from(uintptr_t sp)
{
    uintptr_t end = self.stack_end;
    bool is_known = self.stack_low <= sp && sp < end; /* or a fibre's */
    if (!is_known) end = (sp + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    return end - sp < AXP_RING_STACK ? (uint32_t)(end - sp) : AXP_RING_STACK;
}

/* NULL: the reader is behind. */
static axp_ring_slot *take_slot(uint64_t *number)
{
    uint64_t taken = __atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE);
    uint64_t n = __atomic_load_n(&ring->next, __ATOMIC_RELAXED);
    do {
        if (n - taken < AXP_RING_SLOTS) continue;
        __atomic_fetch_add(&ring->lost, 1, __ATOMIC_RELAXED);
        return NULL;
    } while (!__atomic_compare_exchange_n(&ring->next, &n, n + 1, true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    *number = n;
    return &ring->slots[n % AXP_RING_SLOTS];
}

static void put(axp_ring_kind kind, const ucontext_t *context, uint64_t weight)
{
    uint64_t number;
    axp_ring_slot *slot = take_slot(&number);
    if (!slot) return;
    uint64_t before = __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE);
    slot->time_ns = common_clock_ns(CLOCK_MONOTONIC_RAW);
    slot->weight_ns = weight;
    slot->kind = (uint32_t)kind;
    slot->process_id = (uint32_t)getpid();
    slot->thread_id = (uint32_t)syscall(SYS_gettid);
    slot->pid_namespace = pid_namespace;
    slot->n_stack = 0;
    if (kind == AXP_RING_FORK) slot->regs[0] = (uint64_t)getppid();
    if (context) {
        uintptr_t sp = copy_registers(slot->regs, context);
        slot->n_stack = bytes_from(sp);
        memcpy(slot->stack, (const void *)sp, slot->n_stack);
    }
    /* Unless the reader has not waited any longer. */
    (void)__atomic_compare_exchange_n(&slot->number, &before, number + 1, false,
                                      __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int error = errno;
    (void)number;
    if (!__atomic_load_n(&is_given_up, __ATOMIC_ACQUIRE) && self.timer &&
        info->si_code == SI_TIMER) {
        uint64_t now = common_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        put(AXP_RING_SAMPLE, context, now - self.seen_ns);
        self.seen_ns = now;
    }
    errno = error;
}

/* ---- threads ------------------------------------------------------------ */

static bool begin_asking(void)
{
    __atomic_add_fetch(&n_asking, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&is_quiet, __ATOMIC_SEQ_CST)) return true;
    __atomic_sub_fetch(&n_asking, 1, __ATOMIC_RELEASE);
    return false;
}

static void end_asking(void)
{
    __atomic_sub_fetch(&n_asking, 1, __ATOMIC_RELEASE);
}

/* The first thread's. It reads a file and allocates. */
static void find_stack(void)
{
    pthread_attr_t attr;
    void *low;
    size_t bytes;
    if (pthread_getattr_np(pthread_self(), &attr)) return;
    if (!pthread_attr_getstack(&attr, &low, &bytes)) {
        self.stack_low = (uintptr_t)low;
        self.stack_end = (uintptr_t)low + bytes;
    }
    pthread_attr_destroy(&attr);
}

#define STACK_MARGIN 16384u /* a guard, and what is behind a thread's block */

/* Another's: the C library has its block at the upper end. It is not asked, since
 * it allocates for the answer: in a thread that may never do, or whose maker has
 * the allocator locked. */
static void set_stack(size_t bytes)
{
    self.stack_end = (uintptr_t)pthread_self();
    self.stack_low = self.stack_end - bytes + STACK_MARGIN;
    if (bytes <= STACK_MARGIN) self.stack_low = self.stack_end = 0;
}

static size_t stack_bytes_of(const pthread_attr_t *attr)
{
    pthread_attr_t usual;
    size_t bytes = 0;
    if (!attr && pthread_attr_init(&usual)) return 0;
    if (pthread_attr_getstacksize(attr ? attr : &usual, &bytes)) bytes = 0;
    if (!attr) pthread_attr_destroy(&usual);
    return bytes;
}

/* 1 + a free place; 0: none. */
static uint32_t take_place(void)
{
    for (uint32_t i = 0; i < MOST_TIMERS; i++) {
        uint32_t none = 0;
        if (!__atomic_load_n(&timers[i].is_used, __ATOMIC_RELAXED) &&
            __atomic_compare_exchange_n(&timers[i].is_used, &none, TAKEN, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return i + 1;
    }
    return 0;
}

/* By whoever comes first. */
static void delete_timer(uint32_t place)
{
    uint32_t running = RUNNING;
    if (__atomic_compare_exchange_n(&timers[place].is_used, &running, TAKEN,
                                    false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
        timer_delete(timers[place].timer);
        __atomic_store_n(&timers[place].is_used, 0, __ATOMIC_RELEASE);
    }
}

static void start_timer(uint32_t place)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = THE_SIGNAL};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    struct timespec period = {.tv_nsec = (long)ring->period_ns};
    struct itimerspec when = {period, period};
    timer_t timer;
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer)) {
        __atomic_store_n(&timers[place].is_used, 0, __ATOMIC_RELEASE);
        return;
    }
    timers[place].timer = timer;
    __atomic_store_n(&timers[place].thread, event._sigev_un._tid,
                     __ATOMIC_RELAXED);
    self.timer = place + 1;
    timer_settime(timer, 0, &when, NULL);
    __atomic_store_n(&timers[place].is_used, RUNNING, __ATOMIC_RELEASE);
    if (__atomic_load_n(&is_given_up, __ATOMIC_SEQ_CST)) delete_timer(place);
}

static void begin_timer(void)
{
    int error = errno;
    self.seen_ns = common_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint32_t place = take_place();
    if (place) start_timer(place - 1);
    errno = error;
}

static void begin_thread(size_t stack_bytes)
{
    if (__atomic_load_n(&is_given_up, __ATOMIC_ACQUIRE)) return;
    set_stack(stack_bytes);
    if (!begin_asking()) return;
    begin_timer();
    end_asking();
}

static void end_thread(void *unused)
{
    int error = errno;
    (void)unused;
    if (self.timer && begin_asking()) { /* else be_quiet deletes it */
        delete_timer(self.timer - 1);
        end_asking();
    }
    self.timer = 0;
    errno = error;
}

struct start {
    void *(*function)(void *);
    thrd_start_t c11;
    void *argument;
    size_t stack_bytes; /* as were asked for */
};

static struct common_left *left; /* by threads that have begun */

static struct start take_start(void *p)
{
    struct start start = *(struct start *)p;
    common_own_leave(&left, p);
    begin_thread(start.stack_bytes);
    return start;
}

static void *thread_main(void *p)
{
    struct start start = take_start(p);
    void *result;
    pthread_cleanup_push(end_thread, NULL);
    result = start.function(start.argument);
    pthread_cleanup_pop(1);
    return result;
}

/* C11's: the C library does not call the other for it by name. */
static int c11_main(void *p)
{
    struct start start = take_start(p);
    int result;
    pthread_cleanup_push(end_thread, NULL);
    result = start.c11(start.argument);
    pthread_cleanup_pop(1);
    return result;
}

/* NULL: it is none of ours. */
static struct start *make_start(void)
{
    if (!ring || __atomic_load_n(&is_given_up, __ATOMIC_RELAXED)) return NULL;
    return common_own_take_anew(&left, sizeof(struct start));
}

WRAPPER int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
    const struct timer_real *real = timer_real();
    struct start *start = make_start();
    if (!start) return real->thrd_create(thread, function, argument);
    *start = (struct start){.c11 = function,
                            .argument = argument,
                            .stack_bytes = stack_bytes_of(NULL)};
    int rc = real->thrd_create(thread, c11_main, start);
    if (rc != thrd_success) common_own_free(start);
    return rc;
}

WRAPPER int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                           void *(*function)(void *), void *argument)
{
    const struct timer_real *real = timer_real();
    struct start *start = make_start();
    if (!start) return real->pthread_create(thread, attr, function, argument);
    *start = (struct start){.function = function,
                            .argument = argument,
                            .stack_bytes = stack_bytes_of(attr)};
    int rc = real->pthread_create(thread, attr, thread_main, start);
    if (rc) common_own_free(start);
    return rc;
}

/* ---- the signal, if the program wants it -------------------------------- */

/* Those of this process: a child of vfork writes to its parent's memory. */
static pid_t whose;
static int is_over; /* given up, and all timers are gone */

static void give_up(void)
{
    int error = errno;
    if (__atomic_load_n(&is_over, __ATOMIC_ACQUIRE) || whose != getpid())
        return;
    __atomic_store_n(&is_given_up, 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < MOST_TIMERS; i++)
        delete_timer(i);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    errno = error;
}

/* As it came: whoever sent it, to this thread or to all. By a thread's own number
 * the kernel lets it say what it likes of the sender, and means its process. */
static void give_back(const siginfo_t *info)
{
    long thread = syscall(SYS_gettid);
    long rc =
        info->si_code == SI_TKILL
            ? syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, THE_SIGNAL, info)
            : syscall(SYS_rt_sigqueueinfo, thread, THE_SIGNAL, info);
    if (rc) raise(THE_SIGNAL);
}

/* Timers are not a child's. */
static void forget_parent(void)
{
    whose = getpid();
    self.timer = 0;
    n_asking = 0;
    memset(timers, 0, sizeof timers);
}

/* What a timer has sent to this thread and nobody has taken. Past the C library,
 * where it would be a point of cancellation. */
static void drop_pending(void)
{
    const uint64_t set = (uint64_t)1 << (THE_SIGNAL - 1);
    const struct timespec at_once = {0};
    int error = errno;
    siginfo_t info;
    while (syscall(SYS_rt_sigtimedwait, &set, &info, &at_once, sizeof set) ==
           THE_SIGNAL)
        if (info.si_code != SI_TIMER) { /* somebody's */
            give_back(&info);
            break;
        }
    errno = error;
}

static void look_at(int signal_number)
{
    if (!ring || signal_number != THE_SIGNAL || !begin_asking()) return;
    give_up();
    end_asking();
}

static void look_into(const sigset_t *set)
{
    if (!ring || !set || sigismember(set, THE_SIGNAL) != 1 || !begin_asking())
        return;
    give_up();
    drop_pending();
    end_asking();
}

static bool is_ours(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_signal;
}

/* ---- a filter of system calls ------------------------------------------- */

/* Whether a thread of this process has all signals blocked, as it has in our
 * handler: from the frame that the kernel makes for it until the call that removes
 * it. Not: it has ended, or nobody can say. */
static bool is_in_handler(pid_t thread)
{
    static const char wanted[] = "\nSigBlk:\t";
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *at = strstr(text, wanted);
    uint64_t blocked =
        at ? strtoull(at + sizeof wanted - 1, NULL, 16) : (uint64_t)0;
    return blocked >> (THE_SIGNAL - 1) & 1;
}

/* Who has none blocked does not come into one any more: what timers have sent to
 * anybody is gone with the handler, for by default the signal does nothing. */
static void drop_all(void)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    struct sigaction now;
    if (!timer_real()->sigaction(THE_SIGNAL, NULL, &now) && is_ours(&now))
        timer_real()->sigaction(THE_SIGNAL, &usual, NULL);
}

static bool any_in_handler(void)
{
    pid_t own = (pid_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < MOST_TIMERS; i++) {
        pid_t thread = __atomic_load_n(&timers[i].thread, __ATOMIC_RELAXED);
        if (thread && thread != own && is_in_handler(thread)) return true;
    }
    return false;
}

static void wait_until(bool (*is_reached)(void))
{
    static const struct timespec moment = {.tv_nsec = 100000};
    for (int i = 0; i < 1000 && !is_reached(); i++)
        nanosleep(&moment, NULL);
}

static bool none_asks(void)
{
    return !__atomic_load_n(&n_asking, __ATOMIC_ACQUIRE);
}

static bool none_in_handler(void)
{
    return !any_in_handler();
}

/* Some 100 ms at most for either: who has the signal blocked himself is not known
 * from who is in the handler, and one of the program's may be inside of what it
 * would wait for. */
static void be_quiet(bool is)
{
    if (whose != getpid()) forget_parent(); /* the kernel made it, not fork */
    __atomic_store_n(&is_quiet, is, __ATOMIC_SEQ_CST);
    if (!ring || !is) return;
    wait_until(none_asks);
    give_up();
    drop_all();
    wait_until(none_in_handler);
}

/* ---- the signal, if the program asks for it ----------------------------- */

/* Ours is nobody's: who asks is told of what would be there without us. */
WRAPPER int sigaction(int signal_number, const struct sigaction *action,
                      struct sigaction *old)
{
    if (action) look_at(signal_number);
    int rc = timer_real()->sigaction(signal_number, action, old);
    if (rc == 0 && old && signal_number == THE_SIGNAL && is_ours(old))
        *old = (struct sigaction){.sa_handler = SIG_DFL};
    return rc;
}

static sighandler_t not_ours(sighandler_t was)
{
    void *at, *our;
    void (*function)(int, siginfo_t *, void *) = on_signal;
    memcpy(&at, &was, sizeof at);
    memcpy(&our, &function, sizeof our);
    return at == our ? SIG_DFL : was;
}

#define SIGNAL(name)                                                           \
    WRAPPER sighandler_t name(int signal_number, sighandler_t handler);        \
    WRAPPER sighandler_t name(int signal_number, sighandler_t handler)         \
    {                                                                          \
        look_at(signal_number);                                                \
        return not_ours(timer_real()->name(signal_number, handler));           \
    }

SIGNAL(signal)
SIGNAL(ssignal)
SIGNAL(bsd_signal)
SIGNAL(sysv_signal)
SIGNAL(__sysv_signal)
SIGNAL(sigset)

WRAPPER int sigwait(const sigset_t *set, int *signal_number)
{
    look_into(set);
    return timer_real()->sigwait(set, signal_number);
}

WRAPPER int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    look_into(set);
    return timer_real()->sigwaitinfo(set, info);
}

WRAPPER int sigtimedwait(const sigset_t *set, siginfo_t *info,
                         const struct timespec *limit)
{
    look_into(set);
    return timer_real()->sigtimedwait(set, info, limit);
}

WRAPPER int signalfd(int fd, const sigset_t *set, int flags)
{
    look_into(set);
    return timer_real()->signalfd(fd, set, flags);
}

/* It blocks the signal, and sees that one came: whose, only taking it tells. */
WRAPPER int sigpending(sigset_t *set)
{
    int rc = timer_real()->sigpending(set);
    if (rc || !ring || is_quiet || sigismember(set, THE_SIGNAL) != 1) return rc;
    look_into(set);
    return timer_real()->sigpending(set);
}

/* ---- the beginning ------------------------------------------------------ */

static axp_ring *map_ring(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return NULL;
    axp_ring *m = MAP_FAILED;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        st.st_size == (off_t)sizeof *m)
        m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (m == MAP_FAILED) return NULL;
    bool is_good =
        m->magic == AXP_RING_MAGIC && m->period_ns && m->period_ns < 1000000000;
    if (!is_good) munmap(m, sizeof *m);
    return is_good ? m : NULL;
}

/* In which our ids are; a child's may be another. */
static void find_namespace(void)
{
    struct stat st;
    pid_namespace = stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}

/* The ring is a child's, too. */
static void on_fork(void)
{
    int error = errno;
    self.timer = 0;
    n_asking = 0;
    memset(timers, 0, sizeof timers);
    if (!ring || is_given_up) return;
    whose = getpid();
    find_namespace();
    put(AXP_RING_FORK, NULL, 0);
    begin_timer(); /* its stack is where it was */
    errno = error;
}

static bool is_free(void)
{
    struct sigaction now;
    return !timer_real()->sigaction(THE_SIGNAL, NULL, &now) &&
           now.sa_handler == SIG_DFL;
}

__attribute__((constructor)) static void begin(void)
{
    int error = errno;
    const char *path = secure_getenv("AXPROF_RING");
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags =
                                   SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    whose = getpid();
    if (path && is_free()) ring = map_ring(path);
    if (ring) {
        sigfillset(&action.sa_mask);
        timer_real()->sigaction(THE_SIGNAL, &action, NULL);
        (void)pthread_atfork(NULL, NULL, on_fork);
        axp_quiet_tell(be_quiet);
        find_namespace();
        put(AXP_RING_BEGIN, NULL, 0);
        find_stack();
        begin_timer();
    }
    errno = error;
}
