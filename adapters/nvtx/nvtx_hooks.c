/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* NVTX, version 3: a program's copy of its header loads the library that
 * NVTX_INJECTION64_PATH names when it first marks something, and asks it to fill
 * its tables of functions. Several modules may each have a copy.
 *
 * Declared here is what of the interface is used; numbers and layouts are its
 * own. Resources and names of categories are not kept.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

#include <axprof/axprof.h>

#include "adapters/common/common_ranges.h"

#define EXPORTED __attribute__((visibility("default")))
#define MOST_TEXT 200u

enum { TABLE_OF_CALLBACKS = 1 };
enum { MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum { TEXT_ASCII = 1, TEXT_WIDE = 2, TEXT_REGISTERED = 3 };

typedef void any_function(void);
struct callbacks {
    size_t size;
    int (*get_table)(int module, any_function ****table, unsigned *size);
};
typedef const void *get_export_table(uint32_t id);

struct attributes { /* of an event, version 2 */
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t text_type;
    union {
        const char *ascii;
        const wchar_t *wide;
        const struct text *registered;
    } text;
};

/* What a handle of a domain or a registered string is: a name of the recorder's,
 * which lives as long as the program. */
struct text {
    char at[1];
};

/* ---- texts -------------------------------------------------------------- */

/* As UTF-8, as much as fits. */
static void narrow(const wchar_t *from, char to[MOST_TEXT])
{
    char *at = to, *end = to + MOST_TEXT - 5;
    for (; from && *from && at < end; from++) {
        uint32_t c = (uint32_t)*from;
        if (c < 0x80) {
            *at++ = (char)c;
        } else if (c < 0x800) {
            *at++ = (char)(0xc0 | c >> 6);
            *at++ = (char)(0x80 | (c & 63));
        } else if (c < 0x10000) {
            *at++ = (char)(0xe0 | c >> 12);
            *at++ = (char)(0x80 | (c >> 6 & 63));
            *at++ = (char)(0x80 | (c & 63));
        } else {
            *at++ = (char)(0xf0 | (c >> 18 & 7));
            *at++ = (char)(0x80 | (c >> 12 & 63));
            *at++ = (char)(0x80 | (c >> 6 & 63));
            *at++ = (char)(0x80 | (c & 63));
        }
    }
    *at = 0;
}

static const struct text *keep(const char *text)
{
    return (const struct text *)axp_name(text, text ? strlen(text) : 0);
}

static const struct text *keep_wide(const wchar_t *text)
{
    char room[MOST_TEXT];
    narrow(text, room);
    return keep(room);
}

static const char *domain_of(const struct text *domain)
{
    return domain ? domain->at : NULL;
}

/* ---- events ------------------------------------------------------------- */

static double payload_of(const struct attributes *a)
{
    switch (a->payload_type) {
    case 1: return (double)a->payload.u64;
    case 2: return (double)a->payload.i64;
    case 3: return a->payload.f64;
    case 4: return a->payload.u32;
    case 5: return a->payload.i32;
    case 6: return (double)a->payload.f32;
    default: return 0;
    }
}

struct room {
    char text[MOST_TEXT];
    double payload;
};

static struct common_range range_of(const struct text *domain,
                                    const struct attributes *a,
                                    struct room *room)
{
    struct common_range r = {.domain = domain_of(domain), .name = ""};
    if (!a || a->size < sizeof *a) return r;
    if (a->text_type == TEXT_ASCII) r.name = a->text.ascii;
    if (a->text_type == TEXT_REGISTERED && a->text.registered)
        r.name = a->text.registered->at;
    if (a->text_type == TEXT_WIDE) {
        narrow(a->text.wide, room->text);
        r.name = room->text;
    }
    if (a->payload_type >= 1 && a->payload_type <= 6) {
        room->payload = payload_of(a);
        r.payload = &room->payload;
    }
    return r;
}

static void domain_mark(const struct text *domain, const struct attributes *a)
{
    int error = errno;
    struct room room;
    struct common_range r = range_of(domain, a, &room);
    common_range_mark(&r);
    errno = error;
}

static uint64_t domain_start(const struct text *domain,
                             const struct attributes *a)
{
    int error = errno;
    struct room room;
    struct common_range r = range_of(domain, a, &room);
    uint64_t id = common_range_start(&r);
    errno = error;
    return id;
}

static void domain_end(const struct text *domain, uint64_t id)
{
    int error = errno;
    (void)domain;
    common_range_end(id);
    errno = error;
}

/* These two, which are called most, leave errno as it is by themselves. */
static int domain_push(const struct text *domain, const struct attributes *a)
{
    struct room room;
    struct common_range r = range_of(domain, a, &room);
    return common_range_push(&r);
}

static int domain_pop(const struct text *domain)
{
    return common_range_pop(domain_of(domain));
}

static void mark_ex(const struct attributes *a)
{
    domain_mark(NULL, a);
}

static uint64_t start_ex(const struct attributes *a)
{
    return domain_start(NULL, a);
}

static void end(uint64_t id)
{
    domain_end(NULL, id);
}

static int push_ex(const struct attributes *a)
{
    return domain_push(NULL, a);
}

static int pop(void)
{
    return domain_pop(NULL);
}

static struct attributes of_ascii(const char *text)
{
    struct attributes a = {.size = sizeof a, .text_type = TEXT_ASCII};
    a.text.ascii = text;
    return a;
}

static struct attributes of_wide(const wchar_t *text)
{
    struct attributes a = {.size = sizeof a, .text_type = TEXT_WIDE};
    a.text.wide = text;
    return a;
}

static void mark(const char *text)
{
    struct attributes a = of_ascii(text);
    mark_ex(&a);
}

static void mark_wide(const wchar_t *text)
{
    struct attributes a = of_wide(text);
    mark_ex(&a);
}

static uint64_t start(const char *text)
{
    struct attributes a = of_ascii(text);
    return start_ex(&a);
}

static uint64_t start_wide(const wchar_t *text)
{
    struct attributes a = of_wide(text);
    return start_ex(&a);
}

static int push(const char *text)
{
    return common_range_push(&(struct common_range){.name = text});
}

static int push_wide(const wchar_t *text)
{
    struct attributes a = of_wide(text);
    return push_ex(&a);
}

/* ---- names and domains -------------------------------------------------- */

/* Others' are named when they next record something, by the kernel's name. */
static void name_thread(uint32_t id, const char *name)
{
    int error = errno;
    if (name && !common_ranges_are_quiet() &&
        id == (uint32_t)syscall(SYS_gettid))
        axp_thread_name(axp_global(), name);
    errno = error;
}

static void name_thread_wide(uint32_t id, const wchar_t *name)
{
    char room[MOST_TEXT];
    narrow(name, room);
    name_thread(id, room);
}

static const struct text *register_string(const struct text *domain,
                                          const char *text)
{
    (void)domain;
    return keep(text);
}

static const struct text *register_wide(const struct text *domain,
                                        const wchar_t *text)
{
    (void)domain;
    return keep_wide(text);
}

static void ignore(void) {}

/* ---- the beginning ------------------------------------------------------ */

#define AS_ANY(f) ((any_function *)(f))

/* By the interface's numbers; NULL: as it was. */
static any_function *const core[] = {NULL,
                                     AS_ANY(mark_ex),
                                     AS_ANY(mark),
                                     AS_ANY(mark_wide),
                                     AS_ANY(start_ex),
                                     AS_ANY(start),
                                     AS_ANY(start_wide),
                                     AS_ANY(end),
                                     AS_ANY(push_ex),
                                     AS_ANY(push),
                                     AS_ANY(push_wide),
                                     AS_ANY(pop),
                                     NULL, /* names of categories */
                                     NULL,
                                     AS_ANY(name_thread),
                                     AS_ANY(name_thread_wide)};
static any_function *const core2[] = {
    NULL,
    AS_ANY(domain_mark),
    AS_ANY(domain_start),
    AS_ANY(domain_end),
    AS_ANY(domain_push),
    AS_ANY(domain_pop),
    NULL, /* resources */
    NULL,
    NULL, /* names of categories */
    NULL,
    AS_ANY(register_string),
    AS_ANY(register_wide),
    AS_ANY(keep), /* a domain */
    AS_ANY(keep_wide),
    AS_ANY(ignore), /* its end: who has the handle may still use it */
    NULL};

static void fill(const struct callbacks *callbacks, int module,
                 any_function *const *with, size_t n)
{
    any_function ***table = NULL;
    unsigned size = 0;
    if (!callbacks->get_table(module, &table, &size) || !table) return;
    for (size_t i = 1; i < n && i < size; i++)
        if (with[i] && table[i]) *table[i] = with[i];
}

EXPORTED int InitializeInjectionNvtx2(get_export_table *get);
EXPORTED int InitializeInjectionNvtx2(get_export_table *get)
{
    const struct callbacks *callbacks = get ? get(TABLE_OF_CALLBACKS) : NULL;
    if (!callbacks || callbacks->size < sizeof *callbacks) return 0;
    fill(callbacks, MODULE_CORE, core, sizeof core / sizeof *core);
    fill(callbacks, MODULE_CORE2, core2, sizeof core2 / sizeof *core2);
    return 1;
}
