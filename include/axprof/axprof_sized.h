/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof_sized.h: the calls of axprof_read.h that fill structs, with the size of
 * the struct as the program was compiled, which is also what lies between two of
 * an array. Include axprof_read.h, which includes this; bindings for other
 * languages call these.
 */
#ifndef AXPROF_SIZED_H
#define AXPROF_SIZED_H
#include "axprof_read.h"

#ifdef __cplusplus
extern "C" {
#endif

AXP_API axp_status axp_view_op_sized(const axp_view *v, const char *name,
                                     axp_op *out, size_t size);
static inline axp_status axp_view_op(const axp_view *v, const char *name,
                                     axp_op *out)
{
    return axp_view_op_sized(v, name, out, sizeof *out);
}

AXP_API axp_status axp_view_op_like_sized(const axp_view *v, const axp_op *like,
                                          axp_op *out, size_t size);
static inline axp_status axp_view_op_like(const axp_view *v, const axp_op *like,
                                          axp_op *out)
{
    return axp_view_op_like_sized(v, like, out, sizeof *out);
}

AXP_API size_t axp_view_ops_sized(const axp_view *v, axp_order order,
                                  axp_op *out, size_t cap, size_t size);
static inline size_t axp_view_ops(const axp_view *v, axp_order order,
                                  axp_op *out, size_t cap)
{
    return axp_view_ops_sized(v, order, out, cap, sizeof *out);
}

AXP_API size_t axp_view_shapes_sized(const axp_view *v, const axp_op *op,
                                     size_t op_size, axp_shape *out, size_t cap,
                                     size_t size);
static inline size_t axp_view_shapes(const axp_view *v, const axp_op *op,
                                     axp_shape *out, size_t cap)
{
    return axp_view_shapes_sized(v, op, sizeof *op, out, cap, sizeof *out);
}

AXP_API void axp_view_memory_sized(const axp_view *v, axp_memory *out,
                                   size_t size);
static inline axp_memory axp_view_memory(const axp_view *v)
{
    axp_memory out;
    axp_view_memory_sized(v, &out, sizeof out);
    return out;
}

AXP_API size_t axp_view_memory_domains_sized(const axp_view *v,
                                             axp_memory_domain *out, size_t cap,
                                             size_t size);
static inline size_t axp_view_memory_domains(const axp_view *v,
                                             axp_memory_domain *out, size_t cap)
{
    return axp_view_memory_domains_sized(v, out, cap, sizeof *out);
}

AXP_API size_t axp_view_memory_names_sized(const axp_view *v,
                                           axp_memory_name *out, size_t cap,
                                           size_t size);
static inline size_t axp_view_memory_names(const axp_view *v,
                                           axp_memory_name *out, size_t cap)
{
    return axp_view_memory_names_sized(v, out, cap, sizeof *out);
}

AXP_API size_t axp_view_leaks_sized(const axp_view *v, axp_leak *out,
                                    size_t cap, size_t size);
static inline size_t axp_view_leaks(const axp_view *v, axp_leak *out,
                                    size_t cap)
{
    return axp_view_leaks_sized(v, out, cap, sizeof *out);
}
AXP_API void axp_view_heap_sized(const axp_view *v, axp_heap *out, size_t size);
static inline axp_heap axp_view_heap(const axp_view *v)
{
    axp_heap out;
    axp_view_heap_sized(v, &out, sizeof out);
    return out;
}

AXP_API size_t axp_view_heap_places_sized(const axp_view *v,
                                          axp_heap_place *out, size_t cap,
                                          size_t size);
static inline size_t axp_view_heap_places(const axp_view *v,
                                          axp_heap_place *out, size_t cap)
{
    return axp_view_heap_places_sized(v, out, cap, sizeof *out);
}

AXP_API size_t axp_view_heap_levels_sized(const axp_view *v,
                                          axp_heap_level *out, size_t cap,
                                          size_t size);
static inline size_t axp_view_heap_levels(const axp_view *v,
                                          axp_heap_level *out, size_t cap)
{
    return axp_view_heap_levels_sized(v, out, cap, sizeof *out);
}

AXP_API size_t axp_view_heap_kept_sized(const axp_view *v, axp_heap_kept *out,
                                        size_t cap, size_t size);
static inline size_t axp_view_heap_kept(const axp_view *v, axp_heap_kept *out,
                                        size_t cap)
{
    return axp_view_heap_kept_sized(v, out, cap, sizeof *out);
}

AXP_API size_t axp_view_stack_sized(const axp_view *v, uint32_t stack,
                                    axp_frame *out, size_t cap, size_t size);
static inline size_t axp_view_stack(const axp_view *v, uint32_t stack,
                                    axp_frame *out, size_t cap)
{
    return axp_view_stack_sized(v, stack, out, cap, sizeof *out);
}

AXP_API size_t axp_view_functions_sized(const axp_view *v, axp_op *out,
                                        size_t cap, size_t size);
static inline size_t axp_view_functions(const axp_view *v, axp_op *out,
                                        size_t cap)
{
    return axp_view_functions_sized(v, out, cap, sizeof *out);
}

AXP_API size_t axp_view_tree_sized(const axp_view *v, axp_tree_node *out,
                                   size_t cap, size_t size);
static inline size_t axp_view_tree(const axp_view *v, axp_tree_node *out,
                                   size_t cap)
{
    return axp_view_tree_sized(v, out, cap, sizeof *out);
}

AXP_API void axp_view_steps_sized(const axp_view *v, axp_step_stats *out,
                                  size_t size);
static inline axp_step_stats axp_view_steps(const axp_view *v)
{
    axp_step_stats out;
    axp_view_steps_sized(v, &out, sizeof out);
    return out;
}

AXP_API size_t axp_view_threads_sized(const axp_view *v, axp_thread_info *out,
                                      size_t cap, size_t size);
static inline size_t axp_view_threads(const axp_view *v, axp_thread_info *out,
                                      size_t cap)
{
    return axp_view_threads_sized(v, out, cap, sizeof *out);
}

AXP_API size_t axp_view_processes_sized(const axp_view *v,
                                        axp_process_info *out, size_t cap,
                                        size_t size);
static inline size_t axp_view_processes(const axp_view *v,
                                        axp_process_info *out, size_t cap)
{
    return axp_view_processes_sized(v, out, cap, sizeof *out);
}

AXP_API size_t axp_view_tracks_sized(const axp_view *v, axp_track_info *out,
                                     size_t cap, size_t size);
static inline size_t axp_view_tracks(const axp_view *v, axp_track_info *out,
                                     size_t cap)
{
    return axp_view_tracks_sized(v, out, cap, sizeof *out);
}

AXP_API size_t axp_view_counters_sized(const axp_view *v, axp_counter_info *out,
                                       size_t cap, size_t size);
static inline size_t axp_view_counters(const axp_view *v, axp_counter_info *out,
                                       size_t cap)
{
    return axp_view_counters_sized(v, out, cap, sizeof *out);
}

AXP_API size_t axp_view_warnings_sized(const axp_view *v, axp_warning *out,
                                       size_t cap, size_t size);
static inline size_t axp_view_warnings(const axp_view *v, axp_warning *out,
                                       size_t cap)
{
    return axp_view_warnings_sized(v, out, cap, sizeof *out);
}

#ifdef __cplusplus
}
#endif
#endif
