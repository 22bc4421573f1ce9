/* all.c - the table of all lists. */
#include "cli/lists/list.h"

const struct list *const lists[] = {&list_running, &list_escalations, &list_user_questions,
                                    &list_cost, NULL};
