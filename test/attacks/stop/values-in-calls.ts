import type { Attack } from '../attack.ts';
import { bomb, GZIP, once } from '../scene/bodies.ts';

/** The same objects where the gateway reads members: arguments of a compaction, the prompt of an image. */
const values = (before: string, after: string): Buffer => bomb({ before, filling: '{"9":0},', after, mebibytes: 63 });

const compaction = once(() => values('{"model":"shop-chat","input":[{"type":"function_call","arguments":[', '0]}]}'));
const picture = once(() => values('{"model":"painter","prompt":[', '0]}'));

export const valuesInCalls: Attack = {
  name: 'values-in-calls',
  sends: '63 MiB of {"9":0}, in gzip as arguments of a compaction and as prompt of a picture',
  seconds: 2,
  callers: { poor: {}, funded: { balanceYuan: '1' } },
  prepare() {
    compaction();
    picture();
  },
  async run(scene) {
    await scene.repeat(2, (round) =>
      scene.send({
        ...(round % 2 === 0
          ? { path: '/v1/responses/compact', body: compaction() }
          : { path: '/v1/images/generations', body: picture() }),
        key: scene.key(round % 4 < 2 ? 'poor' : 'funded'),
        headers: GZIP,
      }),
    );
    scene.expectStatuses(400, 429, 503);
  },
};
