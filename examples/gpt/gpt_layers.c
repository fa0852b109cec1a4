/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_layers.c: embedding, LayerNorm, GELU, residual and cross-entropy.
 *
 * A loop whose results lie along a row is shared out by rows; a sum over rows
 * is shared out by blocks of columns. No two threads ever add to one number,
 * so a result does not depend on how many there are or on their timing. */
#include "gpt_layers.h"

#include <tgmath.h>

#include "gpt_profile.h"

enum { COLUMN_BLOCK = 32 };

static size_t block_end(size_t first, size_t width)
{
    return first + COLUMN_BLOCK < width ? first + COLUMN_BLOCK : width;
}

void gpt_embedding_forward(gpt_rows size, size_t seq, real *out,
                           const uint32_t *tokens, const real *token_table,
                           const real *position_table)
{
    const size_t width = size.width;
    /* 1 addition; reads two rows of tables, writes one. */
    AXP_SCOPE_WORK("embedding.forward",
                   GPT_TENSOR_WORK(size.rows, width, 1, 3));

#pragma omp parallel for
    for (size_t r = 0; r < size.rows; r++) {
        const real *token = token_table + tokens[r] * width;
        const real *position = position_table + r % seq * width;
        for (size_t c = 0; c < width; c++)
            out[r * width + c] = token[c] + position[c];
    }
}

void gpt_embedding_backward(gpt_rows size, size_t seq, real *dtoken_table,
                            real *dposition_table, const real *dout,
                            const uint32_t *tokens)
{
    const size_t width = size.width;
    /* 2 additions; reads dout, reads and writes a row of each table. */
    AXP_SCOPE_WORK("embedding.backward",
                   GPT_TENSOR_WORK(size.rows, width, 2, 5));

#pragma omp parallel for
    for (size_t first = 0; first < width; first += COLUMN_BLOCK) {
        const size_t end = block_end(first, width);
        for (size_t r = 0; r < size.rows; r++) {
            real *token = dtoken_table + tokens[r] * width;
            real *position = dposition_table + r % seq * width;
            for (size_t c = first; c < end; c++) {
                token[c] += dout[r * width + c];
                position[c] += dout[r * width + c];
            }
        }
    }
}

static real row_mean(const real *x, size_t width)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < width; c++)
        sum += x[c];
    return sum / (real)width;
}

static real row_rstd(const real *x, real mean, size_t width)
{
    const real epsilon = (real)1e-5;
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < width; c++)
        sum += (x[c] - mean) * (x[c] - mean);
    return 1 / sqrt(sum / (real)width + epsilon);
}

void gpt_layernorm_forward(gpt_rows size, real *out, real *mean, real *rstd,
                           const real *in, const real *gain, const real *bias)
{
    const size_t width = size.width;
    /* 1 for the mean, 3 for the variance, 4 for the result (subtract the mean,
     * times rstd, times gain, plus bias); reads in, writes out. */
    AXP_SCOPE_WORK("layernorm.forward",
                   GPT_TENSOR_WORK(size.rows, width, 8, 2));

#pragma omp parallel for
    for (size_t r = 0; r < size.rows; r++) {
        const real *x = in + r * width;
        real *y = out + r * width;
        mean[r] = row_mean(x, width);
        rstd[r] = row_rstd(x, mean[r], width);
        for (size_t c = 0; c < width; c++)
            y[c] = (x[c] - mean[r]) * rstd[r] * gain[c] + bias[c];
    }
}

/* One row of din. With n the normalized row and g = dout * gain,
 * din += rstd * (g - mean(g) - n * mean(g * n)). */
static void layernorm_row_backward(real *din, const real *dout, const real *in,
                                   real mean, real rstd, const real *gain,
                                   size_t width)
{
    real sum_g = 0, sum_gn = 0;
#pragma omp simd reduction(+ : sum_g, sum_gn)
    for (size_t c = 0; c < width; c++) {
        const real g = dout[c] * gain[c];
        sum_g += g;
        sum_gn += g * ((in[c] - mean) * rstd);
    }
    const real mean_g = sum_g / (real)width, mean_gn = sum_gn / (real)width;
    for (size_t c = 0; c < width; c++) {
        const real n = (in[c] - mean) * rstd;
        din[c] += rstd * (dout[c] * gain[c] - mean_g - n * mean_gn);
    }
}

/* dgain and dbias: sums over the rows, shared out by columns. */
static void layernorm_sum_backward(gpt_rows size, real *dgain, real *dbias,
                                   const real *dout, const real *in,
                                   const real *mean, const real *rstd)
{
    const size_t width = size.width;
#pragma omp parallel for
    for (size_t first = 0; first < width; first += COLUMN_BLOCK) {
        const size_t end = block_end(first, width);
        for (size_t r = 0; r < size.rows; r++)
            for (size_t c = first; c < end; c++) {
                const real d = dout[r * width + c];
                dgain[c] += d * ((in[r * width + c] - mean[r]) * rstd[r]);
                dbias[c] += d;
            }
    }
}

