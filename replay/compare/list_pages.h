/* list_pages.h - lists of tools, prompts, resources and templates that a client has read in several
 * pages.
 *
 * Pages are compared as one list, because one additional tool moves others to another page. The
 * first page of a list gets the entries of all pages; the other pages become empty.
 *
 * Owns      40 bytes for each page; list_pages_close() frees them. The side is borrowed.
 * Errors    MI_ENOMEM, or an error of the source.
 * Blocks    on the source: list_pages_open() reads the answers to all lists. */
#ifndef MI_REPLAY_COMPARE_LIST_PAGES_H
#define MI_REPLAY_COMPARE_LIST_PAGES_H

#include "replay/compare/compared_recording.h"

#define PAGES_NONE UINT32_MAX

struct page {
    uint32_t call, first; /* the calls that read this page, and the first page of its list */
    uint32_t next;        /* index of the next page in pages.list; PAGES_NONE: none */
    uint32_t topic;
    uint64_t cursor; /* hash of the cursor of the next page; 0: this page is the last one */
};

struct list_pages {
    struct page *list; /* owned; the pages, sorted by call */
    size_t n, cap;
};

MI_MUST int list_pages_open(struct list_pages *p, struct compared_recording *s);
void list_pages_close(struct list_pages *p);
/* Whether the call read one of several pages. */
bool list_pages_has_page_of_call(const struct list_pages *p, uint32_t call);
/* Returns the call that read the first page of the list; `call` itself if it did not read a
 * page. */
uint32_t list_pages_find_first_call(const struct list_pages *p, uint32_t call);
/* Appends the result of a page. The first page of a list has the entries of all pages; the other
 * pages are empty. Returns 0, MI_ENOENT (the call is not a page, or a page was deleted) or an
 * error. The previous result of compared_recording_read_answer() becomes invalid. */
MI_MUST int list_pages_append_result(const struct list_pages *p, struct compared_recording *s,
                                     uint32_t call, struct buf *b);

#endif
