/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names of C++ functions made shorter where a reader looks least.
 *
 *   void std::sort<std::vector<int>>(std::less<int>)
 *   void std::sort<…>(std::less<…>)                     of < and >
 *   void std::sort<…>(…)                                then of ( and )
 *
 * Input   any text; what is no such name has no brackets behind a word, or stays.
 */
#ifndef AXP_SYMBOL_SIGNATURE_H
#define AXP_SYMBOL_SIGNATURE_H
#include <stddef.h>

/* What is inside such brackets becomes …, up to one that nothing closes. Malloc'd;
 * NULL: no memory. */
char *axp__signature_fold(const char *name, char open, char close);

/* Without [abi:cxx11], of which there is no other. Malloc'd; NULL: no memory. */
char *axp__signature_untag(const char *name);

/* What a function itself is called: sort. It lies in the name; NULL: this is none
 * of a function, which has parameters. */
const char *axp__signature_own(const char *name, size_t *len);

#endif
