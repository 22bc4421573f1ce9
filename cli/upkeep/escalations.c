/* escalations.c - `mcp-interposer escalations list|show|done`: the problems that a person must
 * solve. */
#include "cli/upkeep/commands.h"

#include "base/log.h"
#include "cli/frame/pager.h"
#include "cli/frame/problem_files.h"
#include "cli/lists/list.h"
#include "cli/settings/config.h"
#include "vault/store/dir.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define MORE "mcp-interposer escalations list"

static const struct opt options_of_show[] = {COMMAND_OPT_VAULT, COMMAND_OPTS};
static const struct opt options_of_done[] = {
    {'a', "all", NULL, NULL, "remove all problems"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* ---- the files ---- */

static int open_problem_files(struct problem_files *e, const struct settings *s)
{
    char *vault = settings_get_vault_path(s);
    if (vault == NULL)
        return EXIT_TROUBLE;
    int st = problem_files_open(e, vault);
    if (st < 0)
        log_error("cannot read %s/" VAULT_ESCALATIONS ": %s", vault,
                  st == MI_ENOMEM ? "out of memory" : strerror(errno));
    free(vault);
    return st < 0 ? EXIT_TROUBLE : EXIT_FINE;
}

/* Returns the index of the file whose name begins with `begin`, or of the newest file if `begin` is
 * `last`. If there is no such file or several, writes a message to stderr and returns f->n. */
static size_t find_problem_file(const struct problem_files *f, const char *begin)
{
    size_t found = f->n, n = strlen(begin), matches = 0;
    if (strcmp(begin, "last") == 0 && f->n > 0)
        return f->n - 1;
    for (size_t i = 0; i < f->n; i++)
        if (strncmp(f->name[i].text, begin, n) == 0) {
            found = i;
            matches++;
        }
    if (matches == 1)
        return found;
    log_error(matches == 0 ? "no escalation begins with '%s'; see: " MORE
                           : "several escalations begin with '%s'; see: " MORE,
              begin);
    return f->n;
}

/* ---- show ---- */

static int escalations_show_file(const struct settings *s)
{
    struct problem_files f = {.fd = -1};
    struct out o;
    struct buf text = {0};
    struct pager pager = {.terminal = -1};
    int status = open_problem_files(&f, s);
    size_t i = status == EXIT_FINE
                   ? find_problem_file(&f, s->operands_n > 0 ? s->operands[0] : "last")
                   : 0;
    if (status == EXIT_FINE && i == f.n)
        status = EXIT_TROUBLE;
    if (status == EXIT_FINE && problem_files_read(&f, f.name[i].text, &text) < 0) {
        log_error("cannot read %s: %s", f.name[i].text, strerror(errno));
        status = EXIT_TROUBLE;
    }
    if (status == EXIT_FINE) {
        out_open(&o);
        pager_open(&pager, &o);
        for (struct slice rest = buf_slice(&text); rest.n > 0;) {
            out_add_text(&o, slice_take_line(&rest));
            out_end_line(&o);
        }
        status = out_close(&o);
        pager_close(&pager);
    }
    buf_close(&text);
    problem_files_close(&f);
    return status;
}

/* ---- done ---- */

static int remove_problem_file(const struct problem_files *f, size_t i, struct out *o)
{
    const char *name = f->name[i].text;
    if (problem_files_remove(f, name) < 0) {
        log_error("cannot remove %s: %s", name, strerror(errno));
        return EXIT_TROUBLE;
    }
    out_add_raw(o, "removed ");
    out_add_text(o, slice_of(name));
    out_end_line(o);
    return EXIT_FINE;
}

static int escalations_mark_done(const struct settings *s)
{
    struct problem_files f = {.fd = -1};
    struct out o;
    bool all = settings_is_on(s, "all");
    if (all == (s->operands_n > 0))
        return settings_fail_usage(s, all ? "--all and a NAME: give only one of them"
                                          : "missing NAME: name an escalation, or use --all");
    int status = open_problem_files(&f, s);
    out_open(&o);
    for (size_t i = 0; all && status == EXIT_FINE && i < f.n; i++)
        status = remove_problem_file(&f, i, &o);
    for (int k = 0; !all && status == EXIT_FINE && k < s->operands_n; k++) {
        size_t i = find_problem_file(&f, s->operands[k]);
        status = i < f.n ? remove_problem_file(&f, i, &o) : EXIT_TROUBLE;
    }
    int closed = out_close(&o);
    problem_files_close(&f);
    return status != EXIT_FINE ? status : closed;
}

/* ---- the commands ---- */

static const struct command escalations_show = {
    .name = "escalations show",
    .summary = "print a problem, and what to do",
    .usage = "[OPTIONS] [NAME]",
    .about = "NAME is the beginning of a name that `escalations list` prints, or `last`, the\n"
             "default.\n",
    .table = options_of_show,
    .operands_max = 1,
    .run = escalations_show_file,
};

static const struct command escalations_done = {
    .name = "escalations done",
    .summary = "remove problems that are solved",
    .usage = "[OPTIONS] NAME...",
    .about = "NAME is the beginning of a name that `escalations list` prints, or `last`. If\n"
             "the problem occurs again, there is a new escalation.\n",
    .table = options_of_done,
    .operands_max = INT_MAX,
    .run = escalations_mark_done,
};

static const struct command *const verbs[] = {&list_escalations.command, &escalations_show,
                                              &escalations_done, NULL};

const struct command command_escalations = {
    .name = "escalations",
    .summary = "problems that need a person: list, show, done",
    .verbs = verbs,
};
