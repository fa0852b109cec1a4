/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The work of a primitive, by the tensors that it is executed with.
 *
 * FLOPs   of products a multiply-add as 2, whatever algorithm is used, and a bias
 *         one addition an output; forward and backward alike, each direction for
 *         itself. Elementwise ones 1 an output, softmax 5, backward 4; a sum a
 *         multiplication and an addition a source; a reduction 1 an input;
 *         normalizations as axprof_work.h has them, backward too. Of an RNN its
 *         products alone. What only moves has none; pooling, resampling and LRN
 *         depend on windows that tensors do not tell: not known.
 * Bytes   each tensor that is passed once, but for scratch memory and what
 *         attributes bring.
 * Dims    of a product batch (if there is one), M, N, K; of a convolution the
 *         input's, channels of the output and the first extent of the kernel; else
 *         the output's. None where an extent is 0 or not known.
 */
#ifndef DNNL_WORK_H
#define DNNL_WORK_H
#include <axprof/axprof.h>

#include "dnnl_library.h"

enum dnnl_does {
    DNNL_OTHER,
    DNNL_MOVES,
    DNNL_EACH,
    DNNL_SOFTMAX,
    DNNL_SUM,
    DNNL_REDUCTION,
    DNNL_BATCH_NORM,
    DNNL_LAYER_NORM,
    DNNL_GROUP_NORM,
    DNNL_RNN,
    DNNL_CONVOLUTION,
    DNNL_DECONVOLUTION,
    DNNL_INNER_PRODUCT,
    DNNL_MATMUL
};

/* What its version calls it, and what it does; NULL: not known. */
const char *dnnl_kind_name(const struct dnnl_primitive *p,
                           enum dnnl_does *does);
axp_work dnnl_work(const struct dnnl_library *library, enum dnnl_does does,
                   int direction, int n, const struct dnnl_argument *arguments);

#endif
