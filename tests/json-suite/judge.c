/* judge - are the cases of JSONTestSuite decided rightly?
 *
 * Reads what cases.mjs writes from stdin: y_ must be accepted, n_ refused, and i_, which the standard
 * leaves to the implementation, decided as the table says. Prints a line for each case and, last,
 * `N passed, N failed`. Exit status 0 when nothing failed. */
#include "wire/json/scan.h"

#include <stdio.h>
#include <stdlib.h>

#define CASES 318 /* JSONTestSuite has as many; one that is missing is a failure */

static const char number_text[] = "numbers are passed on as text, whatever a reader can hold";
static const char lone_surrogate[] = "a lone surrogate escape is legal JSON, and passed on as text";
static const char bad_utf8[] = "not well-formed UTF-8: two readers would see two texts";
static const char other_encoding[] = "MCP is UTF-8 alone";

static struct {
    const char *name;
    bool accept;
    const char *why;
    bool seen;
} choices[] = {
    {"i_number_double_huge_neg_exp.json", true, number_text, false},
    {"i_number_huge_exp.json", true, number_text, false},
    {"i_number_neg_int_huge_exp.json", true, number_text, false},
    {"i_number_pos_double_huge_exp.json", true, number_text, false},
    {"i_number_real_neg_overflow.json", true, number_text, false},
    {"i_number_real_pos_overflow.json", true, number_text, false},
    {"i_number_real_underflow.json", true, number_text, false},
    {"i_number_too_big_neg_int.json", true, number_text, false},
    {"i_number_too_big_pos_int.json", true, number_text, false},
    {"i_number_very_big_negative_int.json", true, number_text, false},
    {"i_object_key_lone_2nd_surrogate.json", true, lone_surrogate, false},
    {"i_string_1st_surrogate_but_2nd_missing.json", true, lone_surrogate, false},
    {"i_string_1st_valid_surrogate_2nd_invalid.json", true, lone_surrogate, false},
    {"i_string_UTF-16LE_with_BOM.json", false, other_encoding, false},
    {"i_string_UTF-8_invalid_sequence.json", false, bad_utf8, false},
    {"i_string_UTF8_surrogate_U+D800.json", false, bad_utf8, false},
    {"i_string_incomplete_surrogate_and_escape_valid.json", true, lone_surrogate, false},
    {"i_string_incomplete_surrogate_pair.json", true, lone_surrogate, false},
    {"i_string_incomplete_surrogates_escape_valid.json", true, lone_surrogate, false},
    {"i_string_invalid_lonely_surrogate.json", true, lone_surrogate, false},
    {"i_string_invalid_surrogate.json", true, lone_surrogate, false},
    {"i_string_invalid_utf-8.json", false, bad_utf8, false},
    {"i_string_inverted_surrogates_U+1D11E.json", true, lone_surrogate, false},
    {"i_string_iso_latin_1.json", false, other_encoding, false},
    {"i_string_lone_second_surrogate.json", true, lone_surrogate, false},
    {"i_string_lone_utf8_continuation_byte.json", false, bad_utf8, false},
    {"i_string_not_in_unicode_range.json", false, bad_utf8, false},
    {"i_string_overlong_sequence_2_bytes.json", false, bad_utf8, false},
    {"i_string_overlong_sequence_6_bytes.json", false, bad_utf8, false},
    {"i_string_overlong_sequence_6_bytes_null.json", false, bad_utf8, false},
    {"i_string_truncated-utf-8.json", false, bad_utf8, false},
    {"i_string_utf16BE_no_BOM.json", false, other_encoding, false},
    {"i_string_utf16LE_no_BOM.json", false, other_encoding, false},
    {"i_structure_500_nested_arrays.json", true, "up to 512 levels", false},
    {"i_structure_UTF-8_BOM_empty_object.json", false,
     "a byte order mark is no JSON; where one stands before a message it is taken off first",
     false},
};

static int passed, failed;

static void judge(const char *name, bool accept, const char *why, struct slice text)
{
    struct json_scan s;
    bool accepted = json_scan(text, NULL, NULL, &s) == 0;
    bool right = accepted == accept;
    right ? passed++ : failed++;
    printf("%s - %s is %s%s%s", right ? "ok" : "not ok", name, accepted ? "accepted" : "refused",
           why != NULL ? ": " : "", why != NULL ? why : "");
    if (!right && !accepted)
        printf(" (%s, at byte %zu)", json_fault_text(s.fault.kind), s.fault.at);
    printf("\n");
}

static void judge_case(const char *name, struct slice text)
{
    if (name[0] == 'y' || name[0] == 'n') {
        judge(name, name[0] == 'y', NULL, text);
        return;
    }
    for (size_t i = 0; i < MI_COUNT(choices); i++)
        if (strcmp(choices[i].name, name) == 0 && !choices[i].seen) {
            choices[i].seen = true;
            judge(name, choices[i].accept, choices[i].why, text);
            return;
        }
    printf("not ok - %s: no decision about it\n", name);
    failed++;
}

int main(void)
{
    char name[128];
    size_t n;
    while (scanf("%127s %zu", name, &n) == 2 && getchar() == '\n') {
        char *text = malloc(n > 0 ? n : 1); /* ends with its last byte, for the sanitizers */
        if (text == NULL || fread(text, 1, n, stdin) != n || getchar() != '\n') {
            printf("not ok - %s: cut\n", name);
            failed++;
            free(text);
            break;
        }
        judge_case(name, (struct slice){text, n});
        free(text);
    }
    if (passed + failed != CASES) {
        printf("not ok - %d cases, not %d\n", passed + failed, CASES);
        failed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
