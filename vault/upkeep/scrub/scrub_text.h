/* scrub_text.h - replaces the secrets in one stored text. */
#ifndef MI_VAULT_UPKEEP_SCRUB_SCRUB_TEXT_H
#define MI_VAULT_UPKEEP_SCRUB_SCRUB_TEXT_H

#include "vault/upkeep/scrub/state.h"

/* The kind of a text, which determines how the text is searched. */
enum scrub_kind { SCRUB_MESSAGE, SCRUB_VALUE, SCRUB_TEXT, SCRUB_LINE };

/* Calls the callback with `hit` if the text has secrets. *ret is the sanitized text, valid until
 * the next call, or {NULL, 0} if nothing was replaced. *ret_n: the number of secrets. */
MI_MUST int scrub_text(struct scrub *s, struct slice text, enum scrub_kind kind,
                       struct redact_lines *lines, struct scrub_hit hit, struct slice *ret,
                       size_t *ret_n);

#endif
