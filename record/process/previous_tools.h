/* previous_tools.h - the tools of a server in its previous session, as a file in memory for the proxy.
 *
 * Form      the uid of that session, a newline, and {"jsonrpc":"2.0","id":0,"result":{"tools":[…]}}.
 * Blocks    on the vault, as vault/query/reader.h does. */
#ifndef MI_RECORD_PROCESS_PREVIOUS_TOOLS_H
#define MI_RECORD_PROCESS_PREVIOUS_TOOLS_H

/* server: its name; uid: of the present session. A descriptor (memory_file()) at offset 0, which the caller closes;
 * -1: there is no such session, or it cannot be read. */
int previous_tools_file(const char *vault, const char *server, const char *uid);

#endif
