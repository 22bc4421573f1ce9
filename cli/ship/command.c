/* command.c - `mcp-interposer ship`: sends recordings to a central store. */
#include "cli/ship/commands.h"

/* ---- init ---- */

static const struct opt init_options[] = {
    {0, "print", NULL, NULL,
     "print the SQL, which an administrator then runs with psql; needs no URL; cannot be combined "
     "with --device; with --shards: print the SQL of the router, which is made from the data in "
     "the shards"},
    {0, "device", "NAME", NULL, "add a device: a login role that may only send its own recordings"},
    {0, "shards", "FILE", NULL,
     "spread the store over the databases in FILE, one URL in each line; URL is that of the "
     "router"},
    COMMAND_OPTS,
};

const struct command ship_init = {
    .name = "ship init",
    .summary = "make or upgrade the schema of a central store",
    .usage = "[OPTIONS] [URL]",
    .about = "URL is that of a PostgreSQL database, such as\n"
             "postgresql://admin@db.example/fleet, for a role that may create roles.\n"
             "Existing data is kept: run this command again at any time.\n"
             "--device makes the role NAME if it is missing; set its password with psql:\n"
             "\\password \"NAME\". Passwords are read from ~/.pgpass or a service file, never\n"
             "from the URL.\n"
             "With --shards, URL is that of the router, a database with PL/Proxy, for a role\n"
             "that is a superuser: devices and readers connect to the router, which forwards\n"
             "their calls. A line that is added to FILE adds a database; lines cannot be\n"
             "removed or reordered.\n",
    .table = init_options,
    .operands_max = 1,
};

/* ---- to ---- */

static const struct opt to_options[] = {
    {0, "url", "URL", NULL,
     "the URL to send to, if it is not given as an argument; also for `prune`"},
    {0, "once", NULL, NULL, "send what is recorded now, then exit"},
    {0, "deadline", "DURATION", NULL,
     "with --once: give up after this time; until then, try again"},
    {0, "level", "full|minimal", "full", "minimal: send no bodies of messages"},
    {0, "content", NULL, NULL, "to a collector: send arguments and results in spans, too"},
    {0, "notifications", NULL, NULL, "to a collector: send notifications as spans, too"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

const struct command ship_to = {
    .name = "ship to",
    .summary = "send recordings to a central store or a collector",
    .usage = "[OPTIONS] [URL]",
    .about = "URL is the address of a PostgreSQL database, such as\n"
             "postgresql://laptop-7@db.example/fleet, or of an OpenTelemetry collector,\n"
             "otlp+http://HOST:4318 or otlp+https://HOST.\n"
             "The database must have been prepared with `ship init`, and the role of the URL,\n"
             "here laptop-7, must be a device. The database stores every message exactly once.\n"
             "A collector gets calls, findings and events as spans, logs and metrics, at least\n"
             "once, without arguments and results unless --content is given; headers are read\n"
             "from OTEL_EXPORTER_OTLP_HEADERS.\n"
             "Without --once the command follows the vault until stopped, waits for the first\n"
             "recording if there is none yet, and tries again while the other side cannot be\n"
             "reached.\n"
             "The certificate of the server is verified, in PostgreSQL unless the URL has\n"
             "another sslmode. With `level = minimal` in the configuration, an option cannot\n"
             "set full.\n"
             "Exit status: 0 everything was sent, or the command was stopped; 1 the store or\n"
             "the collector refuses this vault, this device or some data; 2 usage; 3 not\n"
             "everything was sent.\n",
    .table = to_options,
    .operands_max = 1,
};

/* ---- status ---- */

static const struct opt status_options[] = {
    {0, "json", NULL, NULL, "print one JSON object per line for each target"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

const struct command ship_status = {
    .name = "ship status",
    .summary = "show what was sent to each target and what is not",
    .usage = "[OPTIONS]",
    .about = "For each target to which this vault was sent, says what is missing there, and\n"
             "the last error. It reads the vault only, and does not ask the targets.\n"
             "Exit status: 0 nothing is missing, 1 something is.\n",
    .table = status_options,
};

/* ---- forget ---- */

static const struct opt forget_options[] = {
    {'y', "yes", NULL, NULL, "do not ask before the target is forgotten"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

const struct command ship_forget = {
    .name = "ship forget",
    .summary = "forget a target that is no longer used",
    .usage = "[OPTIONS] URL",
    .about = "URL is that of a target, as `ship status` prints it. The target keeps the\n"
             "recordings that it has received. `ship status` and `doctor` do not count the\n"
             "target any more. While its URL is in [ship], `prune` removes nothing until the\n"
             "vault was sent there again. If the vault is sent there again, a store is asked\n"
             "what it has; a collector gets everything a second time. The command asks on the\n"
             "terminal, and requires --yes without a terminal. A target to which a process\n"
             "sends this vault is not forgotten.\n"
             "Exit status: 0 the target was forgotten; 1 the answer was not yes; 3 failure.\n",
    .table = forget_options,
    .operands_max = 1,
};

/* The verbs, in the order of the help. */
/* clang-format off */
static const struct command *const verbs[] = {
    &ship_init,
    &ship_to,
    &ship_status,
    &ship_forget,
    NULL,
};
/* clang-format on */

const struct command command_ship = {
    .name = "ship",
    .summary = "send recordings to a central store or a collector",
    .verbs = verbs,
};
