// Preloaded (`node --import`) into programs that listen on every address, at a port that they are told: what they open
// is on 127.0.0.1 alone, and the parent learns of the port, so that it can be 0, a free one. They end with the parent.
import net from "node:net";

const listen = net.Server.prototype._listen2; // where every kind of listen() ends
net.Server.prototype._listen2 = function (address, port, type, ...rest) {
  if (address) return listen.call(this, address, port, type, ...rest);
  this.once("listening", () => {
    if (this.address().address !== "127.0.0.1") throw new Error(`listening on ${this.address().address}`);
    process.send?.({ port: this.address().port });
  });
  return listen.call(this, "127.0.0.1", port, 4, ...rest);
};

process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();
