/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The machine of a view, and the public calls for one (axprof_machine.h).
 *
 * Input    a recording's text, and files of the user's cache, which anyone may
 *          have written: what is no machine is none.
 */
#include "model/model_machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "axprof/axprof_adapter.h"
#include "base/base_sized.h"
#include "model/model_view.h"
#include "record/record_thread.h"

bool axp__view_make_machine(axp_view *v)
{
    const char *text = v->capture->about.machine;
    if (!text) return true;
    struct axp__machine *m = malloc(sizeof *m);
    if (!m) return false;
    if (axp__machine_get(m, text, strnlen(text, AXP__MACHINE_TEXT + 1)))
        v->machine = m;
    else
        free(m);
    return true;
}

/* ---- measuring ------------------------------------------------------------- */

static bool is_anything_known(const struct axp__machine *m)
{
    for (size_t i = 0; i < m->n_compute; i++)
        if (m->compute[i].one.best > 0) return true;
    return false;
}

axp_machine *axp_machine_measure(const axp_machine_options *options)
{
    axp_machine_options o = {0};
    if (options && !axp__sized_take(&o, sizeof o, options,
                                    AXP__SIZE_TO(axp_machine_options, ctx))) {
        axp__fail(AXP_E_INVALID, "axp_machine_options has no valid size");
        return NULL;
    }
    axp_machine *m = calloc(1, sizeof *m);
    if (m) axp__machine_measure(&m->is, &o);
    if (m && is_anything_known(&m->is)) return m;
    axp__fail(m ? AXP_E_STATE : AXP_E_NO_MEMORY,
              m ? "the machine could not be measured" : "no memory to measure");
    free(m);
    return NULL;
}

void axp_machine_destroy(axp_machine *m)
{
    free(m);
}

/* ---- files ----------------------------------------------------------------- */

void axp_machine_file_name(char *out, size_t size)
{
    struct axp__machine here;
    char word[AXP__MACHINE_NAME];
    size_t n = 0;
    axp__machine_identify(&here);
    for (const char *c = here.cpu; *c; c++) {
        bool is_plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
                        (*c >= 'A' && *c <= 'Z');
        if (is_plain || (n && word[n - 1] != '-'))
            word[n++] = is_plain ? *c : '-';
    }
    word[n] = 0;
    if (size)
        snprintf(out, size, "machine-%s-%s-%u.txt", here.arch, word,
                 here.n_threads);
}

static bool has_less_than_a_cpu(const struct axp__machine *m)
{
    return m->quota > 0 && m->quota < 1;
}

bool axp_machine_is_here(const axp_machine *m)
{
    struct axp__machine here;
    if (!m) return false;
    axp__machine_identify(&here);
    return !strcmp(m->is.cpu, here.cpu) && !strcmp(m->is.arch, here.arch) &&
           m->is.n_threads == here.n_threads &&
           (!has_less_than_a_cpu(&m->is) || has_less_than_a_cpu(&here));
}

bool axp_machine_is_whole(const axp_machine *m)
{
    return m && !m->is.is_short && !m->is.is_partial;
}

uint32_t axp_machine_threads(const axp_machine *m)
{
    return m ? m->is.n_threads : 0;
}

double axp_machine_hz(const axp_machine *m)
{
    return m ? m->is.hz.best : 0;
}

static bool write_all(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

axp_status axp_machine_save(const axp_machine *m, const char *path)
{
    char text[AXP__MACHINE_TEXT], draft[4200];
    if (!m || !path)
        return axp__fail(AXP_E_INVALID, "a machine and a path are needed");
    size_t len = axp__machine_put(&m->is, text, sizeof text);
    if ((size_t)snprintf(draft, sizeof draft, "%s.XXXXXX", path) >=
        sizeof draft)
        return axp__fail(AXP_E_INVALID, "the path is too long");
    int fd = mkostemp(draft, O_CLOEXEC);
    bool ok = fd >= 0 && write_all(fd, text, len);
    if (fd >= 0 && close(fd)) ok = false;
    if (ok && !rename(draft, path)) return AXP_OK;
    int error = errno;
    if (fd >= 0) unlink(draft);
    return axp__fail(AXP_E_IO, "cannot write %.200s: %s", path,
                     strerror(error));
}

/* A file that is no plain one may keep whoever reads it waiting. */
axp_status axp_machine_load(const char *path, axp_machine **out)
{
    char text[AXP__MACHINE_TEXT + 1];
    struct stat st;
    size_t len = 0;
    if (!path || !out)
        return axp__fail(AXP_E_INVALID, "a path and a place are needed");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return axp__fail(errno == ENOENT ? AXP_E_NOT_FOUND : AXP_E_IO,
                         "cannot read %.200s: %s", path, strerror(errno));
    bool is_plain = !fstat(fd, &st) && S_ISREG(st.st_mode);
    for (ssize_t n = 1; is_plain && n > 0 && len < sizeof text;) {
        n = read(fd, text + len, sizeof text - len);
        if (n > 0) len += (size_t)n;
    }
    close(fd);
    axp_machine *m = calloc(1, sizeof *m);
    if (!m) return axp__fail(AXP_E_NO_MEMORY, "no memory for a machine");
    if (is_plain && axp__machine_get(&m->is, text, len)) {
        *out = m;
        return AXP_OK;
    }
    free(m);
    return axp__fail(AXP_E_FORMAT, "%.200s is no measured machine", path);
}

axp_status axp_machine_record(const axp_machine *m)
{
    char text[AXP__MACHINE_TEXT];
    if (!m) return axp__fail(AXP_E_INVALID, "a machine is needed");
    axp__machine_put(&m->is, text, sizeof text);
    axp_outside_machine(text);
    return AXP_OK;
}

/* ---- what was measured ------------------------------------------------------- */

size_t axp_machine_peaks_sized(const axp_machine *m, axp_peak *out, size_t cap,
                               size_t size)
{
    for (size_t i = 0; m && i < m->is.n_compute && i < cap; i++) {
        const struct axp__machine_compute *c = &m->is.compute[i];
        axp_peak peak = {c->dtype,    c->isa,        c->one.best,
                         c->all.best, c->one.spread, c->all.spread};
        axp__sized_copy((char *)out + i * size, size, &peak, sizeof peak);
    }
    return m ? m->is.n_compute : 0;
}

static struct axp__figure better(struct axp__figure a, struct axp__figure b)
{
    return a.best >= b.best ? a : b;
}

size_t axp_machine_bandwidths_sized(const axp_machine *m, axp_bandwidth *out,
                                    size_t cap, size_t size)
{
    for (size_t i = 0; m && i < m->is.n_memory && i < cap; i++) {
        const struct axp__machine_memory *is = &m->is.memory[i];
        struct axp__figure one = better(is->read_one, is->move_one);
        struct axp__figure all = better(is->read_all, is->move_all);
        axp_bandwidth b = {is->level, is->bytes,  one.best,
                           all.best,  one.spread, all.spread};
        axp__sized_copy((char *)out + i * size, size, &b, sizeof b);
    }
    return m ? m->is.n_memory : 0;
}
