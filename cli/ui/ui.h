/* ui.h - the state of `mcp-interposer ui`, shared by the files of this folder.
 *
 * A picture is drawn from the state; a key changes the state; the vault is read in small parts between the two.
 *
 * Views     the screen shows one view, the top of a stack, which gets the keys. A view is on the stack once, or twice if it is
 *           the bottom. The others keep their state until they are on top again.
 * Owns      everything in it; ui_close() frees it.
 * Errors    a negative status ends the program; what a person should know but can go on with is a message in the footer. */
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
#include "cli/ui/model/sessions.h"
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
    ASK_REPLACE, /* an existing file: y or n */
    ASK_YES_NO,  /* what a view wants to know */
    ASKINGS
};

/* ---- views ---- */

#define WHEEL_ROWS 3
enum motion { MOVE_ROWS, MOVE_PAGE, MOVE_SCROLL, MOVE_FIRST, MOVE_LAST };

/* A key in the footer. */
struct hint {
    enum action action; /* ACTION_NONE ends the list */
    const char *text;
};

/* Where one is: a click on it is its key. */
struct hint_place {
    size_t x, width;
    enum action action;
};
#define HINTS_MAX 16

struct ui;

#define VIEW_UNKNOWN 1 /* the key has no meaning in this view */

/* What a view does. What opens it prepares what it shows, and then calls stack_open(). */
struct view_ops {
    MI_MUST int (*draw)(struct ui *u, const struct area *a);
    MI_MUST int (*move)(struct ui *u, enum motion m, int by); /* rows, or pages */
    MI_MUST int (*key)(struct ui *u, enum action x);          /* or VIEW_UNKNOWN */
    /* A click or the wheel. NULL: the wheel moves. */
    MI_MUST int (*mouse)(struct ui *u, const struct press *p);
    void (*search)(struct ui *u, bool forward); /* to the next place of u->search; NULL: none */
    /* Goes to what a person names. NULL, or VIEW_UNKNOWN: a number is a line. */
    MI_MUST int (*go)(struct ui *u, const char *to);
    void (*close)(struct ui *u);     /* frees what belongs to the view; NULL: nothing does */
    const struct hint *hints[PANES]; /* by the pane that has the focus; without panes the first */
};

extern const struct view_ops main_view, help_view, overview_view, list_view, problems_view;
extern const struct view_ops plain_list_view; /* of a list whose rows cannot be opened */
#define VIEWS_MAX 10 /* each once, and the bottom again */

struct layer {
    const struct view_ops *view;
    size_t top;      /* the first line on the screen, of a view that is a page */
    size_t found;    /* 1 + the line of it that was found last; 0: none, or it was scrolled since */
    size_t at;       /* of the overview: 1 + the number of the selected tool; 0: the first one */
    bool moved;      /* the selected one has to be brought into view */
    enum pane floor; /* of the main view: Esc in this pane goes back to the view below */
    enum pane focus; /* before it was opened */
    struct list_view *list_view; /* owned by a view of a list */
};

enum seek_what { SEEK_TEXT, SEEK_FAILED, SEEK_SESSION };

/* A search for a row of the list, a part of the messages at a time. */
struct seek {
    bool on, forward, wrapped;
    enum seek_what what;
    int64_t start, at; /* where it began, and the next message to look at */
    /* Of failed calls, in all sessions of the list: */
    int64_t session, origin, last; /* the one that is looked at, where it began, its last message */
};

#define SHOWN_MESSAGES 24 /* of a call */
#define SHOWN_LINES 200   /* of stderr */

/* What the detail pane shows. */
struct shown {
    int64_t session, seq, answer; /* of the call or message; seq 0: nothing */
    struct detail *doc;           /* owned; NULL: nothing */
    struct page_row *row;         /* owned: the rows of the messages, of stderr, of events */
    struct detail_message message[SHOWN_MESSAGES];
    struct buf large[SHOWN_MESSAGES]; /* owned: large bodies */
    size_t large_n;                   /* bytes of them */
    struct detail_line line[SHOWN_LINES];
    struct detail_subject subject;
    struct schema_notes notes;
    struct buf operation; /* owned; its sentence */
    size_t columns; /* for which it is laid out */
    size_t top, at; /* first line of the pane, and the selected one */
    size_t from;    /* first column */
    bool jumped;    /* because of a match that is there */
};

