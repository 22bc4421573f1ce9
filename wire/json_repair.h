/* json_repair.h - repairs a line that json_scan() has refused, if only one reading of the line
 * makes sense.
 *
 * Repairs   invalid UTF-8 in a string: each maximal invalid part becomes U+FFFD, as in the decoder
 *           of the WHATWG standard, in Node and in Python. A control character in a string is
 *           escaped. NaN, Infinity and -Infinity become null. Text after the object or array is cut
 *           off. The lines of a value that continues on the next lines are joined: a line end
 *           inside a string becomes \n, any other line end is removed.
 * Result    only a candidate: the caller passes it to json_scan(), and drops it if json_scan()
 *           refuses it.
 * Owns      the repaired text, in at most max bytes.
 * Work      linear in the input, for any number of lines.
 * Errors    JSON_REPAIR_FLAWED, with the offset, if the text cannot be repaired, or is longer than
 *           max, or if memory runs out.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_JSON_REPAIR_H
#define MI_WIRE_JSON_REPAIR_H

#include "wire/finding.h"
#include "wire/json/nesting.h"

#define REPAIR_BYTES_MAX 32
#define REPAIRS_MAX 8

/* A kind of repair that was made in a message. */
struct repair {
    enum finding finding;
    size_t at; /* offset of the first repaired position, in the received lines joined by newlines */
    size_t count;                 /* number of repaired positions */
    size_t bytes_n;               /* number of bytes in `bytes` */
    char bytes[REPAIR_BYTES_MAX]; /* the bytes that were replaced, or as many of them as fit */
};

struct repairs {
    size_t n;
    struct repair list[REPAIRS_MAX]; /* each kind once, in the order in which they were added */
};

/* Adds a repair that was made at one position. */
void repairs_add_repair(struct repairs *r, enum finding finding, size_t at, struct slice replaced);
/* Returns the repairs as a set of findings. */
findings repairs_get_findings(const struct repairs *r);

enum json_repair_result {
    JSON_REPAIR_MORE,  /* an object or array is incomplete: the next line may continue it */
    JSON_REPAIR_WHOLE, /* the value is complete */
    JSON_REPAIR_FLAWED
};

struct json_repair {
    struct buf text; /* owned; text of the repaired value */
    struct repairs repairs;
    /* borrowed from the last line: text after the value; n is 0 if there is none */
    struct slice trailing;
    size_t flaw_at;  /* after JSON_REPAIR_FLAWED: offset of the flaw in the text as received */
    size_t taken;    /* number of bytes of the earlier lines, with their newlines */
    size_t lines;    /* lines added */
    unsigned expect; /* the token that may come next: a value of enum expect (json_repair.c) */
    bool is_key;     /* the string being read is the key of a member */
    struct nesting open;
};

/* max: maximum number of bytes of the repaired text */
void json_repair_open(struct json_repair *m, size_t max);
void json_repair_close(struct json_repair *m); /* safe to call twice */
/* Adds one line, without its newline. After it has returned JSON_REPAIR_WHOLE or
 * JSON_REPAIR_FLAWED, do not add another line. */
MI_MUST enum json_repair_result json_repair_add_line(struct json_repair *m, struct slice line);

#endif
