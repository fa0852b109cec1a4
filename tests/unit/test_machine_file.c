/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The public calls: a machine is kept in a file, read again, and stored in what
 * this process records. */
#include "test_support.h"

#include <sys/stat.h>
#include <unistd.h>

#include "axprof/axprof_machine.h"
#include "model/model_view.h"

static char folder[] = "/tmp/axp_machine_XXXXXX", path[64];

static const char text[] = "axprof-machine 1\n"
                           "cpu Some processor\n"
                           "arch none\n"
                           "counts 4 4 4 4 1 1\n"
                           "state 0 0 0 0 0\n"
                           "threads 0 0\n"
                           "hz 3000000000 1\n"
                           "compute f32 fma 1000 0 3000 500\n"
                           "memory memory 1 4 7 0 20 0 9 0 19 0\n"
                           "end\n";

static void put(const char *bytes, size_t len)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

static void keeps_and_reads(void **state)
{
    axp_machine *m = NULL, *again = NULL;
    axp_peak peak;
    axp_bandwidth memory;
    char back[sizeof text + 10] = "";
    (void)state;
    put(text, strlen(text));
    assert_int_equal(axp_machine_load(path, &m), AXP_OK);
    assert_int_equal(axp_machine_peaks(m, &peak, 1), 1);
    assert_int_equal(peak.dtype, AXP_F32);
    assert_string_equal(peak.isa, "fma");
    assert_true(peak.one_flops == 1000 && peak.all_flops == 3000);
    assert_true(peak.all_spread == 0.5);
    assert_int_equal(axp_machine_bandwidths(m, &memory, 1), 1);
    assert_true(memory.one_bytes == 9 && memory.all_bytes == 20);
    assert_int_equal(axp_machine_threads(m), 4);
    assert_false(axp_machine_is_here(m));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(axp_machine_save(m, path), AXP_OK);
    FILE *f = fopen(path, "r");
    assert_true(fread(back, 1, sizeof back - 1, f) > 0);
    fclose(f);
    assert_string_equal(back, text);
    assert_int_equal(axp_machine_load(path, &again), AXP_OK);
    axp_machine_destroy(again);
    axp_machine_destroy(m);
    axp_machine_destroy(NULL);
}

/* With less than a CPU figures are doubtful: where there is more now, they are
 * not this machine's. */
static void less_than_a_cpu_was_another(void **state)
{
    struct axp__machine here, was;
    char kept[AXP__MACHINE_TEXT];
    (void)state;
    axp__machine_identify(&here);
    if (here.quota > 0 && here.quota < 1) return;
    for (int i = 0; i < 3; i++) {
        axp_machine *m = NULL;
        was = here;
        was.n_cpus = was.n_allowed = was.n_threads;
        was.n_cores = was.n_sockets = was.n_nodes = 1;
        was.quota = i == 1 ? 0.1 : i == 2 ? 1.5 : 0;
        put(kept, axp__machine_put(&was, kept, sizeof kept));
        assert_int_equal(axp_machine_load(path, &m), AXP_OK);
        assert_int_equal(axp_machine_is_here(m), i != 1);
        axp_machine_destroy(m);
    }
}

static void says_why_not(void **state)
{
    axp_machine *m = NULL;
    (void)state;
    assert_int_equal(axp_machine_load("/nowhere/at all", &m), AXP_E_NOT_FOUND);
    assert_int_equal(axp_machine_load(folder, &m), AXP_E_FORMAT);
    put("rubbish", 7);
    assert_int_equal(axp_machine_load(path, &m), AXP_E_FORMAT);
    assert_non_null(strstr(axp_last_error(), path));
    assert_null(m);
    assert_int_equal(axp_machine_load(NULL, &m), AXP_E_INVALID);
    assert_int_equal(axp_machine_save(NULL, path), AXP_E_INVALID);
    assert_int_equal(axp_machine_record(NULL), AXP_E_INVALID);
    assert_int_equal(axp_machine_write(NULL, AXP_FORMAT_TEXT, stdout),
                     AXP_E_INVALID);
    put(text, strlen(text));
    assert_int_equal(axp_machine_load(path, &m), AXP_OK);
    assert_int_equal(axp_machine_save(m, "/nowhere/at all"), AXP_E_IO);
    assert_int_equal(axp_machine_write(m, AXP_FORMAT_HTML, stdout),
                     AXP_E_INVALID);
    axp_machine_destroy(m);
    assert_int_equal(axp_machine_peaks(NULL, NULL, 0), 0);
}

static void is_in_recordings(void **state)
{
    axp_machine *m = NULL;
    char trace[80];
    const char *paths[] = {trace};
    axp_view *v = NULL;
    (void)state;
    snprintf(trace, sizeof trace, "%s/x.axp", folder);
    put(text, strlen(text));
    assert_int_equal(axp_machine_load(path, &m), AXP_OK);
    axp_profiler *p = axp_profiler_create(&(axp_options){.path = trace});
    assert_non_null(p);
    axp_start(p, "x");
    axp_stop(p, "x");
    assert_int_equal(axp_machine_record(m), AXP_OK); /* after the first event */
    axp_profiler_destroy(p);
    assert_int_equal(axp_open(paths, 1, &v), AXP_OK);
    assert_non_null(v->machine);
    assert_string_equal(v->machine->cpu, "Some processor");
    axp_view_destroy(v);
    unlink(trace);
    axp_machine_destroy(m);
}

/* A name that is a file's, whatever the processor is called. */
static void names_a_file(void **state)
{
    char name[160], cut[8];
    (void)state;
    axp_machine_file_name(name, sizeof name);
    assert_int_equal(strncmp(name, "machine-", 8), 0);
    assert_null(strchr(name, '/'));
    assert_null(strchr(name, ' '));
    axp_machine_file_name(cut, sizeof cut);
    assert_int_equal(strlen(cut), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_and_reads),
        cmocka_unit_test(less_than_a_cpu_was_another),
        cmocka_unit_test(says_why_not),
        cmocka_unit_test(is_in_recordings),
        cmocka_unit_test(names_a_file),
    };
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/m.txt", folder);
    int rc = TS_RUN(tests);
    unlink(path);
    rmdir(folder);
    return rc;
}
