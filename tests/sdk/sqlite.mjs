// The sqlite3 program on one database: one process for all queries, because its start costs more than most of them.

import { spawn } from "node:child_process";
import { deadline, within } from "./client.mjs";

const QUERY_MS = deadline(7_500);
const END_OF_ROWS = "-- end of rows --\n";

export class Sqlite {
  constructor(file) {
    this.file = file;
    this.last = Promise.resolve();
  }

  // The rows as objects. One query at a time; the process starts with the first one, when there is a database.
  query(sql) {
    const rows = this.last.catch(() => {}).then(() => this.ask(sql));
    this.last = rows;
    return rows;
  }

  async ask(sql) {
    this.process ??= this.start();
    const { stdin, stdout } = this.process;
    let text = "";
    const whole = new Promise((resolve, reject) => {
      this.heard = (part) => {
        text += part;
        if (text.endsWith(END_OF_ROWS)) resolve(text.slice(0, -END_OF_ROWS.length));
      };
      this.ended = () => reject(new Error(`sqlite3 has ended: ${text}`));
    });
    stdin.write(`${sql.replace(/\s+/g, " ")};\n.print '${END_OF_ROWS.trim()}'\n`);
    const rows = await within(QUERY_MS, sql, whole);
    try {
      return rows === "" ? [] : JSON.parse(rows);
    } catch {
      throw new Error(`${sql}: ${rows.slice(0, 1000)}`); // an error message of sqlite3
    }
  }

  // Other sessions are writing: a query waits while the last one of them removes the write-ahead log.
  start() {
    const argv = ["-c", 'exec sqlite3 -readonly -json -cmd ".timeout 10000" "$1" 2>&1', "sh", this.file];
    const child = spawn("sh", argv, { stdio: ["pipe", "pipe", "inherit"] });
    child.stdout.setEncoding("utf8").on("data", (part) => this.heard(part));
    child.on("close", () => this.ended());
    child.stdin.on("error", () => {}); // it has ended
    return child;
  }

  close() {
    this.process?.stdin.end();
  }
}
