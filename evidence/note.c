#include "evidence/note.h"

#include "base/base64.h"
#include "base/text.h"

#define DASH "\xE2\x80\x94 " /* an em dash and a blank */

/* ---- the text of a checkpoint --------------------------------------------------------------- */

void checkpoint_write(struct buf *b, const struct checkpoint *c)
{
    buf_slice_add(b, c->origin);
    buf_addc(b, '\n');
    buf_add_uint(b, c->size);
    buf_addc(b, '\n');
    base64_encode(b, c->root.b, DIGEST_N);
    buf_addc(b, '\n');
}

/* Removes the first line from *rest, and returns it in *ret without its newline. Returns false if
 * *rest has no complete line, or if the line is empty. */
static bool take_next_line_of_note(struct slice *rest, struct slice *ret)
{
    const char *end = rest->n > 0 ? memchr(rest->p, '\n', rest->n) : NULL;
    if (end == NULL || end == rest->p)
        return false;
    *ret = (struct slice){rest->p, (size_t)(end - rest->p)};
    *rest = (struct slice){end + 1, rest->n - ret->n - 1};
    return true;
}

static bool read_checkpoint_size(struct slice text, uint64_t *ret)
{
    uint64_t v = 0;
    if (text.n == 0 || (text.n > 1 && text.p[0] == '0'))
        return false;
    for (size_t i = 0; i < text.n; i++) {
        uint64_t d = (uint64_t)(text.p[i] - '0');
        if (text.p[i] < '0' || text.p[i] > '9' || v > (UINT64_MAX - d) / 10)
            return false;
        v = 10 * v + d;
    }
    *ret = v;
    return true;
}

int checkpoint_read(struct slice text, struct checkpoint *ret)
{
    struct checkpoint c;
    struct slice rest = text, size, root, extension;
    if (!take_next_line_of_note(&rest, &c.origin) || !take_next_line_of_note(&rest, &size) ||
        !take_next_line_of_note(&rest, &root) || !read_checkpoint_size(size, &c.size) ||
        !base64_read(root, c.root.b, DIGEST_N))
        return MI_EINVAL;
    while (rest.n > 0)
        if (!take_next_line_of_note(&rest, &extension))
            return MI_EINVAL;
    *ret = c;
    return 0;
}

/* ---- notes ---------------------------------------------------------------------------------- */

int note_append_signed(struct buf *b, struct slice text, const struct secret_key *k)
{
    uint8_t signature[KEY_HASH_N + SIGNATURE_N];
    int st = key_sign(k, text, signature + KEY_HASH_N);
    if (st < 0)
        return st;
    memcpy(signature, k->public.hash, KEY_HASH_N);
    buf_slice_add(b, text);
    buf_printf(b, "\n" DASH "%s ", k->public.name);
    base64_encode(b, signature, sizeof signature);
    buf_addc(b, '\n');
    return b->failed ? MI_ENOMEM : 0;
}

/* Whether c has Unicode's property White_Space. ASCII's control characters are checked
 * elsewhere. */
