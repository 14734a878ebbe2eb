import type { Attack } from '../attack.ts';
import { bomb, GZIP, once } from '../scene/bodies.ts';

/** 2.6 million items with the same encrypted content: a search that stops at so many different ones never stops. */
const body = once(() =>
  bomb({
    before: '{"model":"shop-chat","input":[',
    filling: '{"encrypted_content":"A"},',
    after: '{"type":"message","role":"user","content":"x"}]}',
    mebibytes: 63,
  }),
);

export const equalReferences: Attack = {
  name: 'equal-references',
  sends: '2.6 million items with one encrypted_content to responses, two at a time',
  seconds: 3,
  callers: { funded: { balanceYuan: '1' } },
  prepare: body,
  async run(scene) {
    await scene.repeat(2, () =>
      scene.send({ path: '/v1/responses', key: scene.key('funded'), headers: GZIP, body: body() }),
    );
    scene.expectStatuses(200, 400, 402, 404, 503);
  },
};
