#include "wire/json/decimal.h"

struct decimal decimal_read(struct slice s)
{
    struct decimal d = {.minus = s.p[0] == '-'};
    size_t from = d.minus ? 1 : 0;
    size_t i = from;
    bool point = false;
    for (; i < s.n && s.p[i] != 'e' && s.p[i] != 'E'; i++) {
        if (s.p[i] == '.')
            point = true;
        else if (point)
            d.exp10--;
    }
    size_t to = i;
    if (i < s.n) {
        int64_t e = 0;
        bool negative = s.p[++i] == '-';
        for (i += negative || s.p[i] == '+' ? 1 : 0; i < s.n; i++)
            e = e < INT64_C(1000000000000000) ? e * 10 + (s.p[i] - '0') : e;
        d.exp10 += negative ? -e : e;
    }
    for (; to > from && (s.p[to - 1] == '0' || s.p[to - 1] == '.'); to--)
        d.exp10 += s.p[to - 1] == '0';
    d.digits = (struct slice){s.p + from, to - from};
    return d;
}

/* Iterates over the significant digits, without the point and leading zeros. */
struct digits {
    struct slice s;
    size_t at;
};

static struct digits decimal_skip_leading_zeros(struct decimal d)
{
    struct digits w = {d.digits, 0};
    while (w.at < w.s.n && (w.s.p[w.at] == '0' || w.s.p[w.at] == '.'))
        w.at++;
    return w;
}

static int next_decimal_digit(struct digits *w)
{
    if (w->at < w->s.n && w->s.p[w->at] == '.')
        w->at++;
    return w->at < w->s.n ? w->s.p[w->at++] - '0' : -1;
}

static int64_t decimal_count_digits(struct decimal d)
{
    struct digits w = decimal_skip_leading_zeros(d);
    int64_t n = 0;
    while (next_decimal_digit(&w) >= 0)
        n++;
    return n;
}

static int decimal_compare_magnitudes(struct decimal a, struct decimal b)
{
    int64_t x = a.exp10 + decimal_count_digits(a), y = b.exp10 + decimal_count_digits(b);
    if (x != y)
        return x < y ? -1 : 1;
    struct digits v = decimal_skip_leading_zeros(a), w = decimal_skip_leading_zeros(b);
    for (;;) {
        int p = next_decimal_digit(&v), q = next_decimal_digit(&w);
        if (p < 0 && q < 0)
            return 0;
        p = p < 0 ? 0 : p;
        q = q < 0 ? 0 : q;
        if (p != q)
            return p < q ? -1 : 1;
    }
}

int decimal_compare(struct decimal a, struct decimal b)
{
    if (a.digits.n == 0 || b.digits.n == 0) {
        int x = a.digits.n == 0 ? 0 : a.minus ? -1 : 1;
        int y = b.digits.n == 0 ? 0 : b.minus ? -1 : 1;
        return x - y;
    }
    if (a.minus != b.minus)
        return a.minus ? -1 : 1;
    int c = decimal_compare_magnitudes(a, b);
    return a.minus ? -c : c;
}

bool decimal_is_multiple(struct decimal a, struct decimal b)
{
    uint64_t by = 0, rest = 0;
    struct digits w = decimal_skip_leading_zeros(b);
    if (a.digits.n == 0)
        return true;
    if (decimal_count_digits(b) > 17) /* more digits could make `rest` times ten exceed 64 bits */
        return true;
    for (int c; (c = next_decimal_digit(&w)) >= 0;)
        by = by * 10 + (uint64_t)c;
    if (a.exp10 < b.exp10 || by == 0)
        return false; /* `b` ends with more zeros than `a`, so `a` is not a multiple */
    w = decimal_skip_leading_zeros(a);
    for (int c; (c = next_decimal_digit(&w)) >= 0;)
        rest = (rest * 10 + (uint64_t)c) % by;
    /* Each zero at the end of the dividend is one more factor of ten. A divisor below 10^17 has at
     * most 56 factors of 2, and fewer factors of 5. So zeros beyond the 60th do not change whether
     * the remainder becomes 0. */
    for (int64_t zeros = a.exp10 - b.exp10; zeros > 0 && rest != 0; zeros--) {
        if (zeros > 60)
            zeros = 60;
        rest = rest * 10 % by;
    }
    return rest == 0;
}
