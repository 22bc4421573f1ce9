// The round trip: what the interposer recorded plays the server of the same client script, and the replay
// is recorded again. The client must see the same, and the two recordings must say the same, but for times
// and for the ids that the replayed server gives to its own requests.

import { deadline } from "./client.mjs";
import { difference, render } from "./transcript.mjs";
import { checkFindings } from "./findings.mjs";
import { same } from "./vault.mjs";

// The client's own tasks have names and times of the day.
const plain = (text) => text.replace(/\b[0-9a-f]{32}\b/g, "<id>").replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "<time>");

// What a recording says, without when and under which number it was written. `ids` of the server's own
// requests are its own: they become the order in which they came.
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
    if (!ordered) delete message.id; // which of several comes first is chance
    else if (asks || answers) message.id = own(message.id);
    return `${row.direction} ${row.kind} ${plain(JSON.stringify(message))}`;
  });
}

// Each direction in its own order: how the two interleave is a matter of time. So is, in scenarios with
// several calls at a time, the order of messages that nothing ties together.
function compared(lines, ordered) {
  const ways = ["c2s", "s2c stderr", "s2c"].map((way) => lines.filter((l) => l.startsWith(way) && (way !== "s2c" || !l.startsWith("s2c stderr"))));
  return ordered ? ways.flat() : ways.flat().sort();
}

// A client that leaves in haste (`hasty`) may or may not have been asked for its roots by then, and the server
// may have complained of them.
const roots = (line) => /^s2c request .*"roots\/list"|^c2s result |^s2c stderr /.test(line);

export async function sameRecording(one, vault, again) {
  const rows = async (v) => said(await v.messages(await v.session(one.name)), one.ordered).filter((line) => !(one.hasty && roots(line)));
  const [first, second] = [await rows(vault), await rows(again)];
  const parts = difference(compared(first, one.ordered), compared(second, one.ordered));
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
    if (!(replayed.exit.ms < deadline(2_000))) throw new Error(`the end took ${replayed.exit.ms} ms: clients kill after 2 s`);
  });
  if (replayed.awaited > 0) {
    await test(`${one.name}: replayed, the SDK saw all progress`, () => {
      // On a busy machine a client may read late, but not often.
      if (replayed.together * 10 > replayed.awaited) throw new Error(`${replayed.together} of ${replayed.awaited} reports came with the answer`);
      if (replayed.reported < replayed.awaited - replayed.together) same("reports of progress", replayed.reported, replayed.awaited);
    });
  }
  await test(`${one.name}: replayed, same recording`, () => sameRecording(one, vault, again));
}
