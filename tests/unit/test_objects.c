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
    ElfW(Phdr) part[2];
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
                 .e_phnum = 2},
        .part = {{.p_type = PT_LOAD, .p_memsz = PAGE},
                 {.p_type = PT_NOTE,
                  .p_vaddr = notes,
                  .p_memsz = sizeof l - offsetof(struct library, note)}},
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
    char id[32];
};

static bool take(void *ctx, const char *key, const char *value, size_t len)
{
    struct wanted *w = ctx;
    char text[PATH_MAX + 160], path[PATH_MAX], id[32];
    (void)key;
    assert_true(len < sizeof text);
    memcpy(text, value, len);
    text[len] = 0;
    if (sscanf(text, "%*s %*s %*s %31s %4095s", id, path) == 2 &&
        !strcmp(path, w->path)) {
        w->n++;
        memcpy(w->id, id, sizeof id);
    }
    return true;
}

/* Maps such a file, asks what is loaded, and unmaps it. */
static struct wanted told_with_notes_at(uint64_t notes)
{
    struct library l = library_with_notes_at(notes);
    char path[] = "/tmp/axprof-objects-XXXXXX";
    struct wanted w = {.n = 0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_non_null(realpath(path, w.path));
    assert_int_equal(write(fd, &l, sizeof l), sizeof l);
    assert_int_equal(ftruncate(fd, PAGE), 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told_with_its_build_id),
        cmocka_unit_test(test_without_readable_notes_not_told),
        cmocka_unit_test(test_where_the_kernel_may_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
