/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The page without its data: viewer/dist/report.html, which the build of
 * viewer/ makes and the repository holds. The assembler takes it as it is, so
 * that building the library needs no other tool. */
#include "emit/emit_html.h"

/* AXP_TEMPLATE_PATH comes from the build, which also makes this file again
 * when the template changes. */
__asm__(".pushsection .rodata\n"
        ".global axp__html_template\n"
        ".hidden axp__html_template\n"
        ".type axp__html_template, %object\n"
        "axp__html_template:\n"
        ".incbin \"" AXP_TEMPLATE_PATH "\"\n"
        "1:\n"
        ".byte 0\n"
        ".size axp__html_template, . - axp__html_template\n"
        ".balign 8\n"
        ".global axp__html_template_size\n"
        ".hidden axp__html_template_size\n"
        ".type axp__html_template_size, %object\n"
        "axp__html_template_size:\n"
        ".quad 1b - axp__html_template\n"
        ".size axp__html_template_size, 8\n"
        ".popsection\n");
