/* failing.h - checks of `doctor`: servers whose newest sessions failed.
 *
 * A session failed if the server could not be started, answered none of the client's requests, or
 * ended the session: it crashed more often than it is restarted, it hung, or it closed its output.
 * A session without a request does not count, nor does a session that the client left within
 * FAILING_WAIT_US.
 * The check reads the sessions of the last FAILING_DAYS days, except imported ones. Of each server,
 * it counts the sessions after the last one that did not fail.
 *
 * Blocks    on the vault. */
#ifndef MI_CLI_DOCTOR_FAILING_H
#define MI_CLI_DOCTOR_FAILING_H

#include "cli/doctor/checks.h"

#define FAILING_DAYS 7
#define FAILING_WAIT_US 5000000

void doctor_check_failing_servers(struct doctor *d);

#endif
