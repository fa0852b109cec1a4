/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Objects as they are told: one whose notes can be read no more is not told,
 * rather than as another one, which has no build id. */
#include "test_support.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/os_about.h"

enum { PAGE = 65536 }; /* of any machine */

/* What a library's file begins with. */
struct library {
    ElfW(Ehdr) head;
    ElfW(Phdr) part[3];
    ElfW(Nhdr) note;
    char name[4];
    unsigned char id[4];
};

static struct library library_with_notes_at(uint64_t notes)
{
    struct library l = {
        .head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3},
                 .e_phoff = offsetof(struct library, part),
                 .e_phentsize = sizeof l.part[0],
                 .e_phnum = 3},
        .part = {{.p_type = PT_LOAD, .p_memsz = PAGE},
                 {.p_type = PT_NOTE,
                  .p_vaddr = notes,
                  .p_memsz = sizeof l - offsetof(struct library, note)},
                 {.p_type = PT_NULL}},
        .note = {.n_namesz = 4, .n_descsz = 4, .n_type = NT_GNU_BUILD_ID},
        .name = "GNU",
        .id = {0xab, 0xcd, 0xef, 0x12},
    };
    return l;
}

static bool is_refused; /* as by a container's filter of system calls */
ssize_t __real_process_vm_readv(pid_t, const struct iovec *, unsigned long,
                                const struct iovec *, unsigned long,
                                unsigned long);
ssize_t __wrap_process_vm_readv(pid_t, const struct iovec *, unsigned long,
                                const struct iovec *, unsigned long,
                                unsigned long);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to,
                                unsigned long n_to, const struct iovec *from,
                                unsigned long n_from, unsigned long flags)
{
    if (!is_refused)
        return __real_process_vm_readv(pid, to, n_to, from, n_from, flags);
    errno = EPERM;
    return -1;
}

struct wanted {
    char path[PATH_MAX];
    unsigned n;
    uint64_t bias;
    char id[32];
};

static bool take(void *ctx, const char *key, const char *value, size_t len)
{
    struct wanted *w = ctx;
    char text[PATH_MAX + 160], path[PATH_MAX], id[32];
    unsigned long long bias;
    (void)key;
    assert_true(len < sizeof text);
    memcpy(text, value, len);
    text[len] = 0;
    if (sscanf(text, "%llx %*s %*s %31s %4095s", &bias, id, path) == 3 &&
        !strcmp(path, w->path)) {
        w->n++;
        w->bias = bias;
        memcpy(w->id, id, sizeof id);
    }
    return true;
}

/* Such a file. */
static int make_file(const struct library *l, char *path, struct wanted *w)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_non_null(realpath(path, w->path));
    assert_int_equal(write(fd, l, sizeof *l), sizeof *l);
    assert_int_equal(ftruncate(fd, PAGE), 0);
    return fd;
}

/* Maps it, asks what is loaded, and unmaps it. */
static struct wanted told_with_notes_at(uint64_t notes)
{
    struct library l = library_with_notes_at(notes);
    char path[] = "/tmp/axprof-objects-XXXXXX";
    struct wanted w = {.n = 0};
    int fd = make_file(&l, path, &w);
    void *at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    assert_true(at != MAP_FAILED);
    axp__about_maps(take, &w);
    munmap(at, PAGE);
    close(fd);
    unlink(path);
    return w;
}

static void test_told_with_its_build_id(void **state)
{
    (void)state;
    struct wanted w = told_with_notes_at(offsetof(struct library, note));
    if (!w.n) skip(); /* an emulator's list */
    assert_int_equal(w.n, 1);
    assert_string_equal(w.id, "abcdef12");
}

static void test_without_readable_notes_not_told(void **state)
{
    (void)state;
    struct wanted w = told_with_notes_at((uint64_t)1 << 46);
    assert_int_equal(w.n, 0);
}

/* Nor is it a crash. */
static void test_where_the_kernel_may_not_read(void **state)
{
    is_refused = true;
    test_told_with_its_build_id(state);
    test_without_readable_notes_not_told(state);
    is_refused = false;
}

/* lld's: all segments of a short program are in the file's first page, which is
 * mapped for each of them. It is one object, from where its headers are; and the
 * file as data, right before it, is none of it. */
static void test_first_page_mapped_twice(void **state)
{
    (void)state;
    struct library l = library_with_notes_at(offsetof(struct library, note));
    char path[] = "/tmp/axprof-objects-XXXXXX";
    struct wanted w = {.n = 0};
    l.part[2] = (ElfW(Phdr)){.p_type = PT_LOAD,
                             .p_offset = sizeof l,
                             .p_vaddr = 2 * PAGE + sizeof l,
                             .p_filesz = 16,
                             .p_memsz = 16};
    int fd = make_file(&l, path, &w);
    char *at =
        mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    const int fixed = MAP_PRIVATE | MAP_FIXED;
    assert_ptr_equal(mmap(at, PAGE, PROT_READ | PROT_WRITE, fixed, fd, 0), at);
    at += PAGE;
    assert_ptr_equal(mmap(at, PAGE, PROT_READ, fixed, fd, 0), at);
    assert_ptr_equal(
        mmap(at + 2 * PAGE, PAGE, PROT_READ | PROT_EXEC, fixed, fd, 0),
        at + 2 * PAGE);
    munmap(at + PAGE, PAGE);
    axp__about_maps(take, &w);
    munmap(at - PAGE, 4 * PAGE);
    close(fd);
    unlink(path);
    if (!w.n) skip(); /* an emulator's list */
    assert_int_equal(w.n, 1);
    assert_int_equal(w.bias, (uintptr_t)at);
    assert_string_equal(w.id, "abcdef12");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told_with_its_build_id),
        cmocka_unit_test(test_without_readable_notes_not_told),
        cmocka_unit_test(test_where_the_kernel_may_not_read),
        cmocka_unit_test(test_first_page_mapped_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
