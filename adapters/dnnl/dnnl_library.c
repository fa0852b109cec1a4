/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding a oneDNN, and asking it; see dnnl_library.h. */
#include "dnnl_library.h"

#include <errno.h>
#include <string.h>

#define MOST_LIBRARIES 16u

/* dnnl_query_t */
enum {
    QUERY_ENGINE = 1,
    QUERY_KIND = 2,
    QUERY_IMPLEMENTATION = 8,
    QUERY_DIRECTION = 11,
    QUERY_N_DIMS = 256, /* of a tensor, version 3 */
    QUERY_DIMS,
    QUERY_DTYPE
};
enum { CPU = 1 };

/* A tensor's description in version 2, as far as it is needed. */
struct v2_description {
    int n_dims;
    int64_t dims[DNNL_DIMS];
    int dtype;
};

static struct dnnl_library libraries[MOST_LIBRARIES];
static uint32_t n_libraries;
static int is_locked;

/* All of them from the library that executes: there may be two. */
static void fill(struct dnnl_library *l, const void *from)
{
#define FUNCTION(name, result, parameters) "dnnl_" #name,
    static const char *const names[] = {DNNL_FUNCTIONS};
#undef FUNCTION
    void *found[sizeof names / sizeof *names], **at = found;
    (void)common_next_find(&l->next, from, "dnnl_primitive_execute");
    common_next_symbols(&l->next, names, found, sizeof names / sizeof *names);
#define FUNCTION(name, result, parameters) memcpy(&l->name, at++, sizeof *at);
    DNNL_FUNCTIONS
#undef FUNCTION
    if (!common_next_range(from, &l->first, &l->end)) l->first = l->end = 0;
}

static bool is_whole(const struct dnnl_library *l)
{
    return l->primitive_execute && l->primitive_get_primitive_desc &&
           l->primitive_desc_query && l->memory_get_memory_desc;
}

/* Another object may have come to where one was, and its library with it. */
static bool is_there(const struct dnnl_library *l)
{
    const void *function;
    memcpy(&function, &l->primitive_execute, sizeof function);
    return common_next_is_there(&l->next, function);
}

static const struct dnnl_library *find(const void *from)
{
    uint32_t n = __atomic_load_n(&n_libraries, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        if ((uintptr_t)from - libraries[i].first <
                libraries[i].end - libraries[i].first &&
            is_there(&libraries[i]))
            return &libraries[i];
    return NULL;
}

const struct dnnl_library *dnnl_library(const void *from,
                                        struct dnnl_library *room)
{
    const struct dnnl_library *l = find(from);
    if (l) return is_whole(l) ? l : (*room = *l, NULL);
    int error = errno;
    fill(room, from);
    if (!__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE)) {
        uint32_t n = n_libraries;
        if (n < MOST_LIBRARIES && !find(from)) {
            libraries[n] = *room;
            __atomic_store_n(&n_libraries, n + 1, __ATOMIC_RELEASE);
        }
        __atomic_store_n(&is_locked, 0, __ATOMIC_RELEASE);
    }
    errno = error;
    return is_whole(room) ? room : NULL;
}

struct dnnl_primitive dnnl_describe(const struct dnnl_library *library,
                                    const void *primitive)
{
    struct dnnl_primitive p = {.is_v3 = library->memory_desc_query != NULL};
    const void *about = NULL, *engine = NULL;
    int where = CPU;
    if (library->primitive_get_primitive_desc(primitive, &about) || !about)
        return p;
    if (library->primitive_desc_query(about, QUERY_KIND, 0, &p.kind))
        p.kind = 0;
    if (library->primitive_desc_query(about, QUERY_DIRECTION, 0, &p.direction))
        p.direction = 0;
    if (library->primitive_desc_query(about, QUERY_IMPLEMENTATION, 0,
                                      &p.implementation))
        p.implementation = NULL;
    if (library->engine_get_kind &&
        !library->primitive_desc_query(about, QUERY_ENGINE, 0, &engine) &&
        engine && !library->engine_get_kind(engine, &where))
        p.is_elsewhere = where != CPU;
    return p;
}

struct dnnl_tensor dnnl_look_at(const struct dnnl_library *library,
                                const void *memory)
{
    struct dnnl_tensor t = {0};
    const void *about = NULL;
    if (!memory || library->memory_get_memory_desc(memory, &about) || !about)
        return t;
    if (!library->memory_desc_query) {
        const struct v2_description *v2 = about;
        t.n_dims = v2->n_dims;
        t.dtype = v2->dtype;
        memcpy(t.dims, v2->dims, sizeof t.dims);
    } else {
        const int64_t(*dims)[DNNL_DIMS] = NULL;
        if (library->memory_desc_query(about, QUERY_N_DIMS, &t.n_dims) ||
            library->memory_desc_query(about, QUERY_DTYPE, &t.dtype) ||
            library->memory_desc_query(about, QUERY_DIMS, &dims) || !dims)
            t.n_dims = 0;
        else
            memcpy(t.dims, *dims, sizeof t.dims);
    }
    if (t.n_dims <= 0 || t.n_dims > DNNL_DIMS) t = (struct dnnl_tensor){0};
    return t;
}
