/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Doubles as whole numbers, and numbers from and to text, the same in every
 * locale: printf's decimal point is the program's choice, and reports must not
 * depend on it.
 *
 * Like snprintf they write at most size bytes with the final 0; size is not 0.
 */
#ifndef AXP_BASE_NUMBER_H
#define AXP_BASE_NUMBER_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The nearest whole number from 0 to the largest there is; 0 for NaN. What a
 * damaged file claims can be any double, and a plain cast is undefined. */
static inline uint64_t axp__whole(double value)
{
    if (!(value > 0)) return 0;
    return value < 0x1p64 ? (uint64_t)(value + 0.5) : UINT64_MAX;
}

/* Puts text after the first `at` bytes of buf, fewer than size; returns the new
 * length. */
static inline size_t axp__append(char *buf, size_t size, size_t at,
                                 const char *text)
{
    size_t n = strnlen(text, size - at - 1);
    memcpy(buf + at, text, n);
    buf[at + n] = 0;
    return at + n;
}

/* "12", "0.5", "1e9": all of the text, not negative; NaN for anything else. */
static inline double axp__parse_number(const char *text)
{
    double value = 0, unit = 1;
    int exponent = 0, n = 0;
    for (; *text >= '0' && *text <= '9'; text++, n++)
        value = 10 * value + (*text - '0');
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++, n++) {
            value = 10 * value + (*text - '0');
            unit *= 10;
        }
    value /= unit;
    if (n && (*text == 'e' || *text == 'E')) {
        bool has_minus = text[1] == '-';
        for (text += 1 + has_minus, n = 0; *text >= '0' && *text <= '9'; text++)
            exponent = exponent < 400 ? 10 * exponent + *text - '0' : 400, n++;
        for (; exponent; exponent--)
            value = has_minus ? value / 10 : value * 10;
    }
    return n && !*text ? value : NAN;
}

/* 1234.5678 with 2 decimals (0 to 6): "1234.57"; "-" for what is no number. */
static inline char *axp__fixed(char *buf, size_t size, double value,
                               int decimals)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    double scaled = fabs(value) * powers[decimals];
    char text[32], *at = text + sizeof text - 1;
    if (!(scaled < 9e18)) {
        axp__append(buf, size, 0,
                    isnan(value) ? "-"
                    : value < 0  ? "-huge"
                                 : "huge");
        return buf;
    }
    uint64_t units = (uint64_t)(scaled + 0.5);
    bool is_negative = value < 0 && units;
    *at = 0;
    for (int i = 0; i <= decimals || units; i++) {
        if (i == decimals && i) *--at = '.';
        *--at = (char)('0' + units % 10);
        units /= 10;
    }
    if (is_negative) *--at = '-';
    axp__append(buf, size, 0, at);
    return buf;
}

/* Three digits that mean something: 1.23, 12.3, 123, 1234, 0.00123, 1.23e9. */
static inline char *axp__digits3(char *buf, size_t size, double value)
{
    double a = fabs(value);
    if (!isfinite(value) || a == 0) return axp__fixed(buf, size, value, 0);
    int exponent = (int)floor(log10(a * 1.0005));
    if (exponent >= -3 && exponent < 6)
        return axp__fixed(buf, size, value, exponent < 2 ? 2 - exponent : 0);
    char mantissa[16], power[16];
    axp__fixed(mantissa, sizeof mantissa, value / pow(10, exponent), 2);
    axp__fixed(power, sizeof power, exponent, 0);
    size_t len = axp__append(buf, size, 0, mantissa);
    len = axp__append(buf, size, len, "e");
    axp__append(buf, size, len, power);
    return buf;
}

#endif
