#include "ship/shards/router.h"

#include "ship/postgres/address.h"
#include "ship/postgres/connection.h"
#include "ship/postgres/schema.h"
#include "ship/shards/sql.h"

#include <stdlib.h>

/* SQL that selects the devices and readers of one database, as rows of a VALUES list for the other
 * databases. devices_sql has rows (device, role). readers_sql has rows (role, device), where a NULL
 * device stands for all devices. The last statement is for the router, whose table `readers` has
 * names of devices. */
#define ROWS(columns) "SELECT string_agg(format('(%L, %L)', " columns "), ', ') FROM "
#define MEMBERS                                                                                    \
    "UNION ALL SELECT m.rolname, NULL FROM pg_auth_members a JOIN pg_roles m ON m.oid = a.member " \
    "JOIN pg_roles g ON g.oid = a.roleid WHERE g.rolname = 'mcp_interposer_reader' "               \
    "AND m.rolcanlogin AND NOT m.rolsuper AND NOT m.rolcreaterole) AS r (role, device)"

static const char devices_sql[] = ROWS("name, role") "mcp_interposer.devices";
static const char readers_sql[] =
    ROWS("role, device") "(SELECT r.role, d.name FROM mcp_interposer.readers r "
                         "JOIN mcp_interposer.devices d ON d.id = r.device " MEMBERS;
static const char routed_readers_sql[] =
    ROWS("role, device") "(SELECT role, device FROM mcp_interposer.readers " MEMBERS;

struct router {
    const struct router_plan *plan;
    struct link *to;     /* owned; the connection to the router */
    struct link **shard; /* owned; for each line of the list, a connection; NULL: not opened yet */
    struct buf *address; /* owned; for each shard, the connection string that the router uses */
    struct buf devices;  /* owned; the devices found in all databases, as rows for VALUES */
    struct buf readers;  /* owned; the readers found in all databases, as rows for VALUES */
    struct buf script;   /* owned; SQL to run on the router */
    struct buf *error;
};

/* ---- errors ---- */

static int set_shard_error(struct router *r, size_t i, int st, const char *why)
{
    if (st == MI_ENOMEM)
        return st;
    buf_printf(r->error, "%s, line %zu, shard %zu: %s", r->plan->file,
               r->plan->shards->shard[i].line, i + 1, why);
    return st == MI_EINVAL ? st : MI_EIO;
}

static int set_router_error(struct router *r, int st)
{
    if (st == MI_ENOMEM)
        return st;
    buf_printf(r->error, "the router: %s", link_error_text(r->to));
    return MI_EIO;
}

/* Runs statements on a shard. */
static int run_sql_on_shard(struct router *r, size_t i, const char *sql)
{
    int st = link_run_sql(r->shard[i], sql);
    return st < 0 ? set_shard_error(r, i, st, link_error_text(r->shard[i])) : 0;
}

static int run_sql_script(struct link *l, struct buf *sql)
{
    return sql->failed ? MI_ENOMEM : link_run_sql(l, buf_str(sql));
}

/* ---- connections ---- */

static int router_open_shard(struct router *r, size_t i)
{
    const char *url = r->plan->shards->shard[i].url;
    struct buf why = {0};
    int st = address_check_url(url, &why);
    if (st == 0)
        st = address_write_connection_string(url, &r->address[i], &why);
    if (st < 0)
        st = set_shard_error(r, i, st, buf_str(&why));
    buf_close(&why);
    if (st == 0)
        st = link_allocate(&r->shard[i], url, NULL);
    if (st < 0)
        return st;
    st = link_connect(r->shard[i]);
    return st < 0 ? set_shard_error(r, i, st, link_error_text(r->shard[i])) : 0;
}

static int open_all_shards(struct router *r)
{
    size_t n = r->plan->shards->n;
    int st = 0;
    r->shard = calloc(n, sizeof *r->shard);
    r->address = calloc(n, sizeof *r->address);
    if (r->shard == NULL || r->address == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; st == 0 && i < n; i++)
        st = router_open_shard(r, i);
    return st;
}

