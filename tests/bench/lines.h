/* lines.h - the lines that the load generator and the bare server exchange.
 *
 * A request is REQUEST_HEAD id REQUEST_TEXT text REQUEST_END, its answer ANSWER_HEAD id
 * ANSWER_TEXT text ANSWER_END: both are equally long, so one size describes both ways.
 * With --answer SIZE the text of each answer is that of lines_fill(). Each ..._END has the newline. */
#ifndef MI_TESTS_BENCH_LINES_H
#define MI_TESTS_BENCH_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define REQUEST_HEAD "{\"jsonrpc\":\"2.0\",\"id\":"
#define REQUEST_TEXT                                                                               \
    ",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\""
#define REQUEST_END "\"}}}\n"

#define ANSWER_HEAD REQUEST_HEAD
#define ANSWER_TEXT ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"echo: "
#define ANSWER_END "\"}],\"isError\":false}}\n"

#define INITIALIZE                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"                         \
    "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"                                      \
    "\"clientInfo\":{\"name\":\"load\",\"version\":\"1\"}}}\n"
#define INITIALIZE_ANSWER                                                                          \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\","                \
    "\"capabilities\":{\"tools\":{},\"logging\":{}},"                                              \
    "\"serverInfo\":{\"name\":\"echo\",\"version\":\"1\"}}}\n"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"

/* One notification of a flood: FLOOD_HEAD, its number in FLOOD_DIGITS digits, a space and
 * filling, FLOOD_END. Numbers start at 0. */
#define FLOOD_HEAD                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","                                   \
    "\"params\":{\"level\":\"info\",\"data\":\""
#define FLOOD_END "\"}}\n"
#define FLOOD_DIGITS 8
#define FLOOD_MAX 99999999
#define FLOOD_MIN_SIZE (LEN(FLOOD_HEAD FLOOD_END) + FLOOD_DIGITS + 1)

#define LEN(literal) (sizeof(literal) - 1)

#define ANSWER_MIN_SIZE (64 + LEN(ANSWER_HEAD ANSWER_TEXT ANSWER_END))
#define ANSWER_MAX_SIZE ((size_t)128 << 20)

/* A text: plain words, or source code as a JSON string. */
static inline void lines_fill(char *p, size_t n, bool source)
{
    static const char plain[] = "The quick brown fox jumps over the lazy dog and runs away. ";
    static const char code[] =
        "int main(void)\\n{\\n\\tprintf(\\\"h\xc3\xa9llo, %s\\\\n\\\", name);\\n"
        "\\treturn strlen(name) > 0 ? 0 : 1; // done\\n}\\n\\n";
    const char *unit = source ? code : plain;
    size_t unit_len = source ? LEN(code) : LEN(plain);
    size_t whole = source ? n - n % unit_len : n; /* do not split an escape */
    memset(p, 'x', n);
    for (size_t i = 0; i < whole; i++)
        p[i] = unit[i % unit_len];
}

_Static_assert(LEN(REQUEST_TEXT REQUEST_END) == LEN(ANSWER_TEXT ANSWER_END),
               "a request and its answer have one size");

#endif
