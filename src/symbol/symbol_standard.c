/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions of the standard library; see symbol_standard.h. */
#include "symbol/symbol_standard.h"

#include <stddef.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

static bool is_header(const char *file)
{
    static const char *const folders[] = {"/usr/lib/gcc/", "/usr/lib/llvm-",
                                          "/usr/lib64/gcc/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (begins(file, folders[i])) return true;
    return begins(file, "/usr/include/") && strstr(file, "/c++/");
}

/* Of "unsigned long const& std::max<…>(…)" the name: what follows the last
 * space that is in no brackets, before its arguments. */
static const char *name_in(const char *function)
{
    const char *name = function;
    int depth = 0;
    for (const char *at = function; *at; at++) {
        if (*at == '(' && !depth) break;
        if (*at == '<' || *at == '(' || *at == '[' || *at == '{') depth++;
        if (*at == '>' || *at == ')' || *at == ']' || *at == '}') depth--;
        if (*at == ' ' && !depth) name = at + 1;
    }
    return name;
}

bool axp__code_is_standard(const char *function, const char *file)
{
    if (file && is_header(file)) return true;
    if (!function) return false;
    const char *name = name_in(function);
    return begins(name, "std::") || begins(name, "__gnu_cxx::");
}
