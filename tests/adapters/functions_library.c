/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that functions_program is linked with: its file has a version, and
 * links that lead to it. */

__attribute__((visibility("default"))) void functions_library(void);
void functions_library(void)
{
    __asm__ volatile("");
}
