import type { Attack } from '../attack.ts';
import { BODY_MEMORY_MIB } from '../scene/config.ts';
import { headOf } from '../scene/http.ts';
import type { Scene, Settled } from '../scene/scene.ts';

/** A client that does not read its response is disconnected after ten seconds. The rest is for slow machines. */
const SECONDS = 20;
/** Memory is counted when it is in use, so a chunk or two of each response may arrive before its provider is stopped. */
const BESIDE_MIB = 16;
/** One response may exceed the budget, and its event consists of blocks. */
const BEYOND_MIB = 64;
/** Garbage that is not collected yet. */
const GARBAGE_MIB = 128;

interface Unread {
  /** In addition to the budget. */
  readonly mostMiB: number;
  readonly sockets: number;
  readonly mebibytes: number;
  readonly path: string;
  readonly body: object;
}

/** Requests large responses and reads none of them until the attack ends. */
async function leaveUnread(scene: Scene, { sockets, mebibytes, path, body, mostMiB }: Unread): Promise<Settled> {
  const text = JSON.stringify({ model: 'shop-chat', user: scene.mark(`large:${mebibytes}`, 'funded'), ...body });
  const head = headOf('POST', path, {
    authorization: `Bearer ${scene.key('funded')}`,
    'content-type': 'application/json',
    'content-length': String(text.length),
  });
  const open = Array.from({ length: sockets }, () => {
    const socket = scene.http.socket();
    socket.write(head + text);
    return socket;
  });
  const usedMiB = await scene.mostCountedMiB(SECONDS);
  const counted = `${Math.round(usedMiB)} MiB were counted`;
  scene.note(counted);
  if (usedMiB > BODY_MEMORY_MIB + mostMiB) scene.problem(counted);
  for (const socket of open) socket.destroy();
  const settled = await scene.settle('funded', WHAT);
  await scene.expectNothingCounted();
  return settled;
}

const WHAT = 'responses that nobody reads';
const whole = { sockets: 40, mebibytes: 30, path: '/v1/chat/completions', mostMiB: BESIDE_MIB };

export const unreadResponses: Attack = {
  name: 'unread-responses',
  sends: `${whole.sockets} calls for a whole response of ${whole.mebibytes} MiB each, of which nothing is read`,
  seconds: SECONDS,
  callers: { funded: { balanceYuan: '100' } },
  memoryMiB: BODY_MEMORY_MIB + GARBAGE_MIB,
  async run(scene) {
    const body = { messages: [{ role: 'user', content: 'Go.' }] };
    scene.expectBill(WHAT, await leaveUnread(scene, { ...whole, body }));
  },
};

const ends = { sockets: 40, mebibytes: 30, path: '/v1/responses', mostMiB: BESIDE_MIB + BEYOND_MIB };

export const unreadEnds: Attack = {
  name: 'unread-ends',
  sends: `${ends.sockets} streams whose last event has ${ends.mebibytes} MiB, of which nothing is read`,
  seconds: SECONDS,
  callers: { funded: { balanceYuan: '100' } },
  // Buffers of paused provider connections, and garbage.
  memoryMiB: BODY_MEMORY_MIB + BEYOND_MIB + 2 * GARBAGE_MIB,
  async run(scene) {
    await leaveUnread(scene, { ...ends, body: { input: 'Go.', stream: true } });
  },
};
