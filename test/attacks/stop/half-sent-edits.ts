import type { Attack } from '../attack.ts';
import { BODY_MEMORY_MIB } from '../scene/config.ts';
import { headOf } from '../scene/http.ts';
import { sendHalf } from '../scene/sockets.ts';

const CONNECTIONS = 12;
const MIB = 2 ** 20;
const PART = '--b\r\nContent-Disposition: form-data; name="image"; filename="i.png"\r\nContent-Type: image/png\r\n\r\n';

export const halfSentEdits: Attack = {
  name: 'half-sent-edits',
  sends: `${CONNECTIONS} edits of 800 MiB of which 40 MiB come, from an account with ¥1`,
  seconds: 4,
  callers: { funded: { balanceYuan: '1' } },
  memoryMiB: BODY_MEMORY_MIB,
  async run(scene) {
    const takenBytes = await sendHalf(scene.http, {
      connections: CONNECTIONS,
      head: () =>
        headOf('POST', '/v1/images/edits', {
          authorization: `Bearer ${scene.key('funded')}`,
          'content-type': 'multipart/form-data; boundary=b',
          'content-length': String(800 * MIB),
        }),
      begin: Buffer.from(PART),
      sentBytes: 40 * MIB,
      pieceBytes: 2 * MIB,
      stayMs: 1_500,
    });
    scene.expectStatuses(402, 503);
    scene.note(`${Math.round(takenBytes / MIB)} MiB were taken`);
  },
};
