/* cmd_wrap.c - `wrap` and `unwrap`: the interposer in the configuration files of MCP clients. */
#include "base/log.h"
#include "cli/which.h"
#include "cli/wrap.h"
#include "cli/wrap_file.h"

#include <errno.h>
#include <stdlib.h>

#define COMMON_OPTS                                                                                \
    {'c', "client", "CLIENT...", NULL, "only the files of this client; see below"},                \
        {'f', "file", "FILE...", NULL,                                                             \
         "this file, and not those that clients read by themselves"},                              \
        {'d', "dry-run", NULL, NULL, "show what would change as a diff, and change nothing"},      \
    {                                                                                              \
        0, "json", NULL, NULL, "a JSON object on a line for each server"                           \
    }

static const struct opt wrap_opts[] = {
    {'l', "list", NULL, NULL, "change nothing; say which servers there are, and what is wrapped"},
    COMMON_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

static const struct opt unwrap_opts[] = {
    COMMON_OPTS,
    COMMAND_OPTS,
};

static const char about[] =
    "SERVER is a name as it stands in the file; without one, all that are started by a command.\n"
    "Nothing but the command and its arguments changes; unwrap gives the old bytes back. The\n"
    "file as it was stays beside it as NAME.mcp-interposer.bak until nothing in it is wrapped.\n"
    "\n"
    "Clients: claude-code, claude-desktop, cursor, vscode, windsurf, gemini, codex. Looked at are\n"
    "their files in the home directory and those in the working directory (.mcp.json,\n"
    ".cursor/mcp.json, .vscode/mcp.json, .gemini/settings.json, .codex/config.toml).\n"
    "A client reads its file when it starts: start it again.\n";

static int find_files(const struct settings *s, struct client_files *files)
{
    size_t at = 0;
    int st = 0;
    if (settings_text(s, "file") == NULL)
        return client_files_find(files);
    for (const char *path; st == 0 && (path = settings_each(s, "file", &at)) != NULL;)
        st = client_files_add(files, path);
    return st;
}

static bool client_wanted(const struct settings *s, const char *client)
{
    size_t at = 0;
    if (settings_text(s, "client") == NULL)
        return true;
    for (const char *word; (word = settings_each(s, "client", &at)) != NULL;)
        if (strcmp(word, client) == 0)
            return true;
    return false;
}

static void tell_missing(struct wrapping *w, size_t files)
{
    if (files == 0) {
        log_warn("there is no configuration file of an MCP client here; name one with --file");
        return;
    }
    for (int i = 0; i < w->settings->operands_n; i++) {
        if (w->seen[i])
            continue;
        log_error("there is no server '%s'; see: mcp-interposer wrap --list",
                  w->settings->operands[i]);
        w->failed = true;
    }
}

static int work_all(struct wrapping *w)
{
    struct client_files files = {.n = 0};
    size_t looked_at = 0;
    int st = find_files(w->settings, &files);
    out_open(&w->out);
    table_open(&w->table, wrap_columns, wrap_columns_n);
    for (size_t i = 0; st == 0 && i < files.n; i++) {
        if (client_wanted(w->settings, files.file[i].client)) {
            looked_at++;
            st = wrap_file(w, &files.file[i]);
        }
    }
    if (st == 0 && w->table.cells_n > 0 && !table_print(&w->table, &w->out))
        st = MI_ENOMEM;
    if (st == 0)
        tell_missing(w, looked_at);
    else
        log_error("%s", st == MI_EFULL ? "too many files" : "no memory");
    table_close(&w->table);
    client_files_close(&files);
    int status = out_close(&w->out);
    if (st < 0 || w->failed)
        return EXIT_TROUBLE;
    return w->dry && w->changes ? EXIT_FOUND : status;
}

static int check_clients(const struct settings *s, const struct command *c)
{
    size_t at = 0;
    for (const char *word; (word = settings_each(s, "client", &at)) != NULL;)
        if (!client_is_known(word))
            return settings_usage(c, "--client: '%s' is none of %s", word, client_names());
    return EXIT_FINE;
}

/* Clients hand a proxy no environment of ours: what was said here is written down there. */
static int find_vault(struct wrapping *w)
{
    if (opt_source(&w->settings->set, "vault") < OPT_ENVIRONMENT)
        return EXIT_FINE;
    char *path = settings_vault(w->settings);
    w->vault = path != NULL ? which_absolute(path) : NULL;
    if (path != NULL && w->vault == NULL)
        log_error("no memory");
    free(path);
    return w->vault != NULL ? EXIT_FINE : EXIT_TROUBLE;
}

/* Where this program lies; a wrapped server is known by the program's name. */
static int find_ourselves(struct wrapping *w)
{
    w->program = which_ourselves();
    if (w->program == NULL) {
        log_error("cannot say where this program lies: %s", strerror(errno));
        return EXIT_TROUBLE;
    }
    if (wrap_is_ours(w->program))
        return EXIT_FINE;
    log_error("this program lies at %s; wrapped servers are known by the name mcp-interposer: give "
              "it that",
              w->program);
    return EXIT_TROUBLE;
}

static int run(enum wrap_verb verb, const struct command *c, int argc, char **argv)
{
    struct settings s;
    if (!settings_read(&s, c, argc, argv))
        return s.exit_status;
    struct wrapping w = {.settings = &s, .verb = verb};
    w.dry = settings_on(&s, "dry-run");
    w.json = settings_on(&s, "json");
    int status = check_clients(&s, c);
    if (status == EXIT_FINE && verb == WRAP_VERB_WRAP) {
        if (settings_on(&s, "list"))
            w.verb = WRAP_VERB_LIST;
        status = find_vault(&w);
        if (status == EXIT_FINE)
            status = find_ourselves(&w);
    }
    if (status == EXIT_FINE)
        status = work_all(&w);
    free(w.program);
    free(w.vault);
    settings_close(&s);
    return status;
}

static int run_wrap(int argc, char **argv)
{
    return run(WRAP_VERB_WRAP, &command_wrap, argc, argv);
}

static int run_unwrap(int argc, char **argv)
{
    return run(WRAP_VERB_UNWRAP, &command_unwrap, argc, argv);
}

const struct command command_wrap = {
    .name = "wrap",
    .summary = "put the interposer in front of the servers of MCP clients",
    .usage = "[OPTIONS] [SERVER...]",
    .about = about,
    .table = wrap_opts,
    .operands_max = WRAP_OPERANDS_MAX,
    .run = run_wrap,
};

const struct command command_unwrap = {
    .name = "unwrap",
    .summary = "take it out again",
    .usage = "[OPTIONS] [SERVER...]",
    .about = about,
    .table = unwrap_opts,
    .operands_max = WRAP_OPERANDS_MAX,
    .run = run_unwrap,
};
