import type { Attack } from '../attack.ts';

const CALLS = 50;
const OUTPUT_TOKENS = 20_000;
const QUOTA_TOKENS = 50_000;

export const planTokens: Attack = {
  name: 'plan-tokens',
  sends: `${CALLS} calls at a time of ${OUTPUT_TOKENS} tokens each against a plan's quota of ${QUOTA_TOKENS}`,
  seconds: 2,
  callers: { subscriber: { plan: 'few-tokens' } },
  async run(scene) {
    const body = {
      model: 'dear-chat',
      user: scene.mark('all', 'subscriber'),
      max_tokens: OUTPUT_TOKENS,
      messages: [{ role: 'user', content: 'Hello.' }],
    };
    const request = { path: '/v1/coding/chat/completions', key: scene.key('subscriber'), body };
    await Promise.all(Array.from({ length: CALLS }, () => scene.send(request)));
    scene.expectStatuses(200, 402, 429);
    const bill = await scene.bill('subscriber');
    const used = bill.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
    scene.note(`${bill.length} calls reached the provider and used ${used} tokens`);
    if (bill.length === 0) scene.problem('no call reached the provider');
    if (used >= QUOTA_TOKENS + 1.1 * OUTPUT_TOKENS) scene.problem(`${used} tokens of a quota of ${QUOTA_TOKENS}`);
  },
};
