/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The names of several captures as one table: equal texts of a kind and a
 * device are one name. Devices are told by what they are called: their numbers
 * are each process's own.
 *
 * Place      file_join.c, part by part.
 * Ownership  texts stay the parts'; the table is c's at the end.
 * Failure    false, 0: no memory.
 */
#ifndef AXP_FILE_JOIN_NAMES_H
#define AXP_FILE_JOIN_NAMES_H
#include "file/file_shift.h"

struct axp__join_names {
    struct axp__cap_name *at;
    uint32_t n, cap;
    uint32_t *slots; /* id + 1, by text and type */
    uint32_t n_slots;
};

/* The names of s->part; s learns what they are called in c. */
bool axp__join_names(struct axp__join_names *j, struct axp__capture *c,
                     struct axp__shift *s);
/* The number in c of a part's device, which is not 0. */
uint32_t axp__join_device(struct axp__capture *c, struct axp__shift *s,
                          uint32_t device);
/* Gives them to c. */
bool axp__join_names_end(const struct axp__join_names *j,
                         struct axp__capture *c);
void axp__join_names_fini(struct axp__join_names *j);

#endif
