/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof_cpp.hpp: what the macros need in C++, from C++14 on. Include axprof.h or
 * axprof.hpp, which include this.
 *
 * Names      std::string, std::string_view and what looks like them become C
 *            strings; a view, which may have no end, by axp_name.
 * Functions  "void ns::layer<T>::run(int) const [with T = float]", which the
 *            compiler has, becomes "ns::layer<T>::run [T = float]" while it
 *            compiles.
 * co_await   a coroutine that waits inside a scope may go on when the scopes
 *            around it are long over, or on another thread. Each scope therefore
 *            declares, in its block, an operator co_await that does not
 *            compile; the language looks for one there. Not refused: awaiting
 *            what has a co_await operator of its own that fits as well.
 *            clang also refuses a co_return inside a scope where it is the
 *            first word of its coroutine.
 */
#ifndef AXPROF_CPP_HPP
#define AXPROF_CPP_HPP
#include <stddef.h>

namespace axp
{
namespace detail
{

/* ---- names -------------------------------------------------------------- */

inline const char *name_of(const char *name, int) noexcept
{
    return name;
}

template <class S>
inline auto name_of(const S &s, int) noexcept
    -> decltype(static_cast<const char *>(s.c_str()))
{
    return s.c_str();
}

template <class S>
inline auto name_of(const S &s, long) noexcept
    -> decltype(axp_name(s.data(), s.size()))
{
    return axp_name(s.data(), s.size());
}

/* ---- functions ---------------------------------------------------------- */

template <size_t N> struct function_text {
    char text[N];
};

constexpr bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '$';
}

constexpr bool is_at(const char *s, const char *what)
{
    while (*what)
        if (*s++ != *what++) return false;
    return true;
}

/* Where a bracket that ends at `end` begins. */
constexpr size_t bracket_begin(const char *s, size_t end, char open, char close)
{
    int depth = 0;
    while (end-- > 0) {
        if (s[end] == close) depth++;
        if (s[end] == open && --depth == 0) return end;
    }
    return 0;
}

/* Before "[with T = int]"; `end` where there is none. */
constexpr size_t before_arguments(const char *s, size_t end)
{
    if (!end || s[end - 1] != ']') return end;
    size_t at = bracket_begin(s, end, '[', ']');
    return at > 1 && s[at - 1] == ' ' ? at - 1 : end;
}

/* Before "(int) const &"; `end` where there is none: a lambda of gcc's. */
constexpr size_t before_parameters(const char *s, size_t end)
{
    size_t at = end;
    while (at && (is_word(s[at - 1]) || s[at - 1] == ' ' || s[at - 1] == '&'))
        at--;
    return at && s[at - 1] == ')' ? bracket_begin(s, at, '(', ')') : end;
}

/* Where "operator" stands whose name goes to `end`; `end`: none. What follows
 * it may hold spaces and brackets of any kind. */
constexpr size_t before_operator(const char *s, size_t end)
{
    for (size_t at = end; at-- > 0;)
        if (is_at(s + at, "operator") && !is_word(s[at + 8]) &&
            (at == 0 || !is_word(s[at - 1]))) {
            for (size_t i = at; i + 1 < end; i++)
                if (s[i] == ':' && s[i + 1] == ':') return end; /* not last */
            return at;
        }
    return end;
}

/* After the space that ends the type; those in brackets, and that before the
 * const of a function around this one, do not. */
constexpr size_t name_begin(const char *s, size_t end)
{
    int depth = 0;
    for (size_t at = end; at-- > 0;) {
        char c = s[at];
        if (c == ')' || c == '}' || (c == '>' && at && s[at - 1] != '-'))
            depth++;
        if (c == '(' || c == '{' || c == '<') depth--;
        bool is_end = c == ' ' && depth <= 0;
        if (!is_end || (at && s[at - 1] == ')' && is_at(s + at, " const")))
            continue;
        while (s[at + 1] == '*' || s[at + 1] == '&')
            at++;
        return at + 1;
    }
    return 0;
}

/* "; std::string = …", by which gcc explains what stands in the parameters; no
 * argument of a template has such a name. */
constexpr bool is_alias(const char *s)
{
    if (!is_at(s, "; ")) return false;
    for (s += 2; is_word(*s) || *s == ':'; s++)
        if (is_at(s, "::")) return true;
    return false;
}

constexpr size_t size_of(const char *s)
{
    size_t n = 1;
    while (*s++)
        n++;
    return n;
}

/* N is size_of(pretty): gcc does not always know how long its own array is. */
template <size_t N> constexpr function_text<N> function_of(const char *pretty)
{
    function_text<N> out = {};
    size_t end = before_arguments(pretty, N - 1), n = 0;
    size_t stop = before_parameters(pretty, end);
    size_t from = name_begin(pretty, before_operator(pretty, stop));
    if (from >= stop) from = 0, stop = N - 1, end = N - 1; /* as it is */
    for (size_t i = from; i < stop; i++)
        out.text[n++] = pretty[i];
    for (size_t i = end; i < N - 1; i++) {
        if (i == end + 2 && is_at(pretty + i, "with ")) i += 5;
        if (is_alias(pretty + i)) i = N - 2; /* the bracket */
        out.text[n++] = pretty[i];
    }
    return out;
}

/* ---- coroutines --------------------------------------------------------- */

#if defined(__cpp_impl_coroutine) || defined(__cpp_coroutines)
template <class T> struct refused {
    static_assert(sizeof(T) == 0,
                  "no scope of axprof may be open at a co_await: end its block "
                  "before, or use axp::async_scope of axprof.hpp");
};
#ifdef __clang__
struct awaited {
    template <class T> awaited(T &&);
};
#define AXP__NO_CO_AWAIT                                                       \
    axp::detail::refused<axp::detail::awaited> operator co_await(              \
        axp::detail::awaited);
#else
template <class T> refused<T> operator co_await(T &&);
#define AXP__NO_CO_AWAIT using axp::detail::operator co_await;
#endif
#else
#define AXP__NO_CO_AWAIT
#endif

} // namespace detail
} // namespace axp

#endif
