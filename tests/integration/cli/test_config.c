/* settings_read_all_sources() with test commands, and configuration files in a temporary home directory. */
#include "cli/settings/config.h"
#include "cli/settings/paths.h"

#include "base/nearest.h"
#include "redact/sanitizer.h"
#include "tests/support/unit.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct opt alpha_opts[] = {
    {'s', "size", "SIZE", "64KiB", "a size"},
    {'t', "time", "DURATION", "1.5s", "a duration"},
    {0, "mode", "fast|slow", "fast", "one of two words"},
    {'n', "count", "N", "3", "a number"},
    {0, "title", "NAME", NULL, "text"},
    {'l', "loud", NULL, NULL, "a flag"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};
static const struct opt beta_opts[] = {
    {0, "depth", "N", "1", "a number that alpha does not have"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};
/* Two commands with sections in the file. */
static const struct opt proxy_opts[] = {
    {'t', "timeout", "[WHAT=]DURATION...", "30s", "deadlines"},
    COMMAND_OPTS,
};
static const struct opt prune_opts[] = {
    {0, "older-than", "DURATION", NULL, "an age"},
    {0, "keep-last", "N", NULL, "a number"},
    {0, "max-size", "SIZE", NULL, "a size"},
    COMMAND_OPTS,
};
static const struct command proxy = {.name = "proxy", .table = proxy_opts, .server_command = true};
static const struct command prune = {.name = "prune", .table = prune_opts};
static const struct command alpha = {.name = "alpha", .table = alpha_opts, .server_command = true};
static const struct command beta = {.name = "beta", .table = beta_opts, .operands_max = 2};

static const struct command *const commands[] = {&alpha, &beta, &proxy, &prune, NULL};

static char home[] = "/tmp/test_config.XXXXXX";
static char config_path[160];
static struct buf error; /* of the last reading */

static int set_up(void **state)
{
    (void)state;
    static const char *const unset[] = {
        "MCP_INTERPOSER_SIZE",       "MCP_INTERPOSER_MODE",  "MCP_INTERPOSER_TITLE",
        "MCP_INTERPOSER_LOUD",       "MCP_INTERPOSER_HELP",  "MCP_INTERPOSER_CONFIG",
        "MCP_INTERPOSER_VAULT",      "XDG_CONFIG_HOME",      "XDG_STATE_HOME",
        "MCP_INTERPOSER_COUNT",      "MCP_INTERPOSER_DEPTH", "MCP_INTERPOSER_TIME",
        "MCP_INTERPOSER_JOURNAL_DIR"};
    for (size_t i = 0; i < MI_COUNT(unset); i++)
        unsetenv(unset[i]);
    setenv("HOME", home, 1);
    unlink(config_path);
    buf_clear(&error);
    return 0;
}

static void write_config(const void *text, size_t n)
{
    FILE *f = fopen(config_path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void config_is(const char *text)
{
    write_config(text, strlen(text));
}

#define ARGV_MAX 16

/* Splits at single blanks; the first word is argv[0]. */
static enum settings_result read_result(struct settings *s, const struct command *c,
                                        const char *words)
{
    static char copy[512];
    static char *argv[ARGV_MAX];
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *save = NULL, *w = strtok_r(copy, " ", &save); w != NULL;
         w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    assert_in_range(argc, 1, ARGV_MAX - 1);
    argv[argc] = NULL;
    buf_clear(&error);
    return settings_read_all_sources(s, commands, c, argc, argv, &error);
}

static bool read_words(struct settings *s, const struct command *c, const char *words)
{
    return read_result(s, c, words) == SETTINGS_READY;
}

static void fails_as(enum settings_result how, const struct command *c, const char *words,
                     const char *part)
{
    struct settings s;
    assert_int_equal(read_result(&s, c, words), how);
    settings_close(&s);
    if (strstr(buf_str(&error), part) == NULL)
        fail_msg("'%s' is not in: %s", part, buf_str(&error));
}

static void fails_with(const struct command *c, const char *words, const char *part)
{
    fails_as(SETTINGS_INVALID, c, words, part);
}

/* The options are valid, but the file is not. */
static void file_fails(const struct command *c, const char *words, const char *part)
{
    fails_as(SETTINGS_BAD_FILE, c, words, part);
}

static void test_settings_without_input_are_the_defaults(void **state)
{
    (void)state;
    struct settings s;
    assert_true(read_words(&s, &alpha, "alpha server"));
    assert_int_equal(settings_get_size(&s, "size"), 65536);
    assert_int_equal(settings_duration_us(&s, "time"), 1500000);
    assert_int_equal(settings_get_number(&s, "count"), 3);
    assert_true(settings_value_equals(&s, "mode", "fast"));
    assert_false(settings_value_equals(&s, "mode", "slow"));
    assert_null(settings_get_text(&s, "title"));
    assert_false(settings_is_on(&s, "loud"));
    settings_close(&s);
    assert_int_equal(error.n, 0);
}

static void test_settings_precedence_is_flag_environment_file_default(void **state)
{
    (void)state;
    struct settings s;
    config_is("[alpha]\nsize = 2KiB\ntitle = file\nmode = slow\nloud = yes\n");
    setenv("MCP_INTERPOSER_SIZE", "3KiB", 1);
    setenv("MCP_INTERPOSER_TITLE", "environment", 1);
    assert_true(read_words(&s, &alpha, "alpha --size 4KiB server"));
    assert_int_equal(settings_get_size(&s, "size"), 4096);
    assert_string_equal(settings_get_text(&s, "title"), "environment");
    assert_true(settings_value_equals(&s, "mode", "slow"));
    assert_true(settings_is_on(&s, "loud"));
    assert_int_equal(settings_get_number(&s, "count"), 3);
    settings_close(&s);
}

static void test_settings_key_in_a_section_overrides_a_global_one(void **state)
{
    (void)state;
    struct settings s;
    config_is("vault = /all\nsize=1KiB\ndepth = 9\n[beta]\nvault = /beta\n");
    assert_true(read_words(&s, &alpha, "alpha server"));
    assert_string_equal(settings_get_text(&s, "vault"), "/all");
    assert_int_equal(settings_get_size(&s, "size"), 1024);
    settings_close(&s);
    assert_true(read_words(&s, &beta, "beta"));
    assert_string_equal(settings_get_text(&s, "vault"), "/beta");
    assert_int_equal(settings_get_number(&s, "depth"), 9);
    settings_close(&s);
}

static void test_settings_file_forms_are_read(void **state)
{
    (void)state;
    struct settings s;
    config_is(
        "\xEF\xBB\xBF# comment\r\n; comment\r\n\r\n  [alpha]\r\n  title =  two words  ; said so\r\n"
        "    count=5\r\n\tloud = on\r\nmode: slow");
    assert_true(read_words(&s, &alpha, "alpha server"));
    assert_string_equal(settings_get_text(&s, "title"), "two words");
    assert_int_equal(settings_get_number(&s, "count"), 5); /* indented: not a section title */
    assert_true(settings_is_on(&s, "loud"));
    assert_true(settings_value_equals(&s, "mode", "slow"));
    settings_close(&s);
}

static void test_settings_error_in_the_file_has_file_and_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"[alpha]\nsize = 1KiB\ntitel = x\n",
         "config.ini:3: unknown key 'titel'; did you mean 'title'?"},
        {"[alpha]\ndepth = 1\n", "config.ini:2: unknown key 'depth'"},
        {"zzzzzz = 1\n", "config.ini:1: unknown key 'zzzzzz'"},
        {"\n\n[gamma]\nsize = 1\n", "config.ini:4: unknown section 'gamma'"},
        {"[timout]\nx = 1s\n", "config.ini:2: unknown section 'timout'; did you mean 'timeout'?"},
        {"[alfa]\nsize = 1\n", "did you mean 'alpha'?"},
        {"[alpha]\nsize = much\n", "config.ini:2: size: invalid size 'much'"},
        {"[alpha]\ntime = soon\n", "config.ini:2: time: invalid duration 'soon'"},
        {"[alpha]\ncount = -1\n", "config.ini:2: count: invalid number '-1'"},
        {"[alpha]\ncount = 1000000001\n", "config.ini:2: count: invalid number '1000000001'"},
        {"[alpha]\nmode = fas\n", "config.ini:2: mode: invalid value 'fas': use fast|slow"},
        {"[alpha]\nmode = fast|slow\n", "config.ini:2: mode: invalid value 'fast|slow'"},
        {"[alpha]\nmode =\n", "config.ini:2: mode: invalid value ''"},
        {"[alpha]\nvault =\n", "config.ini:2: vault: invalid path ''"},
        {"[alpha]\nloud = perhaps\n", "config.ini:2: loud: invalid value 'perhaps': use yes or no"},
        {"[alpha]\nloud\n", "config.ini:2: expected 'key = value' or '[section]'"},
        {"[alpha\nsize = 1\n", "config.ini:1: expected"},
        {"config = /x\n", "config.ini:1: unknown key 'config'"},
        {"help = yes\n", "config.ini:1: unknown key 'help'"},
        /* an error in another command's section is an error, too */
        {"[beta]\ndepth = deep\n", "config.ini:2: depth: invalid number 'deep'"},
        {"[beta]\nsize = 1\n", "config.ini:2: unknown key 'size'"},
        /* rules of the sanitizer */
        {"[redact]\nkey = a\n", "config.ini:2: unknown rule 'key': use keys,"},
        {"[redact]\nkeys = a, !!\n", "config.ini:2: invalid name '!!'"},
        {"[redact]\npointer = arguments\n", "config.ini:2: 'arguments' is not a JSON pointer"},
        {"[redact]\nkeys = a\npattern.x = (\n", "config.ini:3: "},
        {"[redact]\npattern.A b = x\n", "config.ini:2: "},
        /* the first of two errors is reported, whichever reader found it */
        {"[alpha]\nloud\nmode = x\n", "config.ini:2: expected"},
        {"[alpha]\nmode = x\nloud\n", "config.ini:2: mode"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        config_is(rows[i].text);
        file_fails(&alpha, "alpha server", rows[i].says);
    }
}

static bool is_hidden(const char *text)
{
    struct buf out = {0};
    size_t n = 0;
    assert_non_null(redact_get_current_sanitizer());
    assert_int_equal(redact_value(redact_get_current_sanitizer(), slice_of(text), &out, &n), 0);
    buf_close(&out);
    return n > 0;
}

static void test_settings_redact_rules_of_a_valid_file_are_in_force(void **state)
{
    (void)state;
    struct settings s;
    config_is("[redact]\nkeys = badge_no\nkeys = room\npattern.ticket = T-[0-9]{3}\nkeep = pin\n");
    assert_true(read_words(&s, &alpha, "alpha server"));
    assert_true(is_hidden("{\"badgeNo\":\"x\"}"));
    assert_true(is_hidden("{\"room\":\"x\"}"));
    assert_true(is_hidden("[\"see T-123\"]"));
    assert_true(is_hidden("{\"password\":\"x\"}"));
    settings_close(&s);
    redact_set_current_rules(NULL);
    config_is("[redact]\nkeys = badge_no\nkees = room\n");
    file_fails(&alpha, "alpha server", "config.ini:3: unknown rule 'kees'");
    assert_false(is_hidden("{\"badgeNo\":\"x\"}"));
    redact_set_current_rules(NULL);
}

static void test_settings_unreadable_file_is_rejected(void **state)
{
    (void)state;
    static char text[CONFIG_FILE_MAX + 2];
    memset(text, '\n', sizeof text);
    write_config(text, sizeof text);
    file_fails(&alpha, "alpha server", "File too large");
    write_config("count = 1\0\n", 11);
    file_fails(&alpha, "alpha server", "NUL");
    file_fails(&alpha, "alpha --config /nonexistent/config server",
               "/nonexistent/config: No such file");
    file_fails(&alpha, "alpha --config / server", "Is a directory");
}

static void test_settings_file_at_its_limit_is_read(void **state)
{
    (void)state;
    static char text[CONFIG_FILE_MAX];
    struct settings s;
    memset(text, '\n', sizeof text);
    memcpy(text + sizeof text - 9, "count = 8", 9);
    write_config(text, sizeof text);
    assert_true(read_words(&s, &alpha, "alpha server"));
    assert_int_equal(settings_get_number(&s, "count"), 8);
    settings_close(&s);
}

static void test_settings_long_line_is_read(void **state)
{
    (void)state;
    struct settings s;
    char text[4000];
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "title = ", 8);
    text[sizeof text - 1] = '\0';
    config_is(text);
    assert_true(read_words(&s, &alpha, "alpha server"));
    assert_string_equal(settings_get_text(&s, "title"), text + 8);
    settings_close(&s);
}

