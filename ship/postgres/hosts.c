#include "ship/postgres/hosts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static int count(const char *list)
{
    int n = 1;
    for (; list != NULL && *list != '\0'; list++)
        n += *list == ',';
    return n;
}

/* The i-th of a list; a list of one is for all. false: it is too long. */
static bool item(const char *list, int i, char ret[PATH_MAX])
{
    ret[0] = '\0';
    if (list == NULL)
        return true;
    for (i = count(list) > 1 ? i : 0; i > 0 && list != NULL; i--) {
        list = strchr(list, ',');
        list += list != NULL;
    }
    size_t n = list != NULL ? strcspn(list, ",") : 0;
    if (n >= PATH_MAX)
        return false;
    if (n > 0)
        memcpy(ret, list, n);
    ret[n] = '\0';
    return true;
}

int hosts_open(struct hosts *h, PGconn *c)
{
    *h = (struct hosts){.all = PQconninfo(c)};
    if (h->all == NULL)
        return MI_ENOMEM;
    for (const PQconninfoOption *o = h->all; o->keyword != NULL; o++) {
        if (strcmp(o->keyword, "host") == 0)
            h->host = o->val;
        if (strcmp(o->keyword, "hostaddr") == 0)
            h->address = o->val;
        if (strcmp(o->keyword, "port") == 0)
            h->port = o->val;
        if (strcmp(o->keyword, "connect_timeout") == 0 && o->val != NULL)
            h->timeout_us = strtoll(o->val, NULL, 10) * 1000000;
    }
    h->n = count(h->address != NULL ? h->address : h->host);
    if (h->timeout_us <= 0 || h->timeout_us > INT64_C(3600000000)) /* 0 is for ever */
        h->timeout_us = INT64_C(3600000000);
    return 0;
}

void hosts_close(struct hosts *h)
{
    PQconninfoFree(h->all);
    *h = (struct hosts){0};
}

PGconn *hosts_start(const struct hosts *h, int i)
{
    const char *names[HOSTS_OPTIONS + 1] = {NULL}, *values[HOSTS_OPTIONS + 1] = {NULL};
    char host[PATH_MAX], address[PATH_MAX], port[PATH_MAX];
    int n = 0;
    if (!item(h->host, i, host) || !item(h->address, i, address) || !item(h->port, i, port))
        return NULL;
    for (const PQconninfoOption *o = h->all; o->keyword != NULL && n < HOSTS_OPTIONS; o++) {
        names[n] = o->keyword;
        values[n++] = strcmp(o->keyword, "host") == 0       ? host
                      : strcmp(o->keyword, "hostaddr") == 0 ? address
                      : strcmp(o->keyword, "port") == 0     ? port
                                                            : o->val;
    }
    return PQconnectStartParams(names, values, 0);
}
