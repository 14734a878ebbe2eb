import { setTimeout as wait } from 'node:timers/promises';
import type { Attack } from '../attack.ts';
import { headOf } from '../scene/http.ts';
import { monotonicMs } from '../scene/monotonic.ts';
import { countResponse, takenOf } from '../scene/sockets.ts';

const CONNECTIONS = 8;
/** Each connection sends 256 KiB every 50 ms, which leaves CPU for the others. */
const PIECE = Buffer.concat([Buffer.from('40000\r\n'), Buffer.alloc(2 ** 18, ' '), Buffer.from('\r\n')]);
const EVERY_MS = 50;
/** A body that is still being read after this time has no limit. */
const READ_MS_MAX = 10_000;

export const endlessBodies: Attack = {
  name: 'endless-bodies',
  sends: `GET with a body that does not end, ${CONNECTIONS} at a time`,
  seconds: 3,
  callers: { poor: {} },
  async run(scene) {
    const head = headOf('GET', '/v1/models', {
      authorization: `Bearer ${scene.key('poor')}`,
      'transfer-encoding': 'chunked',
    });
    let mostMiB = 0;
    await scene.repeat(CONNECTIONS, async () => {
      const socket = scene.http.socket();
      countResponse(scene.http, socket);
      socket.write(head);
      const endMs = monotonicMs() + READ_MS_MAX;
      while (socket.writable && monotonicMs() < endMs) {
        if (!socket.writableNeedDrain) socket.write(PIECE);
        await wait(EVERY_MS);
      }
      mostMiB = Math.max(mostMiB, takenOf(socket) / 2 ** 20);
      if (socket.writable) scene.problem(`a body was still read after ${READ_MS_MAX / 1_000} s`);
      socket.destroy();
      await wait(EVERY_MS);
    });
    scene.expectStatuses(200, 400, 408, 413);
    scene.note(`at most ${Math.round(mostMiB)} MiB of one body were taken`);
  },
};
