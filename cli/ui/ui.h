/* ui.h - the state of `mcp-interposer ui`, shared by the files of this folder.
 *
 * A picture is drawn from the state; a key changes the state. Between the two, the vault is read
 * in small parts.
 *
 * Views     the screen shows one view, the top of a stack. This view gets the keys. Only the bottom
 *           view may be on the stack twice. The other views keep their state until they are on top
 *           again.
 * Owns      everything in struct ui; ui_close() frees it.
 * Errors    a negative status ends the program. After an error that does not end the program, a
 *           message is shown in the footer. */
#ifndef MI_CLI_UI_UI_H
#define MI_CLI_UI_UI_H

#include "cli/lists/list.h"
#include "cli/look/search/question.h"
#include "cli/ui/detail/pair.h"
#include "cli/ui/detail/schema_notes.h"
#include "cli/ui/keys.h"
#include "cli/ui/layout/layout.h"
#include "cli/ui/model/cursor.h"
#include "cli/ui/model/listing.h"
#include "cli/ui/model/row_cache.h"
#include "cli/ui/model/session_list.h"
#include "cli/ui/prompt.h"
#include "cli/ui/screen/screen.h"
#include "vault/query/tool_list.h"

enum asking {
    ASK_NOTHING,
    ASK_FILTER,
    ASK_SEARCH,
    ASK_GO,
    ASK_EXPORT,
    ASK_EXPORT_CALL,
    ASK_DIFF,
    ASK_PIPE,
    ASK_REPLACE, /* whether to replace an existing file: y or n */
    ASK_YES_NO,  /* a yes/no question that a view asks */
    ASKINGS
};

/* ---- views ---- */

#define WHEEL_ROWS 3
enum motion { MOVE_ROWS, MOVE_PAGE, MOVE_SCROLL, MOVE_FIRST, MOVE_LAST };

/* A key with its meaning, shown in the footer. */
struct hint {
    enum action action; /* ACTION_NONE ends the list */
    const char *text;
};

/* Position of a hint in the footer. A click on the hint acts like its key. */
struct hint_place {
    size_t x, width;
    enum action action;
};
#define HINTS_MAX 16

struct ui;

#define VIEW_UNKNOWN 1 /* the view does not handle this key */

/* The functions of a view. To open a view, prepare its data, then call stack_open(). */
struct view_ops {
    MI_MUST int (*draw)(struct ui *u, const struct area *a);
    MI_MUST int (*move)(struct ui *u, enum motion m, int by); /* by: number of rows or pages */
    MI_MUST int (*key)(struct ui *u, enum action x);          /* `key` may return VIEW_UNKNOWN */
    /* Handles a click or the wheel. NULL: the wheel moves the cursor. */
    MI_MUST int (*mouse)(struct ui *u, const struct press *p);
    /* goes to the next match of u->search; NULL: this view cannot be searched */
    void (*search)(struct ui *u, bool forward);
    /* Goes to what the user typed after `:`. If `go` is NULL or returns VIEW_UNKNOWN, a typed
     * number is the number of a line. */
    MI_MUST int (*go)(struct ui *u, const char *to);
    void (*close)(struct ui *u); /* frees the view's data; NULL: the view has no data */
    /* hints in the footer, one for each pane that can have the focus; a view without panes uses the
     * first */
    const struct hint *hints[PANES];
};

extern const struct view_ops main_view, help_view, overview_view, list_view, problems_view;
extern const struct view_ops plain_list_view; /* the view of a list whose rows cannot be opened */
#define VIEWS_MAX 10 /* maximum number of open views: each once, the bottom view twice */

struct layer {
    const struct view_ops *view;
    size_t top;   /* first line on the screen, if the view is a page */
    size_t found; /* 1 + the line of the last match in the page; 0: none, or scrolled away */
    size_t at;  /* in the overview: 1 + index of the selected tool; 0: the first tool is selected */
    bool moved; /* the selected tool must be scrolled into view */
    enum pane floor; /* Esc closes the view if this pane of the main view has the focus */
    enum pane focus; /* focus before the view was opened */
    struct list_view *list_view; /* owned; set if the view shows a list */
};

