import type { Attack } from '../attack.ts';

const request = { model: 'dear-messages', max_tokens: 100, messages: [{ role: 'user', content: 'Hello.' }] };

export const namedModels: Attack = {
  name: 'named-models',
  sends: 'messages that name another model of the vendor, in tools[].model and in fallbacks[].model',
  seconds: 1,
  callers: { holder: { balanceYuan: '1000' } },
  async run(scene) {
    const metadata = { user_id: scene.mark('plain', 'holder') };
    const bodies = {
      'tools[].model': {
        ...request,
        metadata,
        tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'dearest' }],
      },
      'fallbacks[].model': { ...request, metadata, fallbacks: [{ model: 'dearest' }] },
    };
    for (const [what, body] of Object.entries(bodies)) {
      scene.expectStatus(what, await scene.send({ path: '/v1/messages', key: scene.key('holder'), body }), 400);
    }
    const bill = await scene.bill('holder');
    if (bill.length > 0) scene.problem(`the provider got ${bill.length} of them`);
  },
};
