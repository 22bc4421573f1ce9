/* escalations.c - `mcp-interposer escalations list|show|done`: the problems that need a person. */
#include "cli/upkeep/commands.h"

#include "base/grow.h"
#include "base/json_out.h"
#include "base/log.h"
#include "cli/frame/input.h"
#include "cli/frame/pager.h"
#include "cli/frame/record_json.h"
#include "cli/frame/table.h"
#include "cli/settings/config.h"
#include "model/escalation_head.h"
#include "vault/store/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAME_SIZE 256               /* bytes of a file's name, with the NUL */
#define FILE_SIZE ((size_t)1 << 20) /* of a larger file nothing is read */
#define MORE "mcp-interposer escalations list"

static const struct opt options_of_list[] = {
    {0, "json", NULL, NULL, "print one JSON object per line for each escalation"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};
static const struct opt options_of_show[] = {COMMAND_OPT_VAULT, COMMAND_OPTS};
static const struct opt options_of_done[] = {
    {'a', "all", NULL, NULL, "remove all of them"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* ---- the folder ---- */

struct name {
    char text[NAME_SIZE]; /* of a file */
};

struct folder {
    int fd;            /* -1: there is none yet */
    struct name *name; /* owned; in the order of their times, with which they begin */
    size_t n, cap;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int read_names(struct folder *f)
{
    int again = openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    if (d == NULL) {
        if (again >= 0)
            close(again);
        return MI_EIO;
    }
    int st = 0;
    for (struct dirent *e; st == 0 && (e = readdir(d)) != NULL;) {
        size_t n = strlen(e->d_name);
        if (n < 4 || n >= NAME_SIZE || e->d_name[0] == '.' || strcmp(e->d_name + n - 3, ".md") != 0)
            continue;
        st = GROW(f->name, f->n, f->cap) ? 0 : MI_ENOMEM;
        if (st == 0)
            memcpy(f->name[f->n++].text, e->d_name, n + 1);
    }
    closedir(d);
    if (f->n > 0)
        qsort(f->name, f->n, sizeof *f->name, compare_names);
    return st;
}

static void folder_close(struct folder *f)
{
    if (f->fd >= 0)
        close(f->fd);
    free(f->name);
}

static int folder_open(struct folder *f, const struct settings *s)
{
    char *vault = settings_vault(s), *path = NULL;
    *f = (struct folder){.fd = -1};
    if (vault == NULL)
        return EXIT_TROUBLE;
    int st = asprintf(&path, "%s/" VAULT_ESCALATIONS, vault) < 0 ? MI_ENOMEM : 0;
    free(vault);
    if (st < 0)
        path = NULL;
    if (st == 0) {
        f->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        st = f->fd >= 0 ? read_names(f) : errno == ENOENT ? 0 : MI_EIO;
    }
    if (st < 0)
        log_error("cannot read %s: %s", path != NULL ? path : VAULT_ESCALATIONS,
                  st == MI_ENOMEM ? "out of memory" : strerror(errno));
    free(path);
    return st < 0 ? EXIT_TROUBLE : EXIT_FINE;
}

/* The file that begins so; `last`: the newest one. f->n: none, after a message on stderr. */
static size_t find_name(const struct folder *f, const char *begin)
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

static int read_file(const struct folder *f, const char *name, struct buf *b)
{
    int fd = openat(f->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int error = fd >= 0 ? input_read_fd(fd, FILE_SIZE, b) : errno;
    if (fd >= 0)
        close(fd);
    if (error != 0)
        log_error("cannot read %s: %s", name, strerror(error));
    return error != 0 ? EXIT_TROUBLE : EXIT_FINE;
}

/* ---- list ---- */

static void print_json(struct out *o, const char *name, const struct escalation_head *h)
{
    struct json_out j = json_out_to(&o->b);
    json_out_object(&j, NULL);
    members_of_escalation(&j, name, h);
    json_out_end(&j);
    out_end_line(o);
}

static void add_cell(struct table *t, struct slice text)
{
    table_add(t, text.n > 0 ? text : slice_of("-"), OUT_PLAIN);
}

static void add_row(struct table *t, const char *name, const struct escalation_head *h)
{
    char count[24] = "";
    if (h->count != 0)
        snprintf(count, sizeof count, "%" PRId64, h->count);
    table_add(t, (struct slice){name, strlen(name) - 3}, OUT_BOLD);
    add_cell(t, slice_of(count));
    add_cell(t, h->last_at);
    add_cell(t, h->server);
    add_cell(t, h->tool);
}

static int list(const struct settings *s)
{
    static const struct table_column columns[] = {{"NAME", false, 64, -40},
                                                  {"COUNT", true, 12, 0},
                                                  {"LAST", false, 24, 2},
                                                  {"SERVER", false, 24, 1},
                                                  {"TOOL", false, 32, -8}};
    struct folder f;
    struct out o;
    struct table t;
    bool json = settings_on(s, "json"), fine = true;
    int status = folder_open(&f, s);
    out_open(&o);
    table_open(&t, columns, MI_COUNT(columns));
    for (size_t i = f.n; status == EXIT_FINE && i-- > 0;) {
        struct buf file = {0}, texts = {0};
        struct escalation_head head;
        status = read_file(&f, f.name[i].text, &file);
        escalation_head_read(buf_slice(&file), &texts, &head);
        if (status == EXIT_FINE && json)
            print_json(&o, f.name[i].text, &head);
        else if (status == EXIT_FINE)
            add_row(&t, f.name[i].text, &head);
        o.b.failed |= texts.failed;
        buf_close(&file);
        buf_close(&texts);
    }
    if (status == EXIT_FINE && !json && f.n > 0)
        fine = table_print(&t, &o);
    o.b.failed |= !fine;
    if (status == EXIT_FINE && !json && f.n == 0)
        log_note("no escalation");
    int closed = out_close(&o);
    table_close(&t);
    folder_close(&f);
    return status != EXIT_FINE ? status : closed;
}

/* ---- show ---- */

static void print_lines(struct out *o, struct slice text)
{
    while (text.n > 0) {
        out_text(o, slice_line(&text));
        out_end_line(o);
    }
}

static int show(const struct settings *s)
{
    struct folder f;
    struct out o;
    struct buf text = {0};
    struct pager pager = {.terminal = -1};
    int status = folder_open(&f, s);
    size_t i = status == EXIT_FINE ? find_name(&f, s->operands_n > 0 ? s->operands[0] : "last") : 0;
    if (status == EXIT_FINE)
        status = i < f.n ? read_file(&f, f.name[i].text, &text) : EXIT_TROUBLE;
    if (status == EXIT_FINE) {
        out_open(&o);
        pager_open(&pager, &o);
        print_lines(&o, buf_slice(&text));
        status = out_close(&o);
        pager_close(&pager);
    }
    buf_close(&text);
    folder_close(&f);
    return status;
}

/* ---- done ---- */

static int remove_one(const struct folder *f, const char *name, struct out *o)
{
    if (unlinkat(f->fd, name, 0) != 0) {
        log_error("cannot remove %s: %s", name, strerror(errno));
        return EXIT_TROUBLE;
    }
    out_raw(o, "removed ");
    out_text(o, slice_of(name));
    out_end_line(o);
    return EXIT_FINE;
}

static int done(const struct settings *s)
{
    struct folder f;
    struct out o;
    bool all = settings_on(s, "all");
    if (all == (s->operands_n > 0))
        return settings_usage(s, all ? "--all and a NAME: give only one of them"
                                     : "missing NAME: name an escalation, or use --all");
    int status = folder_open(&f, s);
    out_open(&o);
    for (size_t i = 0; all && status == EXIT_FINE && i < f.n; i++)
        status = remove_one(&f, f.name[i].text, &o);
    for (int k = 0; !all && status == EXIT_FINE && k < s->operands_n; k++) {
        size_t i = find_name(&f, s->operands[k]);
        status = i < f.n ? remove_one(&f, f.name[i].text, &o) : EXIT_TROUBLE;
    }
    int closed = out_close(&o);
    folder_close(&f);
    return status != EXIT_FINE ? status : closed;
}

/* ---- the commands ---- */

static const struct command escalations_list = {
    .name = "escalations list",
    .summary = "list the problems that need a person",
    .usage = "[OPTIONS]",
    .about = "COUNT is how often the problem has occurred, LAST when it did so last.\n",
    .table = options_of_list,
    .run = list,
};

static const struct command escalations_show = {
    .name = "escalations show",
    .summary = "print a problem, and what to do",
    .usage = "[OPTIONS] [NAME]",
    .about = "NAME is the beginning of a name that `escalations list` prints, or `last`, the\n"
             "default.\n",
    .table = options_of_show,
    .operands_max = 1,
    .run = show,
};

static const struct command escalations_done = {
    .name = "escalations done",
    .summary = "remove problems that are solved",
    .usage = "[OPTIONS] NAME...",
    .about = "NAME is the beginning of a name that `escalations list` prints, or `last`. If\n"
             "the problem occurs again, there is a new escalation.\n",
    .table = options_of_done,
    .operands_max = INT_MAX,
    .run = done,
};

static const struct command *const verbs[] = {&escalations_list, &escalations_show,
                                              &escalations_done, NULL};

const struct command command_escalations = {
    .name = "escalations",
    .summary = "problems that need a person: list, show, done",
    .verbs = verbs,
};