static void test_settings_values_keep_separators_and_semicolons_without_a_blank(void **state)
{
    (void)state;
    static const struct {
        const char *line, *value;
    } rows[] = {
        {"title = a=b:c", "a=b:c"},     {"title: a=b", "a=b"},      {"title=a;b", "a;b"},
        {"title=a # b", "a # b"},       {"title=a ;b;c", "a"},      {"title=a\t; b", "a"},
        {"title = ; nothing", ""},      {" title\t=\t[a] ", "[a]"}, {"[alpha] of it\ntitle=a", "a"},
        {"title=a\rb\r\n\r\n", "a\rb"}, {"title=a\ntitle=b", "b"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct settings s;
        config_is(rows[i].line);
        if (!read_words(&s, &alpha, "alpha server"))
            fail_msg("%s: %s", rows[i].line, buf_str(&error));
        assert_string_equal(settings_get_text(&s, "title"), rows[i].value);
        settings_close(&s);
    }
}

static void test_settings_timeout_rules_become_values_of_the_option(void **state)
{
    (void)state;
    struct settings s;
    size_t at = 0;
    static const char *const want[] = {"default=1s", "tool:slow=5m", "tools/call=2s",
                                       "tool:a=b=3s"};
    config_is("[timeout]\ndefault: 1s\ntool:slow = 5m ; long\n tools/call\t=  2s\ntool:a=b = 3s\n");
    assert_true(read_words(&s, &proxy, "proxy server"));
    for (size_t i = 0; i < MI_COUNT(want); i++)
        assert_string_equal(settings_next_value(&s, "timeout", &at), want[i]);
    assert_null(settings_next_value(&s, "timeout", &at));
    settings_close(&s);
    assert_true(read_words(&s, &alpha, "alpha server"));
    settings_close(&s);
    config_is("[timeout]\ndefault = 1s\ntool:slow = soon\n");
    file_fails(&alpha, "alpha server", "config.ini:3: ");
    config_is("[timeout]\na,b = 1s\n");
    file_fails(&alpha, "alpha server",
               "config.ini:2: a rule in [timeout] must not contain a comma");
}

static void test_settings_retention_rules_are_kept_for_every_command(void **state)
{
    (void)state;
    struct settings s;
    config_is("[retention]\nolder-than = 30d\nkeep-last = 5\n");
    assert_true(read_words(&s, &alpha, "alpha server"));
    assert_string_equal(s.retention[RETAIN_OLDER], "30d");
    assert_string_equal(s.retention[RETAIN_LAST], "5");
    assert_null(s.retention[RETAIN_SIZE]);
    settings_close(&s);
    config_is("[retention]\nolder-then = 30d\n");
    file_fails(&alpha, "alpha server", "unknown key 'older-then'; did you mean 'older-than'?");
    config_is("[retention]\n\nkeep-last = some\n");
    file_fails(&alpha, "alpha server", "config.ini:3: keep-last: invalid number 'some'");
}

static void test_settings_named_file_is_read_instead_of_the_default(void **state)
{
    (void)state;
    struct settings s;
    char other[160], words[256];
    config_is("this is not read");
    snprintf(other, sizeof other, "%s/other.ini", home);
    FILE *f = fopen(other, "w");
    assert_non_null(f);
    fputs("count = 7\n", f);
    assert_int_equal(fclose(f), 0);
    snprintf(words, sizeof words, "alpha --config=%s server", other);
    assert_true(read_words(&s, &alpha, words));
    assert_int_equal(settings_get_number(&s, "count"), 7);
    settings_close(&s);
    setenv("MCP_INTERPOSER_CONFIG", "~/other.ini", 1);
    assert_true(read_words(&s, &alpha, "alpha server"));
    assert_int_equal(settings_get_number(&s, "count"), 7);
    settings_close(&s);
    unlink(other);
}

static void test_settings_invalid_flag_or_variable_is_named(void **state)
{
    (void)state;
    fails_with(&alpha, "alpha --size big server", "--size: invalid size 'big'");
    fails_with(&alpha, "alpha -t x server", "--time: invalid duration 'x'");
    fails_with(&alpha, "alpha --mode=medium server",
               "--mode: invalid value 'medium': use fast|slow");
    fails_with(&alpha, "alpha --nothing server", "unknown option --nothing");
    setenv("MCP_INTERPOSER_COUNT", "many", 1);
    fails_with(&alpha, "alpha server", "MCP_INTERPOSER_COUNT: invalid number 'many'");
}

static void test_settings_server_command_stays_untouched(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "alpha -s 1KiB -- server --size 2 -- -x",
        "alpha -s 1KiB server --size 2 -- -x",
    };
    struct settings s;
    for (size_t i = 0; i < MI_COUNT(lines); i++) {
        assert_true(read_words(&s, &alpha, lines[i]));
        assert_int_equal(settings_get_size(&s, "size"), 1024);
        assert_int_equal(s.operands_n, 5);
        assert_string_equal(s.operands[0], "server");
        assert_string_equal(s.operands[1], "--size");
        assert_string_equal(s.operands[3], "--");
        assert_string_equal(s.operands[4], "-x");
        assert_null(s.operands[5]);
        settings_close(&s);
    }
}

