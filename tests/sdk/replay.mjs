// The round trip: the same client script runs with a replay of its recording as the server, and is recorded again.
// The client must receive the same messages, and the two recordings must be equal except for times and the ids of
// the server's own requests.

import { deadline } from "./client.mjs";
import { difference, render } from "./transcript.mjs";
import { checkFindings } from "./findings.mjs";
import { same } from "./vault.mjs";

// The client's own tasks have random names and times.
const plain = (text) => text.replace(/\b[0-9a-f]{32}\b/g, "<id>").replace(/\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "<time>");

// The messages of a recording without times and row numbers. `ids` of the server's own requests are replaced
// by their order.
function said(rows, ordered) {
  const ids = new Map();
  const own = (id) => {
    if (!ids.has(id)) ids.set(id, `<server ${ids.size + 1}>`);
    return ids.get(id);
  };
  return rows.map((row) => {
    const line = row.body.toString();
    if (row.kind === "stderr") return `${row.direction} stderr ${line}`;
    const message = JSON.parse(line);
    const asks = row.kind === "request" && row.direction === "s2c";
    const answers = (row.kind === "result" || row.kind === "error") && row.direction === "c2s";
    if (!ordered) delete message.id; // the order of several is random
    else if (asks || answers) message.id = own(message.id);
    return `${row.direction} ${row.kind} ${plain(JSON.stringify(message))}`;
  });
}

// Each direction in its own order, because interleaving depends on the timing. So does the order of
// unrelated messages in scenarios with several calls at a time.
function compared(lines, ordered) {
  const ways = ["c2s", "s2c stderr", "s2c"].map((way) => lines.filter((l) => l.startsWith(way) && (way !== "s2c" || !l.startsWith("s2c stderr"))));
  return ordered ? ways.flat() : ways.flat().sort();
}

// A client that disconnects early (`hasty`) may or may not have received the request for its roots, and the server
// may have logged an error about them.
const roots = (line) => /^s2c request .*"roots\/list"|^c2s result |^s2c stderr /.test(line);

// The Inspector's SDK ends a server that has not exited two seconds after the last answer, so that its last messages may not
// be recorded: what is only in the longer recording does not count.
function sameUntilTheEnd(first, second) {
  const rest = (all, some) => {
    const left = [...all];
    for (const line of some) if (left.includes(line)) left.splice(left.indexOf(line), 1);
    return left;
  };
  const [longer, shorter] = first.length >= second.length ? [first, second] : [second, first];
  if (!shorter.some((line) => line.startsWith("c2s request "))) return [first, second];
  const extra = rest(longer, shorter);
  return [rest(longer, extra).sort(), [...shorter].sort()];
}

export async function sameRecording(one, vault, again) {
  const rows = async (v) => said(await v.messages(await v.session(one.name)), one.ordered).filter((line) => !(one.hasty && roots(line)));
  let [first, second] = [compared(await rows(vault), one.ordered), compared(await rows(again), one.ordered)];
  if (one.hasty) [first, second] = sameUntilTheEnd(first, second);
  const parts = difference(first, second);
  if (parts) throw new Error(parts);
  checkFindings(await again.messages(await again.session(one.name)));
}

export async function checkReplay({ one, interposed, replayed, vault, again, test }) {
  await test(`${one.name}: replayed, same transcript`, () => {
    const trouble = replayed.failure ? [`${replayed.failure.message}\n  ${replayed.stderr.split("\n").slice(-9).join("\n  ")}`] : [];
    const parts = difference(render(interposed, [], one), render(replayed, [], one));
    if (parts) trouble.push(parts, ...replayed.ownStderr());
    if (trouble.length > 0) throw new Error(trouble.join("\n"));
    same("the exit status", replayed.exit.code, 0);
    same("words of the interposer", replayed.ownStderr(), []);
    if (!(replayed.exit.ms < deadline(2_500))) throw new Error(`the end took ${replayed.exit.ms} ms`);
  });
  if (replayed.awaited > 0) {
    await test(`${one.name}: replayed, the SDK reported all progress that came before the answer`, () => {
      // A busy client may read progress together with the answer, which comes 3 ms later: the SDK drops this progress.
      if (replayed.reported < replayed.awaited - replayed.together) same("reports of progress", replayed.reported, replayed.awaited);
    });
  }
  await test(`${one.name}: replayed, same recording`, () => sameRecording(one, vault, again));
}
