/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Brackets, commas and members; see emit_json_out.h. */
#include "emit/emit_json_out.h"

#include <math.h>

#include "emit/emit_number.h"

void axp__json_begin(struct axp__json *j, char bracket)
{
    axp__out_char(j->o, bracket);
    j->has_member = false;
}

void axp__json_end(struct axp__json *j, char bracket)
{
    axp__out_char(j->o, bracket);
    j->has_member = true;
}

void axp__json_next(struct axp__json *j)
{
    if (j->has_member) axp__out_char(j->o, ',');
    if (j->has_member && j->is_airy) axp__out_char(j->o, ' ');
    j->has_member = true;
}

void axp__json_line(struct axp__json *j, const char *indent)
{
    axp__out_text(j->o, j->has_member ? ",\n" : "\n");
    axp__out_text(j->o, indent);
    j->has_member = false;
}

/* Where a member's value goes, with room for a number. */
static char *put_key(struct axp__json *j, const char *name)
{
    size_t len = strlen(name);
    char *at = axp__out_room(j->o, len + 6 + AXP__NUMBER_ROOM);
    if (j->has_member) *at++ = ',';
    if (j->has_member && j->is_airy) *at++ = ' ';
    j->has_member = true;
    *at++ = '"';
    at = axp__put_bytes(at, name, len);
    at = AXP__PUT_TEXT(at, "\":");
    if (j->is_airy) *at++ = ' ';
    return at;
}

static void end_at(struct axp__json *j, const char *at)
{
    j->o->len = (size_t)(at - j->o->buffer);
}

void axp__json_key(struct axp__json *j, const char *name)
{
    end_at(j, put_key(j, name));
}

void axp__json_object(struct axp__json *j, const char *name)
{
    axp__json_key(j, name);
    axp__json_begin(j, '{');
}

void axp__json_list(struct axp__json *j, const char *name)
{
    axp__json_key(j, name);
    axp__json_begin(j, '[');
}

void axp__json_u64(struct axp__json *j, const char *name, uint64_t value)
{
    end_at(j, axp__print_u64(put_key(j, name), value));
}

void axp__json_i64(struct axp__json *j, const char *name, int64_t value)
{
    axp__json_key(j, name);
    axp__out_i64(j->o, value);
}

void axp__json_f64(struct axp__json *j, const char *name, double value)
{
    axp__json_key(j, name);
    axp__out_f64(j->o, value);
}

void axp__json_known(struct axp__json *j, const char *name, bool is_known,
                     double value)
{
    axp__json_f64(j, name, is_known ? value : NAN);
}

void axp__json_text(struct axp__json *j, const char *name, const char *text)
{
    axp__json_key(j, name);
    axp__out_json(j->o, text);
}

void axp__json_bool(struct axp__json *j, const char *name, bool value)
{
    axp__json_key(j, name);
    axp__out_text(j->o, value ? "true" : "false");
}
