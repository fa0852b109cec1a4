/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Samples of a view, and the scopes that they fell into.
 *
 *   blocks of samples ─► by process, thread, time ─┬─► rows of the stream,
 *                                                  │   each sample where its
 *                                                  │   time is among the words
 *                                                  └─► threads without a row
 *
 * A stream that is opened with AXP__STREAM_SAMPLES gives a record for each
 * sample of its rows, between the others: the scopes open at that moment are
 * those that axp__stream_scopes gives then.
 *
 * Threads    a thread's id may have been another's before: a sample belongs to
 *            the row of its id that began last before it.
 * Memory     48 bytes a sample, while they are read; half a million are kept, once
 *            read, since rules ask for them one after the other.
 * Input      untrusted; file_samples.h bounds how many there are.
 */
#ifndef AXP_MODEL_SAMPLES_H
#define AXP_MODEL_SAMPLES_H
#include "model/model_match.h"

struct axp__samples {
    struct axp__cap_sample *at; /* by process, thread, time */
    size_t n;
    bool is_kept; /* by the view */
};

/* For all who load them later. False: no memory. */
bool axp__samples_keep(axp_view *v);

/* What cannot be read is left out, and counted as damage. False: no memory. */
bool axp__samples_load(const axp_view *v, struct axp__samples *out);
/* Of the whole run, also where the view is of a part; in no order. */
bool axp__samples_load_whole(const axp_view *v, struct axp__samples *out);
void axp__samples_fini(struct axp__samples *s);
/* As axp_view_samples, for who does not ask which scopes were open: it does not
 * read the timeline for that. */
axp_status axp__samples_give(const axp_view *v, axp_sample_fn fn, void *ctx);
/* Gives the rows of threads their samples; sorts the rows. */
struct axp__sampled_row {
    struct axp__row_reader *reader;
    uint64_t process; /* axp__cap_whose */
};
void axp__samples_place(struct axp__samples *s, struct axp__sampled_row *rows,
                        size_t n);

/* The next sample of a row, if it was before the word, which is held then.
 * w NULL: there is no word any more, and what is open was open: a thread that
 * was seen had not ended. */
bool axp__reader_give_sample(struct axp__row_reader *r,
                             const struct axp__wire_event *w);

#endif
