/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names for a terminal: made harmless, measured, cut, kept distinct. */
#include "test_support.h"

#include "emit/emit_name.h"
#include "emit/emit_out.h"

static void assert_plain(const char *name, const char *expected)
{
    char *plain = axp__plain(name);
    assert_string_equal(plain, expected);
    free(plain);
}

static void what_is_not_printed_raw(void **state)
{
    (void)state;
    assert_plain("", "");
    assert_plain(NULL, "");
    assert_plain("matmul \\n", "matmul \\n");
    assert_plain("a\nb\rc\td", "a\\nb\\rc\\td");
    assert_plain("\x1b[31m\x07\x7f\x01", "\\x1b[31m\\x07\\x7f\\x01");
    assert_plain("\xc2\x9b"
                 "31m",
                 "\\u009b31m");              /* C1: a CSI in one character */
    assert_plain("\xe2\x80\xae", "\\u202e"); /* turns what follows round */
    assert_plain("  ", "\\x20\\x20");        /* else nothing is seen */
    assert_plain(" a ", " a ");
    assert_plain("\xe2\x80\x8b\xef\xbb\xbf", "\\u200b\\ufeff");
    assert_plain("\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029");
    assert_plain("\xf3\xa0\x80\x81", "\\ue0001"); /* tags */
    assert_plain("\xff\xc3(\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82",
                 "\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                 "\xef\xbf\xbd\xef\xbf\xbd");
    assert_plain("\xcc\x81x", "\xe2\x97\x8c\xcc\x81x"); /* a mark on nothing */
}

/* Every byte string gives valid UTF-8 without control characters. */
static void any_bytes(void **state)
{
    (void)state;
    uint64_t rng = 12345;
    for (int round = 0; round < 20000; round++) {
        char name[24];
        size_t len = ts_random(&rng) % (sizeof name - 1);
        for (size_t i = 0; i < len; i++)
            name[i] = (char)(1 + ts_random(&rng) % 255);
        name[len] = 0;
        char *plain = axp__plain(name);
        size_t left = strlen(plain), n;
        for (const char *s = plain; left; s += n, left -= n) {
            n = axp__utf8_len(s, left);
            assert_true(n > 0);
            assert_true(n > 1 || (unsigned char)*s >= 0x20);
            assert_true(*s != 0x7f);
            assert_false(n == 2 && (unsigned char)s[0] == 0xc2 &&
                         (unsigned char)s[1] < 0xa0);
        }
        free(plain);
    }
}

static void columns(void **state)
{
    (void)state;
    assert_int_equal(axp__columns("abc"), 3);
    assert_int_equal(axp__columns("e\xcc\x81"), 1);                /* e´ */
    assert_int_equal(axp__columns("\xe6\xbc\xa2\xe5\xad\x97"), 4); /* 漢字 */
    assert_int_equal(axp__columns("\xf0\x9f\x9a\x80"), 2);         /* rocket */
    assert_int_equal(axp__columns("\xef\xbc\xa1"), 2); /* fullwidth A */
    assert_int_equal(axp__columns("\xc3\xa9\xc3\x9f"), 2);
    assert_int_equal(axp__columns("\xea\xb0\x80"), 2);             /* Hangul */
    assert_int_equal(axp__columns("\xe0\xa4\x95\xe0\xa5\x8d"), 1); /* क् */
    assert_int_equal(axp__columns("\xef\xbf\xbd"), 1);
}

/* ---- cutting -------------------------------------------------------------------- */

static void assert_fit(const char *name, size_t width, const char *expected)
{
    struct axp__fit fit = {name, width, NULL};
    assert_true(axp__fit_names(&fit, 1));
    assert_string_equal(fit.shown, expected);
    assert_true(axp__columns(fit.shown) <= width);
    free(fit.shown);
}

/* Of a function what it is called stays: arguments give way. */
static void arguments_give_way(void **state)
{
    (void)state;
    const char *name =
        "void std::__introsort_loop<__gnu_cxx::__normal_iterator<V*, "
        "std::vector<V, std::allocator<V> > >, long>(__gnu_cxx::"
        "__normal_iterator<V*, int>, long)";
    assert_fit(name, 200, name);
    assert_fit(name, 80,
               "void std::__introsort_loop<…>(__gnu_cxx::__normal_iterator<…>, "
               "long)");
    assert_fit(name, 40, "void std::__introsort_loop<…>(…)");
    assert_fit(name, 30, "…std::__introsort_loop<…>(…)");
    assert_fit(name, 26, "…__introsort_loop<…>(…)");
    assert_fit(name, 20, "…__introsort_loop(…)");
    assert_fit(name, 18, "…__introsort_loop");
    assert_fit(name, 16, "__introsort_loop");
    assert_fit(name, 14, "__intro…t_loop");
    assert_fit(name, 1, "…");
    assert_fit(name, 0, "");
    assert_fit("Model<float>::Block<2>::operator()(int) const", 30,
               "…Block<2>::operator()(…) const");
    assert_fit("mine::Arena::operator new(unsigned long)", 20,
               "…operator new(…)");
    assert_fit("a scope of mine, in (brackets)", 12, "a scop…kets)");
    assert_fit("bool operator< <long, char>(T<int, int> const&)", 30,
               "bool operator< <…>(…)");
    assert_fit("T::operator->(int, int, int, int)", 20, "T::operator->(…)");
    assert_fit("build[abi:cxx11](int)", 20, "build(int)");
    assert_fit("std::map<int, long>::operator[](int const&)", 16,
               "…operator[](…)");
    assert_fit("a::f(int)::{lambda(int, int)#1}::operator()(int, int) const",
               15, "…operator()(…)");
    assert_fit("(anonymous namespace)::run(int, int, int)", 30,
               "(anonymous namespace)::run(…)");
    assert_fit("<script>alert(1)</script> x", 20, "<script>al…script> x");
    assert_fit("a < b and much more text", 12, "a < b … text");
}

static void cut_in_the_middle(void **state)
{
    (void)state;
    assert_fit("matmul", 6, "matmul");
    assert_fit("matmul.backward", 9, "matm…ward");
    assert_fit("matmul.backward", 8, "matm…ard");
    assert_fit("matmul.backward", 3, "m…d");
    assert_fit("matmul.backward", 2, "ma");
    assert_fit("matmul.backward", 0, "");
    assert_fit("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97", 6,
               "\xe6\xbc\xa2…\xe5\xad\x97"); /* half a character is none */
    assert_fit("ae\xcc\x81"
               "bcdefgh",
               5, "ae\xcc\x81…gh"); /* marks stay with their letter */
}

static void assert_distinct(const char *const *names, size_t n, size_t width)
{
    struct axp__fit fits[64];
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++)
        fits[i] = (struct axp__fit){names[i], width, NULL};
    assert_true(axp__fit_names(fits, n));
    for (size_t i = 0; i < n; i++) {
        assert_true(axp__columns(fits[i].shown) <= width);
        for (size_t k = 0; k < i; k++) {
            bool is_same = !strcmp(names[i], names[k]);
            if (is_same != !strcmp(fits[i].shown, fits[k].shown))
                fail_msg("%s and %s at %zu: %s and %s", names[i], names[k],
                         width, fits[i].shown, fits[k].shown);
        }
    }
    for (size_t i = 0; i < n; i++)
        free(fits[i].shown);
}

