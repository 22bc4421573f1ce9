/* places.h - a sample of the calls of a session: some from each place in the code.
 *
 * A place is where a call comes from: two functions up. A path is the whole call stack. In each turn, one call from every
 * second place is in the sample, and one with every PLACES_TURNS-th path: the paths of PLACES_TURNS turns are all of them. If
 * several calls have one path, each turn has another one of them. Turns 2n and 2n + 1 (pass and stop) have other places.
 *
 * Owns      tables for PLACES_CALLS_MAX calls.
 * Blocks    never. */
#ifndef MI_TESTS_PLACES_H
#define MI_TESTS_PLACES_H

#include "base/base.h"

#define PLACES_CALLS_MAX 100000
#define PLACES_TURNS 6

void places_watch(bool on);
void places_note(long n); /* while watching: the N-th call is made */
void places_choose(long turn);
bool places_has(long n); /* the N-th call is in the sample */

#endif
