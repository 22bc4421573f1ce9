#include "cli/ui/screen/sequence.h"

#define ESC 0x1B
#define BEL 0x07

bool sequence_begin(struct sequence *s, uint32_t c, int64_t now_us)
{
    bool string = c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X';
    *s = (struct sequence){.at_us = now_us};
    if (c == '[')
        s->part = SEQUENCE_CONTROL;
    else if (c == 'O')
        s->part = SEQUENCE_ONE;
    else if (string)
        s->part = SEQUENCE_STRING;
    return s->part != SEQUENCE_NONE;
}

bool sequence_add_char(struct sequence *s, uint32_t c, int64_t now_us)
{
    if (s->part == SEQUENCE_NONE)
        return false;
    if (now_us - s->at_us > SEQUENCE_PAUSE_US || ++s->n > SEQUENCE_MAX) {
        *s = (struct sequence){0};
        return false;
    }
    s->at_us = now_us;
    if (c == ESC) {
        s->part = SEQUENCE_ESC;
        return true;
    }
    switch (s->part) {
    case SEQUENCE_NONE:
        break;
    case SEQUENCE_CONTROL:
        if (c >= '@' && c <= '~')
            s->part = SEQUENCE_NONE;
        break;
    case SEQUENCE_ONE:
        s->part = SEQUENCE_NONE;
        break;
    case SEQUENCE_STRING:
        s->part = c == BEL ? SEQUENCE_NONE : SEQUENCE_STRING;
        break;
    case SEQUENCE_ESC:
        s->part = SEQUENCE_NONE;
        return c == '\\' || sequence_begin(s, c, now_us);
    }
    return true;
}
