#include "cli/audit/anchored.h"

#include "base/log.h"
#include "cli/audit/anchor.h"
#include "cli/frame/input.h"
#include "evidence/note.h"

#include <errno.h>

struct reading {
    struct audit *a;
    const char *path;
    bool anchor;         /* the file is an anchor: notes of other vaults in it are ignored */
    struct slice origin; /* origin of this vault */
    int notes, own;
};

static int add_note(struct reading *r, struct slice text)
{
    struct note n;
    struct checkpoint c;
    r->notes++;
    if (note_read(text, &n) < 0 || checkpoint_read(n.text, &c) < 0)
        return MI_EINVAL;
    if (r->anchor && !slice_eq(c.origin, r->origin))
        return 0;
    r->own++;
    return audit_add_note(r->a, text);
}

static int anchored_add_notes(struct reading *r, struct slice text)
{
    struct slice note;
    int st = 0;
    while (st == 0 && note_next(&text, &note))
        st = add_note(r, note);
    if (st == MI_ENOMEM) {
        log_error("out of memory");
        return EXIT_TROUBLE;
    }
    /* the last note is incomplete, because of a power failure */
    bool torn = text.n > 0 && r->notes > 0;
    bool none = r->notes == 0 && (text.n > 0 || !r->anchor);
    if (st < 0)
        log_error("%s: note %d is not a signed checkpoint", r->path, r->notes);
    else if (none)
        log_error("%s: not a signed checkpoint, as `audit checkpoint` prints it", r->path);
    else if (torn)
        log_warn(
            "%s ends with an incomplete note, which is ignored: remove everything after note %d",
            r->path, r->notes);
    if (st == 0 && !none && r->own == 0)
        log_warn("anchor %s: no checkpoint of this vault has been copied there", r->path);
    return st < 0 || none ? EXIT_USAGE : EXIT_FINE;
}

static int add_file(struct reading *r)
{
    struct buf text = {0};
    int status = EXIT_FINE, e = input_read_file(r->path, ANCHOR_FILE_MAX, &text);
    if (e == ENOENT && r->anchor) {
        log_warn("anchor %s: no checkpoint has been copied there", r->path);
    } else if (e != 0) {
        log_error("cannot read %s: %s", r->path, strerror(e));
        status = EXIT_TROUBLE;
    } else {
        status = anchored_add_notes(r, buf_slice(&text));
    }
    buf_close(&text);
    return status;
}

static int add_anchor(struct reading *r, const char *where)
{
    struct buf path = {0};
    if (strcmp(where, "syslog") == 0) /* syslog cannot be read back */
        return EXIT_FINE;
    if (strncmp(where, "git:", 4) == 0) {
        buf_printf(&path, "%s/", where + 4);
        anchor_git_name(&path, r->origin);
    } else {
        buf_adds(&path, where);
    }
    r->path = buf_str(&path);
    int status = path.failed ? EXIT_TROUBLE : add_file(r);
    if (path.failed)
        log_error("out of memory");
    buf_close(&path);
    return status;
}

int anchored_add(const struct settings *s, struct audit *a)
{
    int status = EXIT_FINE;
    size_t at = 0;
    for (const char *x;
         status == EXIT_FINE && (x = settings_next_value(s, "against", &at)) != NULL;)
        status = add_file(&(struct reading){.a = a, .path = x});
    at = 0;
    for (const char *x; status == EXIT_FINE && (x = settings_next_value(s, "anchor", &at)) != NULL;)
        if (audit_origin(a).n > 0)
            status =
                add_anchor(&(struct reading){.a = a, .anchor = true, .origin = audit_origin(a)}, x);
        else
            log_warn("anchor %s: not compared, because the vault has no log", x);
    return status;
}
