#include "ship/postgres/address.h"

#include <libpq-fe.h>

const char *const address_defaults[ADDRESS_DEFAULTS][2] = {
    {"sslmode", "verify-full"}, {"target_session_attrs", "read-write"}, {"connect_timeout", "10"},
    {"keepalives_idle", "30"},  {"tcp_user_timeout", "60000"},
};

bool address_is_url(const char *url)
{
    return strncmp(url, "postgresql://", 13) == 0 || strncmp(url, "postgres://", 11) == 0 ||
           (strstr(url, "://") == NULL && strchr(url, '=') != NULL);
}

int address_check_url(const char *url, struct buf *error)
{
    char *why = NULL;
    PQconninfoOption *o = address_is_url(url) ? PQconninfoParse(url, &why) : NULL;
    int st = o != NULL ? 0 : MI_EINVAL;
    if (st < 0) /* libpq's reason may contain parts of the URL, such as a password */
        buf_adds(error, "not a URL of PostgreSQL: use postgresql://ROLE@HOST/DATABASE");
    for (PQconninfoOption *i = o; i != NULL && i->keyword != NULL; i++) {
        if (i->val == NULL || strstr(i->keyword, "password") == NULL)
            continue;
        buf_adds(error, "the URL has a password, which others could see in `ps` and in the vault: "
                        "put the password into ~/.pgpass or a service file");
        st = MI_EINVAL;
        break;
    }
    PQconninfoFree(o);
    PQfreemem(why);
    return st;
}

static void address_add_option(struct buf *b, const char *name, const char *value)
{
    buf_adds(b, b->n > 0 ? " " : "");
    buf_adds(b, name);
    buf_adds(b, "='");
    for (; *value != '\0'; value++) {
        if (*value == '\'' || *value == '\\')
            buf_addc(b, '\\');
        buf_addc(b, *value);
    }
    buf_addc(b, '\'');
}

static const char *address_option_value(const PQconninfoOption *o, const char *name)
{
    for (; o->keyword != NULL; o++)
        if (strcmp(o->keyword, name) == 0)
            return o->val;
    return NULL;
}

int address_write_connection_string(const char *url, struct buf *ret, struct buf *error)
{
    PQconninfoOption *o = PQconninfoParse(url, NULL);
    int st = o == NULL ? MI_ENOMEM : 0;
    if (st == 0 && address_option_value(o, "dbname") == NULL &&
        address_option_value(o, "service") == NULL) {
        buf_adds(error, "the URL does not name the database: use postgresql://HOST/DATABASE");
        st = MI_EINVAL;
    }
    for (const PQconninfoOption *i = o; st == 0 && i->keyword != NULL; i++)
        if (i->val != NULL && strcmp(i->keyword, "user") != 0 && strstr(i->keyword, "pass") == NULL)
            address_add_option(ret, i->keyword, i->val);
    for (size_t i = 0; st == 0 && i < ADDRESS_DEFAULTS; i++)
        if (address_option_value(o, address_defaults[i][0]) == NULL)
            address_add_option(ret, address_defaults[i][0], address_defaults[i][1]);
    if (st == 0 && address_option_value(o, "application_name") == NULL)
        address_add_option(ret, "application_name", "mcp-interposer-router");
    PQconninfoFree(o);
    return st == 0 && ret->failed ? MI_ENOMEM : st;
}
