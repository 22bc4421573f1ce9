/* sanitizer.h - replaces secrets before anything is stored. The user's manual is docs/sanitizer.md.
 *
 * Replaces  values whose key is the name of a secret (key.h); secrets in any text, found by their
 *           shape (shape/find.h); in a call's arguments, the rest of sensitive content after
 *           REDACT_CONTENT_HEAD characters. A secret becomes `[redacted:RULE]`; truncated content
 *           ends with `… [+N chars]`.
 * Input     JSON, JSON inside strings, text inside JSON, `KEY=value`, headers, forms, command
 *           lines, log lines, base64 of text in `blob` and `data`.
 * Keeps     protocol fields that look secret but are not (docs/sanitizer.md), booleans, null, and
 *           declarations in JSON Schemas.
 * Output    valid JSON stays valid JSON; bytes outside replacements are unchanged. The same input
 *           and rules give the same output, and sanitizing the output again changes nothing.
 * Work      linear in the input, whatever it contains; memory a small multiple of the input if
 *           something is replaced, almost none otherwise.
 * Owns      rules and scratch buffers; buffers that grew large are freed after each call.
 * Results   functions return 0 or MI_ENOMEM. `out` is cleared first; *ret_n is the number of
 *           replacements. If it is 0, `out` is empty: the input is the result, and was not copied.
 * Blocks    never. Not reentrant: calls on one struct redact must not nest. */
#ifndef MI_REDACT_SANITIZER_H
#define MI_REDACT_SANITIZER_H

#include "base/buf.h"

/* Version of the sanitizer; increase it after each change of what is replaced or truncated. */
#define REDACT_VERSION 4

/* number of characters of sensitive content that are not truncated */
#define REDACT_CONTENT_HEAD 50
#define REDACT_MARK_MAX 80   /* bytes of a mark `[redacted:RULE]` */
#define REDACT_WORD_MAX 4096 /* longest word in bytes that is not divided when a line is split */
/* maximum lines replaced after the first line of a private key that has no last line */
#define REDACT_PEM_LINES 512

enum redact_how {
    REDACT_SECRETS, /* for --record full: only secrets are replaced */
    /* for --record standard and minimal: content in a call's arguments is also truncated */
    REDACT_CONTENT,
};

struct redact;

/* ---- rules ---- */

/* Opens a sanitizer with the built-in rules. Returns 0 or MI_ENOMEM. */
MI_MUST int redact_open(struct redact **ret, struct buf *error);
void redact_close(struct redact *r); /* accepts NULL */
/* Adds one `name = value` of the section [redact]: `keys`, `keep`, `content` (names, separated by
 * commas), `pointer` (JSON pointers into a message, separated by blanks) or `pattern.NAME`. Returns
 * 0, MI_ENOENT (unknown name) or MI_EINVAL, both with a message in `error`, or MI_ENOMEM. */
MI_MUST int redact_add_rule(struct redact *r, const char *name, const char *value,
                            struct buf *error);
/* Writes the rules as stored in sessions.redact_rules: a JSON object with `version` and the user's
 * rules, which are sanitized, so that a secret in a pattern does not reach the vault. */
void redact_write_rules(struct redact *r, struct buf *out);
/* Adds the rules in an object that redact_write_rules() wrote; rules that `r` has are skipped.
 * Returns 0, MI_EINVAL with a message in
 * `error`, or MI_ENOMEM. */
MI_MUST int redact_add_rules(struct redact *r, struct slice rules, struct buf *error);
/* Opens a sanitizer with the user's rules of a recording, as written by redact_write_rules(),
 * and the built-in rules of this version. Returns 0, MI_EINVAL with a message in `error`, or
 * MI_ENOMEM. */
MI_MUST int redact_open_rules(struct redact **ret, struct slice rules, struct buf *error);
/* Opens another sanitizer with the rules of `of`. Returns 0, MI_EINVAL with a message in `error`,
 * or MI_ENOMEM. */
MI_MUST int redact_open_copy_of_rules(struct redact **ret, const struct redact *of,
                                      struct buf *error);

/* ---- the rules in force ---- */

/* Returns the sanitizer passed to redact_set_current_rules(), or one with the built-in rules,
 * opened on first use. Borrowed. NULL: out of memory. */
struct redact *redact_get_current_sanitizer(void);
/* takes ownership of r; NULL: use the built-in rules again */
void redact_set_current_rules(struct redact *r);
/* Makes r the active sanitizer, and returns the previous one, which the caller then owns. NULL: the
 * built-in rules. */
struct redact *redact_swap_current_rules(struct redact *r);
/* A filter for log_set_filter(): sanitizes log lines with the rules in force. */
struct slice redact_filter_log_line(void *ctx, struct slice line);

/* ---- JSON ---- */

/* The input may be valid, truncated or malformed JSON. No byte after its end is read. */

/* Sanitizes a JSON-RPC message or a batch. A replay also sanitizes live requests with this
 * function, to compare them with recorded ones. */
MI_MUST int redact_message(struct redact *r, struct slice json, enum redact_how how,
                           struct buf *out, size_t *ret_n);
/* Sanitizes only the arguments of a tools/call. */
MI_MUST int redact_arguments(struct redact *r, struct slice json, enum redact_how how,
                             struct buf *out, size_t *ret_n);
/* Sanitizes any other value, such as the detail of an event or an argv as an array. */
MI_MUST int redact_value(struct redact *r, struct slice json, struct buf *out, size_t *ret_n);

/* ---- text that may or may not be JSON ---- */

/* Quick test. Returns false if redact_text() would find nothing. */
bool redact_may_change_text(const struct redact *r, struct slice text);
/* Sanitizes any bytes. A private key without an end is replaced up to the end of the text. */
MI_MUST int redact_text(struct redact *r, struct slice text, struct buf *out, size_t *ret_n);
/* Appends the text to b, sanitized with the rules in force. */
MI_MUST int redact_append_sanitized_text(struct slice text, struct buf *b);

/* Returns the length of a text without its last word. This word may be incomplete, and half of a
 * secret is not recognized. Returns the full length if the word has more than max_word bytes. */
size_t find_end_of_whole_words(struct slice text, size_t max_word);
/* Returns the first `max` bytes of a name, to be sanitized. An incomplete word at their end is
 * omitted unless it has more than REDACT_CUT_WORD bytes. */
#define REDACT_CUT_WORD 1024
struct slice redact_shorten_name(struct slice name, size_t max);
/* Returns the length in bytes of the first `chars` characters of a sanitized text. A redaction mark
 * at the end is included completely. */
size_t redact_get_len_of_first_chars(struct slice text, size_t chars);

/* The state of a stream of lines; a private key may span lines. Zero it at the start; pass each
 * line once, in order. */
struct redact_lines {
    unsigned in_key; /* how many more lines of a private key may follow */
};
MI_MUST int redact_line(struct redact *r, struct redact_lines *l, struct slice line,
                        struct buf *out, size_t *ret_n);

#endif
