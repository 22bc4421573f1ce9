#include "ship/postgres/hosts.h"

#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>

/* maximum time limit in seconds; also used if connect_timeout is missing, or is not above 0, which
 * asks for no limit */
#define TIMEOUT_MAX_S 3600

static int count_list_items(const char *list)
{
    int n = 1;
    for (; list != NULL && *list != '\0'; list++)
        n += *list == ',';
    return n;
}

/* Returns item i of a list of values for the hosts. If the list has only one item, returns this
 * item for every i. */
static struct slice get_item_of_host_list(const char *list, int i)
{
    if (list == NULL)
        return (struct slice){0};
    for (i = count_list_items(list) > 1 ? i : 0; i > 0 && *list != '\0'; i--) {
        list += strcspn(list, ",");
        list += *list != '\0';
    }
    return (struct slice){list, strcspn(list, ",")};
}

static size_t hosts_add_text(struct hosts *h, struct slice text)
{
    size_t at = h->text.n;
    buf_slice_add(&h->text, text);
    buf_addc(&h->text, '\0');
    return at;
}

static void hosts_add_host(struct hosts *h, struct slice name, struct slice address,
                           struct slice port)
{
    if (h->n == HOSTS_MAX)
        return;
    h->list[h->n].name = hosts_add_text(h, name);
    h->list[h->n].address = hosts_add_text(h, address);
    h->list[h->n++].port = hosts_add_text(h, port);
}

/* Adds each address of a host name. Returns false if the text is not a host name, or has no
 * address. */
static bool hosts_add_addresses(struct hosts *h, struct slice name, struct slice port)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct buf text = {0};
    int before = h->n;
    buf_slice_add(&text, name);
    bool is_name = name.n > 0 && name.p[0] != '/' && name.p[0] != '@';
    if (is_name && getaddrinfo(buf_str(&text), NULL, &wanted, &found) == 0)
        for (const struct addrinfo *a = found; a != NULL; a = a->ai_next) {
            char address[NI_MAXHOST];
            if (getnameinfo(a->ai_addr, a->ai_addrlen, address, sizeof address, NULL, 0,
                            NI_NUMERICHOST) == 0)
                hosts_add_host(h, name, slice_of(address), port);
        }
    if (found != NULL)
        freeaddrinfo(found);
    buf_close(&text);
    return h->n > before;
}

static const char *hosts_get_option_value(const struct hosts *h, const char *keyword)
{
    for (const PQconninfoOption *o = h->all; o->keyword != NULL; o++)
        if (strcmp(o->keyword, keyword) == 0)
            return o->val;
    return NULL;
}

int hosts_open(struct hosts *h, PGconn *c)
{
    *h = (struct hosts){.all = PQconninfo(c)};
    if (h->all == NULL)
        return MI_ENOMEM;
    const char *names = hosts_get_option_value(h, "host"),
               *addresses = hosts_get_option_value(h, "hostaddr");
    const char *ports = hosts_get_option_value(h, "port"),
               *timeout = hosts_get_option_value(h, "connect_timeout");
    for (int i = 0; i < count_list_items(addresses != NULL ? addresses : names); i++) {
        struct slice name = get_item_of_host_list(names, i),
                     address = get_item_of_host_list(addresses, i),
                     port = get_item_of_host_list(ports, i);
        if (address.n > 0 || !hosts_add_addresses(h, name, port))
            hosts_add_host(h, name, address, port);
    }
    int64_t timeout_s = timeout != NULL ? strtoll(timeout, NULL, 10) : 0;
    if (timeout_s <= 0 || timeout_s > TIMEOUT_MAX_S)
        timeout_s = TIMEOUT_MAX_S;
    h->timeout_us = timeout_s * 1000000;
    return h->text.failed ? MI_ENOMEM : 0;
}

void hosts_close(struct hosts *h)
{
    PQconninfoFree(h->all);
    buf_close(&h->text);
    *h = (struct hosts){0};
}

PGconn *hosts_start_connecting(const struct hosts *h, int i)
{
    const char *names[HOSTS_OPTIONS + 1] = {NULL}, *values[HOSTS_OPTIONS + 1] = {NULL};
    const char *text = h->text.p;
    const struct host *x = &h->list[i];
    int n = 0;
    for (const PQconninfoOption *o = h->all; o->keyword != NULL && n < HOSTS_OPTIONS; o++) {
        names[n] = o->keyword;
        values[n++] = strcmp(o->keyword, "host") == 0       ? text + x->name
                      : strcmp(o->keyword, "hostaddr") == 0 ? text + x->address
                      : strcmp(o->keyword, "port") == 0     ? text + x->port
                                                            : o->val;
    }
    return PQconnectStartParams(names, values, 0);
}
