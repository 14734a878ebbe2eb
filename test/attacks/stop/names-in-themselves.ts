import type { Attack } from '../attack.ts';
import { once } from '../scene/bodies.ts';

/** Objects nested under a name that a reader looks for, as deep as allowed, with a long list in the innermost. */
function nested(open: string, close: string): Buffer {
  const levels = Math.floor(245 / open.split(/[[{]/).slice(1).length);
  const values = `[${'1,'.repeat(24_000)}1]`;
  return Buffer.from(
    `{"model":"none","max_tokens":1,"messages":[],"x":${open.repeat(levels)}${values}${close.repeat(levels)}}`,
  );
}

const bodies = once(() => [
  nested('{"context_management":', '}'),
  nested('{"fallbacks":[', ']}'),
  nested('{"tools":[{"type":"x","parameters":', '}]}'),
]);

export const namesInThemselves: Attack = {
  name: 'names-in-themselves',
  sends: '50 KB in 245 levels of one name to chat and messages, eight at a time, for a model that does not exist',
  seconds: 2,
  callers: { poor: {} },
  prepare: bodies,
  async run(scene) {
    const path = (round: number): string => (round % 2 === 0 ? '/v1/chat/completions' : '/v1/messages');
    await scene.repeat(8, (round) =>
      scene.send({ path: path(round), key: scene.key('poor'), body: bodies()[round % bodies().length]! }),
    );
    scene.expectStatuses(404);
  },
};
