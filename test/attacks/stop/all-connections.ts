import type { Attack } from '../attack.ts';

/** More concurrent calls than the innocent caller's provider and its queue accept. */
const CALLS = 160;

export const allConnections: Attack = {
  name: 'all-connections',
  sends: `${CALLS} calls at a time to the innocent caller's provider, which responds them after 2.5 s, on ¥1`,
  seconds: 3,
  callers: { poor: { balanceYuan: '1' } },
  async run(scene) {
    const body = {
      model: 'shop-chat',
      user: scene.mark('slow:2500', 'poor'),
      max_tokens: 1,
      messages: [{ role: 'user', content: 'x' }],
    };
    await scene.repeat(CALLS, () =>
      scene.send({ path: '/v1/chat/completions', key: scene.key('poor'), body }).then(pauseAfterRefusal),
    );
    scene.expectStatuses(200, 402, 429, 502, 503);
    const { bill } = await scene.settle('poor', 'calls of a slow provider');
    scene.note(`${bill.length} calls reached the provider`);
  },
};

/** Refusals are immediate; retrying without a pause would be another attack. */
async function pauseAfterRefusal({ status }: { status: number | string }): Promise<void> {
  if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 200));
}
