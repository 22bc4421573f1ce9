/* init.c - `ship init`: makes or upgrades the schema of a central store. */
#include "ship/commands.h"

#include "base/log.h"
#include "cli/frame/input.h"
#include "cli/run.h"
#include "ship/postgres/address.h"
#include "ship/postgres/connection.h"
#include "ship/postgres/schema.h"
#include "ship/shards/router.h"

/* Runs the SQL of the schema, and adds the device, if any. */
static int init_run_sql(const char *url, const char *device, struct buf *sql)
{
    struct link *l = NULL;
    int st = sql->failed ? MI_ENOMEM : link_allocate(&l, url, NULL);
    if (st == 0) {
        link_set_denied_hint(l,
                             "; use the URL of a role that may create roles, and schemas in this "
                             "database");
        st = link_connect(l);
    }
    if (st == 0)
        st = link_run_sql(l, buf_str(sql));
    if (st == 0 && device != NULL) {
        link_begin_call(l);
        link_add_text_argument(l, device);
        st = link_call_function(l, "add_device");
    }
    if (st < 0)
        log_error("%s", st == MI_ENOMEM ? "out of memory" : link_error_text(l));
    else if (device != NULL)
        log_note(
            "the schema is ready, and a device can use the role %s; set its password with psql: "
            "\\password \"%s\"",
            device, device);
    else
        log_note(
            "the schema is ready; add devices with: mcp-interposer ship init URL --device NAME");
    if (st == 0) {
        st = link_run_sql(l, SCHEMA_FILL);
        if (st < 0)
            log_error("not all calls of older sessions have been added to the table of calls; run "
                      "this command again: %s",
                      st == MI_ENOMEM ? "out of memory" : link_error_text(l));
    }
    link_free(l);
    return st < 0 ? EXIT_TROUBLE : EXIT_FINE;
}

/* ---- several databases ---- */

static int print_router(const struct router_plan *plan)
{
    struct buf sql = {0}, error = {0};
    int st = router_print(plan, &sql, &error);
    int status = st < 0 ? command_fail(st, &error) : run_print_to_stdout(&sql);
    buf_close(&sql);
    buf_close(&error);
    return status;
}

static int make_router(const struct router_plan *plan)
{
    struct buf error = {0};
    int st = router_make_central_store(plan, &error), status = EXIT_FINE;
    if (st < 0)
        status = command_fail(st, &error);
    else if (plan->device != NULL)
        log_note("the router and %zu shards are ready, and the role %s is a device; set its "
                 "password with psql on the router: \\password \"%s\"",
                 plan->shards->n, plan->device, plan->device);
    else
        log_note("the router and %zu shards are ready", plan->shards->n);
    buf_close(&error);
    return status;
}

static int init_shard_databases(const char *file, const char *url, const char *device,
                                bool only_print)
{
    struct buf text = {0}, error = {0};
    struct shard_list list;
    int status = input_read_path(file, SHARD_LIST_BYTES, &text);
    if (status != EXIT_FINE) {
        buf_close(&text);
        return status;
    }
    int st = shard_list_read(&list, buf_slice(&text), &error);
    buf_close(&text);
    if (st == 0) {
        struct router_plan plan = {&list, file, url, device};
        status = only_print ? print_router(&plan) : make_router(&plan);
        shard_list_close(&list);
    } else {
        log_error("%s: %s", file, st == MI_ENOMEM ? "out of memory" : buf_str(&error));
        status = st == MI_ENOMEM ? EXIT_TROUBLE : EXIT_USAGE;
    }
    buf_close(&error);
    return status;
}

/* ---- the command ---- */

static int init_one_database(const char *url, const char *device, bool only_print)
{
    struct buf sql = {0};
    buf_adds(&sql, "BEGIN;\n");
    schema_write_sql(&sql);
    buf_adds(&sql, "COMMIT;\n");
    if (only_print)
        buf_adds(&sql, SCHEMA_FILL ";\n");
    int status = only_print ? run_print_to_stdout(&sql) : init_run_sql(url, device, &sql);
    buf_close(&sql);
    return status;
}

int run_init(const struct settings *s)
{
    const char *device = settings_get_text(s, "device"), *shards = settings_get_text(s, "shards");
    const char *url = s->operands_n > 0 ? s->operands[0] : NULL;
    bool only_print = settings_is_on(s, "print");
    struct buf error = {0};
    int status = EXIT_FINE;
    if (url == NULL && !only_print)
        status = settings_fail_usage(s, "missing the URL of the database");
    else if (device != NULL && (device[0] == '\0' || strlen(device) > 63))
        status = settings_fail_usage(s, "--device: use a name of 1 to 63 bytes");
    else if (device != NULL && only_print)
        status = settings_fail_usage(s, "--device: not with --print; run SELECT "
                                        "mcp_interposer.add_device('NAME')");
    else if (url != NULL && !only_print && address_check_url(url, &error) < 0)
        status = settings_fail_usage(s, "%s", buf_str(&error));
    else if (shards != NULL)
        status = init_shard_databases(shards, url, device, only_print);
    else
        status = init_one_database(url, device, only_print);
    buf_close(&error);
    return status;
}
