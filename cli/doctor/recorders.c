/* recorders.c - checks of `doctor`: the directory of the journals, the recorder process of each
 * running session, and whether the recorder is confined.
 *
 * Blocks    up to RECORDER_SETTLE_MS for each recorder that has something to store, and for each
 *           running session that has no recorder. */
#include "cli/doctor/checks.h"

#include "base/clock.h"
#include "base/os/confine.h"
#include "base/os/memory.h"
#include "base/units.h"
#include "cli/frame/journals.h"
#include "journal/journal_file.h"

#include <errno.h>
#include <stdio.h>

#define RECORDER_SETTLE_MS 1000

/* maximum time that a recorder needs to start and to confine itself */
#define START_US 10000000

/* ---- one session ---- */

static void report_recorder_cannot_store(struct doctor *d, const struct journal_view *v,
                                         const char *unstored)
{
    if (v->trouble == RING_BUSY)
        doctor_report_fault(d, "recorders", "end the program that keeps the database locked",
                            "the recorder of %s cannot store messages: another process has locked "
                            "the database; %s not yet stored",
                            v->name, unstored);
    else
        doctor_report_fault(
            d, "recorders",
            "free some space, and see what the proxy of this session wrote to stderr",
            "the recorder of %s cannot store messages; %s not yet stored", v->name, unstored);
}

static void report_silent_recorder(struct doctor *d, const struct journal_view *v,
                                   const char *unstored)
{
    char remedy[128];
    if (v->reader) {
        snprintf(remedy, sizeof remedy, "kill -9 %d; the proxy then starts another recorder",
                 (int)v->recorder);
        doctor_report_fault(d, "recorders", remedy,
                            "the recorder of %s has stored nothing for %d ms; %s not yet stored",
                            v->name, RECORDER_SETTLE_MS, unstored);
    } else {
        doctor_report_fault(
            d, "recorders",
            "see what the proxy of this session wrote to stderr, and start the proxy again",
            "the proxy of %s has no recorder; %s not yet stored", v->name, unstored);
    }
}

static void check_recorder_of_session(struct doctor *d, struct journal_view *v)
{
    bool settled = !v->writer || journals_wait_until_stored(v, RECORDER_SETTLE_MS);
    int64_t age_us = clock_wall_us() - v->started_wall_us;
    struct units_text unstored = units_format_bytes((int64_t)v->unstored);
    if (settled)
        doctor_report_passed(d, "recorders", "%s: process %d, %s not yet stored, running for %s",
                             v->name, (int)v->recorder, unstored.s,
                             units_format_duration(age_us > 0 ? age_us : 0).s);
    else if (v->trouble != RING_FINE)
        report_recorder_cannot_store(d, v, unstored.s);
    else
        report_silent_recorder(d, v, unstored.s);
}

/* ---- all ---- */

static void report_stranded_journals(struct doctor *d, const struct stranded *x)
{
    struct buf remedy = {0};
    if (x->n == 0)
        return;
    buf_printf(&remedy,
               "make the vault writable, then: mcp-interposer sessions --vault '%s'; or remove the "
               "messages: mcp-interposer reap --journals",
               x->vault);
    doctor_report_fault(
        d, "journals", buf_str(&remedy),
        "%zu journal%s with %s of messages for a vault that is gone or cannot be written: "
        "%s",
        x->n, x->n == 1 ? "" : "s", units_format_bytes((int64_t)x->bytes).s, x->vault);
    buf_close(&remedy);
}