/* A copy of a call, or of one message, that is compared with another one. */
struct beside_call {
    int64_t session, seq; /* seq 0: none */
    struct buf text[2]; /* owned; of the request and the answer: JSON of params, result or error */
    size_t size[2];     /* of each; 0: none. A text of more than PAIR_TEXT_MAX is not kept */
};

/* Two calls side by side. */
struct beside {
    struct beside_call call[2]; /* the kept one, and the one that it is compared with */
    struct pair *pair;          /* owned; NULL: the second one is not chosen yet */
    size_t top, from;           /* first row and column */
    size_t found;               /* the row that n or N went to last; SIZE_MAX: none */
};

#define BESIDE_ABOVE 2 /* rows above the difference that n and N go to */

/* Events of the chosen session that are rows of the list of calls. */
#define EVENTS_MAX 256
struct events {
    struct page_row *row[EVENTS_MAX]; /* owned; in order of time */
    int64_t before[EVENTS_MAX];       /* the first call after it that was read; INT64_MAX: none */
    size_t n;
    int64_t last; /* the id of the last event that was read */
};

/* Sessions that were not found to have a match. */
struct narrow_session {
    int64_t id, next; /* the first message that was not looked at */
};
struct narrow {
    struct narrow_session
        *s; /* owned; those before `at` were looked at, and may get more messages */
    size_t n, cap, at;
    bool failed; /* there was no memory for one */
};

#define STORE_MS 2000 /* between two looks at a store, which tells no changes */
#define STORE_KEYS 64

/* A store that is read. */
struct central {
    struct press key[STORE_KEYS]; /* that came while it was awaited */
    size_t keys_n;
    bool chooses;           /* the session of the cursor is not the chosen one yet */
    bool gives_up, gave_up; /* what is being read is given up when a key comes; it was */
    int64_t asked_us;       /* when the last question was asked */
    int64_t looked_us;      /* when changes were looked for */
    int64_t failed_us;      /* when it could not be read; 0: it can */
};

struct ui {
    const struct settings *settings; /* borrowed */
    struct query *q;                 /* owned */
    const char *file;                /* borrowed: the cassette; NULL: the vault is shown */
    char *vault;                     /* owned: of q */
    int64_t version;                 /* of the database, when it was last read */
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
    struct page_row *session; /* owned; the chosen one; NULL: none */
    enum session_state state; /* of it */

    enum listing_mode mode;
    bool clock; /* the list has times of day */
    struct listing listing;
    struct events events;
    struct cursor list_cursor;
    struct row_cache rows;
    bool listing_full;

    struct question question;
    bool filtered, narrowed; /* there is a filter; it is about messages */
    bool requests;           /* each request of a call that was several is listed */
    char filter[PROMPT_MAX + 1];
    char words_text[PROMPT_MAX + 1]; /* the filter, cut into words */
    char *words[SEARCH_TERMS_MAX + QUESTION_FIELDS + 1];
    struct buf large, searched; /* owned; scratch of the filter */
    struct narrow narrow;       /* if it is about messages */

    struct shown shown;
    char search[PROMPT_MAX + 1]; /* the last one; "": none */
    struct seek seek;
    size_t problems_n;         /* escalations */
    int64_t problems_us;       /* when they were counted */
    struct problems *problems; /* owned; NULL: they are not shown */
    struct compare *compare;   /* owned; NULL: no recordings are compared */

    struct beside beside;
    struct tool_list tools; /* owned; of the session tools_of, for the notes in the detail */
    int64_t tools_of;       /* 0: none was read */

    enum asking asking;
    struct prompt prompt;
    struct prompt_history history[ASKINGS]; /* owned */
    const char *yes_no_question;            /* borrowed */
    int (*yes)(struct ui *u);
    char file_name[PROMPT_MAX + 1]; /* of the export that may be replaced */
    char command[PROMPT_MAX + 1];   /* that got a value last */
    bool replaces_call;
    struct buf message; /* owned; in the footer until the next key */
    bool alarm;         /* it is an error */

