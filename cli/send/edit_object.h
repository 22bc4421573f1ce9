/* edit_object.h - lets the user change JSON in an editor: $VISUAL, else $EDITOR, else vi.
 *
 * The text is in a file that only this user can read, in a directory that is removed afterwards. A
 * syntax error is reported; on a terminal the user may edit the text again.
 * Blocks    until the editor exits. */
#ifndef MI_CLI_SEND_EDIT_OBJECT_H
#define MI_CLI_SEND_EDIT_OBJECT_H

#include "base/buf.h"

enum edit_result {
    EDIT_DONE,
    EDIT_CANCELLED, /* the user has emptied the file */
    EDIT_UNCHANGED, /* the file did not change, as after `:q!` */
    EDIT_FAILED,    /* an error, which was reported on stderr */
};

/* Lets the user edit the text, which must be a JSON object. After EDIT_DONE, the text is the JSON
 * object that the user saved. After EDIT_UNCHANGED, it is the same object on indented lines. */
MI_MUST enum edit_result edit_object(struct buf *text);

#endif
