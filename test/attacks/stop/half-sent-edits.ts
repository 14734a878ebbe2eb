import type { Attack } from '../attack.ts';
import { BODY_MEMORY_MIB } from '../scene/config.ts';
import { headOf } from '../scene/http.ts';
import { sendPart } from '../scene/sockets.ts';

const CONNECTIONS = 12;
const SENT_BYTES = 40 * 2 ** 20;
const STATED_BYTES = 800 * 2 ** 20;

export const halfSentEdits: Attack = {
  name: 'half-sent-edits',
  sends: `${CONNECTIONS} edits of 800 MiB of which 40 MiB come, from an account with ¥1`,
  seconds: 4,
  callers: { funded: { balanceYuan: '1' } },
  memoryMiB: BODY_MEMORY_MIB,
  async run(scene) {
    const head = headOf('POST', '/v1/images/edits', {
      authorization: `Bearer ${scene.key('funded')}`,
      'content-type': 'multipart/form-data; boundary=b',
      'content-length': String(STATED_BYTES),
    });
    const form =
      '--b\r\nContent-Disposition: form-data; name="image"; filename="i.png"\r\nContent-Type: image/png\r\n\r\n';
    const part = Buffer.concat([Buffer.from(form), Buffer.alloc(SENT_BYTES)]);
    const parts = Array.from({ length: CONNECTIONS }, () => sendPart(scene.http, head, part));
    await scene.sitStill();
    for (const { socket } of parts) socket.destroy();
    const taken = parts.reduce((sum, { socket }) => sum + socket.bytesWritten, 0);
    scene.note(`${Math.round(taken / 2 ** 20)} MiB were taken`);
  },
};
