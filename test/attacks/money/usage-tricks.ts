import type { Attack } from '../attack.ts';

const messages = [{ role: 'user', content: 'Hello.' }];
const toChat = {
  path: '/v1/chat/completions',
  body: (user: string) => ({ model: 'dear-chat', user, stream: true, messages }),
};
const TRICKS = {
  zeros: { what: 'chat, the usage followed by zeros', ...toChat },
  'done-first': { what: 'chat, [DONE] before the usage', ...toChat },
  'two-ends': {
    what: 'responses, two terminal events',
    path: '/v1/responses',
    body: (user: string) => ({ model: 'dear-chat', user, stream: true, input: 'Hello.' }),
  },
  falling: {
    what: 'messages, output_tokens that fall',
    path: '/v1/messages',
    body: (mark: string) => ({
      model: 'dear-messages',
      metadata: { user_id: mark },
      max_tokens: 10_000,
      stream: true,
      messages,
    }),
  },
};

export const usageTricks: Attack = {
  name: 'usage-tricks',
  sends: 'streams whose usage is followed by less, or comes after their end',
  seconds: 2,
  callers: Object.fromEntries(Object.keys(TRICKS).map((name) => [name, { balanceYuan: '1000' }])),
  async run(scene) {
    await Promise.all(
      Object.entries(TRICKS).map(async ([name, { what, path, body }]) => {
        await scene.send({ path, key: scene.key(name), body: body(scene.mark(name, name)) });
        scene.expectBill(what, await scene.settle(name, what));
      }),
    );
  },
};
