/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Places of the heap for people: those that read the same are one.
 *
 * A place is called what the program calls its memory; else the innermost
 * function that is not the C or C++ library's, with file and line: malloc is
 * called by `operator new` and strdup, and that says nothing. The innermost
 * scope stands before either.
 */
#ifndef AXP_EMIT_HEAP_H
#define AXP_EMIT_HEAP_H
#include "emit/emit_json_out.h"
#include "model/model_view.h"

struct axp__heap_group {
    char *text;
    axp_mem kind;
    uint64_t current_bytes, current_blocks, at_peak_bytes;
    uint64_t total_allocated, n_allocs, n_temporary;
    double growth_early, growth_late; /* axp_heap_place */
    axp_ns first_at, last_at;
    uint64_t thread_id; /* 0: several threads' */
    uint64_t lived[AXP_HEAP_AGES];
};

/* By at_peak_bytes; free with axp__heap_groups_free. NULL: no memory. */
struct axp__heap_group *axp__heap_groups(const axp_view *v, size_t *n);
void axp__heap_groups_free(struct axp__heap_group *groups, size_t n);

/* What a place is called; malloc, NULL: no memory. */
char *axp__heap_text(const axp_view *v, const axp_heap_place *p);
/* The memory that the run's processes had together, as seen from outside; NULL:
 * nobody looked. */
const struct axp__view_counter *axp__heap_resident(const axp_view *v);
/* The most of it: what was seen, and what the kernel knows of the largest. */
uint64_t axp__heap_resident_peak(const axp_view *v);
/* The frame that a stack is called by, its text in buf; NULL: it has none. */
const char *axp__heap_where(const axp_view *v, uint32_t stack, char *buf,
                            size_t size);

/* As the member "heap" of the JSON report (emit_json_heap.c). */
void axp__json_heap(struct axp__json *j, const axp_view *v);

#endif
