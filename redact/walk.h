/* walk.h - edits, and the walk over JSON that collects them. Internal to redact/.
 *
 * The walk does not change the text: it collects edits, in order and without overlap, as offsets
 * into the text. A string inside JSON is unescaped and searched as a separate text; the edits of
 * this text are then mapped to the bytes between the string's quotes. So every byte outside an edit
 * is preserved, at any depth.
 *
 * Levels    level 0 is the input; a string at level n is searched at level n + 1, up to
 *           REDACT_LEVELS.
 * Errors    out of memory sets r->failed; edits are then incomplete, and the call fails.
 * Blocks    never. */
#ifndef MI_REDACT_WALK_H
#define MI_REDACT_WALK_H

#include "redact/key.h"
#include "redact/sanitizer.h"
#include "redact/shape/find.h"
#include "wire/json/pointer.h"

#define REDACT_LEVELS 8      /* maximum number of levels of JSON nested in strings */
#define REDACT_NAME_MAX 64   /* maximum number of bytes of a secret's name in text */
#define REDACT_NAME_LOOK 256 /* NAME= is recognized only in the first 256 bytes of a string */

/* An edit: replaces the bytes [from, to) of a text by the bytes [text, text + text_n) of
 * redact.texts. */
struct edit {
    size_t from, to;
    size_t text, text_n;
};

struct redact {
    struct keys keys;
    struct shapes *shapes;    /* owned */
    struct pointers pointers; /* the user's JSON pointers */
    struct buf user;          /* the rules that the user gave: name NUL value NUL … */
    bool thorough;            /* true: do not use the quick tests; only for unit tests */

    /* The following members are used while a function of the sanitizer runs: */
    enum redact_how how;
    struct edit *edit; /* owned */
    size_t edit_n, edit_cap;
    struct buf texts;                /* the replacement texts of all edits */
    struct buf plain[REDACT_LEVELS]; /* unescaped strings of each level */
    /* A text is sanitized in rounds. The 2nd, 4th… round writes to this buffer, the other rounds to
     * the caller's buffer. */
    struct buf other;
    struct buf *out; /* buffer for the output of the current round of edits */
    struct slice in; /* the input, which is the text of level 0 */
    size_t done;     /* bytes of `in` that were written to `out` */
    size_t count;    /* number of edits that were written to `out` */
    bool failed;     /* out of memory */
    bool again;      /* search the text again: an edit may have exposed a secret */
    bool busy;       /* a function of the sanitizer is running */
    /* offset in `in` of the next anchor of a secret's shape; if it equals `searched`, no anchor was
     * found before `searched` */
    size_t place;
    size_t searched; /* end of the part of `in` that was searched for shapes of secrets */
};

/* The meaning of a value, derived from its position in the message. */
enum zone {
    ZONE_ANY,
    ZONE_TOP,     /* a message or a batch */
    ZONE_MESSAGE, /* the JSON object that is the message */
    ZONE_PARAMS,
    ZONE_RESULT,
    ZONE_META,
    ZONE_TASK,
    ZONE_HEADERS,    /* names and values of headers, as an object, as arrays or as text */
    ZONE_PROPERTIES, /* an object that maps names to schemas, such as `properties` */
    /* an object whose values are the server's requests for input (2026-07-28) */
    ZONE_INPUTS,
};

enum { IN_ARGUMENTS = 1 /* inside the arguments of a tools/call, where content is truncated */ };

/* ---- edits (redact/edit.c) ---- */

/* Replaces [from, to) by `text`. If `text` may contain a secret, the caller must set r->again. */
void edit_add_replacement(struct redact *r, size_t from, size_t to, struct slice text);
/* Replaces [from, to) by `[redacted:RULE]`; `quoted`: adds quotes, for a value that is not a
 * string. */
void add_mark(struct redact *r, size_t from, size_t to, const char *rule, bool quoted);
/* Like add_mark(), for a range before the last edit. Edits that overlap the range are dropped.
 * first: index of the first edit of this text. */
void edit_insert_mark(struct redact *r, size_t first, size_t from, size_t to, const char *rule,
                      bool quoted);
/* Converts the edits from index `first` on: from offsets in a string to offsets in the text that
 * contains this string (`raw`) at offset `base`. `escaped`: the edits were collected in the
 * unescaped string. */