static void close_all_shards(struct router *r)
{
    for (size_t i = 0; i < r->plan->shards->n; i++) {
        if (r->shard != NULL)
            link_free(r->shard[i]);
        if (r->address != NULL)
            buf_close(&r->address[i]);
    }
    free(r->shard);
    free(r->address);
    link_free(r->to);
    buf_close(&r->devices);
    buf_close(&r->readers);
    buf_close(&r->script);
}

/* ---- devices and readers ---- */

/* Appends the text of the last result, which is a list of rows for VALUES. Appends nothing if the
 * list is empty. */
static void router_add_rows(struct buf *b, const struct link *l)
{
    const char *rows = link_count_rows(l) > 0 ? link_get_text(l, 0, 0) : "";
    if (rows[0] != '\0' && b->n > 0)
        buf_adds(b, ", ");
    buf_adds(b, rows);
}

static int read_roles(struct router *r)
{
    int st = 0;
    for (size_t i = 0; st == 0 && i < r->plan->shards->n; i++) {
        st = run_sql_on_shard(r, i, devices_sql);
        if (st < 0)
            break;
        router_add_rows(&r->devices, r->shard[i]);
        st = run_sql_on_shard(r, i, readers_sql);
        if (st == 0)
            router_add_rows(&r->readers, r->shard[i]);
    }
    return st;
}

static int read_routed_roles(struct router *r)
{
    int st = link_run_sql(r->to, devices_sql);
    if (st < 0)
        return set_router_error(r, st);
    router_add_rows(&r->devices, r->to);
    st = link_run_sql(r->to, routed_readers_sql);
    if (st < 0)
        return set_router_error(r, st);
    router_add_rows(&r->readers, r->to);
    return 0;
}

/* Writes SQL for one database: it adds the devices in r->devices and the readers in r->readers. */
static void write_sql_to_add_roles(struct router *r, struct buf *b)
{
    if (r->devices.n > 0) {
        buf_adds(b, "SELECT count(mcp_interposer.add_device(v.name, v.role::name)) FROM (VALUES ");
        buf_slice_add(b, buf_slice(&r->devices));
        buf_adds(b, ") AS v (name, role) WHERE NOT EXISTS (SELECT FROM mcp_interposer.devices d "
                    "WHERE d.name = v.name AND d.role = v.role::name);\n");
    }
    if (r->readers.n > 0) {
        buf_adds(b,
                 "SELECT count(mcp_interposer.share_reader(v.role::name, v.devices)) FROM (SELECT "
                 "role, array_agg(DISTINCT device) AS devices FROM (VALUES ");
        buf_slice_add(b, buf_slice(&r->readers));
        buf_adds(b, ") AS x (role, device) GROUP BY role) AS v;\n");
    }
}

/* ---- the SQL of the router ---- */

static void write_sql_literal(struct buf *b, const struct buf *text)
{
    buf_adds(b, "E'");
    for (size_t i = 0; i < text->n; i++) {
        if (text->p[i] == '\'' || text->p[i] == '\\')
            buf_addc(b, '\\');
        buf_addc(b, text->p[i]);
    }
    buf_addc(b, '\'');
}

/* Writes SQL that tells the router which vaults shard i has, ten thousand in each call. */
static int write_sql_of_shard_vaults(struct router *r, size_t i)
{
    struct buf sql = {0};
    buf_printf(&sql,
               "SELECT format('SELECT mcp_interposer.learn_vaults(%zu, %%L);', array_agg(uid)) "
               "FROM (SELECT uid, row_number() OVER () / 10000 AS part FROM mcp_interposer.vaults "
               "WHERE leaves > 0) AS v GROUP BY part",
               i + 1);
    int st = sql.failed ? MI_ENOMEM : run_sql_on_shard(r, i, buf_str(&sql));
    buf_close(&sql);
    for (int k = 0; st == 0 && k < link_count_rows(r->shard[i]); k++) {
        buf_adds(&r->script, link_get_text(r->shard[i], k, 0));
        buf_addc(&r->script, '\n');
    }
    return st;
}

