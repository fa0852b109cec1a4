/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What tests of devices share: tracks of a device, questions to a view about
 * one, a recording of two. */
#ifndef AXP_DEVICE_SUPPORT_H
#define AXP_DEVICE_SUPPORT_H
#include "file_support.h"

static inline axp_track *track_on(axp_profiler *p, const char *name,
                                  const char *device)
{
    axp_track *t = axp_track_create_ex(
        p, &(axp_track_options){.size = sizeof(axp_track_options),
                                .name = name,
                                .device = device});
    assert_non_null(t);
    return t;
}

/* All zero where there is none of that name on that device. */
static inline axp_op op_on(const axp_view *v, const char *name,
                           const char *device)
{
    axp_op ops[64], none = {0};
    size_t n = axp_view_ops(v, AXP_BY_SELF, ops, 64);
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(ops[i].name, name) &&
            (device ? ops[i].device && !strcmp(ops[i].device, device)
                    : !ops[i].device))
            return ops[i];
    return none;
}

static inline axp_memory memory_of(const axp_view *v, const char *device)
{
    axp_memory_domain d[300];
    axp_memory none = {0};
    size_t n = axp_view_memory_domains(v, d, 300);
    assert_true(n >= 1 && n <= 300 && !d[0].device);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(d[i].device, device)) return d[i].memory;
    return none;
}

static inline axp_memory_name name_on(const axp_view *v, const char *name,
                                      const char *device)
{
    axp_memory_name m[64], none = {0};
    size_t n = axp_view_memory_names(v, m, 64);
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(m[i].name, name) &&
            (device ? m[i].device && !strcmp(m[i].device, device)
                    : !m[i].device))
            return m[i];
    return none;
}

/* Host and devices with names in common, more events than a chunk holds. */
static inline void record_devices(axp_profiler *p, unsigned rounds)
{
    axp_track *a = track_on(p, "stream 1", "cuda:0");
    axp_track *b = axp_track_create_ex(
        p, &(axp_track_options){
               .name = "stream 2", .device = "cuda:1", .process_id = 4711});
    for (unsigned i = 0; i < rounds; i++) {
        AXP_SCOPE_IN(p, "matmul");
        axp_flow_out(p, i + 1);
        axp_record_alloc(p, "buffer", 10 + i % 3);
        axp_ns now = axp_now(p);
        axp_work work = {.flops = 1e6, .dims = {i % 5 + 1, 2, 3}};
        axp_track_span_ex(a, &(axp_span){.name = "matmul",
                                         .begin = now,
                                         .end = now + 50 + i,
                                         .work = &work,
                                         .category = AXP_CAT_BACKWARD,
                                         .flow = i + 1,
                                         .step = i + 1});
        axp_track_span_ex(b, &(axp_span){.name = "copy",
                                         .begin = now,
                                         .end = now + 7,
                                         .flow = i + 1});
        axp_track_alloc_at_ex(a, &(axp_alloc_at){.name = "buffer",
                                                 .address = i,
                                                 .bytes = 1000 + i,
                                                 .at = now,
                                                 .kind = AXP_MEM_CACHE});
        if (i % 2) axp_track_free_at(a, i, now + 1);
        axp_track_alloc_at(b, "buffer", i % 4, 77, now);
        axp_track_free_at(b, i % 4, now + 3);
        if (i % 16 == 0) axp_step(p);
    }
}

static inline char *report_of(const axp_view *v, axp_format format)
{
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    assert_int_equal(axp_report_write(v, format, to), AXP_OK);
    fclose(to);
    return text;
}

static inline char *export_of(const axp_view *v, axp_export_format format,
                              size_t *len)
{
    FILE *to = tmpfile();
    assert_int_equal(axp_export_write(v, format, to), AXP_OK);
    *len = (size_t)ftell(to);
    char *text = calloc(*len + 1, 1);
    rewind(to);
    assert_int_equal(fread(text, 1, *len, to), *len);
    fclose(to);
    return text;
}

#endif
