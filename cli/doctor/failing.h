/* failing.h - checks of `doctor`: servers whose newest sessions failed.
 *
 * A session failed if the server could not be started, answered none of the client's requests, or ended the session: it
 * crashed more often than it is restarted, hung, or closed its output. Sessions without a request do not count, nor do
 * those in which the client left within FAILING_WAIT_US.
 * The sessions of the last FAILING_DAYS days are read, of the FAILING_SERVERS servers that were used last; the report says
 * if there are more.
 *
 * Blocks    on the vault. */
#ifndef MI_CLI_DOCTOR_FAILING_H
#define MI_CLI_DOCTOR_FAILING_H

#include "cli/doctor/checks.h"

#define FAILING_DAYS 7
#define FAILING_SERVERS 64
#define FAILING_WAIT_US 5000000

void doctor_failing(struct doctor *d);

#endif
