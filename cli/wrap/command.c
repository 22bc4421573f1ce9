/* command.c - `wrap` and `unwrap`: put the interposer into the configuration files of MCP clients,
 * and remove it. */
#include "cli/wrap/commands.h"

#include "base/log.h"
#include "base/nearest.h"
#include "cli/settings/deadlines.h"
#include "cli/settings/paths.h"
#include "cli/wrap/client_file.h"
#include "cli/wrap/elsewhere.h"
#include "cli/wrap/row.h"
#include "cli/wrap/which.h"

#include <errno.h>
#include <stdlib.h>

#define COMMON_OPTS                                                                                \
    {'c', "client", "CLIENT...", NULL, "only the files of this client (see below)"},               \
        {0, "file", "FILE...", NULL, "change this file instead of those that the clients read"},   \
        {'d', "dry-run", NULL, NULL, "print the changes as a diff; change nothing"},               \
    {                                                                                              \
        0, "json", NULL, NULL, "print one JSON object per line for each server"                    \
    }

static const struct opt wrap_opts[] = {
    {'l', "list", NULL, NULL, "list the servers, and which of them are wrapped; change nothing"},
    {0, "remote", NULL, NULL, "also wrap servers that have a URL, through mcp-remote (npx)"},
    {'t', "timeout", "[WHAT=]DURATION...", NULL,
     "deadline of a request, passed on to `proxy`; WHAT: method, glob, tool:NAME"},
    COMMON_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

static const struct opt unwrap_opts[] = {
    {'a', "all", NULL, NULL, "also restore the files of other directories that `wrap` has changed"},
    COMMON_OPTS,
    COMMAND_OPTS,
};

/* clang-format off */
#define ABOUT_CLIENTS                                                                              \
    "Clients: claude-code, claude-desktop, cursor, vscode, windsurf, gemini, codex,\n"             \
    "zed, opencode, cline, copilot, goose, jetbrains, kiro, antigravity, lmstudio,\n"              \
    "kilo, warp, qwen, droid, kimi, grok, pi, crush, trae, qoder, amazon-q, mastra,\n"             \
    "mcporter, fx, abacus, amp, vibe, continue, hermes, openclaw. Their files in the\n"             \
    "home directory and in the working directory are edited, those of plugins are\n"               \
    "only listed. clients.md names all these files (`help` prints its path).\n"                    \
    "A client reads its file when it starts: restart it.\n"                                        \
    "\n"                                                                                          \
    "Exit status: 0 done; 1 with --dry-run if a file would change; 2 usage error;\n"              \
    "3 failure.\n"

static const char wrap_about[] =
    "SERVER is a name in the file; by default, all servers that are started by a\n"
    "command. Only the command and its arguments are changed; unwrap restores the\n"
    "original bytes. The original file is kept in\n"
    "~/.local/state/mcp-interposer-backups until none of its servers is wrapped. In a\n"
    "git work tree, the file gets only the name of this program, not its path.\n"
    "A server that has a URL is wrapped with --remote only: the interposer then runs\n"
    "mcp-remote with npx, which connects to the URL.\n"
    "\n"
    ABOUT_CLIENTS;

static const char unwrap_about[] =
    "SERVER is a name in the file; by default, all wrapped servers. The file gets its\n"
    "original bytes; if the result differs from the backup in\n"
    "~/.local/state/mcp-interposer-backups, the backup is kept, with a warning.\n"
    "Servers that are still wrapped in other directories are listed.\n"
    "\n"
    ABOUT_CLIENTS;
/* clang-format on */

static int find_files_to_wrap(const struct wrapping *w, struct client_files *files)
{
    const struct settings *s = w->settings;
    size_t at = 0;
    int st = 0;
    if (settings_get_text(s, "file") == NULL) {
        st = client_files_find(files);
        return st == 0 && w->verb != WRAP_VERB_WRAP ? find_client_files_elsewhere(files, w->backups)
                                                    : st;
    }
    for (const char *path; st == 0 && (path = settings_next_value(s, "file", &at)) != NULL;)
        st = client_files_add(files, path);
    return st;
}

static int process_client_files(struct wrapping *w)
{
    struct client_files files = {.n = 0};
    size_t files_n = 0;
    int st = find_files_to_wrap(w, &files);
    out_open(&w->out);
    server_row_open_table(&w->table);
    for (size_t i = 0; st == 0 && i < files.n; i++) {
        if (wrap_selection_has_client(&w->selection, files.file[i].client)) {
            files_n++;
            st = wrap_file(w, &files.file[i], settings_get_text(w->settings, "file") != NULL);
        }
    }
    if (st == 0 && w->table.cells_n > 0 && !table_print(&w->table, &w->out))
        st = MI_ENOMEM;
    if (st == 0 && !w->json && !w->dry) {
        struct buf program = {0};
        launch_append_command(&w->launch, &program);
        advice_print(&w->advice, &w->out, w->verb == WRAP_VERB_WRAP, w->deadlines[0] != NULL,
                     buf_str(&program));
        buf_close(&program);
    }
    table_close(&w->table);
    client_files_close(&files);
    int status = out_close(&w->out);
    if (st < 0)
        log_error("out of memory");
    else if (files_n == 0)
        log_warn("no configuration file of an MCP client found; name one with --file");
    else
        w->failed |= !wrap_selection_report_missing(&w->selection);
    if (st < 0 || w->failed)
        return EXIT_TROUBLE;
    return w->dry && w->changes ? EXIT_FOUND : status;
}

static int check_client(const struct settings *s, const char *word)
{
    struct buf names = {0};
    struct nearest near = nearest_begin_search(word);
    bool known = false;
    int status = EXIT_FINE;
    for (size_t i = 0; client_name(i) != NULL; i++) {
        known |= strcmp(word, client_name(i)) == 0;
        nearest_add_candidate(&near, client_name(i));
        buf_printf(&names, "%s%s", i > 0 ? ", " : "", client_name(i));
    }
    if (!known && near.best != NULL)
        status = settings_fail_usage(s, "--client: unknown client '%s'; did you mean '%s'?", word,
                                     near.best);
    else if (!known)
        status = settings_fail_usage(s, "--client: unknown client '%s': use one of %s", word,
                                     buf_str(&names));
    buf_close(&names);
    return status;
}

static int check_options(const struct settings *s, bool all)
{
    size_t at = 0;
    if (all && settings_get_text(s, "file") != NULL)
        return settings_fail_usage(s, "--all and --file cannot be combined");
    for (const char *word; (word = settings_next_value(s, "client", &at)) != NULL;) {
        int status = check_client(s, word);
        if (status != EXIT_FINE)
            return status;
    }
    return EXIT_FINE;
}

/* Makes a path absolute, and takes ownership of `path`. If `path` is NULL, an error was already
 * reported. Returns the exit status. */
static int convert_to_absolute_path(char *path, char **ret)
{
    *ret = path != NULL ? which_make_path_absolute(path) : NULL;
    if (path != NULL && *ret == NULL)
        log_error("out of memory");
    free(path);
    return *ret != NULL ? EXIT_FINE : EXIT_TROUBLE;
}

/* Finds the directories that are written into the args of `proxy`. Only directories that an option
 * or an environment variable names are written, because the proxy reads the configuration file
 * itself. */
static int find_directories(struct wrapping *w)
{
    const struct opt_set *set = &w->settings->set;
    int status = EXIT_FINE;
    char *path;
    if (opt_get_source(set, "vault") >= OPT_ENVIRONMENT)
        status = convert_to_absolute_path(settings_get_vault_path(w->settings), &w->vault);
    if (status == EXIT_FINE && opt_get_source(set, "journal-dir") >= OPT_ENVIRONMENT) {
        status = settings_journal_dir(w->settings, &path);
        if (status == EXIT_FINE)
            status = convert_to_absolute_path(path, &w->journal_dir);
    }
    return status;
}

/* Checks --timeout, and collects its values for the arguments of `proxy`. Values of the
 * configuration file are left out, because `proxy` reads that file itself. */
static int read_timeout_options(struct wrapping *w)
{
    const struct opt_set *set = &w->settings->set;
    struct deadlines deadlines = {0};
    struct buf error = {0};
    size_t n = 0;
    int st = settings_read_deadlines(w->settings, &deadlines, &error);
    int status = EXIT_FINE;
    if (st == MI_ENOMEM)
        log_error("out of memory");
    if (st < 0)
        status = st == MI_ENOMEM
                     ? EXIT_TROUBLE
                     : settings_fail_usage(w->settings, "--timeout: %s", buf_str(&error));
    for (enum opt_from from = OPT_ENVIRONMENT; from <= OPT_FLAG; from++)
        for (size_t i = 0; i < set->many_n; i++)
            if (set->many[i].from == from &&
                strcmp(set->table[set->many[i].i].name, "timeout") == 0)
                w->deadlines[n++] = set->many[i].value;
    deadlines_close(&deadlines);
    buf_close(&error);
    return status;
}

/* Finds how to start this program. Errors are ignored for commands other than `wrap`, which do not
 * need the result. */
static int find_this_program(struct wrapping *w)
{
    struct buf error = {0};
    int st = launch_find_command(&w->launch, &error);
    if (st < 0 && w->verb != WRAP_VERB_WRAP) {
        launch_close(&w->launch);
        st = 0;
    }
    if (st < 0)
        log_error("%s", st == MI_ENOMEM ? "out of memory" : buf_str(&error));
    buf_close(&error);
    return st == 0 ? EXIT_FINE : st == MI_EINVAL ? EXIT_USAGE : EXIT_TROUBLE;
}

static int wrap_run(enum wrap_verb verb, const struct settings *s)
{
    struct wrapping w = {.settings = s, .selection.settings = s, .verb = verb};
    w.dry = settings_is_on(s, "dry-run");
    w.json = settings_is_on(s, "json");
    w.all = verb == WRAP_VERB_UNWRAP && settings_is_on(s, "all");
    int status = check_options(s, w.all);
    if (status == EXIT_FINE && verb == WRAP_VERB_WRAP) {
        status = read_timeout_options(&w);
        if (status == EXIT_FINE)
            status = find_directories(&w);
    }
    if (status == EXIT_FINE)
        status = find_this_program(&w);
    w.backups = path_of_backup_directory();
    if (status == EXIT_FINE && w.backups == NULL) {
        log_error("cannot find the directory of backups: %s", strerror(errno));
        status = EXIT_TROUBLE;
    }
    if (status == EXIT_FINE)
        status = process_client_files(&w);
    advice_close(&w.advice);
    wrap_selection_close(&w.selection);
    launch_close(&w.launch);
    free(w.backups);
    free(w.vault);
    free(w.journal_dir);
    return status;
}

static int run_wrap(const struct settings *s)
{
    return wrap_run(settings_is_on(s, "list") ? WRAP_VERB_LIST : WRAP_VERB_WRAP, s);
}

static int run_unwrap(const struct settings *s)
{
    return wrap_run(WRAP_VERB_UNWRAP, s);
}

/* Runs when the configuration is invalid. Then `wrap` does nothing, because wrapped servers would
 * not start; --list and `unwrap` work. */
static int run_misconfigured(const struct settings *s, const char *error)
{
    if (s->command == &command_wrap && !settings_is_on(s, "list"))
        return command_fail_usage(s->command, error);
    log_warn("the rest of the configuration file is ignored: %s", error);
    return s->command->run(s);
}

const struct command command_wrap = {
    .name = "wrap",
    .summary = "put the interposer in front of the servers of MCP clients",
    .usage = "[OPTIONS] [SERVER...]",
    .about = wrap_about,
    .table = wrap_opts,
    .operands_max = WRAP_SERVERS_MAX,
    .run = run_wrap,
    .run_misconfigured = run_misconfigured,
};

const struct command command_unwrap = {
    .name = "unwrap",
    .summary = "remove the interposer from the configuration of clients",
    .usage = "[OPTIONS] [SERVER...]",
    .about = unwrap_about,
    .table = unwrap_opts,
    .operands_max = WRAP_SERVERS_MAX,
    .run = run_unwrap,
    .run_misconfigured = run_misconfigured,
};
