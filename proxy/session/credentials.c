#include "proxy/session/credentials.h"

/* Phrases in the errors of servers, in lower case. */
static const char *const phrases[] = {
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

bool error_says_credentials_refused(struct slice error_text)
{
    char lower[1024];
    size_t n = size_min(error_text.n, sizeof lower);
    for (size_t i = 0; i < n; i++) {
        char c = error_text.p[i];
        lower[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    for (size_t i = 0; i < MI_COUNT(phrases); i++)
        if (memmem(lower, n, phrases[i], strlen(phrases[i])) != NULL)
            return true;
    return false;
}