static void test_settings_operands_may_be_mixed_with_options_up_to_a_limit(void **state)
{
    (void)state;
    struct settings s;
    assert_true(read_words(&s, &beta, "beta one --depth 4 two"));
    assert_int_equal(s.operands_n, 2);
    assert_string_equal(s.operands[0], "one");
    assert_string_equal(s.operands[1], "two");
    assert_null(s.operands[2]);
    assert_int_equal(settings_get_number(&s, "depth"), 4);
    settings_close(&s);
    fails_with(&beta, "beta one two three", "unexpected argument 'three'");
}

static void test_settings_help_flag_is_reported_before_errors_in_the_file(void **state)
{
    (void)state;
    struct settings s;
    config_is("this is not read");
    assert_int_equal(read_result(&s, &alpha, "alpha --help server"), SETTINGS_HELP);
    settings_close(&s);
    assert_int_equal(read_result(&s, &beta, "beta one two three four -h"), SETTINGS_HELP);
    settings_close(&s);
    assert_int_equal(read_result(&s, &beta, "beta --nothing -h"), SETTINGS_INVALID);
    settings_close(&s);
}

static void test_settings_dashes_are_located_among_the_operands(void **state)
{
    (void)state;
    struct settings s;
    assert_true(read_words(&s, &beta, "beta one -- two"));
    assert_int_equal(s.set.operands_before_dashes, 1);
    settings_close(&s);
    assert_true(read_words(&s, &beta, "beta -- one --"));
    assert_int_equal(s.set.operands_before_dashes, 0);
    settings_close(&s);
    assert_true(read_words(&s, &beta, "beta one two"));
    assert_int_equal(s.set.operands_before_dashes, -1);
    settings_close(&s);
}

