/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Events as a JSON array, one a line, as axp_view_events gives them: time,
 * type and name, and what else there is to say. And those of axprof run itself,
 * which are marked: what the system counted over time is nowhere else in text. */
#include "emit/emit_name_cache.h"
#include "emit/emit_export.h"
#include "emit/emit_json_out.h"
#include "emit/emit_number.h"
#include "emit/emit_record.h"
#include "record/record_thread.h"

static void make_name(struct axp__name_cache *n, uint32_t id,
                      struct axp__out *to)
{
    const char *text = axp__view_name(n->v, id);
    axp__out_json_n(to, text, axp__len_to(text, AXP__MOST_NAME));
}

/* What every event has. */
static void put_common(struct axp__out *o, const struct axp__name_bytes *name,
                       const struct axp__stream_row *row,
                       const struct axp__record *r)
{
    const char *type = axp__word_event(axp__record_type(r));
    char *at = axp__out_room(o, name->len + 512);
    at = AXP__PUT_TEXT(at, "{\"time_ns\":");
    at = axp__print_u64(at, r->time_ns);
    at = AXP__PUT_TEXT(at, ",\"type\":\"");
    at = axp__put_bytes(at, type, strlen(type));
    at = AXP__PUT_TEXT(at, "\",\"name\":");
    at = r->kind == AXP__R_STEP ? AXP__PUT_TEXT(at, "\"step\"")
                                : axp__put_bytes(at, name->at, name->len);
    at = AXP__PUT_TEXT(at, ",\"process_id\":");
    at = axp__print_u64(at, row->process_id);
    if (row->rank >= 0) {
        at = AXP__PUT_TEXT(at, ",\"rank\":");
        at = axp__print_u64(at, (uint64_t)row->rank);
    }
    at = AXP__PUT_TEXT(at, ",\"thread_id\":");
    at = axp__print_u64(at, r->thread_id);
    o->len = (size_t)(at - o->buffer);
}

static void put_event(struct axp__json *j, struct axp__name_cache *names,
                      const struct axp__stream *s, const struct axp__record *r)
{
    const struct axp__stream_row *row = axp__stream_row(s, r->row);
    double value;
    uint64_t id;
    axp__json_line(j, "");
    put_common(j->o, axp__name_cache_get(names, r->name), row, r);
    j->has_member = true;
    if (row->is_outside) axp__json_bool(j, "is_outside", true);
    if (row->track) axp__json_text(j, "track", row->name);
    if (axp__record_value(r, &value)) axp__json_f64(j, "value", value);
    if (axp__record_id(r, &id)) axp__json_u64(j, "id", id);
    if (r->kind == AXP__R_EVENT && r->metadata)
        axp__json_text(j, "metadata", r->metadata);
    axp__json_end(j, '}');
}

axp_status axp__emit_json_events(const axp_view *v, struct axp__out *o)
{
    struct axp__name_cache names;
    struct axp__stream *s = NULL;
    const struct axp__record *r;
    axp_status status = AXP_E_NO_MEMORY;
    struct axp__json j = {.o = o};
    if (axp__name_cache_init(&names, v, make_name, NULL))
        status = axp__stream_open(v, AXP__STREAM_RAW, &s);
    axp__json_begin(&j, '[');
    while (s && (r = axp__stream_next(s)))
        if (axp__record_is_event(r)) put_event(&j, &names, s, r);
    axp__out_text(o, "\n]\n");
    if (s) status = axp__stream_status(s);
    if (names.has_failed) status = AXP_E_NO_MEMORY;
    axp__stream_close(s);
    axp__name_cache_fini(&names);
    return status ? axp__fail(status, "no memory to export") : AXP_OK;
}
