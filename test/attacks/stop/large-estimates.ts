import type { Attack } from '../attack.ts';
import { once, words } from '../scene/bodies.ts';

const TEXT_BYTES = 4_000_000;
const text = once(() => words(TEXT_BYTES / 6));
const toMessages = once(() =>
  Buffer.from(JSON.stringify({ model: 'shop-messages', messages: [{ role: 'user', content: text() }] })),
);
const toResponses = once(() => Buffer.from(JSON.stringify({ model: 'shop-chat', input: text() })));

export const largeEstimates: Attack = {
  name: 'large-estimates',
  sends: 'estimates of 4 MB of text, sixteen at a time, without money',
  seconds: 3,
  callers: { poor: {} },
  prepare() {
    toMessages();
    toResponses();
  },
  async run(scene) {
    await scene.repeat(16, (round) =>
      scene.send({
        ...(round % 2 === 0
          ? { path: '/v1/messages/count_tokens', body: toMessages() }
          : { path: '/v1/responses/input_tokens', body: toResponses() }),
        key: scene.key('poor'),
      }),
    );
    scene.expectStatuses(200, 429, 503, 529);
  },
};
