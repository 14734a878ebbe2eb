import type { Attack } from '../attack.ts';
import { bomb, GZIP, once } from '../scene/bodies.ts';

/**
 * Items with equal encrypted content, which a limit on distinct values never counts. The large body has 2.6 million of them; the small
 * one has fewer than any limit may forbid.
 */
const bodies = once(() =>
  [63, 11].map((mebibytes) =>
    bomb({
      before: '{"model":"shop-chat","input":[',
      filling: '{"encrypted_content":"A"},',
      after: '{"type":"message","role":"user","content":"x"}]}',
      mebibytes,
    }),
  ),
);

export const equalReferences: Attack = {
  name: 'equal-references',
  sends: '2.6 million and 400,000 items with one encrypted_content to responses, two at a time',
  seconds: 2,
  callers: { funded: { balanceYuan: '1000' } },
  prepare: bodies,
  async run(scene) {
    await scene.repeat(2, (round) =>
      scene.send({ path: '/v1/responses', key: scene.key('funded'), headers: GZIP, body: bodies()[round % 2]! }),
    );
    scene.expectStatuses(200, 400, 402, 404, 503);
  },
};
