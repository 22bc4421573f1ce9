#include "proxy/session/session_info.h"

#include "base/json_out.h"
#include "wire/json/text.h"
#include "wire/meta.h"
#include "wire/rpc_id.h"

static void record_peer_info(struct traffic *t, struct json_value info, bool client)
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
    journal_append_session_update(t->journal, &u);
    buf_close(&n);
    buf_close(&v);
}

static void record_protocol_version(struct traffic *t, struct json_value version)
{
    char text[sizeof t->version];
    size_t n;
    if (version.type != JSON_STRING ||
        json_unescape_to(json_string_raw(version), text, sizeof text - 1, &n) < 0)
        return;
    text[n] = '\0';
    memcpy(t->version, text, n + 1);
    struct session_update u = {.protocol_version = {t->version, n}};
    journal_append_session_update(t->journal, &u);
}

/* Notes the client's name and version. Returns true if this client was not seen before: through a
 * gateway, several clients may use one pipe. */
static bool remember_new_client(struct traffic *t, struct json_value info)
{
    uint64_t hash =
        rpc_id_hash(json_get(info, "name").text) * 31 + rpc_id_hash(json_get(info, "version").text);
    for (unsigned i = t->clients; i-- > 0;)
        if (t->client[i] == hash)
            return false;
    if (t->clients == CLIENTS_MAX)
        return false;
    t->client[t->clients++] = hash;
    return true;
}

static void record_client_event(struct traffic *t, struct json_value info)
{
    static const char *const members[] = {"name", "version"};
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    json_out_object(&j, NULL);
    for (size_t i = 0; i < MI_COUNT(members); i++) {
        struct json_value v = json_get(info, members[i]);
        if (v.type == JSON_STRING)
            json_out_raw(&j, members[i], v.text);
        else
            json_out_null(&j, members[i]);
    }
    json_out_end(&j);
    if (!b.failed)
        journal_append_event(t->journal, "client", buf_str(&b));
    buf_close(&b);
}

void session_info_record_client(struct traffic *t, const struct rpc *m, bool modern)
{
    bool first = rpc_method_is(m, "initialize");
    if (!first && !modern)
        return;
    struct json_value info =
        first ? json_get(m->params, "clientInfo") : json_get(m->meta, META_CLIENT);
    bool another = info.type == JSON_OBJECT && remember_new_client(t, info);
    if (first || !t->knows_client) {
        record_peer_info(t, info, true);
        if (!first)
            record_protocol_version(t, json_get(m->meta, META_VERSION));
        t->knows_client = true;
    } else if (another) {
        record_client_event(t, info);
    }
}

void session_info_handle_result(struct traffic *t, const struct pending *p, const struct rpc *m)
{
    handshake_handle_answer(&t->handshake, p, m);
    if (json_key_is(p->method, "initialize")) {
        record_protocol_version(t, json_get(m->result, "protocolVersion"));
        record_peer_info(t, json_get(m->result, "serverInfo"), false);
        t->knows_server = true;
    } else if (p->modern && !t->knows_server && m->result_meta.type == JSON_OBJECT) {
        struct json_value info = json_get(m->result_meta, META_SERVER);
        t->knows_server = info.type == JSON_OBJECT;
        if (t->knows_server)
            record_peer_info(t, info, false);
    }
}
