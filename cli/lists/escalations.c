/* escalations.c - the list of the problems that a person must solve: the files in
 * VAULT/Escalations. */
#include "cli/lists/list.h"

#include "base/text.h"
#include "cli/frame/problem_files.h"
#include "model/escalation_head.h"
#include "vault/store/dir.h"

#include <errno.h>
#include <stdlib.h>

/* Appends the date and time without the fraction of the second. */
static void append_date_and_time(struct buf *b, const void *row, struct cell v)
{
    (void)row;
    buf_slice_add(b, v.text.n > 0 ? text_prefix(v.text, 19) : slice_of("-"));
}

/* clang-format off */
#define RECORD struct escalation_row
static const struct show_column columns[] = {
    {SHOW(file, TEXT, NOT_NULL), .json = true},
    {SHOW_RECORD(head, fields_of_escalation_head), .json = true},
    {SHOW(name, TEXT, NOT_NULL), .table = {"NAME", 64, -40}, .ui = {"escalation", 1, 0}, .style = OUT_BOLD},
    {SHOW(head.count, NUMBER, ZERO), .table = {"COUNT", 12, 0}, .ui = {"count", 7, 0}},
    {SHOW(head.last_at, TEXT, NO_TEXT), .table = {"LAST", 24, 2}},
    {SHOW(head.last_at, TEXT, NO_TEXT), .ui = {"last", 21, 60}, .text = append_date_and_time},
    {SHOW(head.server, TEXT, NO_TEXT), .table = {"SERVER", 24, 1}, .ui = {"server", 14, 76}},
    {SHOW(head.tool, TEXT, NO_TEXT), .table = {"TOOL", 32, -8}, .ui = {"tool", 20, 110}},
};
/* clang-format on */

/* Adds the row of a file. If the file cannot be read, the row has only the name of the file. If the
 * file was removed meanwhile, adds no row. */
static int add_escalation_row(struct list_reading *r, const struct problem_files *f, size_t i,
                              bool *ret_more)
{
    struct buf file = {0}, texts = {0};
    struct escalation_row row = {.file = slice_of(f->name[i].text),
                                 .name = problem_files_title(f, i)};
    int st = problem_files_read(f, row.file.p, &file);
    bool removed = st == MI_EIO && errno == ENOENT;
    if (st == MI_EIO && !removed && !r->incomplete) {
        const char *reason = strerror(errno);
        buf_adds(&r->note, "cannot read ");
        text_append_json(&r->note, row.file);
        buf_printf(&r->note, ": %s", reason);
        r->incomplete = true;
    }
    escalation_head_read(buf_slice(&file), &texts, &row.head);
    st = texts.failed ? MI_ENOMEM : st == MI_EIO ? 0 : st;
    *ret_more = st == 0 && (removed || r->row(r->ctx, &row));
    buf_close(&file);
    buf_close(&texts);
    return st;
}

static int read_escalations(struct list_reading *r)
{
    struct problem_files f;
    int st = problem_files_open(&f, r->vault);
    bool more = st == 0;
    if (st == MI_EIO)
        buf_printf(&r->error, "cannot read %s/" VAULT_ESCALATIONS ": %s", r->vault,
                   strerror(errno));
    for (size_t i = f.n; more && i-- > 0;)
        st = add_escalation_row(r, &f, i, &more);
    problem_files_close(&f);
    return st;
}

/* The database is not opened, because the database may be the problem. */
static int escalations_run(const struct settings *s)
{
    char *vault = settings_get_vault_path(s);
    struct list_reading r = {.vault = vault};
    int status = vault != NULL ? list_print(&list_escalations, s, &r) : EXIT_TROUBLE;
    free(vault);
    return status;
}

const struct list list_escalations = {
    .command = {.name = "escalations list",
                .summary = "list the problems that need a person",
                .usage = "[OPTIONS]",
                .about =
                    "COUNT is how often the problem has occurred, LAST when it occurred last.\n",
                .table = list_options,
                .run = escalations_run},
    .shown = {SHOW_LIST("escalation", columns)},
    .name = "escalations",
    .one = "problem that needs a person",
    .all = "problems that need a person",
    .none = "no escalation",
    .read = read_escalations,
};
