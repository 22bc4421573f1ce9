#include "cli/frame/proxy_argv.h"

#include "base/grow.h"
#include "base/log.h"
#include "base/os/process.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool proxy_argv_add_word(struct proxy_argv *p, const char *word)
{
    char *copy = word != NULL ? strdup(word) : NULL;
    if ((word != NULL && copy == NULL) || !GROW(p->argv, p->n, p->cap)) {
        free(copy);
        return false;
    }
    p->argv[p->n++] = copy;
    return true;
}

static bool proxy_argv_add_option(struct proxy_argv *p, const char *name, const char *value)
{
    return value == NULL ||
           (proxy_argv_add_word(p, name) && (value[0] == '\0' || proxy_argv_add_word(p, value)));
}

/* Adds an option whose value is a path. Makes the path absolute, because the proxy may run in
 * another directory. */
static bool proxy_argv_add_path_option(struct proxy_argv *p, const char *name, const char *path)
{
    char here[PATH_MAX], absolute[2 * PATH_MAX];
    bool relative = path != NULL && path[0] != '/' && path[0] != '~';
    if (!relative || getcwd(here, sizeof here) == NULL)
        return proxy_argv_add_option(p, name, path);
    int n = snprintf(absolute, sizeof absolute, "%s/%s", here, path);
    return n > 0 && (size_t)n < sizeof absolute && proxy_argv_add_option(p, name, absolute);
}

int proxy_argv_open(struct proxy_argv *p, const struct settings *s, const char *const options[],
                    char *const *server)
{
    char *program = process_program_path(), *vault = NULL, *journals = NULL;
    *p = (struct proxy_argv){0};
    int status = settings_journal_dir(s, &journals);
    if (status == EXIT_FINE && (vault = settings_get_vault_path(s)) == NULL)
        status = EXIT_TROUBLE;
    bool fine = program != NULL && proxy_argv_add_word(p, program) &&
                proxy_argv_add_word(p, "proxy") &&
                proxy_argv_add_path_option(p, "--vault", vault) &&
                proxy_argv_add_path_option(p, "--journal-dir", journals) &&
                proxy_argv_add_path_option(p, "--config", settings_get_text(s, "config"));
    for (size_t i = 0; fine && options[i] != NULL; i += 2)
        fine = proxy_argv_add_option(p, options[i], options[i + 1]);
    fine = fine && proxy_argv_add_word(p, "--");
    for (size_t i = 0; fine && server[i] != NULL; i++)
        fine = proxy_argv_add_word(p, server[i]);
    if (status == EXIT_FINE && (!fine || !proxy_argv_add_word(p, NULL))) {
        log_error("out of memory");
        status = EXIT_TROUBLE;
    }
    free(program);
    free(vault);
    free(journals);
    return status;
}

void proxy_argv_close(struct proxy_argv *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->argv[i]);
    free(p->argv);
    *p = (struct proxy_argv){0};
}
