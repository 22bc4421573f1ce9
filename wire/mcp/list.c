/* list.c - lists of tools, prompts and resources: required members of entries, and checks over all
 * pages. */
#include "wire/mcp/revisions.h"

#include "wire/json/text.h"
#include "wire/rpc_id.h"

static const struct {
    enum field items;
    const char *key;     /* name of the member that identifies an entry */
    const char *other;   /* name of another member that must be a string; NULL: there is none */
    const char *changed; /* the notification by which the server says that the list has changed */
} lists[PROTOCOL_LISTS] = {
    {FIELD_TOOLS, "name", NULL, "notifications/tools/list_changed"},
    {FIELD_PROMPTS, "name", NULL, "notifications/prompts/list_changed"},
    {FIELD_RESOURCES, "uri", "name", "notifications/resources/list_changed"},
    {FIELD_RESOURCE_TEMPLATES, "uriTemplate", "name", "notifications/resources/list_changed"},
};

static bool entry_lacks_string_member(struct protocol *p, struct json_value entry, const char *name)
{
    if (name == NULL || json_get(entry, name).type == JSON_STRING)
        return false;
    p->blame = name;
    return true;
}

/* Whether a schema of the tool is missing or invalid. In every revision, the schema of the tool's
 * arguments must describe an object. */
static bool tool_lacks_schema(struct protocol *p, struct json_value tool)
{
    struct json_value schema = json_get(tool, "inputSchema"), out = json_get(tool, "outputSchema");
    if (!json_key_is(json_string_raw(json_get(schema, "type")), "object"))
        p->blame = "inputSchema";
    else if (out.type != JSON_NONE && out.type != JSON_OBJECT)
        p->blame = "outputSchema";
    else
        return false;
    return true;
}

static breaches check_entries(struct protocol *p, const struct rpc *m, int kind,
                              struct id_set *names)
{
    breaches r = 0;
    struct slice key;
    struct json_value one;
    struct json_walk w = json_walk_begin(json_get(m->result, field_name(lists[kind].items)));
    for (int i = 0; i < ID_SET_MAX && json_walk_next(&w, &key, &one); i++) {
        if (entry_lacks_string_member(p, one, lists[kind].key) ||
            entry_lacks_string_member(p, one, lists[kind].other) ||
            (lists[kind].items == FIELD_TOOLS && tool_lacks_schema(p, one)))
            r |= RULE(RULE_INVALID_RESULT);
        else if (id_set_add(names, json_get(one, lists[kind].key)))
            r |= RULE(RULE_DUPLICATE_NAME);
    }
    return r;
}

/* Checks a page of a list. If the request has the cursor that the server gave last, the page is
 * checked together with the pages before it. Otherwise, for example when two clients read the list
 * alternately, the page is checked alone. */
static breaches check_page(struct protocol *p, const struct rpc *m, const struct protocol_asked *a,
                           int kind)
{
    struct protocol_list *l = &p->list[kind];
    struct protocol_list alone = {0};
    uint64_t scope = rpc_id_hash_json(m->cache_scope);
    bool continues = a->cursor != 0 && a->cursor == l->next;
    if (a->cursor == 0)
        id_set_close(&l->names);
    else if (!continues)
        l = &alone;
    breaches r = check_entries(p, m, kind, &l->names);
    if (continues && a->modern && scope != 0 && l->scope != 0 && scope != l->scope) {
        p->blame = "cacheScope";
        r |= RULE(RULE_INVALID_CACHE_FIELDS);
    }
    l->scope = scope;
    l->next = m->next_cursor.type == JSON_STRING ? rpc_id_hash_json(m->next_cursor) : 0;
    if (l->next == 0 || l == &alone)
        id_set_close(&l->names);
    return r;
}

void protocol_handle_list_changed(struct protocol *p, const struct rpc *m)
{
    for (int i = 0; i < PROTOCOL_LISTS; i++)
        if (rpc_method_is(m, lists[i].changed))
            id_set_close(&p->list[i].names);
}

breaches protocol_check_page(struct protocol *p, const struct rpc *m,
                             const struct protocol_asked *a)
{
    for (int i = 0; i < PROTOCOL_LISTS; i++)
        if (a->method->result[0].field == lists[i].items &&
            m->in_result[lists[i].items] == JSON_ARRAY)
            return check_page(p, m, a, i);
    return 0;
}
