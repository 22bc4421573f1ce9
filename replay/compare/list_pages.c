#include "replay/compare/list_pages.h"

#include "base/grow.h"
#include "wire/json/text.h"

#include <stdlib.h>

/* The methods that read lists, and the member of the result that has the list. */
static const char *const lists[][2] = {
    {"tools/list", "tools"},
    {"prompts/list", "prompts"},
    {"resources/list", "resources"},
    {"resources/templates/list", "resourceTemplates"},
};

/* Returns the member of the result that has the list; NULL if the method does not read a list. */
static const char *get_list_member_of_method(struct slice method)
{
    for (size_t i = 0; i < MI_COUNT(lists); i++)
        if (slice_is(method, lists[i][0]))
            return lists[i][1];
    return NULL;
}

void list_pages_close(struct list_pages *p)
{
    free(p->list);
    *p = (struct list_pages){0};
}

static struct page *find_page_of_call(const struct list_pages *p, uint32_t call)
{
    size_t from = 0, to = p->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (p->list[mid].call < call)
            from = mid + 1;
        else
            to = mid;
    }
    return from < p->n && p->list[from].call == call ? &p->list[from] : NULL;
}

/* ---- reading ---- */

/* Returns the hash of a cursor; 0: no cursor. */
static uint64_t hash_page_cursor(struct json_value cursor, struct buf *scratch)
{
    if (cursor.type != JSON_STRING)
        return 0;
    buf_clear(scratch);
    json_unescape(scratch, json_string_raw(cursor));
    return canon_hash_text(buf_slice(scratch));
}

/* Returns the page that precedes the page requested with this cursor: the newest page of the same
 * topic (method and target) whose answer has this cursor as `nextCursor`. Skips pages whose next
 * page is known already. NULL: there is none. */
static struct page *find_previous_page(struct list_pages *p, uint32_t topic, uint64_t cursor)
{
    for (size_t i = p->n; cursor != 0 && i > 0; i--) {
        struct page *x = &p->list[i - 1];
        if (x->topic == topic && x->cursor == cursor && x->next == PAGES_NONE)
            return x;
    }
    return NULL;
}

static int add_page_of_call(struct list_pages *p, struct compared_recording *s, uint32_t call,
                            struct buf *scratch)
{
    struct rpc request, answer;
    int st = compared_recording_read_request(s, call, &request);
    if (st == 0)
        st = compared_recording_read_answer(s, call, &answer);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    uint64_t from = hash_page_cursor(request.cursor, scratch);
    uint64_t to = hash_page_cursor(answer.next_cursor, scratch);
    if (scratch->failed)
        return MI_ENOMEM;
    struct page *before = find_previous_page(p, s->call[call].topic, from);
    if (answer.kind != RPC_RESULT || (before == NULL && to == 0))
        return 0;
    struct page one = {call, call, PAGES_NONE, s->call[call].topic, to};
    if (before != NULL) {
        one.first = before->first;
        before->next = (uint32_t)p->n;
    }
    if (!GROW(p->list, p->n, p->cap))
        return MI_ENOMEM;
    p->list[p->n++] = one;
    return 0;
}

int list_pages_open(struct list_pages *p, struct compared_recording *s)
{
    struct buf scratch = {0};
    int st = 0;
    *p = (struct list_pages){0};
    for (uint32_t i = 0; st == 0 && i < s->n; i++) {
        struct diff_call c = compared_recording_get_call(s, i);
        if (c.answer != 0 && get_list_member_of_method(c.method) != NULL)
            st = add_page_of_call(p, s, i, &scratch);
    }
    buf_close(&scratch);
    return st;
}

bool list_pages_has_page_of_call(const struct list_pages *p, uint32_t call)
{
    return find_page_of_call(p, call) != NULL;
}

uint32_t list_pages_find_first_call(const struct list_pages *p, uint32_t call)
{
    const struct page *x = find_page_of_call(p, call);
    return x != NULL ? x->first : call;
}

/* ---- the whole list ---- */

/* Appends all members of the result except the list and the cursor, each with a comma after it. */
static void append_members_except_list(struct buf *b, struct json_value result, const char *list)
{
    struct slice key;
    struct json_value v;
    struct json_walk w = json_walk_begin(result);
    while (json_walk_next(&w, &key, &v)) {
        if (json_key_is(key, list) || json_key_is(key, "nextCursor"))
            continue;
        buf_addc(b, '"');
        buf_slice_add(b, key);
        buf_adds(b, "\":");
        buf_slice_add(b, v.text);
        buf_addc(b, ',');
    }
}

static void append_list_entries(struct buf *b, struct json_value entries)
{
    struct slice key;
    struct json_value v;
    struct json_walk w = json_walk_begin(entries);
    while (entries.type == JSON_ARRAY && json_walk_next(&w, &key, &v)) {
        buf_adds(b, b->p[b->n - 1] == '[' ? "" : ",");
        buf_slice_add(b, v.text);
    }
}

/* Appends the entries of the first page `x`, and of all pages after this page. result: the result
 * of the first page. */
static int add_entries_of_all_pages(const struct list_pages *p, struct compared_recording *s,
                                    const struct page *x, struct json_value result,
                                    const char *list, struct buf *b)
{
    append_list_entries(b, json_get(result, list));
    while (x->next != PAGES_NONE) {
        struct rpc m;
        x = &p->list[x->next];
        int st = compared_recording_read_answer(s, x->call, &m);
        if (st < 0)
            return st;
        append_list_entries(b, json_get(m.result, list));
    }
    buf_addc(b, ']');
    if (x->cursor != 0) /* the list has more pages, which the client did not request */
        buf_adds(b, ",\"nextCursor\":\"\"");
    return 0;
}

int list_pages_append_result(const struct list_pages *p, struct compared_recording *s,
                             uint32_t call, struct buf *b)
{
    const struct page *x = find_page_of_call(p, call);
    const char *list = get_list_member_of_method(compared_recording_get_call(s, call).method);
    struct rpc m;
    int st = x != NULL && list != NULL ? compared_recording_read_answer(s, call, &m) : MI_ENOENT;
    if (st < 0)
        return st;
    buf_addc(b, '{');
    append_members_except_list(b, m.result, list);
    buf_printf(b, "\"%s\":[", list);
    if (b->failed)
        return MI_ENOMEM;
    if (x->first == call)
        st = add_entries_of_all_pages(p, s, x, m.result, list, b);
    else
        buf_addc(b, ']');
    buf_addc(b, '}');
    return b->failed ? MI_ENOMEM : st;
}
