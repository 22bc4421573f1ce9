#include "cli/send/print.h"

#include "base/base64.h"
#include "base/log.h"
#include "base/text.h"
#include "base/write_all.h"
#include "cli/frame/pretty.h"
#include "wire/json/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILES_MAX 100000 /* maximum number of file names that are tried */

bool answer_is_failure(const struct rpc *answer)
{
    return answer->kind == RPC_ERROR || answer->is_error.type == JSON_TRUE;
}

/* ---- text and JSON ---- */

/* Prints a text with its lines and tabs; other control characters are made visible. */
static void print_visible_text(struct out *o, struct json_value text)
{
    struct buf b = {0};
    json_unescape(&b, json_string_raw(text));
    struct slice rest = buf_slice(&b);
    while (rest.n > 0) {
        size_t n = 0;
        while (n < rest.n && rest.p[n] != '\n' && rest.p[n] != '\t')
            n++;
        bool returns = n < rest.n && rest.p[n] == '\n' && n > 0 && rest.p[n - 1] == '\r';
        out_add_text(o, (struct slice){rest.p, n - returns});
        if (n < rest.n && rest.p[n] == '\t')
            out_add_raw(o, "\t");
        else
            out_end_line(o);
        n += n < rest.n;
        rest = (struct slice){rest.p + n, rest.n - n};
        if (rest.n == 0 && rest.p[-1] == '\t')
            out_end_line(o);
    }
    buf_close(&b);
}

static void print_visible_json(struct out *o, struct json_value v)
{
    struct buf b = {0};
    text_append_visible_json(&b, v.text);
    pretty_print(o, buf_slice(&b), 0);
    buf_close(&b);
}

static void print_unescaped_string(struct out *o, struct json_value string)
{
    struct buf b = {0};
    json_unescape(&b, json_string_raw(string));
    out_add_text(o, buf_slice(&b));
    buf_close(&b);
}

/* Prints "WHAT: STRING", dimmed; nothing if the string is missing. */
static void print_label(struct out *o, const char *what, struct json_value string)
{
    if (string.type != JSON_STRING)
        return;
    out_style(o, OUT_DIM);
    out_printf(o, "%s: ", what);
    print_unescaped_string(o, string);
    out_style(o, OUT_PLAIN);
    out_end_line(o);
}

/* ---- files ---- */

static const char *file_extension_of_mime(struct json_value mime)
{
    static const char *const known[][2] = {
        {"image/png", "png"},       {"image/jpeg", "jpg"},      {"image/gif", "gif"},
        {"image/webp", "webp"},     {"image/svg+xml", "svg"},   {"audio/wav", "wav"},
        {"audio/x-wav", "wav"},     {"audio/mpeg", "mp3"},      {"audio/ogg", "ogg"},
        {"audio/mp4", "m4a"},       {"application/pdf", "pdf"}, {"application/json", "json"},
        {"application/zip", "zip"}, {"application/gzip", "gz"}, {"text/plain", "txt"},
        {"text/html", "html"},      {"text/csv", "csv"},        {"video/mp4", "mp4"},
    };
    for (size_t i = 0; i < MI_COUNT(known); i++)
        if (json_key_is(json_string_raw(mime), known[i][0]))
            return known[i][1];
    return "bin";
}

static const char *get_or_make_output_directory(struct print_files *f)
{
    const char *tmp = getenv("TMPDIR");
    if (f->dir != NULL)
        return f->dir;
    if (f->made == NULL && !f->failed) {
        if (asprintf(&f->made, "%s/mcp-interposer-XXXXXX",
                     tmp != NULL && tmp[0] == '/' ? tmp : "/tmp") < 0)
            f->made = NULL;
        else if (mkdtemp(f->made) == NULL) {
            free(f->made);
            f->made = NULL;
        }
    }
    return f->made;
}

/* Creates a file KIND-N.EXT with the first free N. Returns its descriptor and allocates *ret_path;
 * returns -1 with errno on an error. */
static int create_numbered_file(struct print_files *f, const char *kind, const char *ext,
                                char **ret_path)
{
    const char *dir = get_or_make_output_directory(f);
    int fd = -1;
    *ret_path = NULL;
    bool again = f->number > 0 && strcmp(f->kind, kind) == 0 && strcmp(f->ext, ext) == 0;
    for (int n = again ? f->number + 1 : 1; dir != NULL && fd < 0 && n < FILES_MAX; n++) {
        char *path;
        if (asprintf(&path, "%s/%s-%d.%s", dir, kind, n, ext) < 0)
            return -1;
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0) {
            *ret_path = path;
            f->kind = kind, f->ext = ext, f->number = n;
        } else {
            free(path);
        }
        if (fd < 0 && errno != EEXIST)
            return -1;
    }
    return fd;
}

static bool write_result_file(struct print_files *f, const char *kind, struct json_value mime,
                              const struct buf *bytes, char **ret_path)
{
    int fd = create_numbered_file(f, kind, file_extension_of_mime(mime), ret_path);
    if (fd >= 0 && write_and_close(fd, buf_slice(bytes), false) == 0) {
        f->n++;
        return true;
    }
    if (!f->failed)
        log_error("cannot write a file of the result to %s: %s; choose a directory with --output",
                  f->dir != NULL ? f->dir : "$TMPDIR", strerror(errno));
    f->failed = true;
    free(*ret_path);
    *ret_path = NULL;
    return false;
}

