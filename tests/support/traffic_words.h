/* traffic_words.h - messages for the tests of proxy/session, with ' for ". */
#ifndef MI_TESTS_TRAFFIC_WORDS_H
#define MI_TESTS_TRAFFIC_WORDS_H

#include "tests/support/traffic_unit.h"

#define MAX ((size_t)64 << 20)

#define PING(id) "{'jsonrpc':'2.0','id':" id ",'method':'ping'}"
#define CALL(id, tool)                                                                             \
    "{'jsonrpc':'2.0','id':" id ",'method':'tools/call','params':{'name':'" tool "'}}"
#define OK(id) "{'jsonrpc':'2.0','id':" id ",'result':{}}"
#define CANCEL(id)                                                                                 \
    "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':" id "}}"
#define NOTE "{'jsonrpc':'2.0','method':'notifications/x'}"

static inline MI_UNUSED void traffic_feed_long(struct fixture *f, char who, const char *head,
                                               size_t pad, const char *tail)
{
    struct buf b = {0};
    buf_adds(&b, head);
    for (size_t i = 0; i < pad; i++)
        buf_addc(&b, 'x');
    buf_adds(&b, tail);
    traffic_quotes(b.p, b.n);
    assert_false(b.failed);
    traffic_feed(f, who, b.p, b.n);
    buf_close(&b);
}

#endif