    struct hint_place hint[HINTS_MAX]; /* of the footer */
    size_t hints_n;

    struct cells cells; /* owned; the line that is drawn */
    struct buf scratch; /* owned */
    bool dirty;         /* the picture has to be drawn again */
    bool stale;         /* the same, but it is not urgent */
    bool ticks;         /* something on the screen changes with time */
    bool uncounted;     /* sessions have come onto it whose failed calls are to be counted */
    bool quit;
};

/* ---- state.c ---- */
void ui_say(struct ui *u, const char *fmt, ...) MI_FORMAT(2, 3);
void ui_complain(struct ui *u, const char *fmt, ...) MI_FORMAT(2, 3);
struct query_session *ui_session(const struct ui *u); /* NULL: none */

/* ---- list_rows.c ---- */
/* A row of the list. */
struct list_row {
    struct listed listed;            /* of an event: seq below 0 */
    const struct query_event *event; /* NULL: a call or message */
};
size_t list_n(const struct ui *u);
/* How many calls are before this place: its rows without events. */
size_t list_calls(const struct ui *u, size_t place);
size_t list_find(const struct ui *u, int64_t seq); /* the place of a call or message */
struct list_row list_at(const struct ui *u, size_t place);
size_t list_place(const struct ui *u);                        /* of the selected row */
bool list_selected(const struct ui *u, struct list_row *ret); /* false: none */
bool list_call(const struct ui *u, struct listed *ret);       /* false: none, or an event */
void list_go(struct ui *u, size_t place);                     /* selects another row */
void list_stay(struct ui *u); /* the selected row stays selected when there are new ones */

/* Reads what has happened in the chosen session since. */
MI_MUST int events_read(struct ui *u);
void events_call(struct ui *u, const struct query_call *c); /* a call was added to the listing */
void events_again(struct ui *u);                            /* the calls will be added again */
void events_close(struct ui *u);

/* ---- act.c ---- */
MI_MUST int act(struct ui *u, const struct press *p);

/* ---- stack.c ---- */
struct layer *stack_top(struct ui *u);
/* Puts a view on top. */
struct layer *stack_open(struct ui *u, const struct view_ops *v);
/* Closes the view and those above it, unless it is not open or the bottom. */
void stack_drop(struct ui *u, const struct view_ops *v);
void stack_close(struct ui *u); /* the top */
/* Puts the main view on top, which is the bottom, too; Esc in this pane goes back. */
void stack_open_main(struct ui *u, enum pane pane);
/* The place after a motion, in a list of n rows with the selected one at `at`. */
size_t move_cursor(struct cursor *c, size_t n, size_t at, enum motion m, int by);
/* The same for the first line on the screen, of `page` lines. Drawing limits it. */
void move_top(size_t *top, enum motion m, int by, size_t page);

/* ---- feed.c: reads the vault ---- */
/* Makes a session the chosen one, and reads the end of its messages. 0: none. If it was removed, as the message says, the one
 * before stays. */
MI_MUST int feed_choose(struct ui *u, int64_t id);
/* Opens the main view on top of the others, with this call or, with seq 0, the calls of the session. */
MI_MUST int feed_open_call(struct ui *u, int64_t session, int64_t seq);
/* A step of the work that is not urgent. *ret_more: there is more. */
MI_MUST int feed_step(struct ui *u, bool *ret_more);
/* Reads what was recorded since. *ret_more: call again. */
MI_MUST int feed_changes(struct ui *u, bool *ret_more);
#define STEP_US 8000 /* after which a step of work ends */
/* Whether the lists show calls, or all messages. */
MI_MUST int feed_mode(struct ui *u, enum listing_mode mode);
bool feed_tells_operations(const struct ui *u); /* a call that was several requests is one row */
/* Whether the list of sessions is complete; feed_more_sessions() is a step towards that. */
bool feed_knows_sessions(const struct ui *u);
MI_MUST int feed_more_sessions(struct ui *u);
/* Sets the filter and reads the lists again. MI_EINVAL: it is invalid, as the message says, and the one before stays. */
MI_MUST int feed_filter(struct ui *u, const char *text);

