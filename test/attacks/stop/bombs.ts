import { setTimeout as wait } from 'node:timers/promises';
import type { Attack } from '../attack.ts';
import { bomb, GZIP, once } from '../scene/bodies.ts';
import { BODY_MEMORY_MIB } from '../scene/config.ts';

const ACCOUNTS = 100;
/** Refusals are immediate. A high rate of requests is another attack. */
const PAUSE_MS = 200;
const body = once(() =>
  bomb({
    before: '{"model":"shop-chat","messages":[{"role":"user","content":"',
    filling: 'apples and ',
    after: '"}]}',
    mebibytes: 63,
  }),
);

export const bombs: Attack = {
  name: 'bombs',
  sends: `64 MiB of text in gzip from ${ACCOUNTS} accounts without money at a time`,
  seconds: 2,
  callers: { poor: { accounts: ACCOUNTS } },
  memoryMiB: BODY_MEMORY_MIB,
  prepare: body,
  async run(scene) {
    const accounts = scene.accounts('poor');
    await scene.repeat(ACCOUNTS, async (round) => {
      const { key } = accounts[round % ACCOUNTS]!;
      await scene.send({ path: '/v1/chat/completions', key, headers: GZIP, body: body() });
      await wait(PAUSE_MS);
    });
    scene.expectStatuses(402, 503);
  },
};