enum seek_what { SEEK_TEXT, SEEK_FAILED, SEEK_SESSION };

/* A search for a row of the list, which reads some messages in each step. */
struct seek {
    bool on, forward, wrapped;
    enum seek_what what;
    int64_t start, at; /* start: seq of the selected row; at: seq of the next message to search */
    /* The members below are used only for a search in all sessions of the list. */
    int64_t session; /* id of the session that is being searched */
    int64_t origin;  /* id of the session in which the search began */
    int64_t last;    /* seq of the last message of `session` */
};

#define SHOWN_MESSAGES 24 /* maximum number of messages shown of one call */
#define SHOWN_LINES 200   /* maximum number of lines of stderr that are shown */

/* What the detail pane shows. */
struct shown {
    int64_t session, seq, answer; /* the call or message that is shown; seq 0: nothing is shown */
    struct detail *doc;           /* owned; the document that is shown; NULL if nothing is shown */
    struct page_row *row;         /* owned; rows of messages, stderr and events */
    struct detail_message message[SHOWN_MESSAGES];
    struct buf large[SHOWN_MESSAGES]; /* owned; large bodies of the messages */
    size_t large_n;                   /* total size of the texts in `large`, in bytes */
    struct detail_line line[SHOWN_LINES];
    struct detail_subject subject;
    struct schema_notes notes;
    struct buf operation; /* owned; the text to which subject.operation points */
    size_t columns;       /* width in columns to which the document was wrapped */
    size_t top, at;       /* top: index of the first line in the pane; at: of the selected line */
    size_t from;          /* number of the first visible column */
    bool jumped;          /* the first visible column was changed to show a match */
};

/* A copy of a call, or of a single message, to compare with another call or message. */
struct pair_view_call {
    int64_t session, seq; /* session and seq of the copied call; seq 0: no call was copied */
    struct buf text[2];   /* owned; request and answer: JSON of params, result or error */
    /* bytes of each text; 0: there is no text. Texts above PAIR_TEXT_MAX bytes are not copied. */
    size_t size[2];
};

/* Two calls side by side. */
struct pair_view {
    struct pair_view_call call[2]; /* call[0] was selected first, call[1] second */
    struct pair *pair;             /* owned; NULL until the second call is chosen */
    size_t top, from;              /* numbers of the first visible row and column */
    size_t found; /* row index of the difference found last with the key n or N; SIZE_MAX: none */
};

#define PAIR_VIEW_ABOVE 2 /* number of rows shown above a difference or match that was found */

/* Events of the chosen session, which are rows in the list of calls. */
#define EVENTS_MAX 256
struct events {
    struct page_row *row[EVENTS_MAX]; /* owned; the events, sorted by time */
    /* for each event: seq of the first call after it; INT64_MAX: no such call was read */
    int64_t before[EVENTS_MAX];
    size_t n;
    int64_t last; /* id of the last event that was read */
};

/* A session in which no match was found so far. */
struct narrow_session {
    int64_t id, next; /* next: seq of the first message that was not searched */
};
/* The sessions that are searched for a message that matches the filter. */
struct narrow {
    struct narrow_session *s; /* owned */
    size_t n, cap;
    size_t at;   /* sessions before this index were searched, but messages may be added to them */
    bool failed; /* memory ran out when a session was added */
};

#define STORE_MS 2000 /* time between two reads of a store, which does not report changes */
#define STORE_KEYS 64

/* State of reading a store. */
struct central {
    struct press key[STORE_KEYS]; /* keys that came while waiting for the store */
    size_t keys_n;
    bool chooses; /* the session under the cursor has not been loaded yet */
    /* gives_up: a key press may end the current read; gave_up: a key press has ended the read */
    bool gives_up, gave_up;
    int64_t asked_us;  /* time when the last request was sent to the store */
    int64_t looked_us; /* time at which the store was last read for changes */
    int64_t failed_us; /* time when reading failed; 0: the last reading succeeded */
};

struct ui {
    const struct settings *settings; /* borrowed */
    struct query *q;                 /* owned */
    const char *file;                /* borrowed; a recording file; NULL: a vault is shown */
    char *vault;                     /* owned; path of the vault `q` */
    int64_t version;                 /* version of the database when it was last read */
    struct central store;

