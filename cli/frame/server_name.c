#include "cli/frame/server_name.h"

#include "base/text.h"

/* Programs that run another program. RUNNERS run another program with `run`, `exec` or `dlx`; some
 * programs are in both lists. */
#define LAUNCHERS " npx bunx uvx node bun deno ruby perl php dotnet java env sh bash "
#define RUNNERS " npm pnpm yarn pipx uv docker podman bun deno dotnet "
/* Options of LAUNCHERS and RUNNERS whose value is the next word. */
#define WITH_VALUE                                                                                 \
    " -e --env -v --volume --mount -p --package --name --network -w -u --from --with --cwd "
#define ENDINGS " .py .js .mjs .cjs .ts .jar .rb .sh .php "
/* Names that many projects use. If a path ends with such a name, the name of the parent directory
 * is used. */
#define COMMON " index main __main__ dist build src lib bin out . opt usr local home root tmp "
#define COMMON_FILES " server app run mcp mcp_server mcp-server "

static bool word_list_contains(const char *words, struct slice word)
{
    struct buf b = {0};
    buf_printf(&b, " %.*s ", (int)word.n, word.p);
    bool found = word.n > 0 && strstr(words, buf_str(&b)) != NULL;
    buf_close(&b);
    return found;
}

/* Returns the last part of a path; with `climb`, the last part that is not a common name, if there
 * is one. From name@1.2, name:tag and name.py it returns `name`; a leading @ is the beginning of
 * an npm scope. */
static struct slice last_path_part(struct slice path, bool climb)
{
    struct slice last = {0};
    for (size_t at; path.n > 0; path.n = at > 0 ? at - 1 : 0) {
        for (at = path.n; at > 0 && path.p[at - 1] != '/';)
            at--;
        struct slice part = {path.p + at, path.n - at};
        size_t whole_n = part.n;
        for (size_t i = 1; i < part.n; i++)
            if (strchr("@: ", part.p[i]) != NULL)
                part.n = i;
        for (size_t i = 1; i < part.n; i++)
            if (word_list_contains(ENDINGS, (struct slice){part.p + i, part.n - i}))
                part.n = i;
        if (last.n == 0)
            last = part;
        bool common = word_list_contains(COMMON, part) ||
                      (part.n < whole_n && word_list_contains(COMMON_FILES, part));
        if (part.n > 0 && !(climb && common))
            return part;
    }
    return last;
}

/* Returns the word that names the program that a launcher runs. NULL: argv[0] is the server itself,
 * or the launcher runs code (`python3 -c 'import …'`). */
static const char *find_launched_program(char *const *argv)
{
    const char *slash = strrchr(argv[0], '/');
    struct slice program = slice_of(slash != NULL ? slash + 1 : argv[0]);
    bool python = slice_begins(program, "python") &&
                  strspn(program.p + 6, "0123456789.") == program.n - 6; /* python3.11 */
    bool runs = word_list_contains(RUNNERS, program) && argv[1] != NULL &&
                word_list_contains(" run exec dlx ", slice_of(argv[1]));
    if (!python && !runs && !word_list_contains(LAUNCHERS, program))
        return NULL;
    const char *code = python ? " -c "
                       : word_list_contains(" node bun deno perl ruby php ", program)
                           ? " -e -E -r --eval "
                           : "";
    for (size_t at = runs ? 2 : 1; argv[at] != NULL; at++) {
        struct slice word = slice_of(argv[at]);
        if (word.p[0] != '-' || word_list_contains(code, word))
            return word.p[0] != '-' ? word.p : NULL;
        if (word_list_contains(WITH_VALUE, word) && argv[at + 1] != NULL)
            at++;
    }
    return NULL;
}

void server_name_choose(const char *given, char *const *argv, char *ret)
{
    struct slice name;
    const char *word = find_launched_program(argv);
    if (given != NULL && given[0] != '\0') {
        name = slice_of(given);
    } else if (word != NULL) {
        /* if the word is code, as in `sh -c 'server --flag x/y'`, only its first word is used */
        word += strspn(word, " \t\n");
        name = last_path_part((struct slice){word, strcspn(word, " \t\n")}, true);
    } else {
        name = last_path_part(slice_of(argv[0]), false);
    }
    struct buf b = {0};
    text_append_visible(&b, name);
    name = text_prefix(buf_slice(&b), SERVER_NAME_MAX - 1);
    if (b.failed || name.n == 0)
        name = slice_of("server");
    for (size_t i = 0; i < name.n; i++)
        ret[i] = name.p[i] == '/' ? '_' : name.p[i];
    ret[name.n] = '\0';
    buf_close(&b);
}