/* Writes the data to a file and prints "image/png, 1234 bytes: PATH". */
static void print_blob(struct out *o, struct print_files *f, const char *kind,
                       struct json_value mime, struct json_value data)
{
    struct buf bytes = {0};
    char *path = NULL;
    int st = base64_decode(&bytes, json_string_raw(data));
    if (mime.type == JSON_STRING)
        print_unescaped_string(o, mime);
    else
        out_add_raw(o, kind);
    if (data.type != JSON_STRING || st < 0) {
        out_add_raw(o, st == MI_ENOMEM ? ": too large" : ": the data is not base64");
    } else {
        out_printf(o, ", %zu bytes: ", bytes.n);
        if (f->n == PRINT_FILES_MAX)
            out_printf(o, "not written, because at most %d files are written", PRINT_FILES_MAX);
        else if (write_result_file(f, kind, mime, &bytes, &path))
            out_add_text(o, slice_of(path));
        else
            out_add_raw(o, "not written");
    }
    out_end_line(o);
    free(path);
    buf_close(&bytes);
}

/* ---- content ---- */

static void print_resource(struct out *o, struct print_files *f, struct json_value resource)
{
    struct json_value text = json_get(resource, "text"), blob = json_get(resource, "blob");
    print_label(o, "resource", json_get(resource, "uri"));
    if (text.type == JSON_STRING)
        print_visible_text(o, text);
    else if (blob.type == JSON_STRING)
        print_blob(o, f, "blob", json_get(resource, "mimeType"), blob);
    else
        print_visible_json(o, resource);
}

static void print_content(struct out *o, struct print_files *f, struct json_value item)
{
    struct slice type = json_string_raw(json_get(item, "type"));
    struct json_value text = json_get(item, "text"), data = json_get(item, "data");
    struct json_value resource = json_get(item, "resource");
    if (json_key_is(type, "text") && text.type == JSON_STRING)
        print_visible_text(o, text);
    else if (json_key_is(type, "image") && data.type == JSON_STRING)
        print_blob(o, f, "image", json_get(item, "mimeType"), data);
    else if (json_key_is(type, "audio") && data.type == JSON_STRING)
        print_blob(o, f, "audio", json_get(item, "mimeType"), data);
    else if (json_key_is(type, "resource") && resource.type == JSON_OBJECT)
        print_resource(o, f, resource);
    else if (item.type != JSON_NONE)
        print_visible_json(o, item);
}

/* Whether the text repeats the structured content as JSON, which the protocol recommends for old
 * clients. */
static bool text_repeats_structured_content(struct json_value item, struct json_value structured)
{
    struct json_scan scan;
    struct buf b = {0};
    bool same = false;
    json_unescape(&b, json_string_raw(json_get(item, "text")));
    if (structured.type != JSON_NONE && b.n > 0 && json_scan(buf_slice(&b), NULL, NULL, &scan) == 0)
        same = json_equal((struct json_value){scan.type, scan.root}, structured);
    buf_close(&b);
    return same;
}

static void print_error(struct out *o, const struct rpc *m)
{
    struct json_value data = json_get(m->error, "data");
    out_style(o, OUT_RED);
    out_add_raw(o, "error ");
    out_add_text(o, m->error_code.text);
    out_add_raw(o, ": ");
    print_unescaped_string(o, m->error_message);
    out_style(o, OUT_PLAIN);
    out_end_line(o);
    if (data.type != JSON_NONE && data.type != JSON_NULL)
        print_visible_json(o, data);
}

void print_result(struct out *o, struct print_files *files, const struct rpc *m)
{
    struct json_value contents = json_get(m->result, "contents");
    struct json_value messages = json_get(m->result, "messages");
    struct json_value item;
    struct slice key;
    struct json_walk w;
    if (m->kind == RPC_ERROR) {
        print_error(o, m);
    } else if (m->content.type == JSON_ARRAY) { /* the answer is the result of a tool */
        for (w = json_walk_begin(m->content); json_walk_next(&w, &key, &item);)
            if (!text_repeats_structured_content(item, m->structured))
                print_content(o, files, item);
        if (m->structured.type != JSON_NONE)
            print_visible_json(o, m->structured);
    } else if (contents.type == JSON_ARRAY) { /* a resource */
        for (w = json_walk_begin(contents); json_walk_next(&w, &key, &item);)
            print_resource(o, files, item);
    } else if (messages.type == JSON_ARRAY) { /* a prompt */
        print_label(o, "description", json_get(m->result, "description"));
        for (w = json_walk_begin(messages); json_walk_next(&w, &key, &item);) {
            print_label(o, "role", json_get(item, "role"));
            print_content(o, files, json_get(item, "content"));
        }
    } else {
        print_visible_json(o, m->result);
    }
}

void print_files_close(struct print_files *files)
{
    free(files->made);
    *files = (struct print_files){0};
}
