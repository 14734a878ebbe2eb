import type { Attack } from '../attack.ts';

const PER_SECOND = 2_000;
const AT_A_TIME = 256;

export const refusals: Attack = {
  name: 'refusals',
  sends: `${PER_SECOND} calls a second that are refused, from one account without money, at most ${AT_A_TIME} at a time`,
  seconds: 2,
  callers: { poor: {} },
  async run(scene) {
    const request = {
      path: '/v1/chat/completions',
      key: scene.key('poor'),
      body: Buffer.from('{"model":"shop-chat","messages":[{"role":"user","content":"x"}]}'),
    };
    let pending = 0;
    let longestMs = 0;
    await scene.pace(PER_SECOND, async () => {
      if (pending >= AT_A_TIME) return;
      pending++;
      const startedAt = performance.now();
      await scene.send(request);
      longestMs = Math.max(longestMs, performance.now() - startedAt);
      pending--;
    });
    scene.expectStatuses(402, 429);
    scene.note(`the slowest refusal took ${Math.round(longestMs)} ms`);
  },
};
