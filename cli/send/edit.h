/* edit.h - lets the user change JSON in an editor: $VISUAL, else $EDITOR, else vi.
 *
 * The text is in a file that only this user can read, in a directory that is removed afterwards. A syntax error is reported;
 * on a terminal the user may edit the text again.
 * Blocks    until the editor exits. */
#ifndef MI_CLI_SEND_EDIT_H
#define MI_CLI_SEND_EDIT_H

#include "base/buf.h"

enum edit_result {
    EDIT_DONE,
    EDIT_CANCELLED, /* the file is empty */
    EDIT_UNCHANGED, /* the file is as it was, as after `:q!` */
    EDIT_FAILED,    /* reported on stderr */
};

/* The text must be a JSON object, and is one afterwards, on indented lines. */
MI_MUST enum edit_result edit_object(struct buf *text);

#endif
