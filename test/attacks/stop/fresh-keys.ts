import type { Attack } from '../attack.ts';
import { BODY_MEMORY_MIB } from '../scene/config.ts';
import { headOf } from '../scene/http.ts';
import { sendHalf } from '../scene/sockets.ts';

const CONNECTIONS = 24;
const MIB = 2 ** 20;
const PART = '--b\r\nContent-Disposition: form-data; name="image"; filename="i.png"\r\nContent-Type: image/png\r\n\r\n';
const JSON_BODY = { path: '/v1/chat/completions', type: 'application/json' };
const FORM = { path: '/v1/images/edits', type: 'multipart/form-data; boundary=b' };

export const freshKeys: Attack = {
  name: 'fresh-keys',
  sends: `${CONNECTIONS} uploads of 60 MiB, each with an Idempotency-Key of its own, from an account without money`,
  seconds: 4,
  callers: { poor: {} },
  memoryMiB: BODY_MEMORY_MIB / 2,
  async run(scene) {
    await sendHalf(scene.http, {
      connections: CONNECTIONS,
      head(index) {
        const { path, type } = index % 3 === 0 ? FORM : JSON_BODY;
        return headOf('POST', path, {
          authorization: `Bearer ${scene.key('poor')}`,
          'content-type': type,
          'content-length': String(60 * MIB),
          'idempotency-key': `fresh-${index}`,
          ...(index % 2 === 0 ? { expect: '100-continue' } : {}),
        });
      },
      begin: Buffer.from(PART),
      sentBytes: 20 * MIB,
      pieceBytes: 2 * MIB,
      stayMs: 1_500,
    });
    scene.expectStatuses(402, 429);
    const refused = Object.values(scene.http.responses).reduce((sum, count) => sum + count, 0);
    if (refused < CONNECTIONS) scene.problem(`${CONNECTIONS - refused} of ${CONNECTIONS} uploads were taken`);
  },
};
