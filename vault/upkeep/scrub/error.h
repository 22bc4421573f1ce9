/* error.h - sets the sentence that scrub_error() returns. */
#ifndef MI_VAULT_UPKEEP_SCRUB_ERROR_H
#define MI_VAULT_UPKEEP_SCRUB_ERROR_H

#include "vault/upkeep/scrub/state.h"

/* Sets the error "cannot WHAT VAULT/NAME: " with the text of errno. Returns MI_EIO. */
int scrub_fail(struct scrub *s, const char *what, const char *name);

#endif
