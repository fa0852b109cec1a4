/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Feeds a fuzz target the files of a folder: its corpus as a plain test.
 *
 *   fuzz_run FOLDER
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_one(const char *folder, const char *name)
{
    char path[1024];
    static uint8_t bytes[1 << 17];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) return 1;
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    uint8_t *exact = malloc(n ? n : 1); /* so that a sanitizer sees its end */
    if (!exact) return 1;
    memcpy(exact, bytes, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *d = argc > 1 ? opendir(argv[1]) : NULL;
    int n = 0, n_failed = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        n_failed += run_one(argv[1], e->d_name);
        n++;
    }
    if (d) closedir(d);
    printf("%d inputs\n", n);
    return n < 5 || n_failed;
}
