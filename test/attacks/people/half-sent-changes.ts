import type { Attack } from '../attack.ts';
import { headOf } from '../scene/http.ts';

const SOCKETS = 300;
const BODY_BYTES = 1_000_000;

export const halfSentChanges: Attack = {
  name: 'half-sent-changes',
  sends: `${SOCKETS} changes of a megabyte to the account API, each without its last byte`,
  seconds: 4,
  callers: { owner: { scopes: ['calls', 'account'] } },
  async run(scene) {
    const head = headOf('POST', '/account/v1/keys', {
      authorization: `Bearer ${scene.key('owner')}`,
      'content-type': 'application/json',
      'content-length': String(BODY_BYTES),
    });
    const body = Buffer.alloc(BODY_BYTES - 1, 'x');
    const sockets = Array.from({ length: SOCKETS }, () => {
      const socket = scene.http.socket();
      socket.once('data', (bytes: Buffer) => scene.http.count(Number(bytes.toString('latin1', 9, 12))));
      socket.write(head);
      socket.write(body);
      return socket;
    });
    await scene.sitStill();
    for (const socket of sockets) socket.destroy();
    scene.expectStatuses(408, 429, 503);
  },
};
