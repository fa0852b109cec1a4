/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Events as a JSON array, one a line, as axp_view_events gives them: time,
 * type and name, and what else there is to say. */
#include "emit/emit_name_cache.h"
#include "emit/emit_export.h"
#include "emit/emit_record.h"
#include "record/record_thread.h"

#define MOST_NAME 8192u

static void make_name(struct axp__name_cache *n, uint32_t id,
                      struct axp__out *to)
{
    const char *text = axp__view_name(n->v, id);
    axp__out_json_n(to, text, axp__len_to(text, MOST_NAME));
}

static void put_key_u64(struct axp__out *o, const char *key, uint64_t value)
{
    axp__out_text(o, key);
    axp__out_u64(o, value);
}

static void put_event(struct axp__out *o, struct axp__name_cache *names,
                      const struct axp__stream *s, const struct axp__record *r)
{
    const struct axp__stream_row *row = axp__stream_row(s, r->row);
    const struct axp__name_bytes *name = axp__name_cache_get(names, r->name);
    double value;
    uint64_t id;
    put_key_u64(o, "{\"time_ns\":", r->time_ns);
    axp__out_text(o, ",\"type\":\"");
    axp__out_text(o, axp__word_event(axp__record_type(r)));
    axp__out_text(o, "\",\"name\":");
    if (r->kind == AXP__R_STEP)
        axp__out_text(o, "\"step\"");
    else
        axp__out_bytes(o, name->at, name->len);
    put_key_u64(o, ",\"process_id\":", row->process_id);
    if (row->rank >= 0) put_key_u64(o, ",\"rank\":", (uint64_t)row->rank);
    put_key_u64(o, ",\"thread_id\":", r->thread_id);
    if (row->is_outside) axp__out_text(o, ",\"is_outside\":true");
    if (row->track) {
        axp__out_text(o, ",\"track\":");
        axp__out_json(o, row->name);
    }
    if (axp__record_value(r, &value)) {
        axp__out_text(o, ",\"value\":");
        axp__out_f64(o, value);
    }
    if (axp__record_id(r, &id)) put_key_u64(o, ",\"id\":", id);
    if (r->kind == AXP__R_EVENT && r->metadata) {
        axp__out_text(o, ",\"metadata\":");
        axp__out_json(o, r->metadata);
    }
    axp__out_char(o, '}');
}

axp_status axp__emit_json_events(const axp_view *v, struct axp__out *o)
{
    struct axp__name_cache names;
    struct axp__stream *s = NULL;
    const struct axp__record *r;
    axp_status status = AXP_E_NO_MEMORY;
    bool is_first = true;
    if (axp__name_cache_init(&names, v, make_name, NULL))
        status = axp__stream_open(v, AXP__STREAM_RAW, &s);
    axp__out_char(o, '[');
    while (s && (r = axp__stream_next(s))) {
        if (!axp__record_is_event(r)) continue;
        axp__out_text(o, is_first ? "\n" : ",\n");
        put_event(o, &names, s, r);
        is_first = false;
    }
    axp__out_text(o, "\n]\n");
    if (s) status = axp__stream_status(s);
    if (names.has_failed) status = AXP_E_NO_MEMORY;
    axp__stream_close(s);
    axp__name_cache_fini(&names);
    return status ? axp__fail(status, "no memory to export") : AXP_OK;
}
