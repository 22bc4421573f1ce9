#include "cli/settings/guess.h"

#include "cli/settings/option_value.h"

#include <stdio.h>

/* clang-format off */
static const struct guess guesses[] = {
    {"version", "`--version` shows the version"},
    {"list|ls|history|log|records|recordings",
     "`sessions` lists what was recorded, `wrap --list` the servers of your clients"},
    {"logs|follow|watch|live|monitor", "`tail` follows the messages of all servers, `ui` shows them on the whole screen"},
    {"tui|browse|screen|gui|dashboard", "`ui` shows sessions and calls on the whole screen"},
    {"record|run|start|exec|launch", "`proxy -- SERVER` runs a server and records it, `wrap` does so for the servers of your clients"},
    {"stop|kill|end|quit", "a proxy ends with its client; `ps` lists proxies, `reap` ends servers left by killed proxies"},
    {"view|cat|print|read|get|open|inspect|inspector|dump|messages",
     "`show` prints the messages of a session, `export --format html` writes it as a page"},
    {"config|configure|configuration|settings|options|preferences",
     "settings are in ~/.config/mcp-interposer/config.ini or below $XDG_CONFIG_HOME: see FILES in man mcp-interposer; `wrap` sets up your clients"},
    {"install|setup|init|add|enable",
     "`wrap` puts the interposer in front of the servers of your clients, `doctor` checks everything"},
    {"uninstall|disable|restore|undo", "`unwrap` restores the configuration files of your clients"},
    {"status|state|info|health", "`ps` lists running proxies, `doctor` checks everything"},
    {"clean|cleanup|clear|delete|rm|remove|purge|gc",
     "`prune` removes old sessions, `unwrap` removes the interposer from your clients"},
    {"find|grep|query", "`search` finds messages by their text and fields"},
    {"test|validate|lint", "`check` reports violations of the protocol, `verify` compares a server with a recording"},
    {"play|playback|simulate", "`replay` acts as a server, from a recording"},
    {"scan|sanitize|secrets", "`redact --scan` finds secrets in recordings"},
    {"html|report|convert|save", "`export` writes a session as a page, a table or a cassette"},
    {"call|invoke|request|resend|repeat|retry|again|curl", "`send` sends a recorded or a typed request to a server"},
    {"load", "`import` reads recordings of other programs"},
    {"metrics|summary|top", "`stats` counts calls, errors and latency, `ps` lists running proxies"},
    {"server|servers|client|clients", "`wrap --list` lists the servers of your clients, `ps` those that run"},
    {"man|manual|usage", "`help COMMAND` shows the help of a command; see also: man mcp-interposer"},
};
static const struct guess options[] = {
    {"status|kind", "`search` has fields for this purpose: search status:timeout, search kind:error"},
    {"error|errors", "`--failed` selects failed calls, in `sessions`, `show`, `tail`, `stats`, `search`, `check` and `export`"},
    {"took|took-over|longer-than", "`--slow` selects calls that took at least this long: --slow 1s"},
    {"follow", "`tail` follows the messages"},
    {"from|host|user", "only some commands read a store: `sessions`, `show`, `tail`, `search`, `stats`, `tools`, `check`, `diff`, `export`, `ui`"},
    {"color|colour|no-color|no-colour", "colours are used on a terminal only, and not with `NO_COLOR=1` in the environment"},
};
/* clang-format on */

const struct guess *guess_get_row(size_t i)
{
    return i < MI_COUNT(guesses) ? &guesses[i] : NULL;
}

static const char *find_hint_for_word(const struct guess *table, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (value_is_allowed_choice(table[i].words, word))
            return table[i].hint;
    return NULL;
}

const char *guess_hint_for_word(const char *word)
{
    return find_hint_for_word(guesses, MI_COUNT(guesses), word);
}

const char *guess_hint_for_option(const char *option)
{
    char word[16];
    const char *name = option + strspn(option, "-");
    int n = snprintf(word, sizeof word, "%.*s", (int)strcspn(name, "="), name);
    return n > 0 && (size_t)n < sizeof word ? find_hint_for_word(options, MI_COUNT(options), word)
                                            : NULL;
}
