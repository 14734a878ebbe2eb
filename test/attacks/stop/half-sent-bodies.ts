import type { Attack } from '../attack.ts';
import { BODY_MEMORY_MIB } from '../scene/config.ts';
import { headOf } from '../scene/http.ts';
import { sendHalf } from '../scene/sockets.ts';

const CONNECTIONS = 200;
const MIB = 2 ** 20;

export const halfSentBodies: Attack = {
  name: 'half-sent-bodies',
  sends: `${CONNECTIONS} bodies of 64 MiB of which 3 MiB come, from an account with ¥1 and one without`,
  seconds: 3,
  callers: { funded: { balanceYuan: '1' }, poor: {} },
  memoryMiB: BODY_MEMORY_MIB,
  async run(scene) {
    const takenBytes = await sendHalf(scene.http, {
      connections: CONNECTIONS,
      head: (index) =>
        headOf('POST', '/v1/chat/completions', {
          authorization: `Bearer ${scene.key(index % 2 === 0 ? 'funded' : 'poor')}`,
          'content-type': 'application/json',
          'content-length': String(64 * MIB),
        }),
      sentBytes: 3 * MIB,
      pieceBytes: MIB / 4,
      stayMs: 2_000,
    });
    scene.expectStatuses(402, 503);
    scene.note(`${Math.round(takenBytes / MIB)} MiB were taken`);
  },
};