void edit_move_to_outer_text(struct redact *r, size_t first, struct slice raw, size_t base,
                             bool escaped);
/* Does the same as edit_move_to_outer_text() for a text without escapes: adds `base` to the
 * offsets of the edits from index `first` on. */
void edit_shift_offsets(struct redact *r, size_t first, size_t base);
/* Appends the text to `b`, with its edits applied. */
void edit_apply(const struct redact *r, size_t first, struct slice text, struct buf *b);
/* Returns the length of the redaction mark at the beginning of s, or 0. */
size_t get_redaction_mark_len(struct slice s);

/* ---- JSON (redact/walk.c) ---- */

/* Collects the edits for a JSON value, which may be truncated. flags: IN_ARGUMENTS or 0.
 * pointer_depth: number of tokens of the JSON pointer to this value. Never reads past the end of
 * the value. */
void redact_json(struct redact *r, struct slice json, int level, enum zone zone, unsigned flags,
                 unsigned pointer_depth);

/* ---- quick test of JSON (redact/quick_accept.c) ---- */

/* Returns true if redact_json() would collect no edits for this input, with the zone ZONE_TOP or
 * ZONE_ANY, and without flags. */
bool json_needs_no_redaction(struct redact *r, struct slice json);

/* ---- quick tests of strings (redact/search_needed.c); `escaped`: the text is in a string of JSON
 * ---- */

/* Returns false if no key in this JSON, or JSON-like text, is the name of a secret. */
bool redact_may_contain_key(const struct redact *r, struct slice s);
/* Returns false if the string (raw, with escapes) contains no JSON in which a key is the name of a
 * secret. */
bool redact_may_contain_json(const struct redact *r, struct slice raw);
/* Whether s begins and ends like an object or array. */
bool text_looks_like_json(struct slice s, bool escaped);
/* Searches [p, end) for objects. Returns the first one that has at least one member, or NULL. */
const char *find_next_json_object(const char *p, const char *end, bool escaped);

/* ---- strings (redact/string.c) ---- */

enum string_kind {
    STRING_ANY,
    STRING_TRUNCATE, /* sensitive content, to be truncated */
    STRING_BLOB,     /* base64-encoded text */
};
/* Collects the edits for a string. raw: the string without quotes. base: offset of the string in
 * its text. odd: the string has an escape for an ordinary letter. */
void redact_string(struct redact *r, struct slice raw, size_t base, bool odd, int level,
                   enum string_kind kind);
/* Collects in redact.edit the edits that an unescaped text needs. JSON is searched as JSON; other
 * text is searched for shapes of secrets, and for JSON inside the text. */
void redact_plain_text(struct redact *r, struct slice text, int level);
/* Whether every escape in `raw` is a valid JSON escape. */
bool string_has_valid_escapes(struct slice raw);
/* Quick test of the range [from, to) of redact.in. Returns true if this range has no built-in shape
 * of a secret. Ranges must be passed from left to right. */
bool no_shape_matches(struct redact *r, size_t from, size_t to);
/* Returns a value without the scheme of an Authorization header: `Bearer `, `Basic `, `Token `. */
struct slice redact_strip_auth_scheme(struct slice s);
/* Whether this string, whose key matches `rule`, is a secret rather than a placeholder, plain word
 * or path. */
bool redact_is_secret(const struct redact *r, const struct key_rule *rule, struct slice raw);
/* Whether the container at p, whose key matches `rule`, contains a secret. For example, ["oauth2",
 * "apikey"] contains no secret. */
bool redact_container_is_secret(const struct redact *r, const struct key_rule *rule, const char *p,
                                const char *end);

/* ---- base64 (redact/base64.c) ---- */

/* Whether s is long and entirely base64, like an image, a sound or an archive. False for a PEM key
 * in base64. */
bool redact_is_long_base64(struct slice s);
/* Whether a string (raw, with escapes) begins like base64-encoded text. The first bytes decide,
 * because MIME types are often missing or wrong. */
bool redact_blob_is_text(struct slice raw);
/* Replaces secrets in base64-encoded text: decodes it, sanitizes it and encodes it again. Returns
 * false if s must also be searched as a string: it is not base64, or so short that it may be a
 * token. */
bool redact_base64_text(struct redact *r, struct slice s, int level);

#endif
