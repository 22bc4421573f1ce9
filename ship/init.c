/* init.c - `ship init`: makes or upgrades the schema of a central database. */
#include "ship/commands.h"

#include "base/log.h"
#include "ship/postgres/link.h"
#include "ship/postgres/schema.h"

#include <stdio.h>

static bool never(void)
{
    return false;
}

/* One transaction, for psql as well. */
static void write_sql(struct buf *b)
{
    buf_adds(b, "BEGIN;\n");
    buf_add(b, schema_sql, schema_sql_n);
    buf_add(b, functions_sql, functions_sql_n);
    buf_add(b, views_sql, views_sql_n);
    buf_add(b, reading_sql, reading_sql_n);
    buf_adds(b, "COMMIT;\n");
}

static int print_sql(struct buf *sql)
{
    bool ok = !sql->failed && fwrite(sql->p, 1, sql->n, stdout) == sql->n && fflush(stdout) == 0;
    if (!ok)
        log_error("cannot write the SQL to stdout");
    return ok ? EXIT_FINE : EXIT_TROUBLE;
}

static int make(const char *url, const char *device, struct buf *sql)
{
    struct link *l = NULL;
    int st = sql->failed ? MI_ENOMEM : link_new(&l, url, never);
    if (st == 0)
        st = link_connect(l);
    if (st == 0)
        st = link_run(l, buf_str(sql));
    if (st == 0 && device != NULL) {
        link_begin(l);
        link_arg_text(l, device);
        st = link_call(l, "add_device");
    }
    if (st < 0)
        log_error("%s", st == MI_ENOMEM ? "out of memory" : link_error(l));
    else if (device != NULL)
        log_note("the schema is ready, and the role %s is a device; set its password with psql: "
                 "\\password %s",
                 device, device);
    else
        log_note(
            "the schema is ready; add devices with: mcp-interposer ship init URL --device NAME");
    link_free(l);
    return st < 0 ? EXIT_TROUBLE : EXIT_FINE;
}

int run_init(const struct settings *s)
{
    struct buf sql = {0}, error = {0};
    const char *device = settings_text(s, "device");
    int status;
    write_sql(&sql);
    if (settings_on(s, "print"))
        status = print_sql(&sql);
    else if (s->operands_n == 0)
        status = settings_usage(s, "missing the URL of the database");
    else if (device != NULL && (device[0] == '\0' || strlen(device) > 63))
        status = settings_usage(s, "--device: use a name of 1 to 63 bytes");
    else if (link_check_url(s->operands[0], &error) < 0)
        status = settings_usage(s, "%s", buf_str(&error));
    else
        status = make(s->operands[0], device, &sql);
    buf_close(&sql);
    buf_close(&error);
    return status;
}
