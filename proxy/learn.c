/* learn.c - what a session is told by the messages that pass. */
#include "proxy/message.h"

#include "wire/json_text.h"

static void learn_peer(struct traffic *t, struct json_value info, bool client)
{
    struct json_value name = json_get(info, "name");
    struct json_value version = json_get(info, "version");
    struct buf n = {0}, v = {0};
    if (name.type == JSON_STRING)
        json_unescape(&n, json_string_raw(name));
    if (version.type == JSON_STRING)
        json_unescape(&v, json_string_raw(version));
    struct store_update u = {0};
    struct slice ns = name.type == JSON_STRING && !n.failed ? buf_slice(&n) : (struct slice){0};
    struct slice vs = version.type == JSON_STRING && !v.failed ? buf_slice(&v) : (struct slice){0};
    if (client) {
        u.client_name = ns;
        u.client_version = vs;
    } else {
        u.server_name = ns;
        u.server_version = vs;
    }
    recorder_learn(t->recorder, &u);
    buf_close(&n);
    buf_close(&v);
}

static void learn_version(struct traffic *t, struct json_value version)
{
    char text[sizeof t->version];
    size_t n;
    if (version.type != JSON_STRING ||
        json_unescape_to(json_string_raw(version), text, sizeof text - 1, &n) < 0)
        return;
    text[n] = '\0';
    memcpy(t->version, text, n + 1);
    struct store_update u = {.protocol_version = {t->version, n}};
    recorder_learn(t->recorder, &u);
}

void message_learn_request(struct traffic *t, const struct rpc *m, bool modern)
{
    if (rpc_method_is(m, "initialize")) {
        learn_peer(t, json_get(m->params, "clientInfo"), true);
        t->knows_client = true;
    } else if (modern && !t->knows_client) {
        learn_peer(t, json_get(m->meta, "io.modelcontextprotocol/clientInfo"), true);
        learn_version(t, json_get(m->meta, "io.modelcontextprotocol/protocolVersion"));
        t->knows_client = true;
    }
}

void message_learn_result(struct traffic *t, const struct pending *p, const struct rpc *m)
{
    handshake_answered(&t->handshake, p, m);
    if (json_key_is(p->method, "initialize")) {
        learn_version(t, json_get(m->result, "protocolVersion"));
        learn_peer(t, json_get(m->result, "serverInfo"), false);
    } else if (json_key_is(p->method, "server/discover")) {
        struct json_value meta = json_get(m->result, "_meta");
        learn_peer(t, json_get(meta, "io.modelcontextprotocol/serverInfo"), false);
    }
}

/* Words of servers, in small letters. Only errors are searched for them. */
static const char *const auth_words[] = {
    "unauthorized",
    "unauthorised",
    "unauthenticated",
    "forbidden",
    "invalid credential",
    "bad credential",
    "invalid api key",
    "invalid token",
    "invalid_token",
    "token expired",
    "token has expired",
    "expired token",
    "credentials expired",
    "credentials have expired",
    "not authenticated",
    "authentication required",
    "authentication failed",
    "permission denied: token",
    "authentication unsuccessful",
    "authentication failure",
    "authentication error",
    "authenticationerror",
    "username and password not accepted",
    "invalid username or password",
    "login failed",
    "not logged in",
    "not authorized",
    "not authorised",
    "api key not valid",
    "incorrect api key",
    "invalid access token",
    "token used in the request has",
    "expired or revoked",
    "invalid_grant",
    "status code 401",
    "http 401",
    "error 401",
    "401 client error",
};

bool message_says_unauthorized(struct slice text)
{
    char small[1024];
    size_t n = size_min(text.n, sizeof small);
    for (size_t i = 0; i < n; i++)
        small[i] = (char)(text.p[i] >= 'A' && text.p[i] <= 'Z' ? text.p[i] | 0x20 : text.p[i]);
    for (size_t i = 0; i < MI_COUNT(auth_words); i++)
        if (memmem(small, n, auth_words[i], strlen(auth_words[i])) != NULL)
            return true;
    return false;
}
