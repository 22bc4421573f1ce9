/* redact.h - the sanitizer: what is stored holds no secrets. docs/sanitizer.md is its manual.
 *
 * What      values whose key says that they are secret (redact_key.h), secrets by their shape in any text
 *           (shape.h), and, for a call's arguments, content past its first REDACT_CUT characters. A secret
 *           is replaced by `[redacted:RULE]`, a string's content by its head and `… [+N chars]`.
 * Where     JSON, JSON within strings, text within JSON, `KEY=value`, headers, forms, command lines, lines
 *           of a log; base64 whose type says that it is text.
 * Never     protocol fields that look secret and are not (docs/sanitizer.md), booleans, null, declarations
 *           in a JSON Schema.
 * Form      valid JSON stays valid JSON; what is not replaced stays byte for byte. The same input and the
 *           same rules give the same output, and sanitizing that again changes nothing.
 * Work      linear in the input, whatever it says; memory a small multiple of the input when something is
 *           replaced, next to none when nothing is.
 * Owns      rules and scratch buffers; buffers that grew large are given back after each call.
 * Results   an int is 0 or MI_ENOMEM. *ret_n counts what was replaced. When it is 0, `out` is empty and
 *           the text stands as it is, without having been copied. `out` is cleared first.
 * Blocks    never. One thread: calls on one struct redact do not nest. */
#ifndef MI_VAULT_REDACT_H
#define MI_VAULT_REDACT_H

#include "base/buf.h"

/* Goes up with each change of what is found by key, in text, or cut. */
#define REDACT_VERSION 1

#define REDACT_CUT 50        /* characters of sensitive content that stay */
#define REDACT_MARK_MAX 80   /* bytes of a mark `[redacted:RULE]` */
#define REDACT_WORD_MAX 4096 /* bytes of a word that may be a secret, where lines are cut */
#define REDACT_PEM_LINES 512 /* lines of a private key that are hidden, if its end never comes */

enum redact_how {
    REDACT_SECRETS, /* secrets alone: --record full */
    REDACT_CONTENT, /* and the content of a call's arguments is cut: --record standard, minimal */
};

struct redact;

/* ---- rules ---- */

/* The built-in rules. 0 or MI_ENOMEM. */
MI_MUST int redact_open(struct redact **ret, struct buf *error);
void redact_close(struct redact *r); /* NULL is fine */
/* One `name = value` of the section [redact]: `keys`, `keep`, `content` (names, by commas), `pointer`
 * (a JSON pointer into a message, or several by blanks) or `pattern.NAME`. 0, MI_ENOENT (no such name),
 * MI_EINVAL or MI_ENOMEM; the first three leave a sentence in `error`. */
MI_MUST int redact_add_rule(struct redact *r, const char *name, const char *value,
                            struct buf *error);
/* The rules as sessions.redact_rules keeps them: a JSON object with `version` and the user's rules. They
 * are sanitized by themselves: a pattern that spells a secret out is not repeated in the vault. */
void redact_rules(struct redact *r, struct buf *out);
/* Adds those of such an object that are not there yet. 0, MI_EINVAL with a sentence, or MI_ENOMEM. */
MI_MUST int redact_add_rules(struct redact *r, struct slice rules, struct buf *error);
/* The rules that a recording was made with, as far as this program has them: the user's of that time and
 * the built-in of today. 0, MI_EINVAL with a sentence, or MI_ENOMEM. */
MI_MUST int redact_open_rules(struct redact **ret, struct slice rules, struct buf *error);

/* ---- the rules in force ---- */

/* Those that redact_use() was given, else the built-in ones, made when they are first asked for: whatever
 * is stored passes some. NULL: no memory. */
struct redact *redact_present(void);
void redact_use(struct redact *r); /* owned from here on; NULL: the built-in ones again */
/* For log_set_filter(): what people read on stderr passes the rules in force. */
struct slice redact_log_filter(void *ctx, struct slice line);

/* ---- JSON ---- */

/* Valid JSON, or the head of it, or what was meant to be some: nothing behind its end is read, and the result is
 * as valid as it was. */

/* One JSON-RPC message, or a batch of them. This is the pure function that a recorded and a live request are
 * compared by. */
MI_MUST int redact_message(struct redact *r, struct slice json, enum redact_how how,
                           struct buf *out, size_t *ret_n);
/* The arguments of a tools/call by themselves. */
MI_MUST int redact_arguments(struct redact *r, struct slice json, enum redact_how how,
                             struct buf *out, size_t *ret_n);
/* Any other value: the detail of an event, an argv as an array. */
MI_MUST int redact_value(struct redact *r, struct slice json, struct buf *out, size_t *ret_n);

/* ---- text that is no JSON, or may be ---- */

/* false: redact_text() would find nothing. */
bool redact_maybe(const struct redact *r, struct slice text);
/* Any bytes. A private key without its end goes up to the end of the text. */
MI_MUST int redact_text(struct redact *r, struct slice text, struct buf *out, size_t *ret_n);

/* Bytes of a text that goes on elsewhere, or was cut, up to where no word is growing: a secret that is cut in two is
 * known no more. All of it, when its last word has more than max_word bytes. */
size_t redact_whole_words(struct slice text, size_t max_word);
/* Bytes of the first `chars` characters of what was sanitized; a mark that begins there is in it whole. */
size_t redact_head(struct slice text, size_t chars);

/* A private key may span lines. Zero it for a new stream; feed each line once, in order. */
struct redact_lines {
    unsigned in_key; /* lines of a private key that may still come */
};
MI_MUST int redact_line(struct redact *r, struct redact_lines *l, struct slice line,
                        struct buf *out, size_t *ret_n);

#endif
