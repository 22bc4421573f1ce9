/* members.h - reads the members of one line of a cassette. */
#ifndef MI_VAULT_CASSETTE_MEMBERS_H
#define MI_VAULT_CASSETTE_MEMBERS_H

#include "base/buf.h"
#include "wire/json/scan.h"

struct cassette_member {
    const char *name;
    enum json_type type; /* type of the value; JSON_NONE: any type */
    bool required;
    int since; /* first version of the format that has the member; 0: all versions have it */
};

/* Reads a line, which must be a JSON object. It may contain only those members of the table that
 * this version of the format has; with CASSETTE_ANY, other members are ignored. values[i] is the
 * value of table[i], or JSON_NONE. 0, or MI_EPROTO with the reason in `why`. */
#define CASSETTE_ANY 0
MI_MUST int cassette_read_members(struct slice line, const struct cassette_member *table, size_t n,
                                  int version, struct json_value *values, struct buf *why);
/* Appends the text of a string value, with escapes resolved, to `texts`, and sets *ret to it.
 * `texts` must have enough space reserved, so that earlier slices stay valid. *ret is unchanged if
 * the value is missing. 0, or MI_EPROTO: the text contains a NUL. */
MI_MUST int cassette_read_string(struct json_value v, const char *name, struct buf *texts,
                                 struct slice *ret, struct buf *why);
/* Reads an integer that is not negative. *ret is unchanged if the value is missing. 0, or MI_EPROTO
 * with the reason in `why`. */
MI_MUST int cassette_read_unsigned_number(struct json_value v, const char *name, int64_t *ret,
                                          struct buf *why);

#endif
