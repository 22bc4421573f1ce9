/* pages.h - lists of tools, prompts, resources and templates that a client has read in several pages.
 *
 * Pages are compared as one list: if a server has one tool more, others move to another page. The first page of a list gets
 * the entries of all pages, and the other pages have none.
 *
 * Owns      40 bytes for each page; pages_close() frees them. The side is borrowed.
 * Errors    MI_ENOMEM, or the source's.
 * Blocks    on the source: pages_open() reads the answers to all lists. */
#ifndef MI_REPLAY_COMPARE_PAGES_H
#define MI_REPLAY_COMPARE_PAGES_H

#include "replay/compare/side.h"

#define PAGES_NONE UINT32_MAX

struct page {
    uint32_t call, first; /* calls: this page, and the first one of its list */
    uint32_t next;        /* in pages.list; PAGES_NONE */
    uint32_t topic;
    uint64_t cursor; /* hash of the cursor of the next page; 0: the last page */
};

struct pages {
    struct page *list; /* owned; by call */
    size_t n, cap;
};

MI_MUST int pages_open(struct pages *p, struct side *s);
void pages_close(struct pages *p);
bool pages_has(const struct pages *p, uint32_t call); /* whether it is a page of several */
/* The call of the first page. A call that is not a page is its own. */
uint32_t pages_first(const struct pages *p, uint32_t call);
/* Appends the result of a page as described above. 0; MI_ENOENT: it is not a page, or a page was deleted; or an error.
 * The answer that was read before is invalid. */
MI_MUST int pages_result(const struct pages *p, struct side *s, uint32_t call, struct buf *b);

#endif