static void test_settings_help_in_the_environment_is_ignored(void **state)
{
    (void)state;
    struct settings s;
    setenv("MCP_INTERPOSER_HELP", "yes", 1);
    assert_true(read_words(&s, &alpha, "alpha server"));
    settings_close(&s);
}

static void path_is(char *path, const char *want)
{
    assert_non_null(path);
    assert_string_equal(path, want);
    free(path);
}

static void test_paths_follow_the_base_directory_specification(void **state)
{
    (void)state;
    char want[160];
    snprintf(want, sizeof want, "%s/.local/state/mcp-interposer", home);
    path_is(path_of_vault(NULL), want);
    path_is(path_of_config_file(NULL), config_path);
    setenv("XDG_STATE_HOME", "relative/path", 1); /* the specification: ignore it */
    path_is(path_of_vault(NULL), want);
    setenv("XDG_STATE_HOME", "", 1);
    path_is(path_of_vault(NULL), want);
    setenv("XDG_STATE_HOME", "/state/", 1);
    path_is(path_of_vault(NULL), "/state/mcp-interposer");
    setenv("XDG_CONFIG_HOME", "/etc/xdg", 1);
    path_is(path_of_config_file(NULL), "/etc/xdg/mcp-interposer/config.ini");
    path_is(path_of_vault("given"), "given");
    snprintf(want, sizeof want, "%s/given", home);
    path_is(path_of_vault("~/given"), want);
    path_is(path_of_vault("~given"), "~given");
}

