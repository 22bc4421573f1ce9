#include "cli/wrap/limits.h"

#include "cli/settings/deadlines.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_TIMEOUT_US INT64_C(600000000) /* default of --max-timeout */
/* maximum of a limit in microseconds (30 days); a longer limit means "never" */
#define LONGEST_US INT64_C(2592000000000)

enum meaning { CALLS = 1, START = 2 }; /* the requests to which a limit applies */

/* Meaning and unit of each time limit in a client's file. If client is NULL, the limit means the
 * same in the files of all clients. */
static const struct {
    const char *client;
    enum mcpfile_limit limit;
    int unit_us;
    unsigned meaning;
} rules[] = {
    {NULL, MCPFILE_TOOL_TIMEOUT_SEC, 1000000, CALLS},
    {NULL, MCPFILE_STARTUP_TIMEOUT_SEC, 1000000, START},
    {NULL, MCPFILE_STARTUP_TIMEOUT_MS, 1000, START},
    {NULL, MCPFILE_CONNECT_TIMEOUT, 1000000, START},
    {NULL, MCPFILE_CONNECTION_TIMEOUT, 1000, START},
    {NULL, MCPFILE_REQUEST_TIMEOUT, 1000, CALLS},
    {"claude-code", MCPFILE_TIMEOUT, 1000, CALLS},
    {"copilot", MCPFILE_TIMEOUT, 1000, CALLS},
    {"gemini", MCPFILE_TIMEOUT, 1000, CALLS | START},
    {"qwen", MCPFILE_TIMEOUT, 1000, CALLS | START},
    {"kiro", MCPFILE_TIMEOUT, 1000, CALLS},
    {"amazon-q", MCPFILE_TIMEOUT, 1000, CALLS},
    {"crush", MCPFILE_TIMEOUT, 1000000, START},
    {"cline", MCPFILE_TIMEOUT, 1000000, CALLS | START},
    {"goose", MCPFILE_TIMEOUT, 1000000, CALLS | START},
    {"hermes", MCPFILE_TIMEOUT, 1000000, CALLS},
    {"opencode", MCPFILE_TIMEOUT, 1000, CALLS | START},
    {"opencode", MCPFILE_TIMEOUT_STARTUP, 1000, START},
    {"opencode", MCPFILE_TIMEOUT_REQUEST, 1000, CALLS},
    {"kilo", MCPFILE_TIMEOUT, 1000, CALLS | START},
};

/* Returns the limit in microseconds; 0 if the value is not a number above 0. */
static int64_t read_limit_us(const struct mcpfile *f, struct span value, int unit_us)
{
    char text[32];
    size_t n = 0;
    if (value.n >= sizeof text)
        return 0;
    for (size_t i = 0; i < value.n; i++)
        if (f->text.p[value.at + i] != '_') /* TOML allows `_` between digits, as in 1_000 */
            text[n++] = f->text.p[value.at + i];
    text[n] = '\0';
    char *end;
    double us = strtod(text, &end) * unit_us;
    if (n == 0 || *end != '\0' || !(us > 0))
        return 0;
    return us < (double)LONGEST_US ? (int64_t)us : LONGEST_US;
}

static void write_duration(char *to, size_t size, const char *what, int64_t us)
{
    bool whole = us % 1000000 == 0;
    snprintf(to, size, "%s%lld%s", what, (long long)(us / (whole ? 1000000 : 1000)),
             whole ? "s" : "ms");
}

void limits_read(struct limits *ret, const struct mcpfile *f, const struct mcpfile_server *s,
                 const char *client)
{
    *ret = (struct limits){0};
    int64_t longest_us = 0;
    int64_t start_us = s->url.key.n > 0 ? DEADLINE_LOGIN_US : DEADLINE_INITIALIZE_US;
    for (size_t i = 0; i < MI_COUNT(rules); i++) {
        if (rules[i].client != NULL && strcmp(rules[i].client, client) != 0)
            continue;
        enum mcpfile_limit limit = rules[i].limit;
        struct span value = s->limit[limit].n > 0 ? s->limit[limit] : f->limit[limit];
        int64_t us = read_limit_us(f, value, rules[i].unit_us) - LIMITS_BEFORE_US;
        if ((rules[i].meaning & CALLS) && us > DEADLINE_DEFAULT_US) {
            write_duration(ret->call, sizeof ret->call, "tools/call=", us);
            longest_us = us > longest_us ? us : longest_us;
        }
        if ((rules[i].meaning & START) && us > start_us) {
            write_duration(ret->initialize, sizeof ret->initialize, "initialize=", us);
            longest_us = us > longest_us ? us : longest_us;
        }
    }
    if (longest_us > MAX_TIMEOUT_US)
        write_duration(ret->max_timeout, sizeof ret->max_timeout, "", longest_us);
}
