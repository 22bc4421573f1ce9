#include "cli/wrap/client_file.h"

#include "base/log.h"
#include "base/text.h"
#include "cli/frame/replace.h"
#include "cli/frame/server_name.h"
#include "cli/settings/paths.h"
#include "cli/wrap/backup.h"
#include "cli/wrap/edit_diff.h"
#include "cli/wrap/limits.h"
#include "cli/wrap/mcpfile/string.h"
#include "cli/wrap/remote.h"
#include "cli/wrap/row.h"
#include "cli/wrap/which.h"
#include "cli/wrap/wrap_edit.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* State of the work on one file. */
struct work {
    struct wrapping *w;
    const struct client_file *where;
    enum wrap_verb verb; /* what to do with this file */
    struct replace file;
    struct mcpfile conf;
    struct edits edits;
    /* owned; for each server: true if it was changed or, with --dry-run, would be changed */
    bool *touched;
    size_t wrapped_before; /* number of servers that were already wrapped when the file was read */
    bool redirected;
    bool left_wrapped; /* the file is in another directory, and some servers stay wrapped */
    /* the file must also work on other systems: it is in git, or for a container */
    bool portable;
};

/* ---- one server ---- */

static const char *wrap_state_name(const struct work *k, const struct wrap_view *v, bool touched)
{
    bool dry = k->w->dry;
    if (touched && k->verb == WRAP_VERB_WRAP)
        return dry ? "would wrap" : "wrapped now";
    if (touched)
        return dry ? "would unwrap" : "unwrapped";
    if (client_file_fixed[k->where->kind].state != NULL && v->state != WRAP_WRAPPED)
        return client_file_fixed[k->where->kind].state;
    switch (v->state) {
    case WRAP_PLAIN:
        return "plain";
    case WRAP_WRAPPED:
        return "wrapped";
    case WRAP_REMOTE:
        return "remote";
    case WRAP_ODD:
        break;
    }
    return "odd";
}

static void print_or_add_server_row(struct work *k, const struct mcpfile_server *s,
                                    struct wrap_view *v, bool touched)
{
    struct buf wraps = {0};
    const char *fixed = client_file_fixed[k->where->kind].why;
    if (v->state == WRAP_WRAPPED)
        mcpfile_append_string(&k->conf, k->conf.arg[s->first_arg + v->own], &wraps);
    struct server_row row = {
        .server = s->name,
        .client = k->where->client,
        .state = wrap_state_name(k, v, touched),
        .state_as_read = v->state,
        .touched = touched,
        .command = v->command.n > 0 ? buf_str(&v->command) : NULL,
        .wraps = v->state == WRAP_WRAPPED ? buf_str(&wraps) : NULL,
        .why = v->why == NULL && !touched ? fixed : v->why,
        .project = s->project,
        .path = k->file.path,
        .named_path = k->where->path,
    };
    if (k->w->json)
        server_row_print_json(&k->w->out, &row);
    else
        server_row_add_to_table(&k->w->table, &row);
    buf_close(&wraps);
    if (v->state == WRAP_ODD && !v->is_mcp && k->w->verb != WRAP_VERB_UNWRAP && fixed == NULL)
        log_warn("%s: server '%s' is not changed: %s", k->where->path, s->name, v->why);
}

/* Returns the words that start the interposer in this file. */
static const char *const *get_interposer_command_words(const struct work *k)
{
    static const char *const plain[] = {"mcp-interposer", NULL};
    const struct launch *l = &k->w->launch;
    bool container = k->where->kind == CLIENT_FILE_CONTAINER && !l->by_runner;
    return container || (k->portable && l->in_path) ? plain : l->words;
}

/* Returns the value of --vault or --journal-dir for the args of a wrapped server; NULL if the
 * option is left out. */
static const char *choose_directory_argument(const struct work *k, const char *option,
                                             const char *path)
{
    bool asked = opt_get_source(&k->w->settings->set, option) == OPT_FLAG;
    return !k->portable || asked ? path : NULL;
}

/* Appends an option and its value to `options`, unless the value is empty or NULL. Returns the new
 * number of words. */
static size_t add_option(const char **options, size_t n, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return n;
    options[n++] = name;
    options[n++] = value;
    return n;
}

