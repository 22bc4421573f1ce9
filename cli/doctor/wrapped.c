/* wrapped.c - checks of `doctor`: the configuration files of MCP clients.
 *
 * Blocks    on the disk. */
#include "cli/doctor/checks.h"

#include "cli/doctor/deadline_rules.h"
#include "cli/frame/replace.h"
#include "cli/settings/paths.h"
#include "cli/wrap/elsewhere.h"
#include "cli/wrap/mcpfile/string.h"
#include "cli/wrap/row.h"
#include "cli/wrap/wrap_edit.h"

#include <stdlib.h>
#include <unistd.h>

/* Whether the program exists. A relative path is assumed to exist, because the working directory of
 * the client is unknown. */
static bool wrapped_program_exists(const char *program)
{
    if (program[0] == '/')
        return access(program, X_OK) == 0;
    return strchr(program, '/') != NULL || path_has_program(program);
}

/* Whether the file configures a container, so that the programs in the file are inside of it. */
static bool is_in_container(const char *path)
{
    static const char name[] = "devcontainer.json";
    size_t n = strlen(path);
    return n >= sizeof name && strcmp(path + n - (sizeof name - 1), name) == 0;
}

/* Checks the options of a server whose command starts the interposer. launch: index of the
 * interposer in the command line. The words after the interposer are options of `proxy`, unless
 * they begin with the name of another command. */
static void check_options(struct doctor *d, const char *path, const struct mcpfile *f,
                          const struct mcpfile_server *s, size_t launch, struct rules *rules)
{
    char **words = wrap_make_server_argv(f, s);
    char **argv = words != NULL ? words + launch : NULL;
    struct buf error = {0};
    if (argv == NULL || argv[1] == NULL) {
        server_argv_close(words);
        return;
    }
    /* The command line is `mcp-interposer proxy …` or, without a command, `mcp-interposer [OPTIONS]
     * -- SERVER`. */
    bool named = strcmp(argv[1], "proxy") == 0;
    if ((named || argv[1][0] == '-') && rules_add_server(rules, (int)(s->args_n - launch) + !named,
                                                         argv + named, &error) == MI_EINVAL)
        doctor_report_fault(d, "clients", "correct the options of this server in that file",
                            "%s: server %s cannot be started: %s", path, s->name, buf_str(&error));
    server_argv_close(words);
    buf_close(&error);
}

/* What was found about the servers in all configuration files. */
struct servers {
    int64_t wrapped; /* number of wrapped servers */
    /* owned; the unwrapped servers of plugins and of the administrator, with their files */
    struct buf fixed;
};

static void check_server(struct doctor *d, const struct client_file *where, const struct mcpfile *f,
                         const struct mcpfile_server *s, struct rules *rules, struct servers *all)
{
    const char *path = where->path;
    struct wrap_view v;
    struct buf server = {0};
    if (wrap_inspect_server(f, s, &v) < 0)
        return;
    if (v.ours)
        check_options(d, path, f, s, v.launch, rules);
    if (v.state == WRAP_WRAPPED) {
        all->wrapped++;
        bool here = !is_in_container(path);
        if (here && !wrapped_program_exists(buf_str(&v.command)))
            doctor_report_fault(
                d, "clients",
                v.launch > 0 ? "install Node.js, or start mcp-interposer in another way"
                : where->kind == CLIENT_FILE_EDITED ? "run mcp-interposer wrap: it writes the path "
                                                      "of the current program into that file"
                                                    : "correct the path in that file by hand",
                "%s: server %s is started by %s, which does not exist", path, s->name,
                buf_str(&v.command));
        if (v.own < s->args_n)
            mcpfile_append_string(f, f->arg[s->first_arg + v.own], &server);
        if (here && server.n > 0 && !wrapped_program_exists(buf_str(&server)))
            doctor_report_fault(
                d, "clients",
                "install the program, or correct its name in that file; the PATH of a client may "
                "differ from yours",
                "%s: server %s runs %s, which does not exist", path, s->name, buf_str(&server));
    }
    if (v.state != WRAP_WRAPPED && !v.is_mcp &&
        (where->kind == CLIENT_FILE_PLUGIN || where->kind == CLIENT_FILE_MANAGED)) {
        struct buf shown = {0};
        server_row_append_path(&shown, path);
        buf_printf(&all->fixed, "%s%s (%s)", all->fixed.n > 0 ? ", " : "", s->name,
                   buf_str(&shown));
        buf_close(&shown);
    }
    buf_close(&server);
    wrap_view_close(&v);
}

static void check_file_of_wrapped_servers(struct doctor *d, const struct client_file *where,
                                          struct rules *rules, struct servers *all)
{
    const char *path = where->path;
    struct replace file;
    struct mcpfile f = {0};
    if (where->kind == CLIENT_FILE_SCRIPT)
        return;
    int st = replace_open(&file, path);
    if (st == 0)
        st = mcpfile_read_servers(&f, buf_slice(&file.text), mcpfile_format_by_name(path));
    if (st == MI_EINVAL && f.error.n > 0 && client_file_fixed[where->kind].state != NULL)
        doctor_report_note(d, "clients", "%s: %s", path, buf_str(&f.error));
    else if (st == MI_EINVAL && f.error.n > 0)
        doctor_report_fault(d, "clients", "correct the file: its client cannot read it either",
                            "%s: %s", path, buf_str(&f.error));
    for (size_t i = 0; st == 0 && i < f.servers; i++)
        check_server(d, where, &f, &f.server[i], rules, all);
    mcpfile_close(&f);
    replace_close(&file);
}

void doctor_check_wrapped_servers(struct doctor *d, struct rules *rules)
{
    struct client_files files = {.n = 0};
    struct servers all = {0};
    int64_t before = d->found;
    char *backups = path_of_backup_directory();
    if (client_files_find(&files) == 0 && backups != NULL &&
        find_client_files_elsewhere(&files, backups) == 0)
        for (size_t i = 0; i < files.n; i++)
            check_file_of_wrapped_servers(d, &files.file[i], rules, &all);
    if (all.fixed.n > 0 && !all.fixed.failed)
        doctor_report_note(
            d, "clients",
            "these servers are not recorded, because wrap does not change the files of plugins, "
            "extensions and the administrator: %s",
            buf_str(&all.fixed));
    if (d->found == before)
        doctor_report_passed(d, "clients", "%zu configuration file%s, %lld wrapped server%s",
                             files.n, files.n == 1 ? "" : "s", (long long)all.wrapped,
                             all.wrapped == 1 ? "" : "s");
    client_files_close(&files);
    buf_close(&all.fixed);
    free(backups);
}
