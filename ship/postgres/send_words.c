/* send_words.c - the words of a message, for the index at the store. */
#include "ship/postgres/sender.h"

/* Reads the body as it will be stored. For a large body, reads only the beginning, whose words are
 * indexed. */
static int read_body_for_word_index(struct sender *s, const struct shipped_session *x,
                                    const struct cell *cell, bool large, struct slice *ret)
{
    *ret = array_last_element(&s->array[MESSAGE_BODY]);
    if (!large)
        return 0;
    buf_clear(&s->piece);
    int st = unsent_read_body_bytes(s->from, x->uid, cell[MESSAGE_OFFSET].number,
                                    size_min((size_t)cell[MESSAGE_LENGTH].number, SEARCH_BODY_MAX),
                                    &s->piece);
    *ret = buf_slice(&s->piece);
    return st == MI_ENOENT ? 0 : st; /* the session is being removed: messages.c reports it */
}

int sender_add_message_words(struct sender *s, const struct shipped_session *x,
                             const struct cell *cell, bool large)
{
    struct slice body;
    if (s->minimal || (!large && cell[MESSAGE_BODY].type != CELL_TEXT)) {
        array_add_null(&s->array[SENDER_WORDS]);
        return 0;
    }
    int st = s->words == NULL ? search_words_open(&s->words) : 0;
    if (st == MI_ESTORE)
        return sender_set_refusal_reason(
            s, "this SQLite has no FTS5, which is needed to search the messages");
    if (st == 0)
        st = read_body_for_word_index(s, x, cell, large, &body);
    if (st < 0)
        return st;
    unsigned kind = value_find_by_word(&row_kinds, cell[MESSAGE_KIND].text);
    st = search_list_split_text(&s->list, s->words, search_get_text_of_body(kind, body, &s->text));
    if (st < 0)
        return st;
    search_list_convert_to_keys(&s->list);
    array_add_keys(&s->array[SENDER_WORDS], &s->list);
    return 0;
}