static bool add_server(struct work *k, const struct mcpfile_server *s, struct wrap_view *v)
{
    const char *options[2 * OPT_MANY_MAX + 16];
    struct limits limits = {0};
    size_t n = 0;
    char name[SERVER_NAME_MAX];
    char *const argv[] = {s->name, NULL};
    bool remote = v->state == WRAP_REMOTE;
    const char *command = remote ? "npx" : buf_str(&v->command);
    /* A client that is started from a desktop has a short PATH. The option --path makes the proxy
     * also search the directory in which a terminal finds the command. */
    bool needs_path = k->where->desktop && !k->portable && strchr(command, '/') == NULL;
    char *dir = needs_path ? which_find_nonstandard_dir(command) : NULL;
    server_name_choose(s->name, argv, name);
    if (name[0] != '-')
        n = add_option(options, n, "--name", name);
    for (const char *const *d = k->w->deadlines; *d != NULL; d++)
        n = add_option(options, n, "--timeout", *d);
    if (k->w->deadlines[0] == NULL)
        limits_read(&limits, &k->conf, s, k->where->client);
    n = add_option(options, n, "--timeout", limits.call);
    n = add_option(options, n, "--timeout", limits.initialize);
    n = add_option(options, n, "--max-timeout", limits.max_timeout);
    n = add_option(options, n, "--vault", choose_directory_argument(k, "vault", k->w->vault));
    n = add_option(options, n, "--journal-dir",
                   choose_directory_argument(k, "journal-dir", k->w->journal_dir));
    n = add_option(options, n, "--path", dir);
    options[n] = NULL;
    struct wrap_with with = {get_interposer_command_words(k), options};
    bool added = remote ? remote_add_wrap_edits(&k->edits, &k->conf, s, &with)
                        : wrap_edit_wrap_server(&k->edits, &k->conf, s, &with);
    free(dir);
    return added;
}

/* Sets *wrap to whether a server with a URL is wrapped. If it is not, tells the user why, or
 * advises --remote. Returns 0 or MI_ENOMEM. */
static int decide_if_remote_is_wrapped(struct work *k, const struct mcpfile_server *s, bool *wrap)
{
    const char *why;
    int st = remote_check_wrappable(&k->conf, s, &why);
    bool asked = settings_is_on(k->w->settings, "remote");
    *wrap = st == 0 && asked && why == NULL;
    if (!asked)
        advice_add_remote(&k->w->advice, s->name);
    else if (st == 0 && why != NULL)
        log_warn("%s: server '%s' is not changed: %s", k->where->path, s->name, why);
    return st;
}

/* Returns whether the command that starts the interposer of a wrapped server must be replaced: its
 * program does not exist any more, or it names another version of the package than the one from
 * which this program was started. */
static bool server_needs_redirect(const struct work *k, const struct mcpfile_server *s,
                                  struct wrap_view *v)
{
    const char *command = buf_str(&v->command);
    const struct launch *ours = &k->w->launch;
    struct buf package = {0};
    bool here = k->where->kind != CLIENT_FILE_CONTAINER;
    if (here && command[0] == '/' && access(command, X_OK) != 0)
        return true;
    if (!ours->by_runner || v->launch == 0 || strcmp(ours->words[0], command) != 0)
        return false;
    mcpfile_append_string(&k->conf, k->conf.arg[s->first_arg + v->launch - 1], &package);
    bool other = launch_word_names_other_version(ours, buf_slice(&package));
    buf_close(&package);
    return other;
}

/* Adds the edits that wrap server `i`. Returns 0, MI_EFULL or MI_ENOMEM. */
static int wrap_server(struct work *k, size_t i, struct wrap_view *v)
{
    const struct mcpfile_server *s = &k->conf.server[i];
    bool room = true, wrap = v->state == WRAP_PLAIN;
    if (v->state == WRAP_REMOTE && decide_if_remote_is_wrapped(k, s, &wrap) < 0)
        return MI_ENOMEM;
    if (wrap) {
        room = add_server(k, s, v);
        k->touched[i] = true;
    } else if (v->state == WRAP_WRAPPED && server_needs_redirect(k, s, v)) {
        room =
            wrap_edit_redirect_server(&k->edits, &k->conf, s, v, get_interposer_command_words(k));
        k->touched[i] = k->redirected = true;
    }
    if (v->state == WRAP_WRAPPED && opt_get_source(&k->w->settings->set, "timeout") == OPT_FLAG)
        advice_add_already_wrapped(&k->w->advice, s->name);
    return room ? 0 : MI_EFULL;
}

