#include "cli/proxy/sign.h"

#include "base/os/process.h"
#include "cli/settings/paths.h"
#include "record/detach.h"

#include <stdlib.h>
#include <unistd.h>

#define ARGS_MAX 8
#define RECORDER_WAIT_US ((int64_t)60 * 1000000)
/* time that process 1 of a container waits, because its exit would kill the signing process */
#define FIRST_WAIT_US ((int64_t)2 * 1000000)

/* Whether `audit checkpoint` would find a key. `audit checkpoint` has its own settings, not those
 * of `proxy`. */
static bool checkpoint_has_key(const struct settings *s, const struct command *checkpoint, int argc,
                               char **argv)
{
    struct settings own;
    struct buf error = {0};
    char *path = NULL;
    if (settings_read_all_sources(&own, s->commands, checkpoint, argc, argv, &error) ==
        SETTINGS_READY)
        path = path_of_audit_key(settings_get_text(&own, "audit-key"));
    bool found = path != NULL && access(path, F_OK) == 0;
    settings_close(&own);
    buf_close(&error);
    free(path);
    return found;
}

static void start_checkpoint(char **argv, pid_t recorder)
{
    char *program = process_program_path();
    uint64_t recorder_start = recorder > 0 ? process_start(recorder) : 0;
    pid_t pid = program != NULL ? fork() : -1;
    if (pid == 0) {
        detach_process(NULL, 0);
        (void)process_wait_for_exit(recorder, recorder_start, RECORDER_WAIT_US);
        detach_reset_signals();
        execv(program, argv);
        _exit(127);
    }
    if (pid > 0 && getpid() == 1)
        (void)process_wait_for_exit(pid, process_start(pid), FIRST_WAIT_US);
    free(program);
}

void sign_session(const struct settings *s, const char *vault, pid_t recorder)
{
    const struct command *audit = command_find(s->commands, "audit");
    const struct command *checkpoint = command_find_verb(audit, "checkpoint");
    const char *config = settings_get_text(s, "config");
    struct buf vault_option = {0}, config_option = {0};
    char name[] = "mcp-interposer", command[] = "audit", verb[] = "checkpoint", quiet[] = "--quiet";
    char *argv[ARGS_MAX] = {name, command, verb, quiet};
    int argc = 4;
    buf_printf(&vault_option, "--vault=%s", vault);
    buf_addc(&vault_option, '\0');
    argv[argc++] = vault_option.p;
    if (config != NULL) {
        buf_printf(&config_option, "--config=%s", config);
        buf_addc(&config_option, '\0');
        argv[argc++] = config_option.p;
    }
    /* settings_read_all_sources() takes an argv that begins with the verb */
    if (!vault_option.failed && !config_option.failed &&
        checkpoint_has_key(s, checkpoint, argc - 2, argv + 2))
        start_checkpoint(argv, recorder);
    buf_close(&vault_option);
    buf_close(&config_option);
}
