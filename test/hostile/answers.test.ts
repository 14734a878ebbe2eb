import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type Family, families } from '../support/families.ts';
import { costNano } from '../support/gateway.ts';
import { type Behaviour, chunks, responseBytes, responses } from '../support/hostile-provider.ts';
import { RESPONSES_COST, responseObject } from '../support/responses.ts';
import { assertFailed, assertServed, callOf, type HostileScene, INVALID, setScene } from './scene.ts';

/** Invalid non-streaming responses: unreadable, of another shape, or with implausible usage. */

const [chat] = families as readonly [Family, Family];
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('non-streaming responses', () => {
  let scene: HostileScene;
  before(async () => {
    scene = await setScene();
  });
  after(() => scene?.close());

  const received = (body: Buffer | string, ...headers: readonly string[]): Behaviour =>
    responses(
      responseBytes({
        headers: [
          ...(headers.length > 0 ? headers : ['content-type: application/json']),
          `content-length: ${Buffer.byteLength(body)}`,
        ],
        body,
      }),
    );

  for (const family of families) {
    const whole = JSON.stringify(family.whole());
    const { input, output } = fieldsOf(family);
    /** The response with this text instead of the usage object. */
    const withUsage = (usage: string): string => `${JSON.stringify(family.whole(null)).slice(0, -1)},"usage":${usage}}`;
    const usage = (inputTokens: string, outputTokens: string): string =>
      `{"${input}":${inputTokens},"${output}":${outputTokens}}`;

    describe(family.name, () => {
      const invalid: Record<string, Behaviour> = {
        'HTML that says it is JSON': received('<!doctype html><title>Welcome to nginx!</title>'),
        'an array': received(`[${whole}]`),
        'a string': received(JSON.stringify(whole)),
        null: received('null'),
        'a number': received('42'),
        nothing: received(''),
        'white space': received(' \r\n\t'),
        'a stream': received(family.stream(['Hello']).join(''), 'content-type: text/event-stream'),
        'an object of nothing': received('{}'),
        'a comma too many': received(`${whole.slice(0, -1)},}`),
        'single quotes': received(whole.replaceAll('"', "'")),
        'a comment': received(`/* hello */${whole}`),
        'two responses': received(`${whole}\n${whole}`),
        'a line feed inside a string': received(whole.replace('Hello', 'Hel\nlo')),
        'a byte order mark': received(`\uFEFF${whole}`),
        'UTF-16': received(Buffer.from(whole, 'utf16le'), 'content-type: application/json; charset=utf-16le'),
        'a hundred thousand levels': received(withUsage(usage('11', '7')).replace('{', `{"deep":${nested(1e5)},`)),
        'a hundred thousand levels, never closed': received('['.repeat(1e5)),
        'what gzip made of it': received(gzipSync(whole), 'content-type: application/json', 'content-encoding: gzip'),
        'what gzip made of it, unsaid': received(gzipSync(whole)),
        'an error': received(
          family.name === 'chat'
            ? '{"error":{"message":"Oops.","type":"server_error","code":null}}'
            : '{"type":"error","error":{"type":"api_error","message":"Oops."}}',
        ),
        'usage as a list': received(withUsage(`[${usage('11', '7')}]`)),
        'usage as text': received(withUsage(JSON.stringify(usage('11', '7')))),
        'counts in words': received(withUsage(usage('"eleven"', '"7"'))),
        'counts of true': received(withUsage(usage('true', 'true'))),
        'a negative count': received(withUsage(usage('-11', '7'))),
        'a part of a token': received(withUsage(usage('11', '7.5'))),
        'more tokens than there are integers': received(withUsage(usage('11', '9007199254740993'))),
        'nearly endless tokens': received(withUsage(usage('1e308', '7'))),
        'endless tokens': received(withUsage(usage('1e999', '7'))),
        'one token more than is believed': received(withUsage(usage('11', '2147483648'))),
      };
      for (const [what, behaviour] of Object.entries(invalid)) {
        test(`${what}: a 502, and nothing is charged`, async () => {
          await assertFailed(await scene.send(callOf(family, false, behaviour)), family, INVALID);
        });
      }

      const served: Record<string, { body: Buffer | string; cost?: bigint; type?: string }> = {
        'the same usage twice: charged once': { body: withUsage(`${usage('11', '7')},"usage":${usage('11', '7')}`) },
        'two different usages: the last one counts': {
          body: withUsage(`${usage('900', '900')},"usage":${usage('11', '7')}`),
        },
        'usage inside of something else: does not count': {
          body: withUsage(usage('11', '7')).replace('{', `{"extra":{"usage":${usage('900', '900')}},`),
        },
        'a count in another notation: is the same number': { body: withUsage(usage('1.1e1', '70E-1')) },
        'an unknown charset: the bytes are passed on as they are': {
          body: Buffer.from(whole.replace('Hello', 'H\xe9llo'), 'latin1'),
          type: 'application/json; charset=iso-8859-1',
        },
        'no content type: is taken for JSON': { body: whole, type: '' },
        'another content type: is taken for JSON': { body: whole, type: 'text/plain' },
      };
      for (const [what, { body, cost = family.cost, type = 'application/json' }] of Object.entries(served)) {
        test(what, async () => {
          const behaviour = received(body, type === '' ? 'x-none: x' : `content-type: ${type}`);
          const ended = await scene.send(callOf(family, false, behaviour));
          await assertServed(ended, { costNano: cost });
          assert.ok(ended.response.body.equals(Buffer.from(body)));
          assert.match(ended.response.headers['content-type'] ?? '', /^application\/json/);
        });
      }

      test('a response in single bytes is delivered unchanged', async () => {
        const bytes = responseBytes({
          headers: ['content-type: application/json', 'transfer-encoding: chunked'],
          body: chunks([whole]),
        });
        await assertServed(await scene.send(callOf(family, false, drip(bytes))), {
          body: whole,
          costNano: family.cost,
        });
      });
    });
  }

  describe('other operations', () => {
    const sent = (path: string, body: object, text: string) =>
      scene.send({ behaviour: received(text), path, protocol: 'chat', body: { model: 'hostile', ...body } });
    const embeddings = '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1]}],"model":"x"';
    const images = '{"created":1,"data":[{"b64_json":"aGk="}]';
    const response = JSON.stringify(responseObject());

    const cases: Record<string, [path: string, body: object, good: string, cost: bigint, bad: Record<string, string>]> =
      {
        embeddings: [
          '/v1/embeddings',
          { input: 'Hello' },
          `${embeddings},"usage":{"prompt_tokens":5,"total_tokens":5}}`,
          costNano({ input: 5 }),
          {
            'without usage': `${embeddings}}`,
            'with more tokens than are believed': `${embeddings},"usage":{"prompt_tokens":1e308,"total_tokens":5}}`,
            'with an error in place of vectors': '{"error":{"message":"Oops."}}',
          },
        ],
        responses: [
          '/v1/responses',
          { input: 'Hello' },
          response,
          RESPONSES_COST,
          {
            'without usage': response.replace('"usage"', '"used"'),
            'broken off': response.slice(0, -1),
            'with an error in place of a response': '{"error":{"message":"Oops."}}',
          },
        ],
        images: [
          '/v1/images/generations',
          { prompt: 'A boat' },
          `${images},"usage":{"total_tokens":9,"input_tokens":4,"output_tokens":5,"input_tokens_details":{"text_tokens":4,"image_tokens":0}}}`,
          // Output images cost 19 yuan per million tokens.
          costNano({ input: 4 }) + 5n * 19_000n,
          {
            'without usage': `${images}}`,
            'with a negative count': `${images},"usage":{"input_tokens":4,"output_tokens":-5}}`,
            'with an error in place of images': '{"error":{"message":"Oops."}}',
          },
        ],
      };
    for (const [name, [path, body, good, cost, bad]] of Object.entries(cases)) {
      test(`${name}: a valid response is charged`, async () => {
        await assertServed(await sent(path, body, good), { body: good, costNano: cost });
      });
      for (const [what, text] of Object.entries(bad)) {
        test(`${name} ${what}: a 502, and nothing is charged`, async () => {
          await assertFailed(await sent(path, body, text), chat, INVALID);
        });
      }
    }
  });
});

/** Sends bytes one at a time. */
function drip(bytes: Buffer): Behaviour {
  return async (connection) => {
    await connection.request();
    for (const byte of bytes) await connection.send(Buffer.of(byte));
  };
}

function fieldsOf(family: Family): { input: string; output: string } {
  return family.name === 'chat'
    ? { input: 'prompt_tokens', output: 'completion_tokens' }
    : { input: 'input_tokens', output: 'output_tokens' };
}