static bool is_unicode_space(uint32_t c)
{
    return c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
           c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static bool signer_name_is_valid(struct slice name)
{
    for (size_t i = 0, n; i < name.n; i += n) {
        n = text_utf8_len(name.p + i, name.n - i);
        uint32_t c = text_utf8_code(name.p + i, n);
        if (c == '+' || is_unicode_space(c))
            return false;
    }
    return name.n > 0;
}

struct signature {
    struct slice name, base64;
};

/* Reads the next line of *rest, and removes it from *rest. Returns false if *rest has no complete
 * line, or if the line is not a signature. */
static bool note_read_next_signature(struct slice *rest, struct signature *ret)
{
    struct slice line;
    if (!take_next_line_of_note(rest, &line) || !slice_begins(line, DASH))
        return false;
    size_t dash = strlen(DASH);
    const char *blank = memchr(line.p + dash, ' ', line.n - dash);
    if (blank == NULL)
        return false;
    ret->name = (struct slice){line.p + dash, (size_t)(blank - line.p) - dash};
    ret->base64 = (struct slice){blank + 1, line.n - (size_t)(blank + 1 - line.p)};
    return signer_name_is_valid(ret->name) && base64_decoded_size(ret->base64) > KEY_HASH_N;
}

/* Whether s is valid UTF-8 without control characters except newlines. */
static bool slice_is_note_text(struct slice s)
{
    for (size_t i = 0, n; i < s.n; i += n) {
        n = text_utf8_len(s.p + i, s.n - i);
        if (n == 0 || ((unsigned char)s.p[i] < 0x20 && s.p[i] != '\n'))
            return false;
    }
    return true;
}

/* Splits a note into text and signatures, at the last empty line. */
static bool note_split_text(struct slice note, struct note *ret)
{
    for (size_t i = note.n; i >= 2; i--) {
        if (note.p[i - 1] != '\n' || note.p[i - 2] != '\n')
            continue;
        ret->text = (struct slice){note.p, i - 1};
        ret->signatures = (struct slice){note.p + i, note.n - i};
        return i > 2;
    }
    return false;
}

int note_read(struct slice note, struct note *ret)
{
    struct note n;
    struct signature s;
    if (note.n > NOTE_MAX || !slice_is_note_text(note) || !note_split_text(note, &n))
        return MI_EINVAL;
    struct slice rest = n.signatures;
    size_t count = 0;
    for (; rest.n > 0; count++)
        if (count == NOTE_SIGNATURES || !note_read_next_signature(&rest, &s))
            return MI_EINVAL;
    if (count == 0)
        return MI_EINVAL;
    *ret = n;
    return 0;
}

/* Returns whether a signature begins with this key hash. The first six base64 digits, padded with
 * `A=`, decode to five bytes; the first four of these are the hash. */
static bool signature_has_key_hash(struct slice base64, const uint8_t hash[KEY_HASH_N])
{
    uint8_t head[KEY_HASH_N + 1];
    char digits[] = "......A=";
    memcpy(digits, base64.p, 6);
    return base64_read(slice_of(digits), head, sizeof head) && memcmp(head, hash, KEY_HASH_N) == 0;
}

int note_check_signature(const struct note *n, const struct public_key *k)
{
    uint8_t got[KEY_HASH_N + SIGNATURE_N];
    struct slice rest = n->signatures;
    struct signature s;
    int st = MI_ENOENT;
    while (note_read_next_signature(&rest, &s)) {
        if (!slice_is(s.name, k->name) || !signature_has_key_hash(s.base64, k->hash))
            continue;
        if (!base64_read(s.base64, got, sizeof got) ||
            !key_verify_signature(k, n->text, got + KEY_HASH_N))
            return MI_EPROTO;
        st = 0;
    }
    return st;
}

/* Returns the first empty line, which ends the text, or NULL. */
static const char *find_empty_line(struct slice s)
{
    for (size_t i = 1; i < s.n; i++)
        if (s.p[i - 1] == '\n' && s.p[i] == '\n')
            return s.p + i;
    return NULL;
}

bool note_read_next_note(struct slice *rest, struct slice *ret)
{
    while (rest->n > 0 && rest->p[0] == '\n')
        *rest = (struct slice){rest->p + 1, rest->n - 1};
    const char *middle = find_empty_line(*rest);
    if (middle == NULL)
        return false;
    struct slice signatures = {middle + 1, rest->n - (size_t)(middle + 1 - rest->p)};
    const char *end = find_empty_line(signatures);
    size_t n = end != NULL ? (size_t)(end - rest->p) : rest->n;
    if (signatures.n == 0 || rest->p[n - 1] != '\n')
        return false;
    *ret = (struct slice){rest->p, n};
    *rest = (struct slice){rest->p + n, rest->n - n};
    return true;
}