/* ---- narrow.c: the sessions that a filter of messages leaves in the list ---- */
/* Another session in which a match is to be looked for. */
void narrow_add(struct ui *u, int64_t id);
bool narrow_more(const struct ui *u); /* there is something to look at */
/* Looks at a part of a session; adds it to the list if it has a match. */
MI_MUST int narrow_step(struct ui *u);
void narrow_again(struct ui *u); /* messages were added */
void narrow_close(struct ui *u);
/* Whether a message of this session matches the filter. */
MI_MUST int narrow_matches(struct ui *u, const struct query_session *s,
                           const struct query_message *m, bool *ret);

/* ---- seek.c ---- */
/* Begins to look for a row from the selected one on; seek_step() continues. */
void seek_begin(struct ui *u, enum seek_what what, bool forward);
MI_MUST int seek_step(struct ui *u);
/* Goes to the next or previous place of u->search, in the pane that has the focus. */
void seek_text(struct ui *u, bool forward);

/* A search for u->search among lines, which are looked at from the first to the last. */
struct line_seek {
    bool forward;
    size_t from;  /* the line where it begins; SIZE_MAX: before all */
    size_t found; /* 1 + the nearest line in the direction; 0: none */
    size_t other; /* the same from the other end on */
};
#define LINE_SEEK_COLUMNS 1000 /* of a line of a list or a page */
/* The text of u->cells is this line. */
void line_seek_look(struct ui *u, struct line_seek *s, size_t line);
/* 1 + the line that was found. 0: none, as the message says. */
size_t line_seek_end(struct ui *u, const struct line_seek *s);

/* ---- show.c: the detail of the selected row ---- */
MI_MUST int show_selected(struct ui *u, size_t columns);
MI_MUST int draw_detail(struct ui *u, const struct area *a);
void show_close(struct ui *u);

/* ---- list_view.c: views of lists ---- */
/* Opens a view of the list, which the next ones belong to. */
MI_MUST int list_view_open(struct ui *u, const struct view_ops *view, const struct list *list);
MI_MUST int list_view_draw(struct ui *u, const struct area *a);
MI_MUST int list_view_move(struct ui *u, enum motion m, int by);
MI_MUST int list_view_mouse(struct ui *u, const struct press *p);
void list_view_search(struct ui *u, bool forward);
void list_view_close(struct ui *u);
/* Of the view on top: */
const struct list *list_view_list(const struct ui *u); /* NULL: it is no view of a list */
const void *list_view_selected(const struct ui *u);    /* NULL: it has no row */
void list_view_again(struct ui *u); /* its rows have changed; or it is another view */

/* ---- problems.c ---- */
MI_MUST int problems_open(struct ui *u);
MI_MUST int problems_count(struct ui *u); /* at most once a second */

/* ---- copy.c: what is selected: a UID, a message, or the text of a line ---- */
void copy_selected(struct ui *u, enum detail_copy what);
/* Shows it in a pager or, with a command, gives it to that. */
void show_outside(struct ui *u, const char *command);

/* ---- compare.c ---- */
/* Begins to compare the chosen session with another recording, or says why it cannot. ref: a session or a file; "": the session
 * of the same server before it. */
MI_MUST int compare_open(struct ui *u, const char *ref);
bool compare_reads(const struct ui *u); /* compare_step() goes on */
MI_MUST int compare_step(struct ui *u);

/* ---- ask.c: questions in the footer ---- */
void ask(struct ui *u, enum asking what, const char *text);
void ask_file(struct ui *u, bool call); /* for an export */
/* Calls `yes` after the answer y. question: static. */
void ask_yes_no(struct ui *u, const char *question, int (*yes)(struct ui *u));
MI_MUST int ask_press(struct ui *u, int key);

/* ---- beside.c: two calls side by side ---- */
/* Keeps the selected call or, if one is kept, compares it with the selected one. */
void beside_selected(struct ui *u);
void beside_close(struct ui *u); /* keeps nothing any more */

