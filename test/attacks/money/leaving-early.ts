import type { Attack } from '../attack.ts';
import { words } from '../scene/bodies.ts';

const CALLS = 10;
const PROMPT_WORDS = 5_000;
/** Time from the prompt to the provider's first event. */
const FIRST_EVENT_MS = 1_500;

export const leavingEarly: Attack = {
  name: 'leaving-early',
  sends: `${CALLS} streams with ${PROMPT_WORDS} words to read, left before the first byte`,
  seconds: 3,
  callers: { early: { balanceYuan: '1000' } },
  async run(scene) {
    const body = {
      model: 'dear-chat',
      user: scene.mark(`late:${FIRST_EVENT_MS}`, 'early'),
      stream: true,
      messages: [{ role: 'user', content: words(PROMPT_WORDS) }],
    };
    const request = { path: '/v1/chat/completions', key: scene.key('early'), body };
    let heldNano = 0n;
    await scene.leaveBeforeResponse('early', request, CALLS, async () => {
      heldNano = (await scene.money('early')).heldNano;
    });
    const what = 'chat, left before the first byte';
    const { chargedNano, bill } = await scene.settle('early', what, heldNano);
    const inputNano = bill.reduce((sum, { inputTokens }) => sum + BigInt(inputTokens) * 1_000_000n, 0n);
    if (chargedNano * 2n < inputNano) scene.problem(`${what}: less than half of the prompts was charged`);
  },
};