static void what_differs_stays_different(void **state)
{
    (void)state;
    static const char *const layers[] = {
        "transformer.encoder.layers.11.attention.self.query.first.kernel",
        "transformer.encoder.layers.12.attention.self.query.first.kernel",
        "transformer.encoder.layers.11.attention.self.value.first.kernel",
        "transformer.encoder.layers.11.attention.self.query.first.kernel",
        "transformer.encoder.layers.1.attention.self.query.first.kernel",
        "transformer.encoder.layers.11.attention.self.query.first.kernel2",
        "short",
        "bytes \xff",
        "bytes \xfe",
        "bytes \xff\xfe",
    };
    for (size_t width = 8; width < 80; width++)
        assert_distinct(layers, sizeof layers / sizeof *layers, width);
}

/* Where what differs is near the end, it and the end are one piece. */
static void an_end_is_shown_once(void **state)
{
    (void)state;
    struct axp__fit fits[] = {
        {"convolution.backward_data [gemm:ref]", 22, NULL},
        {"convolution.backward_weights [gemm:ref]", 22, NULL},
        {"convolution [gemm:ref]", 22, NULL}};
    assert_true(axp__fit_names(fits, 3));
    assert_string_equal(fits[0].shown, "convol…data [gemm:ref]");
    assert_string_equal(fits[1].shown, "con…weights [gemm:ref]");
    assert_string_equal(fits[2].shown, "convolution [gemm:ref]");
    for (size_t i = 0; i < 3; i++)
        free(fits[i].shown);
}

/* One name, other arguments: what it is called is not what gives way. */
static void overloads_keep_their_name(void **state)
{
    (void)state;
    struct axp__fit fits[] = {
        {"std::vector<int>::operator[](unsigned long)", 20, NULL},
        {"std::vector<int>::operator[](unsigned long) const", 20, NULL},
        {"blas::multiply_add<float>(float const*, int)", 20, NULL},
        {"blas::multiply_add<double>(double const*, int)", 20, NULL}};
    assert_true(axp__fit_names(fits, 4));
    assert_string_equal(fits[0].shown, "…operator[](…)");
    assert_string_equal(fits[1].shown, "…operator[](…) const");
    assert_string_equal(fits[2].shown, "…multiply_add(…)#1");
    assert_string_equal(fits[3].shown, "…multiply_add(…)#2");
    for (size_t i = 0; i < 4; i++)
        free(fits[i].shown);
}

static void many_alike(void **state)
{
    (void)state;
    char *names[60];
    for (size_t i = 0; i < 60; i++) {
        names[i] = malloc(400);
        memset(names[i], 'x', 399);
        names[i][399] = 0;
        names[i][100 + i % 30] = (char)('0' + i / 30);
        names[i][200 + i % 7] = 'y';
    }
    for (size_t width = 10; width < 60; width += 7)
        assert_distinct((const char *const *)names, 60, width);
    for (size_t i = 0; i < 60; i++)
        free(names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_printed_raw),
        cmocka_unit_test(any_bytes),
        cmocka_unit_test(columns),
        cmocka_unit_test(arguments_give_way),
        cmocka_unit_test(cut_in_the_middle),
        cmocka_unit_test(what_differs_stays_different),
        cmocka_unit_test(an_end_is_shown_once),
        cmocka_unit_test(overloads_keep_their_name),
        cmocka_unit_test(many_alike),
    };
    return TS_RUN(tests);
}
