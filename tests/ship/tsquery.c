/* Prints the tsquery of search terms: tsquery [-x] TERM...; -x: exact terms. Exit status: 0; 1 there is none; 2 errors. */
#include "vault/search/search_terms.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct search_terms t;
    struct buf b = {0};
    int i = 1, st = search_terms_open(&t);
    bool exact = argc > 1 && strcmp(argv[1], "-x") == 0;
    for (i += exact; st == 0 && i < argc; i++)
        st = search_terms_add(&t, argv[i], exact);
    bool some = st == 0 && search_terms_write_tsquery(&t, &b);
    if (some)
        printf("%s", buf_str(&b));
    buf_close(&b);
    search_terms_close(&t);
    return st < 0 ? 2 : !some;
}
