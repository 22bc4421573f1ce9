/* journals_unit.h - a directory of its own for the journals of a test, so that none is left behind. */
#ifndef MI_TESTS_JOURNALS_UNIT_H
#define MI_TESTS_JOURNALS_UNIT_H

#include "tests/support/vault_unit.h"

#include "journal/journal_file.h"

static char journals_dir[64];

/* Without /dev/shm, journals have no name. */
static inline void journals_begin(void)
{
    snprintf(journals_dir, sizeof journals_dir, "/dev/shm/mi-unit-XXXXXX");
    if (mkdtemp(journals_dir) != NULL)
        journal_file_set_dir(journals_dir);
}

static inline void journals_end(void)
{
    journal_file_set_dir(NULL);
    nftw(journals_dir, temp_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
