import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { JsonCapture } from '../../lib/json/json-capture.ts';
import { MODEL_MEMBER, ShownModel, withModelName } from './shown-model.ts';

/** A whole response in these chunks, with another name of its model. */
function shownWhole(chunks: readonly Buffer[], name = 'asked'): string {
  const capture = new JsonCapture({ keep: ['usage'], locate: MODEL_MEMBER, keptBytesMax: 1_000 });
  const shown = chunks.map((chunk) => {
    capture.push(chunk);
    return withModelName(chunk, capture.takeLocated(), name);
  });
  capture.end();
  return Buffer.concat(shown).toString();
}

const shownEvents = (...events: readonly string[]): string[] => {
  const shown = new ShownModel('asked');
  return events.map((event) => shown.write(Buffer.from(event)).toString());
};

describe('the name of the model in whole responses', () => {
  const cases: readonly [received: string, shown: string][] = [
    ['{"id":"a","model":"gpt","x":1}', '{"id":"a","model":"asked","x":1}'],
    ['{ "data" : [1] , "model" : "g\\"pt" }', '{ "data" : [1] , "model" : "asked" }'],
    ['{"m\\u006fdel":"gpt","model":"gpt"}', '{"m\\u006fdel":"asked","model":"asked"}'],
    [
      '{"model":null,"a":{"model":"inner"},"b":["model","gpt"]}',
      '{"model":null,"a":{"model":"inner"},"b":["model","gpt"]}',
    ],
    ['{"model":{"model":"gpt"}}', '{"model":{"model":"gpt"}}'],
    ['["model","gpt"]', '["model","gpt"]'],
  ];
  for (const [received, shown] of cases) {
    it(`${received} becomes ${shown}, in any chunks`, () => {
      const bytes = Buffer.from(received);
      assert.equal(shownWhole([bytes]), shown);
      assert.equal(shownWhole(Array.from(bytes, (byte) => Buffer.of(byte))), shown);
      for (let at = 1; at < bytes.length; at++) {
        assert.equal(shownWhole([bytes.subarray(0, at), bytes.subarray(at)]), shown, `cut at ${at}`);
      }
    });
  }
});

describe('the name of the model in events', () => {
  const cases: readonly [received: string, shown: string][] = [
    ['data: {"id":1,"model":"gpt","choices":[]}\n\n', 'data: {"id":1,"model":"asked","choices":[]}\n\n'],
    ['data:{"model":"gpt"}\r\n\r\n', 'data:{"model":"asked"}\r\n\r\n'],
    ['\ufeffdata: {"model":"gpt"}\n\n', '\ufeffdata: {"model":"asked"}\n\n'],
    [
      'data: {"a":1,\ndata: "model":\ndata: "gpt","b":2}\n\n',
      'data: {"a":1,\ndata: "model":\ndata: "asked","b":2}\n\n',
    ],
    [
      'data: {"model":"a","model":"b","mode\\u006c":"c"}\n\n',
      'data: {"model":"asked","model":"asked","mode\\u006c":"asked"}\n\n',
    ],
    [
      'event: message_start\ndata: {"type":"message_start","message":{"model":"gpt","content":[]}}\n\n',
      'event: message_start\ndata: {"type":"message_start","message":{"model":"asked","content":[]}}\n\n',
    ],
    [
      'data: {"response":{"tools":[{"model":"inner"}],"model":"gpt"},"item":{"model":"inner"}}\n\n',
      'data: {"response":{"tools":[{"model":"inner"}],"model":"asked"},"item":{"model":"inner"}}\n\n',
    ],
    ...[
      'data: [DONE]\n\n',
      ': "model":"gpt"\n\n',
      'data: {"delta":{"content":"\\"model\\":\\"gpt\\""}}\n\n',
      'data: {"model":null}\n\n',
      'data: {"model":"gpt"\n\n',
      'data: "model"\n\n',
      'model":"gpt"}',
    ].map((event): [string, string] => [event, event]),
  ];
  for (const [received, shown] of cases) {
    it(`${JSON.stringify(received)} becomes ${JSON.stringify(shown)}`, () => {
      assert.deepEqual(shownEvents(received, received), [shown, shown]);
      assert.deepEqual(shownEvents(`data: 1\n\n${received}: c\n\n`), [`data: 1\n\n${shown}: c\n\n`]);
    });
  }

  it('is replaced in each event of a run, also where one begins like the last one and then differs', () => {
    const chunk = (content: string, rest = ''): string =>
      `data: {"id":"1","model":"gpt","choices":[{"delta":{"content":${JSON.stringify(content)}}}]${rest}}\n\n`;
    const run = [chunk('a'), chunk('b'), chunk('model": "c'), chunk('d', ',"model":"gpt"'), chunk('e')];
    const expected = run.map((event) => event.replaceAll('"model":"gpt"', '"model":"asked"'));
    assert.equal(shownEvents(run.join(''))[0], expected.join(''));
    assert.deepEqual(shownEvents(...run), expected);
  });

  it('is what a parser sees, whatever else is in the event', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('model', 'a', 'mode'), fc.json({ maxDepth: 2 })), { maxLength: 5 }),
        (members) => {
          const text = `{${members.map(([key, value]) => `"${key}":${value}`).join(', ')}}`;
          const [shown] = shownEvents(`data: ${text}\n\n`);
          const expected = JSON.parse(text) as Record<string, unknown>;
          if (typeof expected.model === 'string') expected.model = 'asked';
          assert.deepEqual(JSON.parse(shown!.slice('data: '.length)), expected);
          assert.deepEqual(JSON.parse(shownWhole([Buffer.from(text)])), expected);
        },
      ),
      { numRuns: propertyRuns(1000) },
    );
  });
});
