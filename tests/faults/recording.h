/* recording.h - the recorder process as a part of this one, so that a fault can hit both and a run can be repeated.
 *
 * The functions of record/worker.h come here through --wrap. The "process" opens the journal and stores like
 * record/process/process.c, whenever the proxy wakes it or waits for it, and once in each turn of the driver.
 *
 * Owns      its description of the journal, its store.
 * Blocks    on the vault's file system only. */
#ifndef MI_TESTS_RECORDING_H
#define MI_TESTS_RECORDING_H

#include "base/base.h"

/* Call it once: journals are in a directory of their own in memory. */
void recording_use(const char *journals);
void recording_begin(void); /* a new session: removes the journals of the last one */
void recording_turn(void);  /* some time has passed: tries again, does what else is due */
bool recording_is_damaged(void);
/* Without faults: stores what the session has left, like the next command that uses the vault. false: a journal is left. */
bool recording_next_command(const char *vault);

#endif
