// Preloaded into the Inspector. Its SDK waits two seconds for the exit of a server before SIGTERM, which ends a session at
// once: on a busy machine the last messages would be lost.

const SDK_MS = 2_000;
const { setTimeout: set } = globalThis;
globalThis.setTimeout = Object.assign((call, ms, ...rest) => set(call, ms === SDK_MS ? 60_000 : ms, ...rest), set);
