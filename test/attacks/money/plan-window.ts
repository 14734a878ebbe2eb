import { setTimeout as wait } from 'node:timers/promises';
import type { Attack } from '../attack.ts';
import { words } from '../scene/bodies.ts';

const STREAMS = 55;
const WINDOW_CALLS = 10;
const AT_A_TIME = 5;
/** Time from the prompt to the provider's first event. */
const FIRST_EVENT_MS = 600;

export const planWindow: Attack = {
  name: 'plan-window',
  sends: `${STREAMS} streams of a plan with ${WINDOW_CALLS} calls in five hours, left before the first byte`,
  seconds: 4,
  callers: { subscriber: { plan: 'ten-calls' } },
  async run(scene) {
    const body = Buffer.from(
      JSON.stringify({
        model: 'dear-chat',
        user: scene.mark(`late:${FIRST_EVENT_MS}`, 'subscriber'),
        stream: true,
        messages: [{ role: 'user', content: words(5_000) }],
      }),
    );
    const request = { path: '/v1/coding/chat/completions', key: scene.key('subscriber'), body };
    for (let sent = 0; sent < STREAMS; sent += AT_A_TIME)
      await scene.leaveBeforeResponse('subscriber', request, AT_A_TIME);
    // Waits until no call is in flight at the provider.
    for (let look = 0; look < 50; look++) {
      if ((await scene.bill('subscriber')).every(({ state }) => state !== 'running')) break;
      await wait(100);
    }
    const bill = await scene.bill('subscriber');
    const response = await fetch(`${scene.url}/v1/coding/user/balance`, {
      headers: { authorization: `Bearer ${scene.key('subscriber')}` },
    });
    const { usedQuota } = (await response.json()) as { usedQuota: number };
    scene.note(`the provider got ${bill.length} prompts, the window has ${usedQuota} calls`);
    if (bill.length > WINDOW_CALLS)
      scene.problem(`the provider got ${bill.length} prompts of a window of ${WINDOW_CALLS}`);
    if (usedQuota < Math.min(bill.length, WINDOW_CALLS)) scene.problem(`the window has only ${usedQuota} calls`);
  },
};
