/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Buffered output; see emit_out.h. */
#include "emit/emit_out.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emit/emit_number.h"
#include "record/record_thread.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

void axp__out_init(struct axp__out *o, FILE *to)
{
    o->to = to;
    o->path = NULL;
    o->len = 0;
    o->n_bytes = 0;
    o->error = 0;
}

static void write_out(struct axp__out *o, const void *bytes, size_t len)
{
    o->n_bytes += len;
    if (o->error || !len) return;
    if (!o->to) {
        o->error = EFBIG;
        return;
    }
    errno = 0;
    if (fwrite(bytes, 1, len, o->to) != len) o->error = errno ? errno : EIO;
}

void axp__out_flush(struct axp__out *o)
{
    write_out(o, o->buffer, o->len);
    o->len = 0;
}

axp_status axp__out_fini(struct axp__out *o)
{
    axp__out_flush(o);
    errno = 0;
    if (!o->error && fflush(o->to)) o->error = errno ? errno : EIO;
    if (!o->error) return AXP_OK;
    axp_status status =
        axp__fail(AXP_E_IO, "cannot write%s%s: %s", o->path ? " " : "",
                  o->path ? o->path : "", strerror(o->error));
    errno = o->error;
    return status;
}

void axp__out_bytes(struct axp__out *o, const void *bytes, size_t len)
{
    if (len > AXP__OUT_BYTES - o->len) {
        axp__out_flush(o);
        if (len > AXP__OUT_BYTES / 2) {
            write_out(o, bytes, len);
            return;
        }
    }
    memcpy(o->buffer + o->len, bytes, len);
    o->len += len;
}

/* ---- numbers ------------------------------------------------------------------------ */

void axp__out_u64(struct axp__out *o, uint64_t value)
{
    char *at = axp__out_room(o, AXP__NUMBER_ROOM);
    o->len += (size_t)(axp__print_u64(at, value) - at);
}

