import type { Attack } from '../attack.ts';

const request = { model: 'dear-messages', max_tokens: 100, messages: [{ role: 'user', content: 'Hello.' }] };

export const namedModels: Attack = {
  name: 'named-models',
  sends: 'messages that name another model of the vendor, in tools, lists of fallbacks, messages and extra_body',
  seconds: 1,
  callers: { tenant: { balanceYuan: '1000' } },
  async run(scene) {
    const metadata = { user_id: scene.mark('plain', 'tenant') };
    const advisor = { type: 'openrouter:advisor', parameters: { model: 'dearest' } };
    const bodies = {
      'tools[].model': {
        ...request,
        metadata,
        tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'dearest' }],
      },
      'fallbacks[].model': { ...request, metadata, fallbacks: [{ model: 'dearest' }] },
      'a map of fallbacks': { ...request, metadata, fallbacks: [{ 'dear-messages': ['dearest'] }] },
      context_window_fallbacks: { ...request, metadata, context_window_fallbacks: [{ '*': ['dearest'] }] },
      'tools[].parameters.model': { ...request, metadata, tools: [advisor] },
      'messages[].tools': {
        ...request,
        metadata,
        messages: [...request.messages, { role: 'system', tools: [advisor] }],
      },
      'extra_body.tools': { ...request, metadata, extra_body: { tools: [advisor] } },
    };
    for (const [what, body] of Object.entries(bodies)) {
      scene.expectStatus(what, await scene.send({ path: '/v1/messages', key: scene.key('tenant'), body }), 400);
    }
    const bill = await scene.bill('tenant');
    if (bill.length > 0) scene.problem(`the provider got ${bill.length} of them`);
  },
};
