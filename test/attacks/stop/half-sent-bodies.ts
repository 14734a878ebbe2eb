import type { Attack } from '../attack.ts';
import { BODY_MEMORY_MIB } from '../scene/config.ts';
import { headOf } from '../scene/http.ts';
import { sendPart } from '../scene/sockets.ts';

const CONNECTIONS = 200;
const SENT_BYTES = 6 * 2 ** 20;
const STATED_BYTES = 64 * 2 ** 20;

export const halfSentBodies: Attack = {
  name: 'half-sent-bodies',
  sends: `${CONNECTIONS} bodies of 64 MiB of which 6 MiB come, from an account with ¥1 and one without`,
  seconds: 4,
  callers: { funded: { balanceYuan: '1' }, poor: {} },
  memoryMiB: BODY_MEMORY_MIB,
  async run(scene) {
    const part = Buffer.alloc(SENT_BYTES, ' ');
    const parts = Array.from({ length: CONNECTIONS }, (_, index) => {
      const head = headOf('POST', '/v1/chat/completions', {
        authorization: `Bearer ${scene.key(index % 2 === 0 ? 'funded' : 'poor')}`,
        'content-type': 'application/json',
        'content-length': String(STATED_BYTES),
      });
      return sendPart(scene.http, head, part);
    });
    await scene.sitStill();
    for (const { socket } of parts) socket.destroy();
    const taken = parts.reduce((sum, { socket }) => sum + socket.bytesWritten, 0);
    scene.note(`${Math.round(taken / 2 ** 20)} MiB were taken`);
  },
};