/* Inspects a server, and adds the edits that it needs. Returns 0, MI_EFULL or MI_ENOMEM. */
static int add_edits_for_server(struct work *k, size_t i)
{
    const struct mcpfile_server *s = &k->conf.server[i];
    struct wrap_view v;
    if (wrap_inspect_server(&k->conf, s, &v) < 0)
        return MI_ENOMEM;
    int st = 0;
    bool wanted = wrap_selection_has_server(&k->w->selection, s->name);
    bool elsewhere = k->where->kind == CLIENT_FILE_ELSEWHERE;
    k->wrapped_before += v.state == WRAP_WRAPPED;
    wrap_selection_note_found_server(&k->w->selection, s->name,
                                     k->verb == k->w->verb ? WRAP_FOUND_HERE
                                     : elsewhere           ? WRAP_FOUND_ELSEWHERE
                                                           : WRAP_FOUND_FIXED);
    if (wanted && v.state == WRAP_WRAPPED && k->verb != k->w->verb && elsewhere)
        k->left_wrapped = true;
    if (wanted && k->verb == WRAP_VERB_WRAP) {
        st = wrap_server(k, i, &v);
    } else if (wanted && k->verb == WRAP_VERB_UNWRAP && v.state == WRAP_WRAPPED) {
        k->touched[i] = true;
        st = wrap_edit_unwrap_server(&k->edits, &k->conf, s, &v) ? 0 : MI_EFULL;
    }
    wrap_view_close(&v);
    return st;
}

/* ---- one file ---- */

static void report_file_error(struct work *k, const char *why)
{
    log_error("%s: %s", k->where->path, why);
    k->w->failed = true;
}

/* Reports that the file cannot be read. This is only a warning if the user did not name the file,
 * this command does not change it, and `wrap` never changes a file of this kind. */
static void fail_reading_client_file(struct work *k, const char *why, bool named)
{
    if (!named && k->verb == WRAP_VERB_LIST && client_file_fixed[k->where->kind].state != NULL)
        log_warn("%s: %s", k->where->path, why);
    else
        report_file_error(k, why);
}

/* Parses the new text into `conf`; the caller must close `conf` in any case. Returns whether the
 * new text has as many servers as the old text. */
static bool has_same_server_count(const struct work *k, struct slice new, struct mcpfile *conf)
{
    return mcpfile_read_servers(conf, new, mcpfile_format_by_name(k->where->path)) == 0 &&
           conf->servers == k->conf.servers;
}

/* Returns whether unwrapping would restore the original bytes. */
static bool unwrap_would_restore_bytes(struct work *k, struct slice new)
{
    struct mcpfile conf;
    struct edits undo = {0};
    struct buf text = {0};
    bool good = has_same_server_count(k, new, &conf);
    for (size_t i = 0; good && i < conf.servers; i++) {
        struct wrap_view v;
        if (!k->touched[i])
            continue;
        good = wrap_inspect_server(&conf, &conf.server[i], &v) == 0;
        if (good) {
            good = v.state == WRAP_WRAPPED &&
                   wrap_edit_unwrap_server(&undo, &conf, &conf.server[i], &v);
            wrap_view_close(&v);
        }
    }
    edits_apply(&undo, new, &text);
    good = good && !text.failed &&
           (k->redirected || slice_eq(buf_slice(&text), buf_slice(&k->file.text)));
    buf_close(&text);
    edits_close(&undo);
    mcpfile_close(&conf);
    return good;
}

static bool wrapped_text_is_valid(const struct work *k, struct slice new)
{
    struct mcpfile conf;
    bool good = has_same_server_count(k, new, &conf);
    mcpfile_close(&conf);
    return good;
}

/* Writes the file, makes or removes its backup, and collects advice. Returns false after a
 * message. */
