/* bypass.h - MCP_INTERPOSER=off: `proxy` becomes the server.
 *
 * This is for users who have a problem with the interposer. This process executes the command of
 * the server, with its arguments, stdin, stdout and stderr. No other process is started, nothing is
 * recorded, and neither the vault nor the configuration file is opened. Of the options, only --path
 * has an effect. Invalid options are ignored, with a warning on stderr, because one of them may be
 * the problem.
 *
 * Rules     the variable is read like a flag (base/opt.h): `off` and the other words for no bypass
 *           the interposer, the words for yes do not. Any other value has no effect, and a warning
 *           says so.
 * Blocks    never. */
#ifndef MI_CLI_PROXY_BYPASS_H
#define MI_CLI_PROXY_BYPASS_H

/* argv is that of the command: argv[0] is its name. Does not return if the server is started.
 * Returns 0 if the variable does not ask for it, or if --help is given. If the server cannot be
 * started, tells stderr and the client, and returns the exit status. */
int bypass_if_wanted(int argc, char **argv);

#endif
