/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Arguments as they are stored: what looks like a secret is not. */
#include "os/os_secret.h"
#include "test_support.h"

/* Arguments with | between them, before and after. */
static void expect(const char *before, const char *after)
{
    char from[512], to[512];
    size_t len = strlen(before);
    memcpy(from, before, len + 1);
    for (size_t i = 0; i < len; i++)
        if (from[i] == '|') from[i] = 0;
    size_t n = axp__secret_hide(from, len, to, sizeof to - 1);
    for (size_t i = 0; i < n; i++)
        if (!to[i]) to[i] = '|';
    to[n] = 0;
    assert_string_equal(to, after);
}

static void secrets_are_hidden(void **state)
{
    (void)state;
    expect("prog|--password=hunter2|x", "prog|--password=***|x");
    expect("prog|--db-password|hunter2|x", "prog|--db-password|***|x");
    expect("prog|--apiKey=a|--api-key|b", "prog|--apiKey=***|--api-key|***");
    expect("HF_TOKEN=abc|prog", "HF_TOKEN=***|prog");
    expect("prog|AWS_SECRET_ACCESS_KEY=abc", "prog|AWS_SECRET_ACCESS_KEY=***");
    expect("prog|https://me:pw@host/path", "prog|https://me:***@host/path");
    expect("prog|--db=postgres://u:p@h:5432/d",
           "prog|--db=postgres://u:***@h:5432/d");
    expect("prog|-H|Authorization: Bearer abc.def",
           "prog|-H|Authorization: Bearer ***");
    expect("prog|sk-abcdefghijklmnopqrst", "prog|***");
    expect("prog|--k=ghp_abcdefghijklmnopqrst", "prog|--k=***");
    expect("prog|AKIAIOSFODNN7EXAMPLE", "prog|***");
}

static void the_rest_is_not(void **state)
{
    (void)state;
    expect("prog|--max-tokens|512", "prog|--max-tokens|512");
    expect("prog|--token-limit=5", "prog|--token-limit=5");
    expect("prog|--author|me", "prog|--author|me");
    expect("prog|https://host:80/a@b", "prog|https://host:80/a@b");
    expect("prog|--password|--verbose", "prog|--password|--verbose");
    expect("prog|sk-short", "prog|sk-short");
    expect("prog||x", "prog||x");
    expect("", "");
    expect("--token=", "--token=");
}

static void what_does_not_fit_is_cut(void **state)
{
    (void)state;
    char to[8];
    assert_int_equal(axp__secret_hide("a\0--token=xyz", 13, to, sizeof to), 8);
    assert_memory_equal(to, "a\0--toke", 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_hidden),
        cmocka_unit_test(the_rest_is_not),
        cmocka_unit_test(what_does_not_fit_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
