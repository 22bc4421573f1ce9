/* bypass.h - MCP_INTERPOSER=off: `proxy` becomes the server.
 *
 * This is for users who have a problem with the interposer. This process executes the command of
 * the server, with its arguments, stdin, stdout and stderr. No other process is started, nothing is
 * recorded, and neither the vault nor the configuration file is opened. Of the options, only --path
 * has an effect. Invalid options are ignored, with a warning on stderr, because one of them may be
 * the problem.
 *
 * Rules     the variable is read like a flag (base/opt.h): the interposer is bypassed if the value
 *           is `off` or another word for "no". Values that are not words for "yes" or "no" are
 *           ignored, with a warning.
 * Blocks    never. */
#ifndef MI_CLI_PROXY_BYPASS_H
#define MI_CLI_PROXY_BYPASS_H

/* argv[0] is the name of the command. Does not return if the server is started. Returns 0 if the
 * variable does not ask for a bypass, or if --help is given. If the server cannot be started,
 * reports the error to stderr and the client, and returns the exit status. */
int bypass_proxy_if_requested(int argc, char **argv);

#endif