/* ---- central.c: only for ui --from ---- */
void central_begin(void);          /* before the store is opened */
void central_screen(struct ui *u); /* the screen is open: keys are read */
void central_end(void);            /* before the screen is closed */
/* The next key that came while the store was awaited. false: none. */
bool central_key(struct ui *u, struct press *ret);
bool central_has_key(const struct ui *u); /* one waits there, or in the terminal */
/* Whether the error that has just come is that the reading was given up, because a key waits. */
bool central_gave_up(struct ui *u);
void central_works(struct ui *u);       /* it was read: the error is not shown any more */
bool central_rests(const struct ui *u); /* it could not be read, and is not asked yet */
/* Why this key has no effect; NULL: it has. */
const char *central_lacks(const struct ui *u, enum action x);

/* ---- late.c: only for ui --from ---- */
/* Chooses the session of the cursor, if it is not chosen yet; without `now`, unless a key waits. */
MI_MUST int late_choose(struct ui *u, bool now);
/* Shows an error of the store, and has everything read again: 0. Any other status is returned. */
MI_MUST int late_failed(struct ui *u, int st);

/* ---- draw*.c ---- */
#define LIST_HEAD 2 /* lines of a list before its rows: the caption and the titles */
MI_MUST int draw(struct ui *u);
MI_MUST int draw_sessions(struct ui *u, const struct area *a);
MI_MUST int draw_list(struct ui *u, const struct area *a);
/* Fills the line with the cells of a session. NULL: the titles. */
void draw_session(struct ui *u, size_t width, const struct session_row *r);
/* move() of a view that is a page, and its search: it begins at the line that was found last, or at the first one. */
MI_MUST int move_page(struct ui *u, enum motion m, int by);
struct line_seek page_seek(struct ui *u, bool forward);
void page_found(struct ui *u, size_t found);            /* line_seek_end() */
void draw_overview(struct ui *u, const struct area *a); /* in a pane */
/* The first line of a pane. */
void draw_caption(struct ui *u, const struct area *a, enum pane pane, const char *fmt, ...)
    MI_FORMAT(4, 5);
/* Recorded text in exactly `width` columns of the line: cut with an ellipsis, or padded. */
enum draw_align { DRAW_LEFT, DRAW_RIGHT };
void draw_field(struct ui *u, enum cells_style style, struct slice text, size_t width,
                enum draw_align align);
void draw_line(struct ui *u, const struct area *a, size_t line, enum screen_line kind);
/* A line in which the text that was searched is marked. */
void draw_found(struct ui *u, const struct area *a, size_t line, enum screen_line kind);
/* The text of u->scratch. That memory has run out for it is noted in the line. */
struct slice draw_scratch(struct ui *u);
void draw_duration(struct ui *u, enum cells_style style, int64_t us, size_t width); /* us < 0: - */

/* Fills the line, which has begun, with the cells of a row. NULL: the titles. */
void draw_columns(struct ui *u, const struct show_list *l, const void *row);
/* The style of a text on a terminal. */
enum cells_style draw_style(enum out_style style);

/* ---- outside.c: other commands of this program ---- */
/* Runs a command of this program: the words, which end with NULL. Returns its exit status, or -1; the first line that it has
 * written is appended to ret_said. */
int outside_run(const char *const *words, struct buf *ret_said);
/* Runs `send` with a request of the chosen session; the terminal belongs to it meanwhile. edit: with --edit. */
MI_MUST int outside_send(struct ui *u, int64_t seq, bool edit);
/* Shows a text in $PAGER or $EDITOR or, with a command, gives it to that as input. */
void outside_show(struct ui *u, struct slice text, const char *command);
/* Copies a text with tmux, which also gives it to the terminal's clipboard. false: this is not tmux, or it cannot. */
bool outside_tmux_copy(struct ui *u, struct slice text);
/* Writes the chosen session, or with seq > 0 one of its calls, to a file. The message says what came of it. */
MI_MUST int outside_export(struct ui *u, const char *file, int64_t seq, bool replace);

/* ---- cassette.c ---- */
/* Reads a recording into a vault of its own, in a temporary directory. *ret_dir is its path, allocated. 0, or an error
 * with a sentence. */
MI_MUST int cassette_vault(const char *file, char **ret_dir, struct buf *error);
void cassette_vault_remove(const char *dir);

#endif
