#include "cli/server_name.h"

#include "base/text.h"

/* Programs that run another one, and the word between, if there is one. */
static const struct {
    const char *program, *word;
} launchers[] = {
    {"npx", NULL},     {"bunx", NULL},    {"uvx", NULL},    {"pipx", "run"}, {"npm", "exec"},
    {"pnpm", "dlx"},   {"yarn", "dlx"},   {"bun", "run"},   {"uv", "run"},   {"deno", "run"},
    {"docker", "run"}, {"podman", "run"}, {"node", NULL},   {"bun", NULL},   {"deno", NULL},
    {"python", NULL},  {"python3", NULL}, {"ruby", NULL},   {"perl", NULL},  {"php", NULL},
    {"dotnet", "run"}, {"dotnet", NULL},  {"java", "-jar"}, {"env", NULL},   {"sh", NULL},
    {"bash", NULL},
};

/* Options of launchers whose value is the next word. */
static const char *const with_value[] = {"-e", "--env",     "-v",     "--volume",  "--mount",
                                         "-p", "--package", "--name", "--network", "-w",
                                         "-u", "--from",    "--with", "--cwd"};

static bool is_one_of(struct slice name, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (slice_is(name, words[i]))
            return true;
    return false;
}

static struct slice base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slice_of(slash != NULL && slash[1] != '\0' ? slash + 1 : path);
}

static bool takes_value(const char *option)
{
    for (size_t i = 0; i < MI_COUNT(with_value); i++)
        if (strcmp(option, with_value[i]) == 0)
            return true;
    return false;
}

/* python3.11 is python3 */
static struct slice without_minor(struct slice program)
{
    static const char python[] = "python3.";
    if (slice_begins(program, python))
        program.n = sizeof python - 2;
    return program;
}

/* `python3 -c 'import …'`: the next word is a program, not the name of one. */
static bool is_code(struct slice program, const char *option)
{
    static const char *const options[] = {"-e", "-E", "-r", "--eval"};
    static const char *const programs[] = {"node", "bun", "deno", "perl", "ruby", "php"};
    if (strcmp(option, "-c") == 0)
        return slice_is(program, "python") || slice_is(program, "python3");
    for (size_t i = 0; i < MI_COUNT(programs); i++)
        if (slice_is(program, programs[i]))
            return is_one_of(slice_of(option), options, MI_COUNT(options));
    return false;
}

/* The first word behind a launcher that names what it runs; NULL: argv[0] is no launcher. */
static const char *launched(char *const *argv)
{
    struct slice program = without_minor(base_name(argv[0]));
    for (size_t i = 0; i < MI_COUNT(launchers); i++) {
        if (!slice_is(program, launchers[i].program))
            continue;
        size_t at = 1;
        if (launchers[i].word != NULL) {
            if (argv[1] == NULL || strcmp(argv[1], launchers[i].word) != 0)
                continue;
            at = 2;
        }
        for (; argv[at] != NULL; at++) {
            if (is_code(program, argv[at]))
                return NULL;
            if (strcmp(argv[at], "-m") == 0 || strcmp(argv[at], "-c") == 0)
                continue; /* python -m module; sh -c 'command …' */
            if (argv[at][0] != '-')
                return argv[at];
            if (takes_value(argv[at]) && argv[at + 1] != NULL)
                at++;
        }
    }
    return NULL;
}

/* name@1.2, name:tag, name.py: the name. A scope's own @ stands first. */
static struct slice without_version(struct slice s)
{
    static const char *const endings[] = {".py",  ".js", ".mjs", ".cjs", ".ts",
                                          ".jar", ".rb", ".sh",  ".php"};
    for (size_t i = 1; i < s.n; i++)
        if (s.p[i] == '@' || s.p[i] == ':' || s.p[i] == ' ')
            s.n = i;
    for (size_t i = 0; i < MI_COUNT(endings); i++) {
        size_t n = strlen(endings[i]);
        if (s.n > n && memcmp(s.p + s.n - n, endings[i], n) == 0)
            s.n -= n;
    }
    return s;
}

/* Names that every project has: what tells servers apart is the folder they lie in. */
static bool tells_nothing(struct slice name, bool is_file)
{
    static const char *const common[] = {"index", "main", "__main__", "dist", "build", "src",
                                         "lib",   "bin",  "out",      ".",    "opt",   "usr",
                                         "local", "home", "root",     "tmp"};
    static const char *const files[] = {"server", "app", "run", "mcp", "mcp_server", "mcp-server"};
    return is_one_of(name, common, MI_COUNT(common)) ||
           (is_file && is_one_of(name, files, MI_COUNT(files)));
}

/* The last part of a path that says something, else simply the last. */
static struct slice telling_part(struct slice path)
{
    struct slice last = {0};
    while (path.n > 0) {
        size_t at = path.n;
        while (at > 0 && path.p[at - 1] != '/')
            at--;
        struct slice whole = {path.p + at, path.n - at};
        struct slice part = without_version(whole);
        if (part.n > 0 && last.p == NULL)
            last = part;
        if (part.n > 0 && !tells_nothing(part, part.n < whole.n))
            return part;
        path.n = at > 0 ? at - 1 : 0;
    }
    return last;
}

/* What is shown and put into file names later: visible, short, no slash. */
static void clean(struct slice name, char *ret)
{
    struct buf b = {0};
    text_visible(&b, name);
    struct slice s = text_head(buf_slice(&b), SERVER_NAME_MAX - 1);
    if (b.failed || s.n == 0)
        s = slice_of("server");
    for (size_t i = 0; i < s.n; i++)
        ret[i] = s.p[i] == '/' ? '_' : s.p[i];
    ret[s.n] = '\0';
    buf_close(&b);
}

void server_name(const char *given, char *const *argv, char *ret)
{
    if (given != NULL && given[0] != '\0') {
        clean(slice_of(given), ret);
        return;
    }
    const char *word = launched(argv);
    if (word == NULL) {
        clean(without_version(base_name(argv[0])), ret);
        return;
    }
    /* of `sh -c 'server --flag x/y'` the command's own word only */
    word += strspn(word, " \t\n");
    clean(telling_part((struct slice){word, strcspn(word, " \t\n")}), ret);
}
