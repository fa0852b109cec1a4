/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Records of small blocks; see wire_body.h. */
#include "wire/wire_body.h"

/* ---- putting ------------------------------------------------------------------ */

/* Longer keys and values are cut. */
size_t axp__about_put(uint8_t *out, size_t cap, const char *key,
                      struct axp__slice value)
{
    size_t key_len = strnlen(key, AXP__ABOUT_KEY_MAX);
    size_t len =
        value.len < AXP__ABOUT_VALUE_MAX ? value.len : AXP__ABOUT_VALUE_MAX;
    if (cap < 2 * AXP__VARINT_MAX + key_len + len) return 0;
    uint8_t *at = axp__put_varint(out, key_len);
    memcpy(at, key, key_len);
    at = axp__put_varint(at + key_len, len);
    if (len) memcpy(at, value.at, len);
    return (size_t)(at + len - out);
}

size_t axp__name_put(uint8_t *out, size_t cap,
                     const struct axp__name_record *name)
{
    size_t len = name->text.len, file_len = name->file.len;
    if (len > AXP__NAME_TEXT_MAX) len = AXP__NAME_TEXT_MAX;
    if (file_len > AXP__NAME_TEXT_MAX) file_len = AXP__NAME_TEXT_MAX;
    if (cap < 4 * AXP__VARINT_MAX + len + file_len) return 0;
    uint8_t *at = axp__put_varint(out, name->flags);
    at = axp__put_varint(at, name->line);
    at = axp__put_varint(at, len);
    at = axp__put_varint(at, name->file.at ? file_len + 1 : 0);
    memcpy(at, name->text.at, len);
    at += len;
    if (!name->file.at) return (size_t)(at - out);
    memcpy(at, name->file.at, file_len);
    return (size_t)(at + file_len - out);
}

size_t axp__row_put(uint8_t *out, size_t cap, const struct axp__row_record *row)
{
    if (cap < 5 * AXP__VARINT_MAX) return 0;
    uint8_t *at = axp__put_varint(out, row->id);
    at = axp__put_varint(at, row->track);
    at = axp__put_varint(at, row->name);
    at = axp__put_varint(at, row->tid);
    at = axp__put_varint(at, row->first_ticks);
    return (size_t)(at - out);
}

/* ---- getting -------------------------------------------------------------------- */

static struct axp__slice get_text(struct axp__bytes *b, uint64_t len,
                                  uint64_t most)
{
    if (len > most) b->is_bad = true;
    const uint8_t *at = b->is_bad ? NULL : axp__get_bytes(b, len);
    return (struct axp__slice){(const char *)at, at ? (size_t)len : 0};
}

static uint32_t get_u32(struct axp__bytes *b)
{
    uint64_t v = axp__get_varint(b);
    if (v > UINT32_MAX) b->is_bad = true;
    return (uint32_t)v;
}

bool axp__about_get(struct axp__bytes *b, struct axp__slice *key,
                    struct axp__slice *value)
{
    if (b->at == b->end) return false;
    *key = get_text(b, axp__get_varint(b), AXP__ABOUT_KEY_MAX);
    *value = get_text(b, axp__get_varint(b), AXP__ABOUT_VALUE_MAX);
    return !b->is_bad;
}

bool axp__name_get(struct axp__bytes *b, struct axp__name_record *out)
{
    if (b->at == b->end) return false;
    *out = (struct axp__name_record){0};
    out->flags = get_u32(b);
    out->line = get_u32(b);
    uint64_t len = axp__get_varint(b), file_len = axp__get_varint(b);
    out->text = get_text(b, len, AXP__NAME_TEXT_MAX);
    if (file_len) out->file = get_text(b, file_len - 1, AXP__NAME_TEXT_MAX);
    return !b->is_bad;
}

bool axp__row_get(struct axp__bytes *b, struct axp__row_record *out)
{
    if (b->at == b->end) return false;
    *out = (struct axp__row_record){0};
    out->id = get_u32(b);
    out->track = get_u32(b);
    out->name = get_u32(b);
    out->tid = axp__get_varint(b);
    out->first_ticks = axp__get_varint(b);
    return !b->is_bad;
}
