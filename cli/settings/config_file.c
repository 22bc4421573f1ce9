#include "cli/settings/config_file.h"

#include "base/grow.h"
#include "base/nearest.h"
#include "base/read_all.h"
#include "cli/settings/option_value.h"
#include "cli/settings/paths.h"
#include "proxy/session/deadline.h"
#include "redact/sanitizer.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/* ---- keys ---- */

/* The next functions return 0, MI_ENOMEM, or another error with a sentence in `why`. */

static int fail_unknown_word(struct buf *why, const char *what, const char *word, const char *near)
{
    buf_printf(why, "%s '%s'", what, word);
    if (near != NULL)
        buf_printf(why, "; did you mean '%s'?", near);
    return MI_EINVAL;
}

/* Finds an option. Returns NULL if the command has no such option, or allows it only on the command
 * line. */
static const struct opt *find_file_option(const struct command *c, const char *name)
{
    if (strcmp(name, "config") == 0 || strcmp(name, "help") == 0)
        return NULL;
    for (const struct opt *o = c->table; o->name != NULL; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

static int check_option_value(const struct opt *o, const char *value, struct buf *why)
{
    struct buf fault = {0};
    int st = value_check_against_option(o, value, &fault) ? 0 : MI_EINVAL;
    if (st < 0)
        buf_printf(why, "%s: %s", o->name, buf_str(&fault));
    buf_close(&fault);
    return st;
}

/* Sets an option. If the option belongs to another command, only checks the value. */
static int set_option(struct settings *s, const struct command *c, const struct opt *o,
                      const char *value, struct buf *why)
{
    struct opt_set scratch;
    struct opt_set *set = c == s->command ? &s->set : &scratch;
    int st = check_option_value(o, value, why);
    if (st < 0)
        return st;
    opt_open(&scratch, c->table);
    st = opt_set_from_config(set, o->name, value);
    if (st < 0)
        buf_adds(why, buf_str(&set->error));
    opt_close(&scratch);
    return st;
}

#define SERVER_SECTION "server" /* the first word of `[server NAME]` */

/* Sections that do not belong to a command. */
static const char *const sections[] = {"timeout", "retention", "redact", SERVER_SECTION};

/* Applies a key of a command's section. If section is "", sets the option of every command that has
 * an option with this name. */
static int settings_apply_option(struct settings *s, const char *section, const char *key,
                                 const char *value, struct buf *why)
{
    struct nearest section_near = nearest_begin_search(section);
    struct nearest key_near = nearest_begin_search(key);
    for (size_t i = 0; i < MI_COUNT(sections); i++)
        nearest_add_candidate(&section_near, sections[i]);
    bool section_known = section[0] == '\0', key_known = false;
    for (size_t i = 0; s->commands[i] != NULL; i++)
        nearest_add_candidate(&section_near, s->commands[i]->name);
    struct command_place at = {0};
    for (const struct command *c; (c = command_get_next(s->commands, &at)) != NULL;) {
        if (section[0] != '\0' && !command_has_first_word(c, section))
            continue;
        section_known = true;
        for (const struct opt *o = c->table; o->name != NULL; o++)
            if (find_file_option(c, o->name) != NULL)
                nearest_add_candidate(&key_near, o->name);
        const struct opt *o = find_file_option(c, key);
        int st = o != NULL ? set_option(s, c, o, value, why) : 0;
        if (st < 0)
            return st;
        key_known |= o != NULL;
    }
    if (!section_known)
        return fail_unknown_word(why, "unknown section", section, section_near.best);
    return key_known ? 0 : fail_unknown_word(why, "unknown key", key, key_near.best);
}

static const struct opt *find_command_option(const struct settings *s, const char *command,
                                             const char *name)
{
    const struct command *c = command_find(s->commands, command);
    const struct opt *o = c != NULL ? find_file_option(c, name) : NULL;
    assert(o != NULL); /* the option exists, because callers name only options of our own tables */
    return o;
}

/* Applies a line of `[timeout]`. Key and value are the two parts of a --timeout rule; the function
 * joins them in place. */
static int settings_apply_timeout_line(struct settings *s, char *key, const char *value,
                                       struct buf *why)
{
    struct deadlines scratch;
    size_t n = strlen(key);
    key[n] = '=';
    memmove(key + n + 1, value, strlen(value) + 1);
    if (strchr(key, ',') != NULL) {
        buf_adds(why, "a rule in [timeout] must not contain a comma");
        return MI_EINVAL;
    }
    deadlines_open(&scratch);
    int st = deadlines_add(&scratch, key, why);
    deadlines_close(&scratch);
    return st < 0 ? st
                  : set_option(s, command_find(s->commands, "proxy"),
                               find_command_option(s, "proxy", "timeout"), key, why);
}

/* Applies a line of `[retention]`, which is for all commands. The values remain text. */
static int settings_apply_retention_line(struct settings *s, const char *key, const char *value,
                                         struct buf *why)
{
    static const char *const keys[RETAIN_RULES] = {"older-than", "keep-last", "max-size"};
    struct nearest near = nearest_begin_search(key);
    for (size_t i = 0; i < RETAIN_RULES; i++) {
        nearest_add_candidate(&near, keys[i]);
        if (strcmp(key, keys[i]) != 0)
            continue;
        s->retention[i] = value;
        return check_option_value(find_command_option(s, "prune", key), value, why);
    }
    return fail_unknown_word(why, "unknown key", key, near.best);
}

/* Applies a line of `[ship]`, which is an option of `ship to`. Other commands also use `url` and
 * `level`. */
static int settings_parse_ship_line(struct settings *s, const char *key, const char *value,
                                    struct buf *why)
{
    int st = settings_apply_option(s, "ship", key, value, why);
    if (st == 0 && strcmp(key, "url") == 0)
        s->ship_url = value;
    else if (st == 0 && strcmp(key, "level") == 0)
        s->ship_minimal = strcmp(value, "minimal") == 0;
    return st;
}

/* Returns the trimmed NAME of `[server NAME]`; "" if the name is missing. Returns NULL for another
 * section. */
static const char *server_name_of_section(const char *section)
{
    size_t n = strlen(SERVER_SECTION);
    if (strncmp(section, SERVER_SECTION, n) != 0 ||
        (section[n] != '\0' && !isspace((unsigned char)section[n])))
        return NULL;
    for (section += n; isspace((unsigned char)*section);)
        section++;
    return section;
}

/* Applies a line of `[server NAME]`. The values remain text. */
static int settings_parse_server_line(struct settings *s, const char *server, const char *key,
                                      const char *value, struct buf *why)
{
    static const char *const keys[] = {"tools", "hide-tools", "read-only"};
    struct nearest near = nearest_begin_search(key);
    struct opt_set scratch;
    size_t i = 0;
    for (; i < MI_COUNT(keys) && strcmp(key, keys[i]) != 0; i++)
        nearest_add_candidate(&near, keys[i]);
    if (server[0] == '\0') {
        buf_adds(why, "expected '[server NAME]' with the name of a server, as `mcp-interposer "
                      "sessions` shows it");
        return MI_EINVAL;
    }
    if (i == MI_COUNT(keys))
        return fail_unknown_word(why, "unknown key", key, near.best);
    const struct command *proxy = command_find(s->commands, "proxy");
    int st = check_option_value(find_command_option(s, "proxy", key), value, why);
    if (st < 0)
        return st;
    opt_open(&scratch, proxy->table);
    /* opt_set_from_config() also checks the value of a flag */
    st = opt_set_from_config(&scratch, key, value);
    if (st < 0)
        buf_adds(why, buf_str(&scratch.error));
    else if (!GROW(s->servers, s->servers_n, s->servers_cap))
        st = MI_ENOMEM;
    else
        s->servers[s->servers_n++] =
            (struct server_setting){server, keys[i], opt_get(&scratch, key)};
    opt_close(&scratch);
    return st;
}

/* ---- lines ---- */

/* Removes white space at both ends. */
static char *trim_text_in_place(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        text[--n] = '\0';
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

static void cut_comment(char *line)
{
    for (char *p = strchr(line, ';'); p != NULL; p = strchr(p + 1, ';')) {
        if (p == line || isspace((unsigned char)p[-1])) {
            *p = '\0';
            return;
        }
    }
}

/* Finds the character that separates key and value. Keys of [timeout] may contain colons:
 * `tool:NAME = 5m`. */
static char *find_key_separator(const char *section, char *line)
{
    char *eq = strcmp(section, "timeout") == 0 ? strrchr(line, '=') : NULL;
    return eq != NULL ? eq : strpbrk(line, "=:");
}

static int settings_parse_line(struct settings *s, const char **section, char *line,
                               struct buf *why)
{
    cut_comment(line);
    line = trim_text_in_place(line);
    if (line[0] == '\0' || line[0] == '#')
        return 0;
    char *end = line[0] == '[' ? strchr(line, ']') : find_key_separator(*section, line);
    if (end == NULL) {
        buf_adds(why, "expected 'key = value' or '[section]'");
        return MI_EINVAL;
    }
    *end = '\0';
    if (line[0] == '[') {
        *section = trim_text_in_place(line + 1);
        return 0;
    }
    char *key = trim_text_in_place(line);
    const char *value = trim_text_in_place(end + 1);
    if (strcmp(*section, "timeout") == 0)
        return settings_apply_timeout_line(s, key, value, why);
    if (strcmp(*section, "retention") == 0)
        return settings_apply_retention_line(s, key, value, why);
    if (strcmp(*section, "redact") == 0) {
        int st = s->rules == NULL ? redact_open(&s->rules, why) : 0;
        return st < 0 ? st : redact_add_rule(s->rules, key, value, why);
    }
    if (strcmp(*section, "ship") == 0)
        return settings_parse_ship_line(s, key, value, why);
    const char *server = server_name_of_section(*section);
    return server != NULL ? settings_parse_server_line(s, server, key, value, why)
                          : settings_apply_option(s, *section, key, value, why);
}

static int settings_parse_file_text(struct settings *s, const char *path, char *text,
                                    struct buf *error)
{
    struct buf why = {0};
    const char *section = "";
    int st = 0;
    int line_n = 0;
    while (st == 0 && text != NULL) {
        char *line = text;
        text = strchr(text, '\n');
        if (text != NULL)
            *text++ = '\0';
        line_n++;
        st = settings_parse_line(s, &section, line, &why);
    }
    if (st < 0 && st != MI_ENOMEM)
        buf_printf(error, "%s:%d: %s", path, line_n, buf_str(&why));
    buf_close(&why);
    if (st == 0 && s->rules != NULL) {
        redact_set_current_rules(s->rules);
        s->rules = NULL;
    }
    return st;
}

/* ---- the file ---- */

int settings_read_file(struct settings *s, struct buf *error)
{
    const char *named = opt_get(&s->set, "config");
    char *path = path_of_config_file(named);
    if (path == NULL && named == NULL && errno == ENOENT)
        return 0; /* without a home directory there is no default file */
    if (path == NULL)
        return MI_ENOMEM;
    int st = 0, e = read_all_of_file(path, CONFIG_FILE_MAX, &s->file);
    bool is_missing = e == ENOENT || e == ENOTDIR;
    if (e != 0 && !(is_missing && named == NULL)) { /* the default file need not exist */
        buf_printf(error, "cannot read configuration %s: %s", path, strerror(e));
        st = MI_EIO;
    } else if (memchr(buf_str(&s->file), '\0', s->file.n) != NULL) {
        buf_printf(error, "%s: not a text file: it contains a NUL byte", path);
        st = MI_EINVAL;
    } else if (s->file.n > 0) {
        size_t bom = slice_begins(buf_slice(&s->file), "\xEF\xBB\xBF") ? 3 : 0;
        st = settings_parse_file_text(s, path, s->file.p + bom, error);
    }
    free(path);
    return st;
}
