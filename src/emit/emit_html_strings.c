/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Texts, each once: operations, names of events and metadata refer to them by
 * number. Equal texts of a class have one number though the view may have
 * several ids for them (a name with two places in the code). What is on a device
 * is of a class of its own, and says so. */
#include "emit/emit_html.h"

#include <stdlib.h>

#include "emit/emit_name.h"

#include "wire/wire_word.h"

#define MOST_COPIED ((size_t)16 << 20) /* bytes of metadata */

void axp__html_strings_fini(struct axp__html_strings *s)
{
    free(s->texts);
    free(s->slots);
    free(s->by_name);
    for (size_t i = 0; i < s->n_copies; i++)
        free(s->copies[i]);
    free(s->copies);
}

void *axp__html_grow(void *list, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) return list;
    size_t wider = *cap ? *cap * 2 : 64;
    void *moved = realloc(list, wider * size);
    if (moved) *cap = wider;
    return moved;
}

static size_t slot_of(const struct axp__html_strings *s,
                      enum axp__html_class class, const char *text)
{
    size_t i = axp__html_hash(text, strlen(text)) & (s->n_slots - 1);
    while (s->slots[i] && (s->texts[s->slots[i] - 1].class != class ||
                           strcmp(s->texts[s->slots[i] - 1].text, text) != 0))
        i = (i + 1) & (s->n_slots - 1);
    return i;
}

/* Keeps at least half of the slots free. */
static bool make_room(struct axp__html_strings *s)
{
    if (2 * (s->n + 1) <= s->n_slots) return true;
    size_t n_slots = s->n_slots ? s->n_slots * 2 : 1024;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots) return false;
    free(s->slots);
    s->slots = slots;
    s->n_slots = n_slots;
    for (size_t i = 0; i < s->n; i++)
        s->slots[slot_of(s, s->texts[i].class, s->texts[i].text)] =
            (uint32_t)i + 1;
    return true;
}

uint32_t axp__html_string_as(struct axp__html_strings *s,
                             enum axp__html_class class, const char *text)
{
    void *wider = axp__html_grow(s->texts, s->n, &s->cap, sizeof *s->texts);
    if (wider) s->texts = wider;
    if (!wider || !make_room(s)) {
        s->has_failed = true;
        return 0;
    }
    size_t slot = slot_of(s, class, text);
    if (!s->slots[slot]) {
        s->texts[s->n++] = (struct axp__html_text){text, class};
        s->slots[slot] = (uint32_t)s->n;
    }
    return s->slots[slot] - 1;
}

/* 1 + its number; 0: it is not there. */
static uint32_t find(const struct axp__html_strings *s,
                     enum axp__html_class class, const char *text)
{
    return s->n_slots ? s->slots[slot_of(s, class, text)] : 0;
}

/* Takes over a text of malloc, which may be NULL. */
static uint32_t own(struct axp__html_strings *s, enum axp__html_class class,
                    char *text)
{
    void *wider =
        axp__html_grow(s->copies, s->n_copies, &s->copies_cap, sizeof(char *));
    if (wider) s->copies = wider;
    if (!wider || !text) {
        free(text);
        s->has_failed = true;
        return UINT32_MAX;
    }
    s->copies[s->n_copies++] = text;
    return axp__html_string_as(s, class, text);
}

uint32_t axp__html_string_copy(struct axp__html_strings *s, const char *text)
{
    size_t len = strlen(text);
    uint32_t known = find(s, AXP__HTML_PLAIN, text);
    if (known) return known - 1;
    if (s->copied_bytes + len > MOST_COPIED) return UINT32_MAX;
    s->copied_bytes += len + 1;
    return own(s, AXP__HTML_PLAIN, strdup(text));
}

uint32_t axp__html_op(struct axp__html_strings *s, bool is_wait,
                      const char *name, const char *device)
{
    if (!device)
        return axp__html_string_as(
            s, is_wait ? AXP__HTML_WAIT : AXP__HTML_PLAIN, name);
    char *text = axp__name_on(name, device);
    uint32_t known = text ? find(s, AXP__HTML_DEVICE, text) : 0;
    if (!known)
        known = own(s, AXP__HTML_DEVICE, text) + 1;
    else
        free(text);
    return known ? known - 1 : 0;
}

static enum axp__html_class class_of(const axp_view *v, uint32_t name)
{
    switch (axp__view_kind(v, name)) {
    case AXP__KIND_WAIT: return AXP__HTML_WAIT;
    case AXP__KIND_PROCESS:
    case AXP__KIND_OUTSIDE: return AXP__HTML_OUTSIDE;
    default: return AXP__HTML_PLAIN;
    }
}

uint32_t axp__html_name(struct axp__html_strings *s, const axp_view *v,
                        uint32_t name)
{
    if (!s->by_name) s->by_name = calloc(AXP__MAX_NAMES, sizeof *s->by_name);
    uint32_t none = 0;
    uint32_t *known =
        s->by_name ? &s->by_name[name & (AXP__MAX_NAMES - 1)] : &none;
    if (!s->by_name) s->has_failed = true;
    if (*known) return *known - 1;
    const char *text = axp__view_name(v, name);
    const char *device = axp__view_device(v, name);
    *known = 1 + (device ? axp__html_op(s, false, text, device)
                         : axp__html_string_as(s, class_of(v, name), text));
    return *known - 1;
}

void axp__html_strings_put(struct axp__html_strings *s, struct axp__json *j)
{
    axp__json_begin(j, '[');
    for (; s->n_written < s->n; s->n_written++) {
        axp__json_next(j);
        axp__out_json(j->o, s->texts[s->n_written].text);
    }
    axp__json_end(j, ']');
}
