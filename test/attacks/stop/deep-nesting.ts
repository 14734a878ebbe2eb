import type { Attack } from '../attack.ts';
import { bomb, GZIP, once } from '../scene/bodies.ts';

/** Arrays in arrays, thirty million levels deep, which overflow the stack of recursive code. */
const nested = (before: string): Buffer => bomb({ before, filling: '[', after: '', mebibytes: 60 });
const bodies = once(() => [
  { path: '/v1/chat/completions', body: nested('{"model":"shop-chat","messages":') },
  { path: '/v1/messages/count_tokens', body: nested('{"model":"shop-messages","messages":') },
  { path: '/v1/responses', body: nested('{"model":"shop-chat","input":') },
]);

export const deepNesting: Attack = {
  name: 'deep-nesting',
  sends: '60 MiB of [ in gzip to chat, count_tokens and responses, three at a time',
  seconds: 2,
  callers: { funded: { balanceYuan: '1' } },
  prepare: bodies,
  async run(scene) {
    await scene.repeat(3, (round) => scene.send({ ...bodies()[round % 3]!, key: scene.key('funded'), headers: GZIP }));
    scene.expectStatuses(400, 503, 529);
  },
};
