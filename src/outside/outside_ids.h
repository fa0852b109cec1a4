/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ids of a process and its threads that are in another namespace of process ids,
 * below that of who looks: as in a container. What they record says the numbers
 * that they have inside; everybody else (/proc, the kernel's samples, the user)
 * has others.
 *
 * Place    the drain asks for what is new and writes that into the trace
 *          (file_join_ids.c reads it); who samples asks for one thread.
 * Known    whoever is there when it is looked: a thread that has ended before is
 *          not found, and nor is a process. Kernels before 4.1 tell nobody.
 * Input    the kernel's. Numbers that the process told are what is looked for,
 *          and nothing more: whatever they claim, only a process of the namespace
 *          is found.
 * Cost     to find a process, a link of each that there is (3 us), now and then
 *          until it is found, or once for several; then a list of its threads, and
 *          10 us for each that is new. All of it at most a hundredth of the time,
 *          for who has one, and for whoever has several if he asks so seldom.
 * Memory   of MOST threads of a process; the others stay unknown.
 */
#ifndef AXP_OUTSIDE_IDS_H
#define AXP_OUTSIDE_IDS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AXP__IDS_MOST 65536u

struct axp__id {
    uint32_t inner, outer;
    uint64_t since_ticks; /* it was not there before; 0: not known */
};

struct axp__ids;

/* The process that has this number there; NULL: no memory. */
struct axp__ids *axp__ids_create(uint64_t name_space, uint32_t inner);
void axp__ids_destroy(struct axp__ids *ids); /* NULL allowed */
/* Looks, if it is time to (or at once); how many threads were not known. */
size_t axp__ids_look(struct axp__ids *ids, bool is_urgent);
/* Looks at once for all of those that are not found yet. */
void axp__ids_find(struct axp__ids *const *all, size_t n);
/* Its number here; 0: it was not found (yet). */
uint32_t axp__ids_process(const struct axp__ids *ids);
/* All that were found, in the order in which they were; *n of them. */
const struct axp__id *axp__ids_list(const struct axp__ids *ids, size_t *n);
/* Of those that had this number the last; 0: none. */
uint32_t axp__ids_thread(const struct axp__ids *ids, uint32_t inner);

/* What a thread of a process here is called in the namespace that it is in; the
 * innermost, if that is nested. 0: it is not there. */
uint32_t axp__ids_inner(uint32_t pid, uint32_t tid);

#endif
