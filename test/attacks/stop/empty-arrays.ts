import type { Attack } from '../attack.ts';
import { bomb, GZIP, once } from '../scene/bodies.ts';

const body = once(() =>
  bomb({ before: '{"model":"shop-chat","messages":[', filling: '[],', after: '[]]}', mebibytes: 60 }),
);

export const emptyArrays: Attack = {
  name: 'empty-arrays',
  sends: '60 MiB of [], in gzip (61 KB), four at a time, from an account without money',
  seconds: 2,
  callers: { poor: {} },
  prepare: body,
  async run(scene) {
    await scene.repeat(4, () =>
      scene.send({ path: '/v1/chat/completions', key: scene.key('poor'), headers: GZIP, body: body() }),
    );
    scene.expectStatuses(400, 402, 503);
  },
};