/* Writes the functions and the version of the first shard, which are the same on all shards. */
static int write_functions(struct router *r)
{
    int st = run_sql_on_shard(r, 0, catalogue_sql);
    if (st < 0)
        return st;
    buf_adds(&r->script, "SELECT mcp_interposer.drop_passed_on();\n");
    buf_adds(&r->script, link_get_text(r->shard[0], 0, 0));
    st = run_sql_on_shard(r, 0, "SELECT version, oldest_client FROM mcp_interposer.store");
    if (st < 0)
        return st;
    if (link_count_rows(r->shard[0]) != 1)
        return set_shard_error(r, 0, MI_EIO, "the schema of the shard has no version");
    buf_adds(&r->script, "SELECT mcp_interposer.use_shards(ARRAY[");
    for (size_t i = 0; i < r->plan->shards->n; i++) {
        buf_adds(&r->script, i > 0 ? ", " : "");
        write_sql_literal(&r->script, &r->address[i]);
    }
    buf_printf(&r->script, "], %s, %s);\n", link_get_text(r->shard[0], 0, 0),
               link_get_text(r->shard[0], 0, 1));
    return 0;
}

static void write_router_schema(struct buf *b)
{
    buf_add(b, begin_sql, begin_sql_n);
    buf_add(b, router_sql, router_sql_n);
    buf_add(b, share_sql, share_sql_n);
}

/* Writes SQL that gives the identity stored in the shards to a router without shards: such a router
 * replaces one that was lost. */
static int write_router_identity(struct router *r, struct buf *sql)
{
    int st = run_sql_on_shard(r, 0, "SELECT to_regclass('mcp_interposer.shard') IS NOT NULL");
    if (st < 0 || strcmp(link_get_text(r->shard[0], 0, 0), "t") != 0)
        return st;
    st = run_sql_on_shard(r, 0, "SELECT router FROM mcp_interposer.shard");
    if (st == 0 && link_count_rows(r->shard[0]) == 1)
        buf_printf(sql,
                   "UPDATE mcp_interposer.store SET router = '%s' "
                   "WHERE NOT EXISTS (SELECT FROM mcp_interposer.shards);\n",
                   link_get_text(r->shard[0], 0, 0));
    return st;
}

/* Writes the SQL of the router to r->script. with_schema: including the schema, which may not
 * exist. */
static int write_router_script(struct router *r, bool with_schema)
{
    int st = 0;
    buf_adds(&r->script, "BEGIN;\n");
    if (with_schema) {
        write_router_schema(&r->script);
        st = write_router_identity(r, &r->script);
    }
    buf_adds(&r->script, "SET LOCAL client_min_messages = warning;\n");
    for (size_t i = 0; st == 0 && i < r->plan->shards->n; i++)
        st = write_sql_of_shard_vaults(r, i);
    write_sql_to_add_roles(r, &r->script);
    if (st == 0)
        st = write_functions(r);
    buf_adds(&r->script, "COMMIT;\n");
    return st;
}

/* ---- making the router ---- */

static int create_router_schema(struct router *r)
{
    struct buf sql = {0};
    buf_adds(&sql, "BEGIN;\n");
    write_router_schema(&sql);
    int st = write_router_identity(r, &sql);
    buf_adds(&sql, "COMMIT;\n");
    if (st == 0) {
        st = run_sql_script(r->to, &sql);
        st = st < 0 ? set_router_error(r, st) : 0;
    }
    buf_close(&sql);
    return st;
}

/* Makes the schema of shard i. id: the identity of the router. known: the address that the router
 * has for this shard, or NULL. */
static int make_shard(struct router *r, size_t i, const char *id, const char *known)
{
    struct buf sql = {0};
    buf_adds(&sql, "BEGIN;\n");
    schema_write_sql(&sql);
    buf_add(&sql, shard_sql, shard_sql_n);
    buf_add(&sql, share_sql, share_sql_n);
    bool is_new = known == NULL || strcmp(known, buf_str(&r->address[i])) == 0;
    buf_printf(&sql, "SELECT mcp_interposer.be_shard('%s', %zu, %s);\n", id, i + 1,
               is_new ? "true" : "false");
    buf_adds(&sql, "COMMIT;\n");
    int st = run_sql_script(r->shard[i], &sql);
    buf_close(&sql);
    return st < 0 ? set_shard_error(r, i, st, link_error_text(r->shard[i])) : 0;
}

