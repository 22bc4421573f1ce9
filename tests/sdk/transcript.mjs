// Two transcripts of the same scenario: normalized, compared, and the difference shown.

const CHANCE = [
  [/\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "<time>"], // \d{4} takes ten times as long
  [/\b\d{1,2}:\d\d:\d\d [AP]M\b/g, "<clock>"],
  [/^(Debug|Info|Notice|Warning|Error|Critical|Alert|Emergency)[- ]level[- ]message$/, "<random level> message"],
  [/[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4} \([^)]*\)/g, "<date>"],
];
const RANDOM_ID = /\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})\b/g;

// Replaces times, random ids, random words and the directory of the run; everything else is kept. Equal ids stay
// equal: the first one is <id 1> wherever it occurs.
export class Normaliser {
  constructor(words) {
    this.words = words; // [text, replacement]
    this.ids = new Map();
  }

  value(v) {
    if (typeof v === "string") return this.text(v);
    if (Array.isArray(v)) return v.map((x) => this.value(x));
    if (v !== null && typeof v === "object") {
      // server-everything's simulated log messages: level and words are random
      if (typeof v.level === "string" && this.text(String(v.data)).startsWith("<random")) return { simulated: true };
      return Object.fromEntries(Object.entries(v).map(([k, x]) => [this.text(k), this.value(x)]));
    }
    return v;
  }

  text(s) {
    // server-everything hides the time of day in a base64 text
    if (/^UmVzb3VyY2Ug[A-Za-z0-9+/]+=*$/.test(s)) s = `base64 of: ${Buffer.from(s, "base64")}`;
    for (const [from, to] of this.words) s = s.replaceAll(from, to);
    for (const [pattern, to] of CHANCE) s = s.replace(pattern, to);
    return s.replace(RANDOM_ID, (id) => {
      if (!this.ids.has(id)) this.ids.set(id, `<id ${this.ids.size + 1}>`);
      return this.ids.get(id);
    });
  }
}

// The transcript as lines of text. `racy` names the methods whose messages may overtake each
// other because the server sends them from timers of its own: those are sorted.
export function render(session, words, { racy = [], ordered = false }) {
  const normal = new Normaliser(words);
  const { calls, progress, notifications, requests, errors } = session.transcript;
  const kinds = (byMethod) =>
    Object.keys(byMethod)
      .sort()
      .map((method) => {
        const list = byMethod[method].map((x) => normal.value(x));
        return [method, racy.includes(method) ? list.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : list];
      });
  const whole = {
    calls: normal.value(calls),
    progress,
    notifications: kinds(notifications),
    requests: kinds(requests),
    errors: errors.map((e) => normal.text(e)).sort(),
    ...(ordered && { order: session.wire }),
  };
  return JSON.stringify(whole, null, 1).split("\n");
}

// "" when equal, else the first difference with some lines of context.
export function difference(direct, interposed) {
  let at = 0;
  while (at < direct.length && at < interposed.length && direct[at] === interposed[at]) at++;
  if (at === direct.length && at === interposed.length) return "";

  let tail = 0;
  const rest = Math.min(direct.length, interposed.length) - at;
  while (tail < rest && direct[direct.length - 1 - tail] === interposed[interposed.length - 1 - tail]) tail++;

  const [a, b] = [direct[at] ?? "", interposed[at] ?? ""];
  let column = 0;
  while (column < a.length && a[column] === b[column]) column++;
  const cut = (line) => {
    const from = Math.max(0, Math.min(column - 60, line.length - 160));
    return (from > 0 ? "…" : "") + line.slice(from, from + 160) + (line.length > from + 160 ? "…" : "");
  };
  const show = (sign, lines) => {
    const part = lines.slice(at, lines.length - tail);
    const out = part.slice(0, 15).map((line) => `${sign} ${cut(line)}`);
    return part.length > 15 ? [...out, `${sign} … ${part.length - 15} lines more`] : out;
  };
  return [
    `--- direct, +++ through the interposer, from line ${at + 1}`,
    ...direct.slice(Math.max(0, at - 6), at).map((line) => `  ${cut(line)}`),
    ...show("-", direct),
    ...show("+", interposed),
  ].join("\n");
}