static void check_killed_sessions(struct doctor *d, const struct journals *l)
{
    size_t left = 0;
    for (size_t i = 0; i < l->n; i++)
        left += !l->row[i].writer && !l->row[i].reader && l->row[i].unstored > 0;
    if (left > 0)
        doctor_report_fault(d, "journals",
                            "run mcp-interposer sessions, which stores these messages first",
                            "%zu killed session%s left messages that are not yet stored", left,
                            left == 1 ? " has" : "s have");
    report_stranded_journals(d, &l->stranded);
    if (l->unreadable > 0)
        doctor_report_fault(d, "journals",
                            l->unreadable == 1
                                ? "run the version of mcp-interposer that wrote the journal, or "
                                  "remove the journal: mcp-interposer reap --journals"
                                : "run the version of mcp-interposer that wrote the journals, or "
                                  "remove the journals: mcp-interposer reap --journals",
                            "%zu journal%s damaged, or of another version", l->unreadable,
                            l->unreadable == 1 ? " is" : "s are");
}

static void check_journal_directory(struct doctor *d)
{
    struct buf where = {0}, problem = {0};
    char remedy[160];
    snprintf(remedy, sizeof remedy,
             "mount a tmpfs of 64 MiB at %s, or set --journal-dir to a directory on another tmpfs",
             memory_get_directory());
    journal_file_append_dir(&where);
    journal_file_find_problem(&problem);
    if (problem.n > 0)
        doctor_report_fault(
            d, "journals", remedy,
            "%s; if a proxy and its recorder are killed at once, messages that are not yet "
            "stored are lost",
            buf_str(&problem));
    else
        doctor_report_passed(d, "journals", "in %s", buf_str(&where));
    buf_close(&where);
    buf_close(&problem);
}

/* Reports that a recorder made a system call that no recorder should make. Either a message has
 * made the recorder misbehave, or libc makes a call that this program does not know. */
static void report_denied_system_call(struct doctor *d, const struct journal_view *v)
{
    struct buf name = {0};
    system_call_append_name(v->last_denied, &name);
    doctor_report_fault(
        d, "confinement",
        "if this happens again, keep the vault and report the version of the system's libc",
        "the recorder of %s tried %u system call%s that it may not use, the last one: %s", v->name,
        v->denied, v->denied == 1 ? "" : "s", buf_str(&name));
    buf_close(&name);
}

static void check_confinement(struct doctor *d, const struct journals *l)
{
    const char *text = "";
    int version = confine_detect_kernel_support(&text);
    size_t recorders = 0, confined = 0, filtered = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct journal_view *v = &l->row[i];
        if (v->reader && v->denied > 0)
            report_denied_system_call(d, v);
        if (!v->reader || clock_wall_us() - v->started_wall_us <= START_US)
            continue;
        recorders++;
        confined += v->confined > 0;
        filtered += v->filtered;
    }
    if (version == 0)
        doctor_report_passed(d, "confinement", "recorders may access all files: %s", text);
    else if (confined < recorders)
        doctor_report_fault(d, "confinement", "start the session again",
                            "%zu of %zu recorders may access all files", recorders - confined,
                            recorders);
    else
        doctor_report_passed(d, "confinement",
                             "%s %d: recorders can access only the vault and the journals", text,
                             version);
    if (filtered < recorders)
        doctor_report_passed(
            d, "confinement",
            "%zu of %zu recorders may use all system calls: the kernel, or the "
            "container's seccomp filter, does not permit a filter for the recorder",
            recorders - filtered, recorders);
}

void doctor_check_recorders(struct doctor *d)
{
    struct journals l;
    check_journal_directory(d);
    if (journals_open(&l, d->vault) < 0) {
        doctor_report_fault(d, "journals", "check the owner and mode of the journal directory",
                            "the journals cannot be read: %s", strerror(errno));
        return;
    }
    for (size_t i = 0; i < l.n; i++)
        if (l.row[i].writer || l.row[i].reader)
            check_recorder_of_session(d, &l.row[i]);
    check_killed_sessions(d, &l);
    check_confinement(d, &l);
    journals_close(&l);
}

void doctor_check_journals(struct doctor *d)
{
    struct journals l;
    if (journals_open(&l, d->vault) == 0)
        check_killed_sessions(d, &l);
    journals_close(&l);
}
