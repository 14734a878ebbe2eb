import type { Attack } from '../attack.ts';

const CALLS = 50;
/** Tokens of the first response, which every continuation reads. */
const FIRST_TOKENS = 30_000;

export const continuedResponses: Attack = {
  name: 'continued-responses',
  sends: `short continuations of a response of ${FIRST_TOKENS} tokens, ${CALLS} at a time on ¥1`,
  seconds: 2,
  callers: { writer: { balanceYuan: '31' } },
  async run(scene) {
    const what = 'continued-responses';
    const create = (more: object) =>
      scene.send({
        path: '/v1/responses',
        key: scene.key('writer'),
        body: { model: 'dear-chat', user: scene.mark('all', 'writer'), input: 'More.', ...more },
      });
    const first = await create({ max_output_tokens: FIRST_TOKENS });
    await scene.settle('writer', `${what}, the first one`);
    const { id } = JSON.parse(first.text) as { id: string };
    const more = { previous_response_id: id, max_output_tokens: 16 };
    await Promise.all(Array.from({ length: CALLS }, () => create(more)));
    scene.expectStatuses(200, 402, 429, 503);
    const settled = await scene.settle('writer', what);
    scene.expectBill(what, settled);
    scene.expectOverdraftOfOne(what, settled);
  },
};
