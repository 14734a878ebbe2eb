import type { Socket } from 'node:net';
import type { Attack } from '../attack.ts';
import { BODY_MEMORY_MIB } from '../scene/config.ts';
import { headOf } from '../scene/http.ts';

const A_SECOND = 15;
const SECONDS = 4;
const CONNECTIONS = A_SECOND * SECONDS;
/** In one packet, and below the number at which a connection is closed. */
const AHEAD = 900;
/** Duration of the first request on a connection, for which all others wait. */
const WORK_MS = 8_000;
/** Waiting requests may use 64 MiB, and each needs at least 3 KiB (`docs/security.md`). */
const KEPT_MAX = Math.floor((64 * 1024) / (AHEAD * 3));
const WHAT = 'slow calls before requests that wait';

export const sentAhead: Attack = {
  name: 'sent-ahead',
  sends: `${CONNECTIONS} connections with a slow call and ${AHEAD} requests that were sent ahead`,
  seconds: SECONDS,
  callers: { funded: { balanceYuan: '1000' } },
  memoryMiB: BODY_MEMORY_MIB,
  async run(scene) {
    const key = { authorization: `Bearer ${scene.key('funded')}` };
    const body = JSON.stringify({
      model: 'dear-chat',
      user: scene.mark(`slow:${WORK_MS}`, 'funded'),
      max_tokens: 3,
      messages: [{ role: 'user', content: 'x' }],
    });
    const json = { ...key, 'content-type': 'application/json', 'content-length': String(body.length) };
    const call = headOf('POST', '/v1/chat/completions', json) + body;
    const sent = call + headOf('GET', '/', {}).repeat(AHEAD);
    const sockets: Socket[] = [];
    await scene.pace(A_SECOND, async () => {
      const socket = scene.http.socket();
      socket.resume();
      socket.write(sent);
      sockets.push(socket);
    });
    // The call on a connection that is closed at once does not reach the provider.
    const kept = (await scene.bill('funded')).length;
    const text = `${kept} of ${CONNECTIONS} connections were kept`;
    scene.note(text);
    if (kept === 0 || kept > KEPT_MAX) scene.problem(text);
    for (const socket of sockets) socket.destroy();
    await scene.settle('funded', WHAT);
  },
};