    bool ascii;
    size_t width, height;
    struct layout_panes panes;
    enum pane focus;
    bool zoom;
    struct layer layer[VIEWS_MAX]; /* the stack */
    size_t layers_n;

    struct sessions sessions;
    struct cursor session_cursor;
    struct page_row *session; /* owned; the chosen session; NULL: none */
    enum session_state state; /* state of the chosen session */

    enum listing_mode mode;
    bool clock; /* true: the list shows times of day; false: times since the start of the session */
    struct listing listing;
    struct events events;
    struct cursor list_cursor;
    struct row_cache rows;
    bool listing_full;

    struct question question;
    bool filtered; /* the user has set a filter */
    bool narrowed; /* the filter has conditions on messages */
    bool requests; /* true: the list has a row per request; false: a row per operation */
    char filter[PROMPT_MAX + 1];
    char words_text[PROMPT_MAX + 1]; /* a copy of the filter, split into words */
    char *words[SEARCH_TERMS_MAX + QUESTION_FIELDS + 1];
    struct buf large, searched; /* owned; buffers for reading and searching bodies */
    struct narrow narrow;       /* state of the search, if the filter concerns messages */

    struct shown shown;
    char search[PROMPT_MAX + 1]; /* the last search; "": none */
    struct seek seek;
    size_t problems_n;         /* number of escalations */
    int64_t problems_us;       /* time when the escalations were last counted */
    struct problems *problems; /* owned; NULL: the view of escalations is not open */
    struct compare *compare;   /* owned; NULL: the view of a comparison is not open */

    struct pair_view pair_view;
    struct tool_list tools; /* owned; the tools of the session tools_of, for notes in the detail */
    int64_t tools_of;       /* id of the session that has `tools`; 0: no tools were read */

    enum asking asking;
    struct prompt prompt;
    struct prompt_history history[ASKINGS]; /* owned */
    const char *yes_no_question;            /* borrowed */
    int (*yes)(struct ui *u);
    /* an existing file that the export replaces if the user agrees */
    char file_name[PROMPT_MAX + 1];
    char command[PROMPT_MAX + 1]; /* the last command to which a text was passed */
    bool replaces_call;           /* true: the export is a call; false: a session */
    struct buf message;           /* owned; a message in the footer, shown until the next key */
    bool alarm;                   /* the message is an error */

    struct hint_place hint[HINTS_MAX]; /* hints of the footer */
    size_t hints_n;

    struct cells cells; /* owned; the line being drawn */
    struct buf scratch; /* owned */
    bool dirty;         /* the screen must be drawn again */
    bool stale;         /* the screen should be drawn again, but not urgently */
    bool ticks;         /* something on the screen changes with time */
    bool uncounted;     /* a session on the screen has failed calls that are not counted yet */
    bool quit;
};

/* ---- state.c ---- */
void ui_say(struct ui *u, const char *fmt, ...) MI_FORMAT(2, 3);
void ui_say_error(struct ui *u, const char *fmt, ...) MI_FORMAT(2, 3);
struct query_session *ui_get_chosen_session(const struct ui *u); /* NULL: none */

/* ---- list_rows.c ---- */
/* A row of the list. */
struct list_row {
    struct listed listed;            /* listed.seq of an event is below 0 */
    const struct query_event *event; /* the event of the row; NULL: a call or a message */
};
size_t list_count_rows(const struct ui *u);
/* Returns how many of the rows above this row are calls, not events. */
size_t list_count_calls_above(const struct ui *u, size_t place);
size_t list_find_seq(const struct ui *u, int64_t seq); /* returns the index of a call or message */
struct list_row list_get_row_at(const struct ui *u, size_t place);
size_t list_find_selected_row(const struct ui *u); /* returns the index of the selected row */
/* returns false if the list has no row */
bool list_get_selected_row(const struct ui *u, struct list_row *ret);
/* returns false if the list has no row, or the selected row is an event */
bool list_get_selected_call(const struct ui *u, struct listed *ret);
void list_select_row_at(struct ui *u, size_t place); /* selects the row at this index */
void list_stop_following(struct ui *u); /* keeps the same row selected when new rows are added */

