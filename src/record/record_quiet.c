/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A process that filters its own system calls is left alone.
 *
 * A filter names what a program needs, and ends it for the rest. What recording
 * takes is in none of them: a thread's first event alone asks for its name, its
 * processor time and the room in /dev/shm, a child's makes files. So the global
 * profiler is switched off before there is a filter, for good, and its children
 * have it so. What was recorded by then stays, and the run is told of the rest.
 *
 * Place      the exec adapter sees the filter; others hear of it from here. Of
 *            several copies of the library each knows, and the adapters are told
 *            by the one that they are linked to.
 * Threads    whoever sets the filter; asked by any. One that is in a slow way then
 *            has gone through it before there is the filter.
 * Not here   filters of another thread alone (all of the process are quiet), and
 *            those that a process is started with: containers have them, and
 *            they let recorders be.
 */
#include "record/record_quiet.h"

#include <errno.h>
#include <time.h>

#include "base/base_atomic.h"
#include "record/record_process.h"
#include "record/record_profiler.h"
#include "record/record_tape.h"
#include "record/record_window.h"

#include "axprof/axprof_adapter.h"

enum { LISTENERS = 16 };

static void (*listeners[LISTENERS])(bool is_quiet);

bool axp__is_quiet(void)
{
    return axp__get(&axp__process()->is_quiet);
}

bool axp__quiet_ask(void)
{
    struct axp__process *process = axp__process();
    __atomic_add_fetch(&process->n_asking, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&process->is_quiet, __ATOMIC_SEQ_CST)) return true;
    axp__quiet_asked();
    return false;
}

void axp__quiet_asked(void)
{
    __atomic_sub_fetch(&axp__process()->n_asking, 1, __ATOMIC_RELEASE);
}

/* Some 100 ms at most: a handler may be inside of what it would wait for. */
static void wait_for_asking(const struct axp__process *process)
{
    static const struct timespec moment = {.tv_nsec = 100000};
    for (int i = 0; i < 1000; i++) {
        if (__atomic_load_n(&process->n_asking, __ATOMIC_ACQUIRE) <= 0) return;
        nanosleep(&moment, NULL);
    }
}

void axp_quiet_tell(void (*fn)(bool is_quiet))
{
    for (int i = 0; i < LISTENERS; i++) {
        void (*none)(bool) = NULL;
        if (!axp__cas(&listeners[i], &none, fn)) continue;
        if (axp__is_quiet()) fn(true);
        return;
    }
}

static void tell_all(bool is)
{
    for (int i = 0; i < LISTENERS && listeners[i]; i++)
        listeners[i](is);
}

/* Now, or once the part of the run begins that is to be recorded. */
static bool is_wanted(const struct axp__process *process)
{
    if (axp__get(&process->window.state) == AXP__WINDOW_WAITING)
        return !axp__get(&process->window.is_off);
    return axp_is_enabled(axp_global());
}

void axp_quiet_begin(void)
{
    struct axp__process *process = axp__process();
    int keep = errno;
    if (axp__get(&process->is_quiet)) return;
    axp_recording_begin();
    axp__put(&process->was_enabled, is_wanted(process));
    axp_set_enabled(axp_global(), false);
    __atomic_store_n(&process->is_quiet, 1, __ATOMIC_SEQ_CST);
    wait_for_asking(process);
    tell_all(true);
    errno = keep;
}

void axp_quiet_undo(void)
{
    struct axp__process *process = axp__process();
    int keep = errno;
    if (!axp__get(&process->is_quiet)) return;
    axp__put(&process->is_quiet, 0);
    if (axp__get(&process->was_enabled)) axp_set_enabled(axp_global(), true);
    tell_all(false);
    errno = keep;
}

/* No system call: the filter is there. */
void axp_quiet_keep(void)
{
    struct axp__prof *p = axp__prof_check(axp_global());
    if (p && p->tape)
        axp__unrecorded_tell_filter(&p->tape->unrecorded,
                                    p->tape->trace.head.process_id);
}