static bool change_file(struct work *k, struct slice new)
{
    bool wraps = k->verb == WRAP_VERB_WRAP;
    size_t touched = 0;
    for (size_t i = 0; i < k->conf.servers; i++)
        touched += k->touched[i];
    int st = replace_check_file(&k->file);
    if (st == 0 && wraps && (k->wrapped_before == 0 || !backup_exists(k->w->backups, k->file.path)))
        st = backup_make(k->w->backups, k->file.path, buf_slice(&k->file.text), &k->file.error);
    if (st == 0)
        st = replace_write_file(&k->file, new);
    if (st < 0) {
        report_file_error(k, st == MI_ENOMEM ? "out of memory" : buf_str(&k->file.error));
        return false;
    }
    if (!wraps && touched == k->wrapped_before) { /* the file has no wrapped server any more */
        struct buf kept = {0};
        backup_remove_copies_of_text(k->w->backups, k->file.path, new, &kept);
        if (kept.n > 0)
            log_warn("%s: the file has changed since it was wrapped; its backup is kept: %s "
                     "(delete it when you do not need it: it may contain secrets)",
                     k->where->path, buf_str(&kept));
        buf_close(&kept);
    }
    advice_add_client(&k->w->advice, k->where->client, k->where->path);
    if (wraps && k->portable)
        advice_add_portable_file(&k->w->advice, &k->w->launch, k->where);
    if (wraps && k->w->launch.by_runner && k->where->kind != CLIENT_FILE_CONTAINER)
        advice_add_missing_runner(&k->w->advice, &k->w->launch, k->where);
    return true;
}

/* Applies the edits to the file; with --dry-run prints them as a diff, unless --json was given.
 * Returns false after a message. */
static bool apply_or_print_edits(struct work *k)
{
    struct buf new = {0};
    bool good = true;
    edits_apply(&k->edits, buf_slice(&k->file.text), &new);
    if (new.failed) {
        report_file_error(k, "out of memory");
        good = false;
    } else if (k->verb == WRAP_VERB_WRAP && !unwrap_would_restore_bytes(k, buf_slice(&new))) {
        report_file_error(k, "unwrap could not restore this file exactly; edit it by hand");
        good = false;
    } else if (k->verb == WRAP_VERB_UNWRAP && !wrapped_text_is_valid(k, buf_slice(&new))) {
        report_file_error(k, "unwrapping would make this file invalid; edit it by hand");
        good = false;
    } else if (!k->w->dry) {
        good = change_file(k, buf_slice(&new));
    } else if (!k->w->json) {
        edit_diff_print(&k->w->out, k->file.path, buf_slice(&k->file.text), &k->edits);
    }
    k->w->changes |= good;
    buf_close(&new);
    return good;
}

/* Lists the servers in the state that was read, because the positions refer to the old text. A file
 * that the command does not change is listed only if the user should know why. */
static void list_servers(struct work *k)
{
    bool fixed = client_file_fixed[k->where->kind].state != NULL;
    if (k->verb != k->w->verb && !k->left_wrapped && !(fixed && k->w->verb == WRAP_VERB_WRAP))
        return;
    if (k->left_wrapped) {
        struct buf path = {0};
        server_row_append_path(&path, k->where->path);
        advice_add_file_elsewhere(&k->w->advice, buf_str(&path));
        buf_close(&path);
    }
    for (size_t i = 0; i < k->conf.servers; i++) {
        struct wrap_view v;
        if (!wrap_selection_has_server(&k->w->selection, k->conf.server[i].name))
            continue;
        if (wrap_inspect_server(&k->conf, &k->conf.server[i], &v) < 0) {
            report_file_error(k, "out of memory");
            return;
        }
        print_or_add_server_row(k, &k->conf.server[i], &v, k->touched[i]);
        wrap_view_close(&v);
    }
}

