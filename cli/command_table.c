#include "cli/command_table.h"

#include "cli/audit/commands.h"
#include "cli/check/commands.h"
#include "cli/complete/commands.h"
#include "cli/diff/commands.h"
#include "cli/doctor/commands.h"
#include "cli/export/commands.h"
#include "cli/lists/list.h"
#include "cli/look/commands.h"
#include "cli/look/follow/commands.h"
#include "cli/look/search/commands.h"
#include "cli/mcp/commands.h"
#include "cli/proxy/commands.h"
#include "cli/recordings/commands.h"
#include "cli/send/commands.h"
#include "cli/ship/commands.h"
#include "cli/ui/commands.h"
#include "cli/upkeep/commands.h"
#include "cli/wrap/commands.h"

/* The commands have the order of the help. */
/* clang-format off */
const struct command *const table_of_commands[] = {
    &command_proxy,
    &command_replay,
    &command_verify,
    &command_diff,
    &command_send,
    &command_sessions,
    &command_show,
    &command_tail,
    &command_ui,
    &command_stats,
    &list_cost.command,
    &command_search,
    &command_check,
    &command_tools,
    &command_mcp,
    &command_export,
    &command_import,
    &command_wrap,
    &command_unwrap,
    &command_prune,
    &list_running.command,
    &command_reap,
    &list_user_questions.command,
    &command_doctor,
    &command_escalations,
    &command_redact,
    &command_audit,
    &command_ship,
    &command_completion,
    NULL,
};
/* clang-format on */