static void test_paths_without_home_read_the_user_database(void **state)
{
    (void)state;
    char want[512];
    const struct passwd *pw = getpwuid(getuid());
    assert_non_null(pw);
    snprintf(want, sizeof want, "%s/.local/state/mcp-interposer",
             strcmp(pw->pw_dir, "/") != 0 ? pw->pw_dir : "");
    unsetenv("HOME");
    path_is(path_of_vault(NULL), want);
    setenv("HOME", "not/absolute", 1);
    path_is(path_of_vault(NULL), want);
}

static void journal_dir_is(const struct command *c, const char *words, const char *want)
{
    struct settings s;
    char *path;
    assert_true(read_words(&s, c, words));
    assert_int_equal(settings_journal_dir(&s, &path), EXIT_FINE);
    if (want != NULL)
        path_is(path, want);
    else
        assert_null(path);
    settings_close(&s);
}

static void test_settings_journal_dir_comes_from_every_source(void **state)
{
    (void)state;
    char want[160];
    snprintf(want, sizeof want, "%s/in home", home);
    journal_dir_is(&alpha, "alpha server", NULL);
    config_is("journal-dir = ~/in home\n");
    journal_dir_is(&alpha, "alpha server", want);
    journal_dir_is(&beta, "beta", want);
    journal_dir_is(&proxy, "proxy server", NULL); /* a command without this option */
    setenv("MCP_INTERPOSER_JOURNAL_DIR", "/dev/shm/environment", 1);
    journal_dir_is(&alpha, "alpha server", "/dev/shm/environment");
    journal_dir_is(&alpha, "alpha --journal-dir /flag server", "/flag");
    journal_dir_is(&alpha, "alpha --journal-dir relative server", "relative");
    fails_with(&alpha, "alpha --journal-dir= server", "--journal-dir: invalid path ''");
    setenv("MCP_INTERPOSER_JOURNAL_DIR", "", 1);
    config_is("[beta]\njournal-dir =\n");
    file_fails(&beta, "beta", "config.ini:2: journal-dir: invalid path ''");
}