/* Reads new events of the chosen session. */
MI_MUST int events_read_new_rows(struct ui *u);
/* Places the events that happened before this call above the call in the list. Call this function
 * after the call was added to the listing. */
void events_move_before_call(struct ui *u, const struct query_call *c);
/* Call this function before the calls are added again. */
void events_forget_positions(struct ui *u);
void events_close(struct ui *u);

/* ---- act.c ---- */
MI_MUST int act_on_press(struct ui *u, const struct press *p);

/* ---- stack.c ---- */
struct layer *stack_top(struct ui *u);
/* Puts a view on top of the stack. If the view is open already, closes it first. */
struct layer *stack_open(struct ui *u, const struct view_ops *v);
/* Closes the view and the views above it. Does nothing if the view is not open, or is the bottom
 * view. */
void stack_close_view_and_above(struct ui *u, const struct view_ops *v);
void stack_close(struct ui *u); /* closes the top view */
/* Pushes the main view on the stack, although it is also the bottom view. Esc in `pane` closes the
 * pushed view. */
void stack_open_main(struct ui *u, enum pane pane);
/* Returns the selected row after a motion. n: number of rows; at: the row selected before it. */
size_t move_cursor(struct cursor *c, size_t n, size_t at, enum motion m, int by);
/* Moves *top, the first line on the screen. A page has `page` lines. *top may exceed the last line:
 * drawing corrects *top. */
void move_top_line(size_t *top, enum motion m, int by, size_t page);

/* ---- feed.c: reads the vault ---- */
/* Chooses a session (0: none) and reads the end of its messages. If the session was removed, shows
 * a message and keeps the current session. */
MI_MUST int feed_choose_session(struct ui *u, int64_t id);
/* Opens the main view on top of the stack, and shows this call; if seq is 0, the calls of the
 * session. */
MI_MUST int feed_open_call(struct ui *u, int64_t session, int64_t seq);
/* Reads some older messages and sessions. Sets *ret_more to whether more are left to read. */
MI_MUST int feed_read_step(struct ui *u, bool *ret_more);
/* Reads what was recorded since the last call of this function. *ret_more: more is left to read. */
MI_MUST int feed_read_changes(struct ui *u, bool *ret_more);
#define STEP_US 8000 /* microseconds after which a step of reading or searching ends */
/* Sets whether the list shows calls or all messages. */
MI_MUST int feed_set_list_mode(struct ui *u, enum listing_mode mode);
bool feed_shows_operations(const struct ui *u); /* returns whether a row is an operation */
/* Whether the list of sessions is complete. feed_read_more_sessions() reads some more sessions. */
bool feed_has_all_sessions(const struct ui *u);
MI_MUST int feed_read_more_sessions(struct ui *u);
/* Sets the filter and reads the lists again. If the filter is invalid, shows a message, keeps the
 * current filter, and returns MI_EINVAL. */
MI_MUST int feed_set_filter(struct ui *u, const char *text);

/* ---- narrow.c: finds the sessions that have a message that matches the filter ---- */
/* Adds a session to the sessions that are searched for a match. */
void narrowing_add_session(struct ui *u, int64_t id);
bool narrowing_has_more_to_search(
    const struct ui *u); /* returns whether there are messages to search */
/* Searches a part of one session, and adds the session to the list if it has a match. */
MI_MUST int narrowing_run_search_step(struct ui *u);
/* Call this function after messages were added, so that these messages are searched. */
void narrowing_restart_search(struct ui *u);
void narrowing_close(struct ui *u);
/* Sets *ret to whether message m of session s matches the filter. */
MI_MUST int narrowing_match_message(struct ui *u, const struct query_session *s,
                                    const struct query_message *m, bool *ret);

/* ---- seek.c ---- */
/* Begins a search from the selected row on; seek_run_step() continues it. */
void seek_begin_search(struct ui *u, enum seek_what what, bool forward);
MI_MUST int seek_run_step(struct ui *u);
/* Goes to the next or previous match of u->search, in the pane that has the focus. */
void seek_go_to_match(struct ui *u, bool forward);

