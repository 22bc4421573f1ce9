/* value.h - values of JSON, TOML and YAML. */
#ifndef MI_CLI_WRAP_MCPFILE_VALUE_H
#define MI_CLI_WRAP_MCPFILE_VALUE_H

#include "cli/wrap/mcpfile/mcpfile_scan.h"

enum mcpfile_type { MCPFILE_STRING, MCPFILE_ARRAY, MCPFILE_TABLE, MCPFILE_OTHER };

/* A complete value. Its path is the current path of the scan. */
struct mcpfile_value {
    enum mcpfile_type type;
    struct span token, key;
    size_t end; /* offset at which a new member can be inserted after this value */
    bool on_line;
    /* the args of the server are mcpfile.arg[first_arg..first_arg + args_n - 1] */
    size_t first_arg, args_n;
    /* the headers of the server are mcpfile.header[first_header..first_header + headers_n - 1] */
    size_t first_header, headers_n;
    bool mixed;  /* some elements of the array are not strings */
    bool dashes; /* a YAML list without brackets */
    bool uneven; /* true: a YAML list whose first string is not on the line of its dash */
};

/* Functions whose code differs between JSON and TOML. Each function except `skip` is called when
 * the scan is at the first character of the token. */
struct mcpfile_language {
    const char *quotes;                   /* characters that begin a string */
    bool (*skip)(struct mcpfile_scan *s); /* skips white space and comments between elements */
    bool (*string)(struct mcpfile_scan *s, struct span *ret);
    bool (*table)(struct mcpfile_scan *s); /* scans a table in braces */
    bool (*literal)(struct mcpfile_scan *s);
};

/* Scans the value at the current position. Returns false after an error. */
bool mcpfile_scan_value(struct mcpfile_scan *s, struct mcpfile_value *v);
/* Call this function after an element of a list, or a member of an object. close: the bracket that
 * ends the list or object. Moves past the comma that follows, or to the bracket. Returns false
 * after an error. */
bool mcpfile_end_element(struct mcpfile_scan *s, char close);

#endif
