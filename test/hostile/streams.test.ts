import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { assertEstimated, assertFree, type Family, families, requestOf } from '../support/families.ts';
import { assertSpent } from '../support/gateway.ts';
import { type Behaviour, chunks, responseBytes, responses } from '../support/hostile-provider.ts';
import { event } from '../support/provider.ts';
import {
  assertFailed,
  assertServed,
  callOf,
  type HostileScene,
  INVALID,
  jsonBytes,
  relayedStream,
  SSE,
  setScene,
} from './scene.ts';

/** Invalid streams. */

describe('streams', () => {
  let scene: HostileScene;
  before(async () => {
    scene = await setScene();
  });
  after(() => scene?.close());

  const stream = (events: readonly (string | Buffer)[]): Behaviour =>
    responses(responseBytes({ headers: SSE, body: chunks(events) }));

  for (const family of families) {
    const events = family.stream(['Hello']);
    const relayed = relayedStream(family, ['Hello']);
    const { terminal, errorEvent } = family;
    const beforeTerminal = events.slice(0, -1);

    describe(family.name, () => {
      const send = (behaviour: Behaviour) => scene.send(callOf(family, true, behaviour));

      test('single bytes: the stream is delivered unchanged', async () => {
        const bytes = responseBytes({ headers: SSE, body: chunks([events.join('')]) });
        const behaviour: Behaviour = async (connection) => {
          await connection.request();
          for (const byte of bytes) await connection.send(Buffer.of(byte));
        };
        await assertServed(await send(behaviour), { body: relayed, costNano: family.cost });
      });

      test('an error after the terminal event: the stream was a success', async () => {
        const ended = await send(stream([...events, errorEvent]));
        await assertServed(ended, { costNano: family.cost });
      });

      test('an error after the terminal event reveals neither host nor key', async () => {
        const said = `See ${scene.hostile.url}/docs: hostile-secret-key-${family.name === 'chat' ? 1 : 2}`;
        // Tests the assertion that is applied to every response.
        await send(stream([...events, errorEvent.replace('Overloaded.', said)]));
      });

      test('an error as the first event: passed on, and nothing is charged', async () => {
        const { response, account, reported } = await send(stream([errorEvent]));
        assert.deepEqual([response.status, response.text], [200, errorEvent]);
        await assertFree(account, { status: 'aborted', httpStatus: 200, errorCode: 'upstream_error' });
        assert.equal(reported, 'failed: upstream_error');
      });

      test('an error after the usage: passed on, and the reported usage is charged', async () => {
        const { response, account, record, reported } = await send(stream([...beforeTerminal, errorEvent]));
        assert.equal(response.text, relayed.slice(0, -terminal.length) + errorEvent);
        assert.deepEqual(
          [record.status, record.errorCode, record.usage.source],
          ['aborted', 'upstream_error', 'observed'],
        );
        assert.equal(reported, 'failed: upstream_error');
        await assertSpent(account, family.cost);
      });

      for (const [what, tokens] of Object.entries({
        'a negative count': -7,
        'a part of a token': 7.5,
        'more tokens than there are integers': 2 ** 53 + 1,
        'nearly endless tokens': 1e308,
        'one token more than is believed': 2 ** 31,
        'a count in words': 'seven',
      })) {
        test(`usage with ${what}: the stream is charged on an estimate that is marked as one`, async () => {
          const unusable = usageEvent(family, 11, tokens);
          const texts = events.slice(0, family.name === 'chat' ? 3 : 5);
          const { account, response } = await send(stream([...texts, unusable, terminal]));
          assert.ok(response.text.endsWith(terminal));
          const input = family.inputTokens(requestOf(true, 'hostile'));
          await assertEstimated(account, { input, output: 2 }, { status: 'succeeded', errorCode: null });
        });
      }

      const invalid: Record<string, Behaviour> = {
        'an error in JSON with a 200': responses(
          responseBytes({
            headers: ['content-type: application/json', 'content-length: 29'],
            body: '{"error":{"message":"Oops."}}',
          }),
        ),
        'what gzip made of it': responses(
          responseBytes({ headers: [...SSE, 'content-encoding: gzip'], body: chunks([gzipSync(events.join(''))]) }),
        ),
        'another content type': responses(
          responseBytes({ headers: ['content-type: text/plain', SSE[1]!], body: chunks(events) }),
        ),
        'no content type': responses(responseBytes({ headers: [SSE[1]!], body: chunks(events) })),
        'a whole response': responses(jsonBytes(200, JSON.stringify(family.whole()))),
        'no event': stream([]),
      };
      for (const [what, behaviour] of Object.entries(invalid)) {
        test(`${what}: a 502, and nothing is charged`, async () => {
          await assertFailed(await send(behaviour), family, INVALID);
        });
      }
    });
  }
});

/** An event with the provider's usage. */
function usageEvent(family: Family, input: unknown, output: unknown): string {
  return family.name === 'chat'
    ? `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: input, completion_tokens: output } })}\n\n`
    : event('message_delta', { delta: {}, usage: { input_tokens: input, output_tokens: output } });
}
