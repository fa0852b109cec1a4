/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Signatures of blas_calls.def as lists of parameters and of arguments. */
#ifndef BLAS_SIGNATURE_H
#define BLAS_SIGNATURE_H
#include <stdint.h>

typedef intptr_t W; /* an argument that is no number with a fraction */

#define P_1(x) W x##1
#define P_2(x) P_1(x), W x##2
#define P_3(x) P_2(x), W x##3
#define P_4(x) P_3(x), W x##4
#define P_5(x) P_4(x), W x##5
#define P_6(x) P_5(x), W x##6
#define P_7(x) P_6(x), W x##7
#define P_8(x) P_7(x), W x##8
#define P_9(x) P_8(x), W x##9
#define P_10(x) P_9(x), W x##10
#define P_11(x) P_10(x), W x##11
#define P_12(x) P_11(x), W x##12
#define P_13(x) P_12(x), W x##13
#define P_14(x) P_13(x), W x##14
#define P_15(x) P_14(x), W x##15
#define P_16(x) P_15(x), W x##16
#define P_17(x) P_16(x), W x##17
#define P_18(x) P_17(x), W x##18
#define P_19(x) P_18(x), W x##19
#define A_1(x) x##1
#define A_2(x) A_1(x), x##2
#define A_3(x) A_2(x), x##3
#define A_4(x) A_3(x), x##4
#define A_5(x) A_4(x), x##5
#define A_6(x) A_5(x), x##6
#define A_7(x) A_6(x), x##7
#define A_8(x) A_7(x), x##8
#define A_9(x) A_8(x), x##9
#define A_10(x) A_9(x), x##10
#define A_11(x) A_10(x), x##11
#define A_12(x) A_11(x), x##12
#define A_13(x) A_12(x), x##13
#define A_14(x) A_13(x), x##14
#define A_15(x) A_14(x), x##15
#define A_16(x) A_15(x), x##16
#define A_17(x) A_16(x), x##17
#define A_18(x) A_17(x), x##18
#define A_19(x) A_18(x), x##19

#define PARAMETERS_S0(n) (P_##n(a))
#define ARGUMENTS_S0(n) (A_##n(a))
#define PARAMETERS_S1(n, S, k) (P_##n(a), S s, P_##k(b))
#define ARGUMENTS_S1(n, S, k) (A_##n(a), s, A_##k(b))
#define PARAMETERS_S2(n, S, k, T, l) (P_##n(a), S s, P_##k(b), T t, P_##l(c))
#define ARGUMENTS_S2(n, S, k, T, l) (A_##n(a), s, A_##k(b), t, A_##l(c))
#define PARAMETERS_S3(n, S, T) (P_##n(a), S s, T t)
#define ARGUMENTS_S3(n, S, T) (A_##n(a), s, t)

#endif
