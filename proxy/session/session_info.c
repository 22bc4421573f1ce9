#include "proxy/session/session_info.h"

#include "wire/json/text.h"

static void update_peer(struct traffic *t, struct json_value info, bool client)
{
    struct json_value name = json_get(info, "name");
    struct json_value version = json_get(info, "version");
    struct buf n = {0}, v = {0};
    if (name.type == JSON_STRING)
        json_unescape(&n, json_string_raw(name));
    if (version.type == JSON_STRING)
        json_unescape(&v, json_string_raw(version));
    struct session_update u = {0};
    struct slice ns = name.type == JSON_STRING && !n.failed ? buf_slice(&n) : (struct slice){0};
    struct slice vs = version.type == JSON_STRING && !v.failed ? buf_slice(&v) : (struct slice){0};
    if (client) {
        u.client_name = ns;
        u.client_version = vs;
    } else {
        u.server_name = ns;
        u.server_version = vs;
    }
    journal_update(t->journal, &u);
    buf_close(&n);
    buf_close(&v);
}

static void update_version(struct traffic *t, struct json_value version)
{
    char text[sizeof t->version];
    size_t n;
    if (version.type != JSON_STRING ||
        json_unescape_to(json_string_raw(version), text, sizeof text - 1, &n) < 0)
        return;
    text[n] = '\0';
    memcpy(t->version, text, n + 1);
    struct session_update u = {.protocol_version = {t->version, n}};
    journal_update(t->journal, &u);
}

void session_info_request(struct traffic *t, const struct rpc *m, bool modern)
{
    if (rpc_method_is(m, "initialize")) {
        update_peer(t, json_get(m->params, "clientInfo"), true);
        t->knows_client = true;
    } else if (modern && !t->knows_client) {
        update_peer(t, json_get(m->meta, "io.modelcontextprotocol/clientInfo"), true);
        update_version(t, json_get(m->meta, "io.modelcontextprotocol/protocolVersion"));
        t->knows_client = true;
    }
}

void session_info_result(struct traffic *t, const struct pending *p, const struct rpc *m)
{
    handshake_answered(&t->handshake, p, m);
    if (json_key_is(p->method, "initialize")) {
        update_version(t, json_get(m->result, "protocolVersion"));
        update_peer(t, json_get(m->result, "serverInfo"), false);
    } else if (json_key_is(p->method, "server/discover")) {
        struct json_value meta = json_get(m->result, "_meta");
        update_peer(t, json_get(meta, "io.modelcontextprotocol/serverInfo"), false);
    }
}
