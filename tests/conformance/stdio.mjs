// The streams of a server: those of its process, or of one of many that serve.mjs has in one process.
const streams = new Map();

// url: import.meta.url of the server's module.
export const stdioOf = (url) => streams.get(new URL(url).search) ?? { input: process.stdin, output: process.stdout };

export function share(key, stdio) {
  streams.set(key, stdio);
}
