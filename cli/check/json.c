#include "cli/check/json.h"

#include "base/json_out.h"

static void add_optional(struct json_out *j, const char *name, struct slice text)
{
    if (text.n > 0)
        json_out_text(j, name, text);
}

static void add_finding(const struct check_report *r, const struct check_finding *f,
                        struct json_out *j)
{
    json_out_object(j, NULL);
    json_out_int(j, "seq", f->seq);
    json_out_str(j, "from", check_sender(f));
    json_out_str(j, "finding", f->name);
    json_out_str(j, "severity", severity_name(f->severity));
    json_out_str(j, "meaning", f->meaning);
    add_optional(j, "method", check_slice(r, f->method));
    add_optional(j, "target", check_slice(r, f->target));
    add_optional(j, "why", check_slice(r, f->detail));
    json_out_bool(j, "fails", f->fails);
    json_out_end(j);
}

static void add_recording(const struct check_report *r, const struct check_recording *x,
                          struct json_out *j)
{
    json_out_object(j, NULL);
    json_out_text(j, x->session_id == 0 ? "file" : "session", check_slice(r, x->name));
    if (x->session_id != 0)
        json_out_int(j, "session_id", x->session_id);
    json_out_text(j, "server", check_slice(r, x->server));
    json_out_int(j, "messages", x->messages);
    json_out_uint(j, "errors", x->count[SEVERITY_ERROR]);
    json_out_uint(j, "warnings", x->count[SEVERITY_WARNING]);
    json_out_uint(j, "notes", x->count[SEVERITY_NOTE]);
    json_out_uint(j, "failing", x->failing);
    json_out_uint(j, "not_listed", x->not_listed);
    json_out_array(j, "findings");
    for (size_t i = 0; i < x->n; i++) {
        json_out_space(j, "\n ");
        add_finding(r, &x->findings[i], j);
    }
    json_out_end(j);
    json_out_end(j);
}

void check_json(const struct check_report *r, struct buf *b)
{
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    json_out_array(&j, "recordings");
    for (size_t i = 0; i < r->n; i++) {
        json_out_space(&j, "\n");
        add_recording(r, &r->recordings[i], &j);
    }
    json_out_end(&j);
    json_out_space(&j, "\n");
    json_out_uint(&j, "failing", r->failing);
    json_out_end(&j);
    json_out_line(&j);
}
