import type { Attack } from '../attack.ts';
import { ADMIN_TOKEN } from '../scene/gateway.ts';

const AT_A_TIME = 64;

export const adminGuesses: Attack = {
  name: 'admin-guesses',
  sends: `guesses of the admin token, ${AT_A_TIME} at a time, beside one who has it`,
  seconds: 2,
  callers: {},
  async run(scene) {
    const path = '/admin/v1/accounts?limit=1';
    const rightMs: number[] = [];
    const guesses = scene.repeat(AT_A_TIME, (round) =>
      scene.send({ method: 'GET', path, headers: { authorization: `Bearer guess-${round}` } }),
    );
    await scene.repeat(1, async () => {
      const startedAt = performance.now();
      const response = await fetch(scene.url + path, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
      await response.text();
      rightMs.push(performance.now() - startedAt);
      if (response.status !== 200) scene.problem(`the right token got ${response.status}`);
    });
    await guesses;
    scene.expectStatuses(401, 429);
    rightMs.sort((left, right) => left - right);
    scene.note(
      `the right token, ${rightMs.length} times: at the median ${rightMs[rightMs.length >> 1]?.toFixed(1)} ms`,
    );
  },
};