/* A search for u->search in lines, which the caller passes from the first to the last. */
struct line_seek {
    bool forward;
    size_t from;  /* line where the search begins; SIZE_MAX: before all lines */
    size_t found; /* 1 + the line of the nearest match in the direction of the search; 0: none */
    size_t other; /* 1 + the line of the first match after the search wrapped around; 0: none */
};
#define LINE_SEEK_COLUMNS 1000 /* number of columns of a line that are searched */
/* Searches a line, whose text is in u->cells. */
void line_search_test_line(struct ui *u, struct line_seek *s, size_t line);
/* Returns the line of the match plus 1. Without a match, shows a message and returns 0. */
size_t line_search_end(struct ui *u, const struct line_seek *s);

/* ---- show.c: the detail of the selected row ---- */
MI_MUST int show_selected_row(struct ui *u, size_t columns);
MI_MUST int draw_detail(struct ui *u, const struct area *a);
void show_close(struct ui *u);

/* ---- list_view.c: views of lists ---- */
/* Opens a view of a list. The next functions work on such a view. */
MI_MUST int list_view_open(struct ui *u, const struct view_ops *view, const struct list *list);
MI_MUST int list_view_draw(struct ui *u, const struct area *a);
MI_MUST int list_view_move_cursor(struct ui *u, enum motion m, int by);
MI_MUST int list_view_handle_mouse(struct ui *u, const struct press *p);
void list_view_search(struct ui *u, bool forward);
void list_view_close(struct ui *u);
/* The next functions work on the view on top of the stack. */
/* returns NULL if the view does not show a list */
const struct list *list_view_get_shown_list(const struct ui *u);
const void *
list_view_get_selected_row(const struct ui *u); /* returns NULL if the list has no row */
void list_view_request_new_rows(struct ui *u);  /* reads the rows again, if the view shows a list */

/* ---- problems.c ---- */
MI_MUST int problems_open(struct ui *u);
MI_MUST int problems_update_count(struct ui *u); /* counts the escalations, at most once a second */

/* ---- copy.c: the selected text: a UID, a message, or the text of a line ---- */
void copy_selected_text(struct ui *u, enum detail_copy what);
/* Passes the selected text to `command`. If `command` is NULL, shows the text in a pager. */
void show_selected_text_in_pager(struct ui *u, const char *command);

/* ---- compare.c ---- */
/* Begins to compare the chosen session with another recording. If this is not possible, shows a
 * message. ref: a session or a file; "": the previous session of the same server. */
MI_MUST int compare_open_view(struct ui *u, const char *ref);
bool compare_is_incomplete(
    const struct ui *u); /* true: compare_read_next_rows() must be called again */
MI_MUST int compare_read_next_rows(struct ui *u);

/* ---- ui_ask.c: questions in the footer ---- */
void open_prompt(struct ui *u, enum asking what, const char *text);
void ask_file(struct ui *u, bool call); /* asks for the file of an export */
/* Asks a question; calls `yes` if the user answers y. `question` must be static. */
void ask_yes_no(struct ui *u, const char *question, int (*yes)(struct ui *u));
MI_MUST int ask_handle_press(struct ui *u, int key);

/* ---- pair_view.c: two calls side by side ---- */
/* Marks the selected call for a comparison. If a call is marked already, compares the two calls. */
void pair_view_toggle_selected_call(struct ui *u);
void pair_view_close(struct ui *u); /* frees the comparison, and unmarks the call */

/* ---- central.c: only for ui --from ---- */
void central_register_wait_callbacks(void); /* call before the store is opened */
void central_set_screen(struct ui *u); /* call when the screen is open: keys are read from now on */
void central_stop_waiting(void);       /* call before the screen is closed */
/* Takes the next key that was pressed while ui waited for the store. false: there is none. */
bool central_next_pending_key(struct ui *u, struct press *ret);
bool central_has_pending_key(
    const struct ui *u); /* true: a key is in the queue or in the terminal */
/* Whether the last error means that reading was abandoned because a key waits. */
bool central_clear_interruption(struct ui *u);
/* Must be called after the store was read. Hides the error message of an earlier failure. */
void central_note_success(struct ui *u);
/* Whether reading has failed and it is too early to retry. */
bool central_must_wait_to_retry(const struct ui *u);
/* Returns the reason why this action is not available in a store; NULL: the action is available. */
const char *central_explain_unavailable(const struct ui *u, enum action x);

