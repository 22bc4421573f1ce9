/* bypass.h - MCP_INTERPOSER=off: `proxy` becomes the server.
 *
 * For users who have a problem with the interposer: the server's command is executed in this process, with its
 * arguments, stdin, stdout and stderr. No other process is started, nothing is recorded, and neither the vault nor the
 * configuration file is opened. Of the options only --path has an effect; invalid ones are ignored, with a warning on
 * stderr, since one of them may be the problem.
 *
 * Rules     the value is a word for no of a flag (base/opt.h): `off` and others. With a word for yes nothing happens; any
 *           other value has no effect, and a warning says so.
 * Blocks    never. */
#ifndef MI_CLI_PROXY_BYPASS_H
#define MI_CLI_PROXY_BYPASS_H

/* argv is that of the command: argv[0] is its name. Does not return if the server is started. 0: the variable is not
 * set to such a value, or --help is given; else the exit status, after a message on stderr and to the client. */
int bypass(int argc, char **argv);

#endif
