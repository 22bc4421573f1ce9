/* duration.c - counts durations of calls and sessions in histograms, and writes them. */
#include "vault/otlp/part.h"

#include "base/grow.h"

#include <stdlib.h>

/* The bounds that the conventions recommend, in seconds and in microseconds. */
#define BOUNDS "[0.01,0.02,0.05,0.1,0.2,0.5,1,2,5,10,30,60,120,300]"
static const int64_t bounds_us[OTLP_BUCKETS - 1] = {
    10000,   20000,   50000,    100000,   200000,   500000,    1000000,
    2000000, 5000000, 10000000, 30000000, 60000000, 120000000, 300000000};

static struct otlp_point *find_or_add_data_point(struct otlp_durations *d, struct slice attributes)
{
    for (size_t i = 0; i < d->n; i++) {
        struct otlp_point *p = &d->point[i];
        if (p->n == attributes.n && memcmp(d->text.p + p->at, attributes.p, p->n) == 0)
            return p;
    }
    if (!GROW(d->point, d->n, d->cap))
        return NULL;
    struct otlp_point *p = &d->point[d->n];
    *p = (struct otlp_point){.at = d->text.n, .n = attributes.n, .min_us = INT64_MAX};
    buf_slice_add(&d->text, attributes);
    if (d->text.failed)
        return NULL;
    d->n++;
    return p;
}

static void otlp_count_duration(struct otlp_durations *d, const struct buf *attributes, int64_t us)
{
    size_t bucket = 0;
    struct otlp_point *p =
        attributes->failed ? NULL : find_or_add_data_point(d, buf_slice(attributes));
    d->failed |= p == NULL;
    if (p == NULL)
        return;
    /* A bucket includes its upper bound. */
    while (bucket < OTLP_BUCKETS - 1 && us > bounds_us[bucket])
        bucket++;
    p->bucket[bucket]++;
    p->count++;
    p->sum_us += us;
    p->min_us = us < p->min_us ? us : p->min_us;
    p->max_us = us > p->max_us ? us : p->max_us;
}

void otlp_add_call_duration(struct otlp_durations *d, const struct otlp_session *s,
                            const struct otlp_call *c, struct buf *text)
{
    struct buf attributes = {0};
    struct json_out j = json_out_to(&attributes);
    otlp_add_call_attributes(&j, s, c, text);
    otlp_count_duration(d, &attributes,
                        c->end_us > c->request->t_us ? c->end_us - c->request->t_us : 0);
    buf_close(&attributes);
}

void otlp_add_session_duration(struct otlp_durations *d, const struct otlp_session *s,
                               int64_t lasted_us)
{
    struct buf attributes = {0};
    struct json_out j = json_out_to(&attributes);
    otlp_add_attribute(&j, "mcp.protocol.version", s->s->protocol_version);
    otlp_add_remote_attributes(&j, s);
    /* Any end_reason counts as an error, unless the client or the user ended the session. */
    struct slice reason = s->s->end_reason;
    if (reason.p != NULL && !slice_is(reason, "client-closed") && !slice_is(reason, "signal"))
        otlp_add_attribute(&j, "error.type", reason);
    otlp_count_duration(d, &attributes, lasted_us);
    buf_close(&attributes);
}

/* Adds a decimal number without printf("%f"), which depends on the locale. */
static void add_number_of_seconds(struct json_out *j, const char *name, int64_t us)
{
    json_out_name(j, name);
    buf_printf(j->b, "%lld.%06lld", (long long)(us / 1000000), (long long)(us % 1000000));
}

static void add_histogram_point(struct json_out *j, const struct otlp_session *s,
                                const struct otlp_durations *d, const struct otlp_point *p,
                                int64_t from_us, int64_t to_us)
{
    json_out_object(j, NULL);
    json_out_array(j, "attributes");
    json_out_add_written_members(j, (struct slice){d->text.p + p->at, p->n});
    json_out_end(j);
    otlp_add_time(j, "startTimeUnixNano", s->s->started_at_us + from_us);
    otlp_add_time(j, "timeUnixNano", s->s->started_at_us + to_us);
    otlp_add_integer(j, "count", p->count, "");
    add_number_of_seconds(j, "sum", p->sum_us);
    add_number_of_seconds(j, "min", p->min_us);
    add_number_of_seconds(j, "max", p->max_us);
    json_out_array(j, "bucketCounts");
    for (size_t i = 0; i < OTLP_BUCKETS; i++)
        otlp_add_integer(j, NULL, p->bucket[i], "");
    json_out_end(j);
    json_out_raw(j, "explicitBounds", slice_of(BOUNDS));
    json_out_end(j);
}

void otlp_durations_add(struct otlp_request *r, const struct otlp_session *s,
                        struct otlp_durations *d, int64_t from_us, int64_t to_us)
{
    static const struct {
        const char *name, *description;
    } metrics[] = {
        [OTLP_OPERATION] = {"mcp.client.operation.duration",
                            "Duration of an MCP request as observed on its sender."},
        [OTLP_SESSION] = {"mcp.client.session.duration",
                          "Duration of an MCP session as observed on the client."},
    };
    struct json_out *j = &r->j;
    json_out_object(j, NULL);
    json_out_str(j, "name", metrics[d->metric].name);
    json_out_str(j, "description", metrics[d->metric].description);
    json_out_str(j, "unit", "s");
    json_out_object(j, "histogram");
    json_out_int(j, "aggregationTemporality", 1); /* 1 is the aggregation temporality DELTA */
    json_out_array(j, "dataPoints");
    for (size_t i = 0; i < d->n; i++)
        add_histogram_point(j, s, d, &d->point[i], from_us, to_us);
    json_out_end(j);
    json_out_end(j);
    json_out_end(j);
    d->n = 0;
    buf_clear(&d->text);
}

void otlp_durations_close(struct otlp_durations *d)
{
    free(d->point);
    buf_close(&d->text);
    *d = (struct otlp_durations){.metric = d->metric};
}