static int make_shards(struct router *r)
{
    size_t n = r->plan->shards->n;
    int st = link_run_sql(r->to, "SELECT s.router, h.address FROM mcp_interposer.store s "
                                 "LEFT JOIN mcp_interposer.shards h ON true ORDER BY h.n");
    if (st < 0)
        return set_router_error(r, st);
    size_t known = link_get_text(r->to, 0, 1)[0] != '\0' ? (size_t)link_count_rows(r->to) : 0;
    if (known > n) {
        buf_printf(r->error,
                   "%s lists %zu shards, and the router has %zu: a shard cannot be removed. To "
                   "place no new vaults on it, run this on the router: UPDATE "
                   "mcp_interposer.shards SET accepts = false WHERE n = NUMBER",
                   r->plan->file, n, known);
        return MI_EINVAL;
    }
    for (size_t i = 0; st == 0 && i < n; i++)
        st = make_shard(r, i, link_get_text(r->to, 0, 0),
                        i < known ? link_get_text(r->to, (int)i, 1) : NULL);
    return st;
}

/* Collects the devices and readers of the router and of all shards, and adds them to each shard. */
static int add_roles_to_all_shards(struct router *r)
{
    struct buf sql = {0};
    int st = read_routed_roles(r);
    if (st == 0)
        st = read_roles(r);
    if (st < 0)
        return st;
    write_sql_to_add_roles(r, &sql);
    for (size_t i = 0; st == 0 && sql.n > 0 && i < r->plan->shards->n; i++) {
        st = run_sql_script(r->shard[i], &sql);
        if (st < 0)
            st = set_shard_error(r, i, st, link_error_text(r->shard[i]));
    }
    buf_close(&sql);
    return st;
}

static int add_device(struct router *r)
{
    int st = 0;
    for (size_t i = 0; st == 0 && i < r->plan->shards->n; i++) {
        link_begin_call(r->shard[i]);
        link_add_text_argument(r->shard[i], r->plan->device);
        st = link_call_function(r->shard[i], "add_device");
        if (st < 0)
            st = set_shard_error(r, i, st, link_error_text(r->shard[i]));
    }
    if (st < 0)
        return st;
    link_begin_call(r->to);
    link_add_text_argument(r->to, r->plan->device);
    st = link_call_function(r->to, "add_device");
    return st < 0 ? set_router_error(r, st) : 0;
}

static int router_create(struct router *r)
{
    int st = link_allocate(&r->to, r->plan->url, NULL);
    if (st < 0)
        return st;
    link_set_denied_hint(r->to, ": the router must be made by a superuser");
    st = link_connect(r->to);
    if (st < 0)
        return set_router_error(r, st);
    st = create_router_schema(r);
    if (st == 0)
        st = make_shards(r);
    if (st == 0)
        st = add_roles_to_all_shards(r);
    if (st == 0)
        st = write_router_script(r, false);
    if (st < 0)
        return st;
    st = run_sql_script(r->to, &r->script);
    if (st < 0)
        return set_router_error(r, st);
    if (r->plan->device != NULL)
        st = add_device(r);
    for (size_t i = 0; st == 0 && i < r->plan->shards->n; i++)
        st = run_sql_on_shard(r, i, SCHEMA_FILL);
    return st;
}

int router_make_central_store(const struct router_plan *p, struct buf *error)
{
    struct router r = {.plan = p, .error = error};
    int st = open_all_shards(&r);
    if (st == 0)
        st = router_create(&r);
    close_all_shards(&r);
    return st;
}

int router_print(const struct router_plan *p, struct buf *ret, struct buf *error)
{
    struct router r = {.plan = p, .error = error};
    int st = open_all_shards(&r);
    if (st == 0)
        st = read_roles(&r);
    if (st == 0)
        st = write_router_script(&r, true);
    buf_slice_add(ret, buf_slice(&r.script));
    if (st == 0 && (r.script.failed || ret->failed))
        st = MI_ENOMEM;
    close_all_shards(&r);
    return st;
}
