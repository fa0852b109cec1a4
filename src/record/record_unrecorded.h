/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Telling axprof run that this process could not make its recording.
 *
 * By then it may have no way to say so: another root folder, another user, no
 * descriptor. So a page of the run's is mapped when the library is loaded; the
 * children of forks have it too.
 *
 * Input    the page is everybody's in the run: it is written, and not read.
 * Threads  tell, by any, in a handler too.
 * Failure  without the page nothing is told.
 */
#ifndef AXP_RECORD_UNRECORDED_H
#define AXP_RECORD_UNRECORDED_H
#include <stdint.h>

#include "axprof/axprof_adapter.h"

struct axp__unrecorded {
    axp_unrecorded *page; /* NULL: nobody wants to know */
    uint64_t root_device, root_inode;
    uint32_t user;
};

/* As axprof run asks for it (AXPROF_UNRECORDED), and what the process has now. */
void axp__unrecorded_begin(struct axp__unrecorded *u);
/* No recording could be made; errno's value says why not. */
void axp__unrecorded_tell(const struct axp__unrecorded *u, int error);
/* There is one, up to a filter of system calls; makes none. */
void axp__unrecorded_tell_filter(const struct axp__unrecorded *u,
                                 uint64_t process_id);

#endif
