import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  keySpelling,
  memberOf,
  memberText,
  objectText,
  stringText,
  valueText,
} from '../../../test/support/json-text.ts';
import { readInput, refusalsOf } from '../../../test/support/request-input.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { encryptedContinuationKey, responseContinuationKey } from '../responses/continuation-keys.ts';
import { responses } from './responses.ts';

const READ_KEYS = ['model', 'input', 'background', 'previous_response_id', 'stream', 'max_output_tokens'];

const inspect = (text: string) => readInput(responses, text);
const assertRefused = refusalsOf(responses);

/** A body with a model and these members besides. */
const bodyWith = (...members: readonly string[]): string => `{${['"model":"m"', ...members].join(',')}}`;

describe('responses', () => {
  it('changes nothing of a body but the model, down to the last byte', () => {
    const model = memberOf(keySpelling('model'), fc.constantFrom('"m"', '"\\u006d"', '"模型"'));
    const input = memberOf(keySpelling('input'), fc.constantFrom('null', '""', '"h\\u00e9"', '[]', '[{"n":1.0}, 2]'));
    const stream = memberOf(keySpelling('stream'), fc.constantFrom('true', 'false', 'null'));
    const unread = memberOf(
      stringText.filter(({ value }) => !READ_KEYS.includes(value)),
      valueText,
    );
    fc.assert(
      fc.property(
        fc.tuple(model, input, stream, fc.array(unread, { maxLength: 4 })),
        fc.nat(),
        fc.string({ minLength: 1 }),
        ([named, given, streamed, others], turn, providerModel) => {
          const members = [named, given, streamed, ...others];
          const at = turn % members.length;
          const whole = objectText([...members.slice(at), ...members.slice(0, at)]);
          const sent = memberText({ ...named, value: JSON.stringify(providerModel) });
          const expected =
            JSON.parse(named.value) === providerModel ? whole : whole.replace(memberText(named), () => sent);
          assert.equal(inspect(whole).toProvider(providerModel).toString(), expected);
        },
      ),
      { numRuns: propertyRuns(300) },
    );
  });

  it('reads model, stream and the output that is asked for', () => {
    const { model, isStream, demand, choices, contentType } = inspect(
      bodyWith('"stream":true', '"max_output_tokens":16'),
    );
    assert.deepEqual(
      { model, isStream, output: demand.outputTokensLimit, choices, contentType },
      { model: 'm', isStream: true, output: 16, choices: 1, contentType: 'application/json' },
    );
    const bare = inspect(bodyWith('"stream":null', '"max_output_tokens":null'));
    assert.deepEqual([bare.isStream, bare.demand.outputTokensLimit], [false, null]);
  });

  it('estimates its input by the size of the body', () => {
    const body = bodyWith(`"input":"${'x'.repeat(1_000)}"`);
    assert.equal(inspect(body).inputTokensEstimate, Math.ceil(body.length / 4));
  });

  it('refers to the earlier response first, then to the contexts of its input, the newest first', () => {
    const { continuationKeys } = inspect(
      bodyWith('"input":[{"encrypted_content":"old"},{"encrypted_content":"new"}]', '"previous_response_id":"resp_1"'),
    );
    assert.deepEqual(continuationKeys, [
      responseContinuationKey('resp_1'),
      encryptedContinuationKey('new'),
      encryptedContinuationKey('old'),
    ]);
  });

  it('requires a model', () => {
    for (const text of ['{}', '{"model":null}', '{"model":""}', '{"model":7}']) assertRefused(text, 'model');
  });

  it('takes a text, an array or nothing as input, whatever is in it', () => {
    for (const input of ['null', '""', '"x"', '[]', '[1,null,{"file_id":"x"}]']) inspect(bodyWith(`"input":${input}`));
    for (const input of ['1', '{}', 'true']) assertRefused(bodyWith(`"input":${input}`), 'input');
  });

  it('refuses work in the background, which would have no usage', () => {
    assertRefused(bodyWith('"background":true'), 'background');
    assertRefused(bodyWith('"background":"no"'), 'background');
    for (const value of ['false', 'null']) inspect(bodyWith(`"background":${value}`));
  });

  it('refuses values of the wrong type in what it reads', () => {
    for (const [name, value] of [
      ['stream', '"true"'],
      ['max_output_tokens', '-1'],
      ['max_output_tokens', '1.5'],
      ['max_output_tokens', '"16"'],
      ['previous_response_id', '7'],
    ] as const) {
      assertRefused(bodyWith(`"${name}":${value}`), name);
    }
  });

  it('refuses a second copy of every key that it reads', () => {
    for (const name of READ_KEYS) assertRefused(`{"model":"m","${name}":null,"${name}":null}`, name);
  });

  it('refuses what is no JSON object', () => {
    for (const text of ['', '[]', 'null', '{"model":"m"']) assertRefused(text, null);
  });
});
