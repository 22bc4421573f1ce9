/* protocol_unit.h - conversations between a client and a server, and the rules of MCP that each line violates. */
#ifndef MI_TESTS_SUPPORT_PROTOCOL_UNIT_H
#define MI_TESTS_SUPPORT_PROTOCOL_UNIT_H

#include "tests/support/unit.h"
#include "wire/json/text.h"
#include "wire/mcp/protocol.h"

#define OPEN_MAX 32

/* Pending requests: a minimal version of those in proxy/session. */
struct playback {
    struct protocol p;
    struct {
        bool used;
        enum protocol_party from;
        struct slice id, token; /* JSON text */
        struct protocol_asked asked;
    } open[OPEN_MAX];
};

static int find(struct playback *y, enum protocol_party from, struct slice text, bool token)
{
    for (int i = 0; i < OPEN_MAX; i++)
        if (y->open[i].used && y->open[i].from == from && text.p != NULL &&
            slice_eq(token ? y->open[i].token : y->open[i].id, text))
            return i;
    return -1;
}

static breaches request(struct playback *y, enum protocol_party from, const struct rpc *m)
{
    int i = 0;
    breaches r;
    while (y->open[i].used)
        i++;
    assert_true(i < OPEN_MAX - 1);
    r = protocol_check_request(&y->p, from, m, &y->open[i].asked);
    y->open[i].used = true;
    y->open[i].from = from;
    y->open[i].id = m->id.text;
    y->open[i].token = json_get(m->meta, "progressToken").text;
    return r;
}

static breaches notification(struct playback *y, enum protocol_party from, const struct rpc *m)
{
    breaches r = protocol_check_notification(&y->p, from, m);
    if (m->progress_token.type == JSON_NONE)
        return r;
    enum protocol_party asker = from == PARTY_CLIENT ? PARTY_SERVER : PARTY_CLIENT;
    int i = find(y, asker, m->progress_token.text, true);
    return r | protocol_check_progress(&y->p, m, i < 0 ? NULL : &y->open[i].asked);
}

static breaches answer(struct playback *y, enum protocol_party from, const struct rpc *m)
{
    int i = find(y, from == PARTY_CLIENT ? PARTY_SERVER : PARTY_CLIENT, m->id.text, false);
    if (i < 0)
        fail_msg("nobody asked for %.*s", (int)m->text.n, m->text.p);
    y->open[i].used = false;
    return protocol_check_answer(&y->p, from, m, &y->open[i].asked);
}

#define LINES_MAX 16
struct conversation {
    const char *say[LINES_MAX]; /* "> …" of the client, "< …" of the server; 'single' quotes */
    const char *broken;         /* "2:unknown-method 5:bad-retry,missing-meta": lines from 1 */
};

#define INIT(rev, client, server)                                                                  \
    "> {'jsonrpc':'2.0','id':'i','method':'initialize','params':{'protocolVersion':'" rev          \
    "','capabilities':" client ",'clientInfo':{'name':'c','version':'1'}}}",                       \
        "< {'jsonrpc':'2.0','id':'i','result':{'protocolVersion':'" rev "','capabilities':" server \
        ",'serverInfo':{'name':'s','version':'1'}}}"
#define READY "> {'jsonrpc':'2.0','method':'notifications/initialized'}"
#define START(rev, client, server) INIT(rev, client, server), READY
#define REQ(id, method, params)                                                                    \
    "{'jsonrpc':'2.0','id':" id ",'method':'" method "','params':" params "}"
#define NOTE(method, params) "{'jsonrpc':'2.0','method':'" method "','params':" params "}"
#define RES(id, result) "{'jsonrpc':'2.0','id':" id ",'result':" result "}"
#define ERR(id, code) "{'jsonrpc':'2.0','id':" id ",'error':{'code':" code ",'message':'m'}}"
#define ERROR_DATA(id, code, data)                                                                 \
    "{'jsonrpc':'2.0','id':" id ",'error':{'code':" code ",'message':'m','data':" data "}}"
#define M                                                                                          \
    "'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"                             \
    "'io.modelcontextprotocol/clientCapabilities':{'elicitation':{}}}"
#define MREQ(id, method) REQ(id, method, "{" M "}")
#define SUB(id) "'_meta':{'io.modelcontextprotocol/subscriptionId':" id "}"
#define OK "{'resultType':'complete','content':[]}"
#define TEXT "{'content':[]}"

static void play(const struct conversation *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct playback y = {0};
        struct buf got = {0};
        char *copy[LINES_MAX] = {0};
        protocol_open(&y.p);
        for (int k = 0; k < LINES_MAX && c[i].say[k] != NULL; k++) {
            copy[k] = unit_copy(c[i].say[k], strlen(c[i].say[k]));
            for (size_t j = 0; j < strlen(c[i].say[k]); j++)
                if (copy[k][j] == '\'')
                    copy[k][j] = '"';
            struct rpc m;
            enum protocol_party from = copy[k][0] == '>' ? PARTY_CLIENT : PARTY_SERVER;
            if (rpc_read((struct slice){copy[k] + 2, strlen(c[i].say[k]) - 2}, &m) < 0 ||
                m.kind == RPC_INVALID)
                fail_msg("row %zu: no message: %s", i, c[i].say[k]);
            breaches r = m.kind == RPC_REQUEST        ? request(&y, from, &m)
                         : m.kind == RPC_NOTIFICATION ? notification(&y, from, &m)
                                                      : answer(&y, from, &m);
            if (r != 0) {
                buf_printf(&got, "%s%d:", got.n > 0 ? " " : "", k + 1);
                finding_append_names(&got, 0, r);
            }
        }
        if (strcmp(buf_str(&got), c[i].broken) != 0)
            fail_msg("row %zu (%s):\n  got    %s\n  wanted %s", i, c[i].say[0], buf_str(&got),
                     c[i].broken);
        buf_close(&got);
        protocol_close(&y.p);
        for (int k = 0; k < LINES_MAX; k++)
            free(copy[k]);
    }
}
#define PLAY(rows) play(rows, MI_COUNT(rows))

#endif