/* Processes all servers of the file, writes the changes, and lists the servers. */
static void handle_servers_of_file(struct work *k, bool named)
{
    int st = mcpfile_read_servers(&k->conf, buf_slice(&k->file.text),
                                  mcpfile_format_by_name(k->where->path));
    if (st == 0) {
        k->touched = calloc(k->conf.servers + 1, sizeof *k->touched);
        st = k->touched != NULL ? 0 : MI_ENOMEM;
    }
    for (size_t i = 0; st == 0 && i < k->conf.servers; i++)
        st = add_edits_for_server(k, i);
    if (st == MI_EINVAL) {
        struct buf why = {0};
        buf_adds(&why, "cannot parse the file, which is not changed: ");
        buf_slice_add(&why, buf_slice(&k->conf.error));
        fail_reading_client_file(k, buf_str(&why), named);
        buf_close(&why);
    } else if (st < 0) {
        report_file_error(k, st == MI_EFULL
                                 ? "too many servers to change at once; name some of them"
                                 : "out of memory");
    } else if (named && k->conf.servers == 0) {
        report_file_error(k,
                          "no MCP servers found: expected an object `mcpServers`, `servers`, "
                          "`context_servers` or `mcp` in JSON, tables `mcp_servers.NAME` in a file "
                          "NAME.toml, or `extensions`, `mcpServers` or `mcp_servers` in a file "
                          "NAME.yaml; in another format, put "
                          "`mcp-interposer proxy --` before the server's command "
                          "by hand");
    } else if ((k->edits.n == 0 || apply_or_print_edits(k)) && (!k->w->dry || k->w->json)) {
        list_servers(k);
    }
}

/* Whether a line of the script adds a server without the interposer. */
static bool script_adds_plain_server(const char *script)
{
    for (const char *next; *script != '\0'; script = next) {
        next = script + strcspn(script, "\n");
        struct slice line = {script, (size_t)(next - script)};
        next += *next != '\0';
        while (slice_begins(line, " ") || slice_begins(line, "\t"))
            line = (struct slice){line.p + 1, line.n - 1};
        if (!slice_begins(line, "#") && memmem(line.p, line.n, "mcp add", 7) != NULL &&
            memmem(line.p, line.n, "mcp-interposer", 14) == NULL)
            return true;
    }
    return false;
}

/* Reports the file crushrc of the client Crush. Only the shell that runs this script knows what its
 * `mcp add` lines do. */
static void report_shell_script(struct work *k, bool named)
{
    static const char why[] = "the file is a shell script, which is not read or changed: put "
                              "`mcp-interposer proxy --` before the command of each `mcp add`";
    if (named)
        report_file_error(k, why);
    else if (k->w->verb != WRAP_VERB_UNWRAP && script_adds_plain_server(buf_str(&k->file.text)))
        log_warn("%s: %s", k->where->path, why);
}

/* Returns whether a directory above the file contains a directory or file `.git`
 * (gitrepository-layout(5)). path: an absolute path whose links are resolved. Returns false if
 * memory ran out. */
static bool is_in_git_work_tree(const char *path)
{
    struct buf b = {0};
    struct stat st;
    bool found = false;
    for (size_t n = strlen(path); n-- > 0 && !found;) {
        if (path[n] != '/')
            continue;
        buf_clear(&b);
        buf_add(&b, path, n);
        buf_adds(&b, "/.git");
        found = !b.failed && lstat(buf_str(&b), &st) == 0 &&
                (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode));
    }
    buf_close(&b);
    return found;
}

int wrap_file(struct wrapping *w, const struct client_file *where, bool named)
{
    struct work *k = calloc(1, sizeof *k); /* struct work is too large for the stack */
    if (k == NULL)
        return MI_ENOMEM;
    k->w = w;
    k->where = where;
    const char *fixed = client_file_fixed[where->kind].why;
    bool changed = where->kind == CLIENT_FILE_EDITED || where->kind == CLIENT_FILE_CONTAINER ||
                   (where->kind == CLIENT_FILE_UNUSED && w->verb == WRAP_VERB_UNWRAP) ||
                   (where->kind == CLIENT_FILE_ELSEWHERE && w->all);
    k->verb = changed ? w->verb : WRAP_VERB_LIST;
    if (replace_open(&k->file, where->path) < 0) {
        fail_reading_client_file(k, k->file.error.n > 0 ? buf_str(&k->file.error) : "out of memory",
                                 named);
    } else if (where->kind == CLIENT_FILE_SCRIPT) {
        report_shell_script(k, named);
    } else if (named && fixed != NULL && k->verb != w->verb) {
        report_file_error(k, fixed);
    } else {
        k->portable = where->kind == CLIENT_FILE_CONTAINER || is_in_git_work_tree(k->file.path);
        handle_servers_of_file(k, named);
    }
    edits_close(&k->edits);
    mcpfile_close(&k->conf);
    replace_close(&k->file);
    free(k->touched);
    free(k);
    return 0;
}
