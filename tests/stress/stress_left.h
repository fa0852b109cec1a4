/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A folder for recordings of programs that are killed, or end without a word: it
 * is gone afterwards, with all that is in it and with their spools. */
#ifndef STRESS_LEFT_H
#define STRESS_LEFT_H
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "axprof/axprof_file.h"

static inline int stress_left_remove_spool(const axp_spool_info *s,
                                           void *folder)
{
    if (!strncmp(s->recording, folder, strlen(folder)))
        (void)axp_spool_remove(s->path);
    return 0;
}

static inline void stress_left_remove(char *folder)
{
    char path[512];
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.') unlink(path);
    }
    if (d) closedir(d);
    rmdir(folder);
    (void)axp_spools_list(stress_left_remove_spool, folder);
}

#endif
