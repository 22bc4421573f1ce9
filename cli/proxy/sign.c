#include "cli/proxy/sign.h"

#include "base/clock.h"
#include "base/os/process.h"
#include "cli/settings/paths.h"
#include "record/detach.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ARGS_MAX 8
#define RECORDER_WAIT_US ((int64_t)60 * 1000000)

/* Whether the command would find a key: with its own settings, which are not those of `proxy`. */
static bool has_key(const struct settings *s, const struct command *checkpoint, int argc,
                    char **argv)
{
    struct settings own;
    struct buf error = {0};
    char *path = NULL;
    if (settings_read(&own, s->commands, checkpoint, argc, argv, &error) == SETTINGS_READY)
        path = path_audit_key(settings_text(&own, "audit-key"));
    bool found = path != NULL && access(path, F_OK) == 0;
    settings_close(&own);
    buf_close(&error);
    free(path);
    return found;
}

static void wait_for_recorder(pid_t pid)
{
    int64_t until = clock_mono_us() + RECORDER_WAIT_US;
    uint64_t began = process_start(pid);
    while (began != 0 && process_start(pid) == began && clock_mono_us() < until)
        nanosleep(&(struct timespec){0, 20000000}, NULL);
}

static void sign_start(char **argv, pid_t recorder)
{
    char *program = process_program();
    pid_t pid = program != NULL ? fork() : -1;
    if (pid == 0) {
        detach_process(NULL, 0);
        if (recorder > 0)
            wait_for_recorder(recorder);
        detach_reset_signals();
        execv(program, argv);
        _exit(127);
    }
    free(program);
}

void sign_session(const struct settings *s, const char *vault, pid_t recorder)
{
    const struct command *audit = command_find(s->commands, "audit");
    const struct command *checkpoint = command_verb(audit, "checkpoint");
    const char *config = settings_text(s, "config");
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
    /* settings_read() begins with the verb */
    if (!vault_option.failed && !config_option.failed && has_key(s, checkpoint, argc - 2, argv + 2))
        sign_start(argv, recorder);
    buf_close(&vault_option);
    buf_close(&config_option);
}
