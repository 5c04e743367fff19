// Ports for servers that have to be told theirs.
import { readFileSync } from 'node:fs';
import net from 'node:net';

// kept is a range of ports that the system gives nobody who asks for any, be it for an outgoing connection.
const kept = () => {
  let from = 49152, to = 65535;
  try {
    [from, to] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/).map(Number);
  } catch { /* another system, of which these are the usual ones */ }
  if (from > 11_000) return [10_000, from - 1];
  return to < 64_000 ? [to + 1, 65_535] : [0, 0];
};

const free = (port) => new Promise((done, fail) => {
  const s = net.createServer();
  s.once('error', fail);
  s.listen(port, '127.0.0.1', () => { const { port } = s.address(); s.close(() => done(port)); });
});

// freePort is a port that nobody listens at, and that stays free until somebody is told to use it, also in between when a
// server is started again.
export const freePort = async () => {
  const [from, to] = kept();
  for (let left = 50; ; left--) {
    try {
      return await free(from + Math.floor(Math.random() * (to - from + 1)));
    } catch (err) {
      if (!left) throw err;
    }
  }
};
