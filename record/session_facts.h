/* session_facts.h - keeps the session's metadata as it is known now, for a recorder process that
 * begins with an empty vault.
 *
 * Owns      copies of the texts.
 * Errors    out of memory: a text keeps its last value.
 * Blocks    never. Pure. */
#ifndef MI_RECORD_SESSION_FACTS_H
#define MI_RECORD_SESSION_FACTS_H

#include "journal/entry.h"
#include "journal/running.h"

struct session_facts {
    struct session_update update; /* the texts of `update` are in text[] */
    struct buf text[FIELDS_OF_UPDATE];
    bool has_update;
    struct running running;
    bool has_running;
};

void session_facts_add_update(struct session_facts *l, const struct session_update *u);
void session_facts_close(struct session_facts *l);

#endif
