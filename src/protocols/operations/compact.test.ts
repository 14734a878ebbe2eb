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
import { compactionResponse } from '../responses/compaction.ts';
import { encryptedContinuationKey, responseContinuationKey } from '../responses/continuation-keys.ts';
import { compact } from './compact.ts';

const READ_KEYS = [
  ...['model', 'input', 'instructions', 'previous_response_id', 'prompt_cache_key', 'prompt_cache_options'],
  ...['prompt_cache_retention', 'service_tier'],
];

const inspect = (text: string) => readInput(compact, text);
const assertRefused = refusalsOf(compact);

/** A body with a model and these members besides. */
const bodyWith = (...members: readonly string[]): string => `{${['"model":"m"', ...members].join(',')}}`;

describe('compact', () => {
  it('changes nothing of a body but the model, named or null, down to the last byte', () => {
    const model = memberOf(keySpelling('model'), fc.constantFrom('"m"', '"\\u006d"', 'null', '"模型"'));
    const input = memberOf(keySpelling('input'), fc.constantFrom('null', '"h\\u00e9"', '[]', '[{"x":1.0}, {}]'));
    const unread = memberOf(
      stringText.filter(({ value }) => !READ_KEYS.includes(value)),
      valueText,
    );
    fc.assert(
      fc.property(
        model,
        input,
        fc.array(unread, { maxLength: 4 }),
        fc.string({ minLength: 1 }),
        (named, given, others, providerModel) => {
          const whole = objectText([named, given, ...others]);
          const sent = memberText({ ...named, value: JSON.stringify(providerModel) });
          const expected =
            JSON.parse(named.value) === providerModel ? whole : whole.replace(memberText(named), () => sent);
          const { model: read, toProvider } = inspect(whole);
          assert.equal(read, JSON.parse(named.value));
          assert.equal(toProvider(providerModel).toString(), expected);
        },
      ),
      { numRuns: propertyRuns(300) },
    );
  });

  it('requires the key of the model, which may be null', () => {
    assertRefused('{}', 'model');
    assertRefused('{"previous_response_id":"resp_1"}', 'model');
    for (const value of ['""', '7', '{}', '[]', 'true']) assertRefused(`{"model":${value}}`, 'model');
    assert.equal(inspect('{"model":null}').model, null);
    assert.equal(inspect('{"model":"m"}').model, 'm');
  });

  it('is no stream, whatever the body says, and has no limit of output', () => {
    const { isStream, demand } = inspect(bodyWith('"stream":true', '"max_output_tokens":5'));
    assert.deepEqual([isStream, demand.outputTokensLimit], [false, null]);
    assert.throws(() => inspect(bodyWith()).readStream('tokens'), /no streams/);
  });

  it('refers to the earlier response first, then to the contexts of its input, the newest first', () => {
    const { continuationKeys } = inspect(
      '{"model":null,"input":[{"encrypted_content":"old"},{"encrypted_content":"new"}],"previous_response_id":"resp_1"}',
    );
    assert.deepEqual(continuationKeys, [
      responseContinuationKey('resp_1'),
      encryptedContinuationKey('new'),
      encryptedContinuationKey('old'),
    ]);
  });

  it('checks the items of its input', () => {
    assertRefused(bodyWith('"input":7'), 'input');
    assertRefused(bodyWith('"input":[{"approve":1}]'), 'input[0].approve');
    assertRefused(
      bodyWith('"input":[{"content":[{"type":"input_file","file_id":"x"}]}]'),
      'input[0].content[0].file_id',
    );
  });

  it('takes a cache key of up to 64 characters, counted as code points', () => {
    for (const letter of ['k', '钥', '😀']) {
      inspect(bodyWith(`"prompt_cache_key":"${letter.repeat(64)}"`));
      assertRefused(bodyWith(`"prompt_cache_key":"${letter.repeat(65)}"`), 'prompt_cache_key');
    }
    inspect(bodyWith(`"prompt_cache_key":"${'\\u0041'.repeat(64)}"`));
  });

  it('knows the words of its settings, and takes null for none', () => {
    const settings: readonly [name: string, words: readonly string[]][] = [
      ['prompt_cache_retention', ['in_memory', '24h']],
      ['service_tier', ['auto', 'default', 'fast', 'flex', 'priority']],
    ];
    for (const [name, words] of settings) {
      for (const word of words) inspect(bodyWith(`"${name}":"${word}"`));
      inspect(bodyWith(`"${name}":null`));
      for (const value of ['"x"', '""', '1', '{}']) assertRefused(bodyWith(`"${name}":${value}`), name);
    }
    for (const value of [
      'null',
      '{}',
      '{"mode":"implicit"}',
      '{"mode":"explicit","ttl":"30m","x":1}',
      '{"ttl":null}',
    ]) {
      inspect(bodyWith(`"prompt_cache_options":${value}`));
    }
    for (const [value, param] of [
      ['"explicit"', 'prompt_cache_options'],
      ['[]', 'prompt_cache_options'],
      ['{"mode":"auto"}', 'prompt_cache_options.mode'],
      ['{"ttl":"24h"}', 'prompt_cache_options.ttl'],
      ['{"ttl":30}', 'prompt_cache_options.ttl'],
    ] as const) {
      assertRefused(bodyWith(`"prompt_cache_options":${value}`), param);
    }
  });

  it('refuses texts that are none', () => {
    for (const name of ['instructions', 'previous_response_id', 'prompt_cache_key']) {
      inspect(bodyWith(`"${name}":""`));
      inspect(bodyWith(`"${name}":null`));
      for (const value of ['1', '[]', '{}', 'true']) assertRefused(bodyWith(`"${name}":${value}`), name);
    }
  });

  it('refuses a second copy of every key that it reads', () => {
    for (const name of READ_KEYS) assertRefused(`{"model":"m","${name}":null,"${name}":null}`, name);
    assertRefused(bodyWith('"prompt_cache_options":{"ttl":null,"ttl":"30m"}'), 'prompt_cache_options.ttl');
  });

  it('is paid for by the response of its own kind', () => {
    assert.equal(inspect(bodyWith()).response, compactionResponse);
  });
});
