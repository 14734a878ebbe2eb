import type { Attack } from '../attack.ts';
import { MODELS, yuanOf } from '../scene/models.ts';

export const hugeUsage: Attack = {
  name: 'huge-usage',
  sends: 'a call for which the provider reports 2,147,483,647 tokens each way',
  seconds: 1,
  callers: { tenant: { balanceYuan: '1' } },
  async run(scene) {
    const what = 'more tokens than the model has';
    const { contextTokens, outputTokensMax } = MODELS.find(({ id }) => id === 'dear-chat')!;
    await scene.send({
      path: '/v1/chat/completions',
      key: scene.key('tenant'),
      body: {
        model: 'dear-chat',
        user: scene.mark('huge', 'tenant'),
        messages: [{ role: 'user', content: 'Hello.' }],
      },
    });
    const { chargedNano } = await scene.settle('tenant', what);
    const mostNano = BigInt(contextTokens + outputTokensMax!) * 1_000_000n;
    if (chargedNano > mostNano)
      scene.problem(`${what}: charged ${yuanOf(chargedNano)}, the model can use ${yuanOf(mostNano)}`);
    if (chargedNano <= 0n) scene.problem(`${what}: it was free`);
  },
};
