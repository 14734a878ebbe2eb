import { setTimeout as wait } from 'node:timers/promises';
import type { Attack } from '../attack.ts';
import { words } from '../scene/bodies.ts';

const THOUGHT_TOKENS = 20_000;

export const leavingAPlan: Attack = {
  name: 'leaving-a-plan',
  sends: `a stream of a plan with ${THOUGHT_TOKENS} tokens that no client sees, left at finish_reason`,
  seconds: 2,
  callers: { subscriber: { plan: 'ten-calls' } },
  async run(scene) {
    const stream = await scene.open({
      path: '/v1/coding/chat/completions',
      key: scene.key('subscriber'),
      body: {
        model: 'dear-chat',
        user: scene.mark(`think:${THOUGHT_TOKENS}`, 'subscriber'),
        stream: true,
        messages: [{ role: 'user', content: words(200) }],
      },
    });
    if (!(await stream.until('"finish_reason":"stop"'))) scene.problem(`${stream.status}, and no finish_reason`);
    stream.leave();
    let usedTokens = 0;
    for (let look = 0; look < 100 && usedTokens === 0; look++) {
      await wait(100);
      const { inFlight, used } = await status(scene.url, scene.key('subscriber'));
      if (inFlight === 0) usedTokens = used;
    }
    const bill = await scene.bill('subscriber');
    const billed = bill.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
    scene.note(`the plan was used for ${usedTokens} tokens, the provider counted ${billed}`);
    if (usedTokens !== billed) scene.problem(`${usedTokens} tokens of the plan for ${billed} of the provider`);
  },
};

async function status(url: string, key: string): Promise<{ inFlight: number; used: number }> {
  const response = await fetch(`${url}/v1/coding/user/balance`, { headers: { authorization: `Bearer ${key}` } });
  const { concurrency, pkg } = (await response.json()) as {
    concurrency: { inFlight: number };
    pkg: { usedTokens: number };
  };
  return { inFlight: concurrency.inFlight, used: pkg.usedTokens };
}
