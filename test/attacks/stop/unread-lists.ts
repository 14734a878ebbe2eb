import type { Socket } from 'node:net';
import type { Attack } from '../attack.ts';
import { BODY_MEMORY_MIB, LIST_MIB } from '../scene/config.ts';
import { headOf } from '../scene/http.ts';

const A_SECOND = 12;
const SECONDS = 8;
/** Responses exceed the network's buffers between gateway and client. */
const AHEAD = 2;
/** Lists that are not garbage-collected yet. Measured without the budget, whose absence must fail the test. */
const GARBAGE_MIB = 256;

export const unreadLists: Attack = {
  name: 'unread-lists',
  sends: `${A_SECOND * SECONDS} connections that ask for the list of models ${AHEAD} times, ${LIST_MIB} MiB each, and read nothing`,
  seconds: SECONDS,
  callers: { poor: {} },
  memoryMiB: BODY_MEMORY_MIB + GARBAGE_MIB,
  async run(scene) {
    const head = headOf('GET', '/v1/models', { authorization: `Bearer ${scene.key('poor')}` });
    const open: Socket[] = [];
    const opening = scene.pace(A_SECOND, async () => {
      const socket = scene.http.socket();
      socket.write(head.repeat(AHEAD));
      open.push(socket);
    });
    const usedMiB = await scene.mostCountedMiB(SECONDS);
    await opening;
    const counted = `${Math.round(usedMiB)} MiB were counted`;
    scene.note(counted);
    if (usedMiB < 2 * LIST_MIB || usedMiB > BODY_MEMORY_MIB) scene.problem(counted);
    for (const socket of open) socket.destroy();
    await scene.expectNothingCounted();
  },
};
