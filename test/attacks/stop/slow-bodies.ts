import { setTimeout as wait } from 'node:timers/promises';
import type { Attack } from '../attack.ts';
import { headOf } from '../scene/http.ts';
import { countResponse } from '../scene/sockets.ts';

const CONNECTIONS = 100;
/** From its thirtieth second on a body needs 1 KiB per second. The rest is for slow machines. */
const SECONDS = 40;
/** Every other body makes apparent progress: more than 8 KiB in half a minute. */
const PIECES = [Buffer.alloc(1, ' '), Buffer.alloc(300, ' ')];

export const slowBodies: Attack = {
  name: 'slow-bodies',
  sends: `${CONNECTIONS} bodies that come at a byte or at 300 bytes a second`,
  seconds: SECONDS,
  isBackground: true,
  callers: { funded: { balanceYuan: '1' } },
  async run(scene) {
    const head = headOf('POST', '/v1/chat/completions', {
      authorization: `Bearer ${scene.key('funded')}`,
      'content-type': 'application/json',
      'content-length': '100000',
    });
    const sockets = Array.from({ length: CONNECTIONS }, () => {
      const socket = scene.http.socket();
      countResponse(scene.http, socket);
      socket.write(head);
      return socket;
    });
    for (let second = 0; second < SECONDS && sockets.some(({ closed }) => !closed); second++) {
      for (const [index, socket] of sockets.entries()) if (socket.writable) socket.write(PIECES[index % 2]!);
      await wait(1_000);
    }
    const open = sockets.filter((socket) => !socket.closed && socket.writable).length;
    if (open > 0) scene.problem(`${open} of ${CONNECTIONS} were still read after ${SECONDS} s`);
    for (const socket of sockets) socket.destroy();
  },
};
