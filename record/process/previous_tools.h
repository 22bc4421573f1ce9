/* previous_tools.h - the tools of a server in its previous session, as a file in memory for the proxy.
 *
 * Form      the uid of that session, a newline, and {"jsonrpc":"2.0","id":0,"result":{"tools":[…]}}.
 * Blocks    on the vault, as vault/query/reader.h does. */
#ifndef MI_RECORD_PROCESS_PREVIOUS_TOOLS_H
#define MI_RECORD_PROCESS_PREVIOUS_TOOLS_H

/* server: the server's name. uid: uid of the present session. Returns a descriptor (memory_file())
 * at offset 0, which the caller closes, or -1 if there is no previous session or it cannot be
 * read. */
int previous_tools_file(const char *vault, const char *server, const char *uid);

#endif
