/* A file of notes: reading ends, and what was read is inside the text, and is written again as it was. */
#include "evidence/note.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct slice all = {(const char *)data, n}, rest = all, note;
    struct public_key k;
    struct note read;
    struct checkpoint c;
    struct buf b = {0};
    while (note_read_next_note(&rest, &note)) {
        MUST(inside(all, note));
        if (note_read(note, &read) < 0)
            continue;
        MUST(inside(note, read.text) && inside(note, read.signatures));
        MUST(read.text.n + 1 + read.signatures.n == note.n);
        if (checkpoint_read(read.text, &c) == 0) {
            buf_clear(&b);
            checkpoint_write(&b, &c);
            MUST(b.n <= read.text.n && memcmp(b.p, read.text.p, b.n) == 0);
        }
        if (key_read_public(slice_of("PeterNeumann+c74f20a3+"
                                     "ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"),
                            &k) == 0)
            (void)!note_check_signature(&read, &k);
    }
    if (key_read_public(all, &k) == 0) {
        buf_clear(&b);
        key_write_public(&b, &k);
        MUST(slice_eq(buf_slice(&b), all));
    }
    buf_close(&b);
    return 0;
}
