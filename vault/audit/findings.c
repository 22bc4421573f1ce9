#include "vault/audit/findings.h"

#include "base/grow.h"
#include "vault/store/commitment.h"
#include "wire/json/text.h"

#include <stdlib.h>

int findings_add_from_event_detail(struct findings_added *f, int64_t place, struct slice detail)
{
    struct json_scan scan;
    int64_t seq;
    if (detail.p == NULL || json_scan(detail, NULL, NULL, &scan) < 0 || scan.type != JSON_OBJECT)
        return MI_EINVAL;
    struct json_value root = {scan.type, scan.root};
    struct slice names = json_string_raw(json_get(root, "finding"));
    if (names.p == NULL || !json_int(json_get(root, "seq"), &seq))
        return MI_EINVAL;
    if (!GROW(f->list, f->n, f->cap))
        return MI_ENOMEM;
    size_t at = f->names.n;
    json_unescape(&f->names, names);
    f->list[f->n] = (struct finding_added){
        .seq = seq, .order = f->n, .place = place, .at = at, .n = f->names.n - at};
    f->n++;
    return f->names.failed ? MI_ENOMEM : 0;
}

/* Orders findings by message; for one message, the last event comes first. */
static int compare_findings_by_message(const void *a, const void *b)
{
    const struct finding_added *x = a, *y = b;
    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return (x->order < y->order) - (x->order > y->order);
}

void findings_sort(struct findings_added *f)
{
    if (f->n > 1)
        qsort(f->list, f->n, sizeof *f->list, compare_findings_by_message);
}

bool findings_remove_added_names(struct findings_added *f, int64_t seq, struct slice *finding)
{
    size_t low = 0, high = f->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->list[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    bool fine = true;
    for (; low < f->n && f->list[low].seq == seq; low++) {
        struct slice names = {buf_slice(&f->names).p + f->list[low].at, f->list[low].n};
        f->list[low].met = true;
        fine = fine && commitment_cut_added_names(finding, names);
    }
    return fine;
}

const struct finding_added *findings_find_one_without_message(const struct findings_added *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (!f->list[i].met)
            return &f->list[i];
    return NULL;
}

void findings_close(struct findings_added *f)
{
    free(f->list);
    buf_close(&f->names);
    *f = (struct findings_added){0};
}