void axp__out_i64(struct axp__out *o, int64_t value)
{
    if (value < 0) axp__out_char(o, '-');
    axp__out_u64(o, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void axp__out_us(struct axp__out *o, axp_ns ns)
{
    char *at = axp__out_room(o, AXP__NUMBER_ROOM);
    o->len += (size_t)(axp__put_us(at, ns) - at);
}

void axp__out_f64(struct axp__out *o, double value)
{
    if (!isfinite(value)) {
        axp__out_text(o, "null");
        return;
    }
    if (fabs(value) < 1e15 && value == (double)(int64_t)value) {
        axp__out_i64(o, (int64_t)value);
        return;
    }
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    for (char *c = text; *c; c++)
        if (*c == ',') *c = '.'; /* a locale's */
    axp__out_text(o, text);
}

void axp__out_format(struct axp__out *o, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0) return;
    if ((size_t)n < sizeof text) {
        axp__out_bytes(o, text, (size_t)n);
        return;
    }
    char *longer = malloc((size_t)n + 1);
    if (!longer) {
        if (!o->error) o->error = ENOMEM;
        return;
    }
    va_start(args, format);
    vsnprintf(longer, (size_t)n + 1, format, args);
    va_end(args);
    axp__out_bytes(o, longer, (size_t)n);
    free(longer);
}

/* ---- text ----------------------------------------------------------------------------- */

size_t axp__utf8_len(const char *text, size_t left)
{
    const unsigned char *s = (const unsigned char *)text;
    if (!left) return 0;
    if (s[0] < 0x80) return 1;
    size_t n = s[0] < 0xc2   ? 0
               : s[0] < 0xe0 ? 2
               : s[0] < 0xf0 ? 3
               : s[0] < 0xf5 ? 4
                             : 0;
    if (!n || n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90))
        return 0; /* longer than it need be */
    if ((s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0; /* surrogates; past U+10FFFF */
    return n;
}

void axp__out_utf8(struct axp__out *o, const char *text, size_t len)
{
    while (len) {
        size_t n = axp__utf8_len(text, len);
        if (n)
            axp__out_bytes(o, text, n);
        else
            axp__out_text(o, replacement);
        text += n ? n : 1;
        len -= n ? n : 1;
    }
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '<';
}

static void json_control(struct axp__out *o, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char names[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    for (const char *k = names; *k; k += 2)
        if ((unsigned char)*k == c) {
            axp__out_char(o, '\\');
            axp__out_char(o, k[1]);
            return;
        }
    char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    axp__out_bytes(o, text, 6);
}

void axp__out_json_n(struct axp__out *o, const char *text, size_t len)
{
    axp__out_char(o, '"');
    while (len) {
        size_t n = 0;
        while (n < len && is_plain((unsigned char)text[n]))
            n++;
        axp__out_bytes(o, text, n);
        text += n;
        len -= n;
        if (!len) break;
        n = axp__utf8_len(text, len);
        if (n == 1)
            json_control(o, (unsigned char)*text);
        else if (!n)
            axp__out_text(o, replacement);
        else if (n == 3 && !memcmp(text, "\xe2\x80\xa8", 3))
            axp__out_text(o, "\\u2028"); /* ends a line in old scripts */
        else if (n == 3 && !memcmp(text, "\xe2\x80\xa9", 3))
            axp__out_text(o, "\\u2029");
        else
            axp__out_bytes(o, text, n);
        text += n ? n : 1;
        len -= n ? n : 1;
    }
    axp__out_char(o, '"');
}

void axp__out_json(struct axp__out *o, const char *text)
{
    if (text)
        axp__out_json_n(o, text, strlen(text));
    else
        axp__out_text(o, "null");
}

/* ---- whole files -------------------------------------------------------------------------- */

static axp_status to_file(FILE *to, const char *path, axp__emit_fn fn,
                          void *ctx)
{
    struct axp__out *o = malloc(sizeof *o);
    if (!o) return axp__fail(AXP_E_NO_MEMORY, "no memory to write");
    axp__out_init(o, to);
    o->path = path;
    axp_status status = fn(o, ctx);
    axp_status written = axp__out_fini(o);
    int error = errno;
    free(o);
    errno = error;
    return status ? status : written;
}

axp_status axp__out_to_file(FILE *to, axp__emit_fn fn, void *ctx)
{
    return to_file(to, NULL, fn, ctx);
}

/* A new file beside path, with the rights that fopen would give. */
static FILE *open_beside(const char *path, char **name)
{
    size_t len = strlen(path) + 32;
    int fd = -1;
    *name = malloc(len);
    if (!*name) return NULL;
    for (int i = 0; i < 100 && fd < 0; i++) {
        snprintf(*name, len, "%s.%ld-%d.tmp", path, (long)getpid(), i);
        fd = open(*name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) return NULL;
    }
    if (fd < 0) return NULL;
    FILE *f = fdopen(fd, "wb");
    if (!f) {
        close(fd);
        unlink(*name);
    }
    return f;
}

/* Devices and pipes are written to as they are. */
static bool is_special(const char *path)
{
    struct stat st;
    return !stat(path, &st) && !S_ISREG(st.st_mode);
}

static axp_status to_special(const char *path, axp__emit_fn fn, void *ctx)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return axp__fail(AXP_E_IO, "cannot write %s: %s", path,
                         strerror(errno));
    axp_status status = to_file(f, path, fn, ctx);
    if (fclose(f) && !status)
        status =
            axp__fail(AXP_E_IO, "cannot write %s: %s", path, strerror(errno));
    return status;
}

axp_status axp__out_to_path(const char *path, axp__emit_fn fn, void *ctx)
{
    char *name = NULL;
    if (!path || !*path) return axp__fail(AXP_E_INVALID, "no path to write to");
    if (!strcmp(path, "-")) return axp__out_to_file(stdout, fn, ctx);
    if (is_special(path)) return to_special(path, fn, ctx);
    FILE *f = open_beside(path, &name);
    if (!f) {
        int reason = name ? errno : ENOMEM;
        free(name);
        return axp__fail(AXP_E_IO, "cannot write %s: %s", path,
                         strerror(reason));
    }
    axp_status status = to_file(f, path, fn, ctx);
    if (fclose(f) && !status)
        status =
            axp__fail(AXP_E_IO, "cannot write %s: %s", path, strerror(errno));
    if (!status && rename(name, path))
        status =
            axp__fail(AXP_E_IO, "cannot write %s: %s", path, strerror(errno));
    if (status) unlink(name);
    free(name);
    return status;
}