static const char *near(const char *word)
{
    static const char *const names[] = {"proxy", "sessions", "show", "help"};
    struct nearest n = nearest_begin_search(word);
    for (size_t i = 0; i < MI_COUNT(names); i++)
        nearest_add_candidate(&n, names[i]);
    return n.best != NULL ? n.best : "";
}

static void test_nearest_word_is_found_only_for_a_misspelling(void **state)
{
    (void)state;
    assert_string_equal(near("sesions"), "sessions");
    assert_string_equal(near("session"), "sessions");
    assert_string_equal(near("sess"), "sessions");
    assert_string_equal(near("shwo"), "show");
    assert_string_equal(near("shows"), "show");
    assert_string_equal(near("prxy"), "proxy");
    assert_string_equal(near("npx"), "");
    assert_string_equal(near("x"), "");
    assert_string_equal(near(""), "");
    assert_string_equal(near("an-unknown-word-that-is-longer-than-any"), "");
}

int main(void)
{
    char dir[128];
    if (mkdtemp(home) == NULL)
        return 1;
    snprintf(dir, sizeof dir, "%s/.config", home);
    mkdir(dir, 0700);
    snprintf(dir, sizeof dir, "%s/.config/mcp-interposer", home);
    mkdir(dir, 0700);
    snprintf(config_path, sizeof config_path, "%s/config.ini", dir);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_settings_without_input_are_the_defaults, set_up),
        cmocka_unit_test_setup(test_settings_precedence_is_flag_environment_file_default, set_up),
        cmocka_unit_test_setup(test_settings_key_in_a_section_overrides_a_global_one, set_up),
        cmocka_unit_test_setup(test_settings_file_forms_are_read, set_up),
        cmocka_unit_test_setup(test_settings_error_in_the_file_has_file_and_line, set_up),
        cmocka_unit_test_setup(test_settings_redact_rules_of_a_valid_file_are_in_force, set_up),
        cmocka_unit_test_setup(test_settings_unreadable_file_is_rejected, set_up),
        cmocka_unit_test_setup(test_settings_file_at_its_limit_is_read, set_up),
        cmocka_unit_test_setup(test_settings_long_line_is_read, set_up),
        cmocka_unit_test_setup(test_settings_values_keep_separators_and_semicolons_without_a_blank,
                               set_up),
        cmocka_unit_test_setup(test_settings_timeout_rules_become_values_of_the_option, set_up),
        cmocka_unit_test_setup(test_settings_retention_rules_are_kept_for_every_command, set_up),
        cmocka_unit_test_setup(test_settings_named_file_is_read_instead_of_the_default, set_up),
        cmocka_unit_test_setup(test_settings_invalid_flag_or_variable_is_named, set_up),
        cmocka_unit_test_setup(test_settings_server_command_stays_untouched, set_up),
        cmocka_unit_test_setup(test_settings_operands_may_be_mixed_with_options_up_to_a_limit,
                               set_up),
        cmocka_unit_test_setup(test_settings_help_flag_is_reported_before_errors_in_the_file,
                               set_up),
        cmocka_unit_test_setup(test_settings_dashes_are_located_among_the_operands, set_up),
        cmocka_unit_test_setup(test_settings_help_in_the_environment_is_ignored, set_up),
        cmocka_unit_test_setup(test_paths_follow_the_base_directory_specification, set_up),
        cmocka_unit_test_setup(test_paths_without_home_read_the_user_database, set_up),
        cmocka_unit_test_setup(test_settings_journal_dir_comes_from_every_source, set_up),
        cmocka_unit_test_setup(test_nearest_word_is_found_only_for_a_misspelling, set_up),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_close(&error);
    unlink(config_path);
    rmdir(dir);
    *strrchr(dir, '/') = '\0';
    rmdir(dir);
    rmdir(home);
    return failed;
}
