/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ids of what has no build id, as this very program: the same of what is loaded,
 * of its file, and of none that is another or broken. */
#include "test_support.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/os_about.h"
#include "os/os_made_id.h"
#include "sampling/sampling_module.h"
#include "symbol/symbol_build_id.h"

enum { MOST = 1 << 24 };

static const char *self(void)
{
    static char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(n > 0);
    path[n] = 0;
    return path;
}

/* A map is "bias first last id path". */
static bool take(void *ctx, const char *key, const char *value, size_t len)
{
    char text[PATH_MAX + 160], id[128];
    int at = 0;
    (void)key;
    assert_true(len < sizeof text);
    memcpy(text, value, len);
    text[len] = 0;
    if (sscanf(text, "%*s %*s %*s %127s %n", id, &at) == 1 &&
        !strcmp(text + at, self()))
        memcpy(ctx, id, sizeof id);
    return true;
}

/* As a recording has it; "": an emulator's list. */
static const char *told_id(void)
{
    static char id[128];
    if (!*id) axp__about_maps(take, id);
    return id;
}

static int take_own(struct dl_phdr_info *info, size_t size, void *ctx)
{
    uint64_t first = UINT64_MAX;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            info->dlpi_phdr[i].p_vaddr < first)
            first = info->dlpi_phdr[i].p_vaddr;
    axp__about_id(info->dlpi_addr + first, ctx);
    return 1; /* the first is the program */
}

/* As it is told when it is about to be unloaded. */
static const char *own_id(void)
{
    static char id[AXP__ABOUT_ID];
    if (!*id) dl_iterate_phdr(take_own, id);
    return id;
}

