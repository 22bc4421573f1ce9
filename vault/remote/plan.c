/* plan.c - chooses the conditions of a statement that the store evaluates (xBestIndex). */
#include "vault/remote/table.h"

#define COLUMNS_MAX 64

/* A column, and the comparison operators that the store can evaluate for it. */
struct key {
    int column;
    const char *operators;
};

/* Indexes of columns in remote_shape.sql. The column of cell N has the index N + 1. */
enum {
    COLUMN_ID = 0,
    SESSION_UID = 2,
    SESSION_NUMBER = 3,
    SESSION_NAME = 4,
    EVENT_ID = 1,
    LEAF_N = 1,
    LEAF = 2
};
enum { MESSAGE_T_US = 2, MESSAGE_BODY = 1 + REMOTE_MESSAGE_BODY };

static const struct key keys[REMOTE_TABLES][4] = {
    [REMOTE_SESSIONS] = {{COLUMN_ID, "=gl"},
                         {SESSION_UID, "g><"},
                         {SESSION_NAME, "="},
                         {SESSION_NUMBER, "="}},
    [REMOTE_MESSAGES] = {{COLUMN_ID, "=gl"}},
    [REMOTE_EVENTS] = {{COLUMN_ID, "="}, {EVENT_ID, "=g>l"}},
    [REMOTE_LEAVES] = {{LEAF, "g<"}},
    [REMOTE_CALLS] = {{COLUMN_ID, "=gl"}},
    [REMOTE_SUMMARIES] = {{COLUMN_ID, "="}},
};

static char plan_get_constraint_operator(unsigned char op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return PLAN_EQ;
    case SQLITE_INDEX_CONSTRAINT_GT:
        return PLAN_GT;
    case SQLITE_INDEX_CONSTRAINT_GE:
        return PLAN_GE;
    case SQLITE_INDEX_CONSTRAINT_LT:
        return PLAN_LT;
    case SQLITE_INDEX_CONSTRAINT_LE:
        return PLAN_LE;
    default:
        return '\0';
    }
}

/* Whether the store compares the column with this operator. */
static bool store_can_compare_column(enum remote_table table, int column, char op)
{
    for (size_t i = 0; i < MI_COUNT(keys[table]); i++)
        if (keys[table][i].operators != NULL && keys[table][i].column == column)
            return op != '\0' && strchr(keys[table][i].operators, op) != NULL;
    return false;
}

/* Whether the store returns rows in the order that the statement requires. */
static bool rows_come_in_wanted_order(enum remote_table table, const sqlite3_index_info *info)
{
    if (info->nOrderBy != 1)
        return false;
    int column = info->aOrderBy[0].iColumn;
    bool backwards = info->aOrderBy[0].desc != 0;
    switch (table) {
    case REMOTE_SESSIONS:
        return column == SESSION_UID || (column == COLUMN_ID && backwards);
    case REMOTE_MESSAGES:
    case REMOTE_CALLS:
        return column == COLUMN_ID;
    case REMOTE_EVENTS:
        return column == EVENT_ID;
    case REMOTE_LEAVES:
        return column == LEAF_N;
    default:
        return false;
    }
}

int plan_choose_index(enum remote_table table, sqlite3_index_info *info)
{
    char text[2 * COLUMNS_MAX + 1];
    int n = 0;
    bool one = false, some = false;
    for (int i = 0; i < info->nConstraint && n < COLUMNS_MAX; i++) {
        char op = plan_get_constraint_operator(info->aConstraint[i].op);
        int column = info->aConstraint[i].iColumn;
        if (!info->aConstraint[i].usable || !store_can_compare_column(table, column, op))
            continue;
        text[2 * n] = (char)('a' + column);
        text[2 * n + 1] = op;
        info->aConstraintUsage[i].argvIndex = ++n;
        info->aConstraintUsage[i].omit = 1;
        one |= op == PLAN_EQ && column == COLUMN_ID && table != REMOTE_EVENTS;
        some = true;
    }
    text[2 * n] = '\0';
    /* without a condition on the session, only sessions and leaves can be read */
    if (table != REMOTE_SESSIONS && table != REMOTE_LEAVES && strchr(text, 'a') == NULL)
        return SQLITE_CONSTRAINT;
    info->idxStr = sqlite3_mprintf("%s", text);
    if (info->idxStr == NULL)
        return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    info->orderByConsumed = rows_come_in_wanted_order(table, info);
    if (info->orderByConsumed && info->aOrderBy[0].desc != 0)
        info->idxNum |= PLAN_BACKWARDS;
    if (table == REMOTE_MESSAGES && (info->colUsed & (sqlite3_uint64)1 << MESSAGE_BODY) != 0)
        info->idxNum |= PLAN_BODIES;
    if ((table == REMOTE_SESSIONS && info->colUsed == (sqlite3_uint64)1 << SESSION_UID) ||
        (table == REMOTE_MESSAGES && info->colUsed == (1 << COLUMN_ID | 1 << MESSAGE_T_US)))
        info->idxNum |= PLAN_ONE;
    info->estimatedRows = one ? 1 : some ? 1000 : 1000000;
    info->estimatedCost = (double)info->estimatedRows;
    info->idxFlags = one ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    return SQLITE_OK;
}
