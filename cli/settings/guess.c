#include "cli/settings/guess.h"

#include "cli/settings/value.h"

/* clang-format off */
static const struct guess guesses[] = {
    {"version", "`--version` shows the version"},
    {"list|ls|history|log|records|recordings",
     "`sessions` lists what was recorded, `wrap --list` the servers of your clients"},
    {"logs|follow|watch|live|monitor", "`tail` follows the messages of all servers"},
    {"record|run|start|exec|launch", "`proxy -- SERVER` runs a server and records it, `wrap` does so for the servers of your clients"},
    {"stop|kill|end|quit", "a proxy ends with its client; `ps` lists proxies, `reap` ends servers left by killed ones"},
    {"view|cat|print|read|get|open|inspect|inspector|dump|messages",
     "`show` prints the messages of a session, `export --format html` writes it as a page"},
    {"diff|compare", "`tools SERVER --diff` compares tools, `verify RECORDING -- SERVER` compares a server with a recording"},
    {"config|configure|configuration|settings|options|preferences",
     "settings are in ~/.config/mcp-interposer/config.ini or below $XDG_CONFIG_HOME: see FILES in man mcp-interposer; `wrap` sets up your clients"},
    {"install|setup|init|add|enable",
     "`wrap` puts the interposer in front of the servers of your clients, `doctor` checks everything"},
    {"uninstall|disable|restore|undo", "`unwrap` restores the configuration files of your clients"},
    {"status|state|info|health", "`ps` lists running proxies, `doctor` checks everything"},
    {"clean|cleanup|clear|delete|rm|remove|purge|gc",
     "`prune` removes old sessions, `unwrap` removes the interposer from your clients"},
    {"find|grep|query", "`search` finds messages by their text and fields"},
    {"test|validate|lint|audit", "`check` reports violations of the protocol, `verify` compares a server with a recording"},
    {"play|playback|simulate", "`replay` acts as a server, from a recording"},
    {"scan|sanitize|secrets", "`redact --scan` finds secrets in recordings"},
    {"html|report|convert|save", "`export` writes a session as a page, a table or a cassette"},
    {"load", "`import` reads recordings of other programs"},
    {"metrics|summary|top", "`stats` counts calls, errors and latency, `ps` lists running proxies"},
    {"server|servers|client|clients", "`wrap --list` lists the servers of your clients, `ps` those that run"},
    {"man|manual|usage", "`help COMMAND` shows the help of a command; see also: man mcp-interposer"},
};
/* clang-format on */

const struct guess *guess_at(size_t i)
{
    return i < MI_COUNT(guesses) ? &guesses[i] : NULL;
}

const char *guess_hint(const char *word)
{
    for (size_t i = 0; i < MI_COUNT(guesses); i++)
        if (value_is_one_of(guesses[i].words, word))
            return guesses[i].hint;
    return NULL;
}