void gpt_layernorm_backward(gpt_rows size, real *din, real *dgain, real *dbias,
                            const real *dout, const real *in, const real *mean,
                            const real *rstd, const real *gain)
{
    const size_t width = size.width;
    /* 6 for the two sums of a row, 8 for din, 5 for dgain and dbias. The rows
     * read dout and in, read and write din; the columns read dout and in. */
    AXP_SCOPE_WORK("layernorm.backward",
                   GPT_TENSOR_WORK(size.rows, width, 19, 6));

#pragma omp parallel for
    for (size_t r = 0; r < size.rows; r++)
        layernorm_row_backward(din + r * width, dout + r * width,
                               in + r * width, mean[r], rstd[r], gain, width);
    layernorm_sum_backward(size, dgain, dbias, dout, in, mean, rstd);
}

/* GELU by its tanh approximation, y = x/2 (1 + tanh(u)) with
 * u = sqrt(2/pi) (x + 0.044715 x^3), written as y = x / (1 + exp(-2u)): an exp
 * is cheaper than a tanh. */
static const real GELU_SCALE = (real)1.5957691216057308; /* 2 sqrt(2/pi) */
static const real GELU_CUBIC = (real)0.044715;

void gpt_gelu_forward(gpt_rows size, real *out, const real *in)
{
    /* 5 for 2u, then an exp, an addition, a division; reads in, writes out. */
    AXP_SCOPE_WORK("gelu.forward",
                   GPT_TENSOR_WORK(size.rows, size.width, 8, 2));

#pragma omp parallel for simd
    for (size_t i = 0; i < size.rows * size.width; i++) {
        const real x = in[i];
        out[i] = x / (1 + gpt_exp(-GELU_SCALE * x * (1 + GELU_CUBIC * x * x)));
    }
}

void gpt_gelu_backward(gpt_rows size, real *grad, const real *in)
{
    /* 8 for s = 1 / (1 + exp(-2u)), 3 for (2u)', 5 for y', 1 for the product;
     * reads in, reads and writes grad. */
    AXP_SCOPE_WORK("gelu.backward",
                   GPT_TENSOR_WORK(size.rows, size.width, 17, 3));

#pragma omp parallel for simd
    for (size_t i = 0; i < size.rows * size.width; i++) {
        const real x = in[i], cubic = GELU_CUBIC * x * x;
        const real s = 1 / (1 + gpt_exp(-GELU_SCALE * x * (1 + cubic)));
        const real du = GELU_SCALE * (1 + 3 * cubic);
        grad[i] *= s * (1 + x * (1 - s) * du);
    }
}

void gpt_residual_forward(gpt_rows size, real *out, const real *in,
                          const real *branch)
{
    /* 1 addition; two reads, one write. */
    AXP_SCOPE_WORK("residual.forward",
                   GPT_TENSOR_WORK(size.rows, size.width, 1, 3));

#pragma omp parallel for
    for (size_t i = 0; i < size.rows * size.width; i++)
        out[i] = in[i] + branch[i];
}

/* One row: its loss, and x becomes scale * (softmax(x) - one at target). */
static real cross_entropy_row(real *x, size_t width, size_t target, real scale)
{
    const real wanted = x[target];
    real max = x[0], sum = 0;
    for (size_t c = 1; c < width; c++)
        if (x[c] > max) max = x[c];
    for (size_t c = 0; c < width; c++)
        sum += x[c] = exp(x[c] - max);
    const real factor = scale / sum;
    for (size_t c = 0; c < width; c++)
        x[c] *= factor;
    x[target] -= scale;
    return log(sum) + max - wanted;
}

double gpt_cross_entropy(gpt_rows size, real *logits, real *losses,
                         const uint32_t *targets)
{
    const size_t width = size.width;
    /* 1 comparison, 1 subtraction, 1 exp, 1 addition, 1 multiplication; reads
     * the logits, writes their gradient. */
    AXP_SCOPE_WORK("cross_entropy", GPT_TENSOR_WORK(size.rows, width, 5, 2));

#pragma omp parallel for
    for (size_t r = 0; r < size.rows; r++)
        losses[r] = cross_entropy_row(logits + r * width, width, targets[r],
                                      1 / (real)size.rows);
    double sum = 0;
    for (size_t r = 0; r < size.rows; r++)
        sum += (double)losses[r];
    return sum / (double)size.rows;
}
