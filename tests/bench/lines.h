/* lines.h - the lines that the load generator and the bare server exchange.
 *
 * A request is REQUEST_HEAD id REQUEST_TEXT text REQUEST_END, its answer ANSWER_HEAD id
 * ANSWER_TEXT text ANSWER_END: both are equally long, so one size describes both ways.
 * Each ..._END has the newline. */
#ifndef MI_TESTS_BENCH_LINES_H
#define MI_TESTS_BENCH_LINES_H

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

_Static_assert(LEN(REQUEST_TEXT REQUEST_END) == LEN(ANSWER_TEXT ANSWER_END),
               "a request and its answer have one size");

#endif