static bool is_open(const char *path, const char *id)
{
    int fd = axp__module_open(path, id);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static void test_loaded_as_in_the_file(void **state)
{
    (void)state;
    assert_int_equal(strlen(own_id()), AXP__MADE_ID - 1);
    assert_int_equal(strspn(own_id(), "0123456789abcdef"), AXP__MADE_ID - 1);
    assert_true(is_open(self(), own_id()));
    assert_false(axp__module_is_other(self(), own_id()));
}

/* An emulator may not have the call. */
static bool can_read_processes(void)
{
    char from = 1, to = 0;
    struct iovec here = {&to, 1}, there = {&from, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 ||
           errno != ENOSYS;
}

static void test_as_it_is_told(void **state)
{
    char id[128] = "";
    struct stat st;
    (void)state;
    assert_int_equal(stat(self(), &st), 0);
    if (!*told_id()) skip();
    assert_string_equal(told_id(), own_id());
    if (!can_read_processes()) skip();
    if (!axp__about_maps_of((uint64_t)getpid(), &st, take, id)) skip();
    assert_string_equal(id, own_id());
}

static void test_what_is_no_object(void **state)
{
    char id[AXP__ABOUT_ID];
    (void)state;
    axp__about_id(4096, id); /* nothing is there */
    assert_string_equal(id, "-");
    axp__about_id((uint64_t)(uintptr_t)&id, id); /* no header */
    assert_string_equal(id, "-");
}

static void test_as_it_is_sampled(void **state)
{
    struct axp__mods mods;
    struct stat st;
    (void)state;
    assert_int_equal(stat(self(), &st), 0);
    axp__mods_init(&mods);
    struct axp__mod *mod = axp__mods_get(
        &mods, &(struct axp__perf_mapping){
                   .path = self(), .device = st.st_dev, .inode = st.st_ino});
    assert_non_null(mod);
    axp__mod_prepare(&mods, mod, (uint32_t)getpid(), 4096);
    assert_string_equal(mod->build_id, own_id());
    axp__mods_fini(&mods);
}

/* The first bytes of this program, in a file of their own. */
struct copied {
    char path[32];
    int fd;
    size_t n, n_needed; /* bytes: there; that an id is made of */
    char *bytes;
    ElfW(Ehdr) head;
    ElfW(Phdr) frame; /* zeros: none */
};

static void read_needed(struct copied *c)
{
    ElfW(Phdr) p;
    memcpy(&c->head, c->bytes, sizeof c->head);
    c->n_needed = c->head.e_phoff + c->head.e_phnum * sizeof p;
    for (unsigned i = 0; i < c->head.e_phnum; i++) {
        memcpy(&p, c->bytes + c->head.e_phoff + i * sizeof p, sizeof p);
        if (p.p_type == PT_GNU_EH_FRAME) c->frame = p;
    }
    size_t n = c->frame.p_filesz < AXP__MADE_ID_FRAME ? c->frame.p_filesz
                                                      : AXP__MADE_ID_FRAME;
    if (n) c->n_needed = c->frame.p_offset + n;
    assert_true(c->n_needed < c->n);
}

static struct copied copy_self(void)
{
    struct copied c = {.path = "/tmp/axprof-made-id-XXXXXX",
                       .bytes = malloc(MOST)};
    FILE *from = fopen(self(), "r");
    assert_true(from && c.bytes);
    c.n = fread(c.bytes, 1, MOST, from);
    fclose(from);
    c.fd = mkstemp(c.path);
    assert_true(c.fd >= 0);
    assert_int_equal(write(c.fd, c.bytes, c.n), (ssize_t)c.n);
    read_needed(&c);
    return c;
}

static void drop(struct copied *c)
{
    close(c->fd);
    unlink(c->path);
    free(c->bytes);
}

/* One that is cut has none: no memory is read that is not of the file. */
static void test_cut(void **state)
{
    (void)state;
    struct copied c = copy_self();
    size_t step = c.n_needed / 500 + 1;
    assert_true(is_open(c.path, own_id()));
    for (size_t n = c.n_needed - 1; n; n -= n > 1024 + step ? step : 1) {
        assert_int_equal(ftruncate(c.fd, (off_t)n), 0);
        assert_false(is_open(c.path, own_id()));
        assert_true(axp__module_is_other(c.path, own_id()));
    }
    drop(&c);
}

/* Each bit of what it is made of counts. */
static void test_broken(void **state)
{
    (void)state;
    struct copied c = copy_self();
    size_t n_heads = c.head.e_phoff + c.head.e_phnum * sizeof(ElfW(Phdr));
    for (size_t i = 0; i < n_heads * 8; i++) {
        char was = c.bytes[i / 8], is = (char)(was ^ 1 << i % 8);
        assert_int_equal(pwrite(c.fd, &is, 1, (off_t)(i / 8)), 1);
        assert_false(is_open(c.path, own_id()));
        assert_int_equal(pwrite(c.fd, &was, 1, (off_t)(i / 8)), 1);
    }
    for (size_t at = c.n_needed - 1; c.frame.p_filesz && at >= c.frame.p_offset;
         at -= 97) {
        char was = c.bytes[at], is = (char)(was ^ 1);
        assert_int_equal(pwrite(c.fd, &is, 1, (off_t)at), 1);
        assert_false(is_open(c.path, own_id()));
        assert_int_equal(pwrite(c.fd, &was, 1, (off_t)at), 1);
    }
    assert_true(is_open(c.path, own_id()));
    drop(&c);
}

/* Numbers in the headers that no file is as long as. */
static void test_far(void **state)
{
    (void)state;
    static const uint64_t far[] = {UINT64_MAX, UINT64_MAX - 8, 1ull << 63,
                                   1ull << 40, UINT32_MAX};
    struct copied c = copy_self();
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        ElfW(Ehdr) head = c.head;
        head.e_phoff = far[i];
        assert_int_equal(pwrite(c.fd, &head, sizeof head, 0), sizeof head);
        assert_false(is_open(c.path, own_id()));
        head = c.head;
        head.e_phnum = 65535;
        head.e_shoff = far[i];
        assert_int_equal(pwrite(c.fd, &head, sizeof head, 0), sizeof head);
        assert_false(is_open(c.path, own_id()));
    }
    drop(&c);
}

/* What has a build id has no other one, however long that is. */
static void test_with_a_build_id(void **state)
{
    (void)state;
    struct {
        ElfW(Ehdr) head;
        ElfW(Phdr) part[2];
        ElfW(Nhdr) note;
        char name[4];
        unsigned char id[70];
    } f = {.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
                                sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32},
                    .e_phoff = sizeof(ElfW(Ehdr)),
                    .e_phentsize = sizeof(ElfW(Phdr)),
                    .e_phnum = 2},
           .part = {{.p_type = PT_LOAD, .p_filesz = sizeof f},
                    {.p_type = PT_NOTE,
                     .p_offset = sizeof f.head + sizeof f.part,
                     .p_filesz = sizeof f.note + sizeof f.name + 70}},
           .note = {.n_namesz = 4, .n_descsz = 4, .n_type = NT_GNU_BUILD_ID},
           .name = "GNU",
           .id = {0xab, 0xcd, 0xef, 0x12}};
    char path[] = "/tmp/axprof-made-id-XXXXXX", id[AXP__MADE_ID];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (unsigned long_one = 0; long_one < 2; long_one++) {
        f.note.n_descsz = long_one ? 70 : 4;
        assert_int_equal(pwrite(fd, &f, sizeof f, 0), sizeof f);
        axp__made_id(&(struct axp__made_from){&f.head, f.part, 2, NULL, 0}, id);
        assert_false(is_open(path, id));
        assert_int_equal(is_open(path, "abcdef12"), !long_one);
    }
    f.note.n_type = 77;
    assert_int_equal(pwrite(fd, &f, sizeof f, 0), sizeof f);
    assert_true(is_open(path, id));
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loaded_as_in_the_file),
        cmocka_unit_test(test_as_it_is_told),
        cmocka_unit_test(test_what_is_no_object),
        cmocka_unit_test(test_as_it_is_sampled),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_far),
        cmocka_unit_test(test_with_a_build_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
