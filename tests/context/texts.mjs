// Texts as results have them. Those of others are read from packages and from this repository, not copied into it.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const LENGTH = 12000; // characters of a text at most

const CYRILLIC = `Сервер получил запрос и ответил через двенадцать миллисекунд. Файл не найден: проверьте путь и попробуйте ещё раз.
Погода в Москве сегодня облачная, вечером возможен дождь; завтра потеплеет до восемнадцати градусов.
Отчёт готов: за неделю обработано двести сорок три заявки, из них семь отклонено. Вопросы отправляйте администратору.`;
const CHINESE = `服务器收到请求,十二毫秒后返回了结果。找不到该文件:请检查路径后重试。
今天上海多云,傍晚可能有小雨;明天气温将回升到十八度。报告已经完成:本周共处理二百四十三个申请,其中七个被拒绝。`;
const JAPANESE = `サーバーはリクエストを受け取り、十二ミリ秒後に結果を返しました。ファイルが見つかりません。パスを確認して、もう一度お試しください。
今日の東京は曇りで、夕方には雨が降るかもしれません。明日は十八度まで上がる見込みです。`;

const read = (paths) => paths.map((path) => readFileSync(path, "utf8").slice(0, LENGTH)).filter((text) => text.length > 200);

// Every step-th of these files, in the order of their names.
function files(dir, suffix, step, most) {
  const found = [];
  const walk = (at) => {
    for (const e of readdirSync(at, { withFileTypes: true })) {
      if (e.isDirectory() && e.name !== "node_modules" && !e.name.startsWith(".") && !e.name.startsWith("build")) walk(join(at, e.name));
      else if (e.isFile() && e.name.endsWith(suffix) && statSync(join(at, e.name)).size > 3000) found.push(join(at, e.name));
    }
  };
  walk(dir);
  return found.sort().filter((_, i) => i % step === 0).slice(0, most);
}

function listing(dir) {
  const lines = readdirSync(dir, { withFileTypes: true }).map((e) => {
    const s = statSync(join(dir, e.name));
    return `${e.isDirectory() ? "drwxr-xr-x" : "-rw-r--r--"} 1 ada users ${String(s.size).padStart(8)} ${s.mtime.toISOString().slice(0, 16).replace("T", " ")} ${e.name}`;
  });
  return lines.slice(0, 200).join("\n");
}

const bytes = (n) => Buffer.from(Array.from({ length: n }, (_, i) => createHash("md5").update(`${i}`).digest()[0]));

export function texts() {
  const packages = ["zod", "js-tiktoken", "@playwright/mcp", "ajv", "express", "@modelcontextprotocol/sdk", "axios", "hono"]
    .map((name) => join("node_modules", name));
  const there = (name) => packages.map((p) => join(p, name)).filter((path) => statSync(path, { throwIfNoEntry: false }));
  const json = there("package.json").map((path) => readFileSync(path, "utf8"));
  return {
    prose: [...read(there("README.md")), ...read(files("../../docs", ".md", 3, 10))],
    code: [...read(files("../../cli", ".c", 20, 10)), ...read(files("../e2e", ".py", 12, 6)), ...read(files("../sdk", ".mjs", 2, 6))],
    json: [...json, ...json.map((text) => JSON.stringify(JSON.parse(text)))].map((text) => text.slice(0, LENGTH)),
    listing: ["../../docs", "../../tests/e2e", "../../model", "node_modules", "node_modules/zod"].map(listing),
    cyrillic: [CYRILLIC],
    chinese: [CHINESE],
    japanese: [JAPANESE],
    base64: [bytes(3000).toString("base64")],
  };
}