/* ---- deferred_load.c: only for ui --from ---- */
/* Loads the session under the cursor, unless it is loaded already. If `now` is false, does nothing
 * while a key waits. */
MI_MUST int deferred_load_selected_session(struct ui *u, bool now);
/* If st is an error of the store: shows it, drops what was read, and returns 0 or an error of
 * dropping; if ui quits or a key interrupted the read, just returns 0. Returns any other st. */
MI_MUST int deferred_load_handle_failure(struct ui *u, int st);

/* ---- draw*.c ---- */
#define LIST_HEAD 2 /* number of lines above the rows of a list: the caption and the titles */
MI_MUST int draw_screen(struct ui *u);
MI_MUST int draw_sessions(struct ui *u, const struct area *a);
MI_MUST int draw_list(struct ui *u, const struct area *a);
/* Writes the cells of a session's row to u->cells. If r is NULL, writes the column titles. */
void draw_session(struct ui *u, size_t width, const struct session_row *r);
/* These functions move and search in a page. A search begins at the line of the last match or, if
 * there is none, at the first line on the screen. */
MI_MUST int scroll_page(struct ui *u, enum motion m, int by);
struct line_seek page_begin_search(struct ui *u, bool forward);
void page_scroll_to_match(struct ui *u, size_t found);  /* found: the result of line_search_end() */
void draw_overview(struct ui *u, const struct area *a); /* draws the overview in a pane */
/* Draws the title line of a pane. */
void draw_caption(struct ui *u, const struct area *a, enum pane pane, const char *fmt, ...)
    MI_FORMAT(4, 5);
/* Draws recorded text in exactly `width` columns: cut with an ellipsis, or padded. */
enum draw_align { DRAW_LEFT, DRAW_RIGHT };
void draw_field(struct ui *u, enum cells_style style, struct slice text, size_t width,
                enum draw_align align);
void draw_line(struct ui *u, const struct area *a, size_t line, enum screen_line kind);
/* Draws a line and highlights the matches of u->search in it. */
void draw_line_with_matches(struct ui *u, const struct area *a, size_t line, enum screen_line kind);
/* Returns the text of u->scratch. If memory ran out for the text, sets u->cells.failed. */
struct slice draw_get_scratch_text(struct ui *u);
/* Draws a duration. A negative `us` is drawn as -. */
void draw_duration(struct ui *u, enum cells_style style, int64_t us, size_t width);

/* Adds the cells of a row (NULL: the column titles). Call cells_begin_line(&u->cells) before. */
void draw_row_cells(struct ui *u, const struct show_list *l, const void *row);
/* Converts a style of terminal output to a style of the screen. */
enum cells_style cells_convert_out_style(enum out_style style);

/* ---- outside.c: other commands of this program ---- */
/* Runs this program with the words, which end with NULL. Returns its exit status, or -1, and
 * appends its first line of output to ret_said. */
int outside_run_this_program(const char *const *words, struct buf *ret_said);
/* Runs `mcp-interposer send` in the terminal, to send request `seq` of the chosen session again. If
 * `edit` is true, passes --edit. */
MI_MUST int outside_run_send(struct ui *u, int64_t seq, bool edit);
/* Shows a text in $PAGER or $EDITOR; with a command, passes the text to its stdin. */
void outside_show_text(struct ui *u, struct slice text, const char *command);
/* Copies a text with tmux, which passes the text to the terminal's clipboard. Returns false if ui
 * does not run in tmux, or tmux failed. */
bool outside_copy_with_tmux(struct ui *u, struct slice text);
/* Exports the chosen session or, if seq > 0, one call of the session to a file. Shows a message
 * with the result. */
MI_MUST int outside_run_export(struct ui *u, const char *file, int64_t seq, bool replace);

/* ---- cassette.c ---- */
/* Imports a recording into a new vault in a temporary directory. *ret_dir: its path, which the
 * caller frees. Returns 0, or an error with a sentence in `error`. */
MI_MUST int cassette_vault_create(const char *file, char **ret_dir, struct buf *error);
void cassette_vault_remove(const char *dir);

#endif
