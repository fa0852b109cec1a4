/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A oneDNN that the program has loaded, and what it says of its primitives and
 * tensors. The few functions and numbers of its C interface that are needed are
 * declared here, so that nothing of it is needed to build; versions 2 and 3.
 */
#ifndef DNNL_LIBRARY_H
#define DNNL_LIBRARY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adapters/common/common_next.h"

#define DNNL_DIMS 12 /* of a tensor, at most */

struct dnnl_argument { /* of an execution; as oneDNN has it */
    int number;
    void *memory;
};

/* Numbers of arguments; those of gradients are 128 higher. */
enum {
    DNNL_SRC = 1,
    DNNL_DST = 17,
    DNNL_WEIGHTS = 33, /* version 2: also a scale and a shift in one */
    DNNL_WEIGHTS_ITER,
    DNNL_WEIGHTS_PROJECTION = 36,
    DNNL_BIAS = 41,
    DNNL_MEAN = 49,
    DNNL_SCALE = 51,
    DNNL_SHIFT,
    DNNL_SCRATCHPAD = 80,
    DNNL_DIFF = 128,
    DNNL_FIRST_ATTRIBUTE = 508,
    DNNL_MANY_SRC = 1024, /* from here on those of concat and sum … */
    DNNL_MANY_DST = 2048, /* … and outputs … */
    DNNL_MANY_END = 4096  /* … up to here */
};

enum { /* dnnl_prop_kind_t */
       DNNL_INFERENCE = 96,
       DNNL_BACKWARD = 128,
       DNNL_BACKWARD_DATA = 160,
       DNNL_BACKWARD_WEIGHTS = 192,
       DNNL_BACKWARD_BIAS
};

/* FUNCTION(name, result, parameters) */
#define DNNL_FUNCTIONS                                                         \
    FUNCTION(primitive_execute, int,                                           \
             (const void *, void *, int, const struct dnnl_argument *))        \
    FUNCTION(sgemm, int,                                                       \
             (char, char, int64_t, int64_t, int64_t, float, const float *,     \
              int64_t, const float *, int64_t, float, float *, int64_t))       \
    FUNCTION(primitive_get_primitive_desc, int, (const void *, const void **)) \
    FUNCTION(primitive_desc_query, int, (const void *, int, int, void *))      \
    FUNCTION(memory_get_memory_desc, int, (const void *, const void **))       \
    FUNCTION(memory_desc_query, int, (const void *, int, void *))              \
    FUNCTION(engine_get_kind, int, (const void *, int *))

struct dnnl_library {
    struct common_next next; /* itself */
    uintptr_t first, end;    /* where the object lies that calls it */
#define FUNCTION(name, result, parameters) result(*name) parameters;
    DNNL_FUNCTIONS
#undef FUNCTION
};

struct dnnl_primitive { /* what is known of one */
    int kind;           /* by the version's own numbers; 0: not known */
    bool is_v3;
    int direction; /* dnnl_prop_kind_t */
    const char *implementation;
    bool is_elsewhere; /* not on the CPU: it runs when nobody knows */
};

struct dnnl_tensor {
    int n_dims; /* 0: not known */
    int64_t dims[DNNL_DIMS];
    int dtype; /* dnnl_data_type_t */
};

/* The one that the object at `from` calls. NULL: none, or none that is whole;
 * then *room, which the caller has, may still know primitive_execute and sgemm. */
const struct dnnl_library *dnnl_library(const void *from,
                                        struct dnnl_library *room);
struct dnnl_primitive dnnl_describe(const struct dnnl_library *library,
                                    const void *primitive);
struct dnnl_tensor dnnl_look_at(const struct dnnl_library *library,
                                const void *memory);

#endif
