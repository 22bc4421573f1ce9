/* redact_inner.h - between the redact*.c files: edits, and the walk over JSON that makes them.
 *
 * A pass over a text changes nothing: it notes edits, in order and without overlap, as offsets into that
 * text. A string within JSON is a text of its own, escapes resolved: its edits are made there, then mapped to
 * the bytes between its quotes. So nothing that stays is written anew, however deep it lies. */
#ifndef MI_VAULT_REDACT_INNER_H
#define MI_VAULT_REDACT_INNER_H

#include "vault/redact.h"
#include "vault/redact_key.h"
#include "vault/shape.h"

#define REDACT_LEVELS 8    /* JSON in strings of JSON in strings … */
#define REDACT_POINTERS 32 /* of the user */
#define REDACT_SEGMENTS 32 /* in one of them */

/* [from, to) of a text becomes texts[text, text + text_n). */
struct edit {
    size_t from, to;
    size_t text, text_n;
};

/* A JSON pointer of the user, cut into its segments, `~1` and `~0` resolved. */
struct pointer {
    char *text; /* owned: the segments, each ended by NUL */
    unsigned n;
    const char *segment[REDACT_SEGMENTS];
};

struct redact {
    struct keys keys;
    struct shapes *shapes; /* owned */
    struct pointer pointer[REDACT_POINTERS];
    unsigned pointers_n;
    struct buf user; /* the user's rules as they came: name NUL value NUL … */

    /* of the call that is running */
    enum redact_how how;
    struct edit *edit; /* owned */
    size_t edit_n, edit_cap;
    struct buf texts;                /* what edits put in */
    struct buf plain[REDACT_LEVELS]; /* strings of that level, escapes resolved */
    struct buf other;                /* the text of every second round */
    struct buf *out;                 /* where the edits of level 0 go */
    struct slice in;                 /* the text of level 0 */
    size_t done;                     /* bytes of it that out has */
    size_t count;                    /* edits made at level 0 */
    bool failed;                     /* no memory */
    bool again;                      /* some edit may have laid bare what is to be looked at */
    bool busy;                       /* a call is running */
    size_t place,
        searched; /* in level 0, the next that may have a shape, and how far that was seen */
};

/* What a value is, from where it stands. */
enum zone {
    ZONE_ANY,
    ZONE_TOP,     /* a message, or a batch of them */
    ZONE_MESSAGE, /* the object that is one */
    ZONE_PARAMS,
    ZONE_RESULT,
    ZONE_META,
    ZONE_TASK,
    ZONE_HEADERS,    /* names and values, in whatever form */
    ZONE_PROPERTIES, /* names and their schemas */
};

enum { IN_ARGUMENTS = 1 /* of a tools/call: content is cut */ };

/* ---- edits (redact_edit.c) ---- */

/* What comes of it has been looked at, or r->again is set as well. */
void edit_add(struct redact *r, size_t from, size_t to, struct slice text);
/* `[redacted:RULE]`, with quotes when it takes the place of a whole value. */
void edit_mark(struct redact *r, size_t from, size_t to, const char *rule, bool quoted);
/* Drops those that touch [from, to); `first` is the first edit of the text. */
void edit_forget(struct redact *r, size_t first, size_t from, size_t to);
/* Those from `late` on were noted late, in order among themselves: each goes to its place. */
void edit_sort(struct redact *r, size_t first, size_t late);
/* edit_mark() for a place behind which edits were noted already; those inside of it go. */
void edit_mark_late(struct redact *r, size_t first, size_t from, size_t to, const char *rule,
                    bool quoted);
/* Edits from `first` on, made in the text that `raw` stands for, become edits of the text that raw lies in,
 * at `base`. `escaped`: they were made behind json_unescape(). */
void edit_map(struct redact *r, size_t first, struct slice raw, size_t base, bool escaped);
/* The same for a text that lies in another as it is. */
void edit_shift(struct redact *r, size_t first, size_t base);
/* Their result, appended to b. */
void edit_render(const struct redact *r, size_t first, struct slice text, struct buf *b);
/* Is this a mark and nothing else? Its length at the head of s, or 0. */
size_t edit_mark_len(struct slice s);

/* ---- pointers (redact_pointer.c) ---- */

enum pointer_way { POINTER_AWAY, POINTER_HERE, POINTER_BELOW };

/* Does it lead below /params/arguments, when that is where the text begins? */
bool pointer_begins(const struct pointer *p, unsigned depth);
/* Where its segment `at` leads when it is that of this member, or of this element (`index`). */
enum pointer_way pointer_step(const struct pointer *p, unsigned at, struct slice key, size_t index,
                              bool object);

/* ---- JSON (redact_json.c) ---- */

/* Notes the edits for a value, or for the head of one. Reads no byte behind it, whatever it is. */
void redact_json(struct redact *r, struct slice json, int level, enum zone zone, unsigned flags,
                 unsigned pointer_depth);

/* ---- strings (redact_string.c) ---- */

enum string_kind {
    STRING_ANY,
    STRING_CUT,  /* sensitive content */
    STRING_BLOB, /* base64 of text */
};
/* raw: between the quotes, at text offset `base`. odd: some escape in it stands for a letter. */
void redact_string(struct redact *r, struct slice raw, size_t base, bool odd, int level,
                   enum string_kind kind);
/* Text, escapes resolved: its JSON if it is JSON, shapes otherwise. */
void redact_plain(struct redact *r, struct slice text, int level);
/* Secrets by their shape, wherever they stand in it. */
void redact_shapes(struct redact *r, struct slice text);
/* Does something in this JSON, or what looks like it, have the name of a secret, or may have? */
bool redact_names(const struct redact *r, struct slice s);
/* Are the escapes in it those of JSON? */
bool redact_escapes(struct slice raw);
/* Has this part of level 0 certainly no hit of a built-in shape? Parts must be asked for from left to right. */
bool redact_quiet(struct redact *r, size_t from, size_t to);
/* Is a string with this key a secret? */
bool redact_judge(const struct redact *r, const struct key_rule *rule, struct slice raw);

/* ---- base64 (redact_base64.c) ---- */

/* An image, a sound, an archive: long, and nothing but base64. A key in PEM that is written so is not. */
bool redact_long_base64(struct slice s);
/* Base64 of text: what is found in it is replaced in it, and the result is base64 again. */
void redact_blob(struct redact *r, struct slice s, int level);

#endif
