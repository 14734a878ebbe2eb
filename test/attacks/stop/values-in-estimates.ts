import type { Attack } from '../attack.ts';
import { bomb, GZIP, once } from '../scene/bodies.ts';

/** Eight million objects in 96 KB on the wire. Parsing them would take a minute and all memory. */
const body = once(() =>
  bomb({
    before: '{"model":"shop-messages","messages":[{"role":"user","content":[',
    filling: '{"9":0},',
    after: '{"type":"text","text":"x"}]}]}',
    mebibytes: 63,
  }),
);

export const valuesInEstimates: Attack = {
  name: 'values-in-estimates',
  sends: '63 MiB of {"9":0}, in gzip to count_tokens and input_tokens, two at a time, without money',
  seconds: 2,
  callers: { poor: {} },
  prepare: body,
  async run(scene) {
    const paths = ['/v1/messages/count_tokens', '/v1/responses/input_tokens'];
    await scene.repeat(2, (round) =>
      scene.send({ path: paths[round % 2]!, key: scene.key('poor'), headers: GZIP, body: body() }),
    );
    scene.expectStatuses(400, 503, 529);
  },
};
