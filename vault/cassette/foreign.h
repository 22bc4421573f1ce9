/* foreign.h - reads recordings of other programs, in the JSON lines formats that docs/cassette.md
 * lists. Unknown members are ignored. */
#ifndef MI_VAULT_CASSETTE_FOREIGN_H
#define MI_VAULT_CASSETTE_FOREIGN_H

#include "vault/cassette/reader.h"

/* *ret_known: whether the first line belongs to a recording of another program. If so, reads the
 * whole file, unless an error occurs. */
MI_MUST int cassette_read_other_format(struct cassette_reader *r, struct slice first,
                                       bool *ret_known);

#endif
