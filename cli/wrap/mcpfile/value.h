/* value.h - values of JSON, TOML and YAML. */
#ifndef MI_CLI_WRAP_MCPFILE_VALUE_H
#define MI_CLI_WRAP_MCPFILE_VALUE_H

#include "cli/wrap/mcpfile/scan.h"

enum mcpfile_type { MCPFILE_STRING, MCPFILE_ARRAY, MCPFILE_TABLE, MCPFILE_OTHER };

/* A complete value; its path is the path of the scan. */
struct mcpfile_value {
    enum mcpfile_type type;
    struct span token, key;
    size_t end; /* see mcpfile_member */
    bool on_line;
    size_t first_arg, args_n;       /* of the args of a server: mcpfile.arg[first_arg…] */
    size_t first_header, headers_n; /* of the headers of a server: mcpfile.header[first_header…] */
    bool mixed;                     /* the array has elements that are not strings */
    bool dashes, uneven; /* a YAML list without brackets; its first string does not follow a dash */
};

/* The differences between JSON and TOML. Each function but `skip` starts at the first character of its token. */
struct mcpfile_language {
    const char *quotes;                   /* characters that start a string */
    bool (*skip)(struct mcpfile_scan *s); /* white space and comments between elements */
    bool (*string)(struct mcpfile_scan *s, struct span *ret);
    bool (*table)(struct mcpfile_scan *s); /* in braces */
    bool (*literal)(struct mcpfile_scan *s);
};

/* Reads the value at the current position. */
bool mcpfile_value(struct mcpfile_scan *s, struct mcpfile_value *v);
/* After an element of a list that ends with `close`: moves past the comma, or to `close`. */
bool mcpfile_next(struct mcpfile_scan *s, char close);

#endif
