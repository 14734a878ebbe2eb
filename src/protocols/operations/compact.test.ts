import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readInput, refusalsOf } from '../../../test/support/request-input.ts';
import { compactionResponse } from '../responses/compaction.ts';
import { compact } from './compact.ts';

const inspect = (text: string) => readInput(compact, text);
const assertRefused = refusalsOf(compact);

/** A body with a model and additional members. */
const bodyWith = (...members: readonly string[]): string => `{${['"model":"m"', ...members].join(',')}}`;

describe('compact', () => {
  it('requires the member model, which may be null', () => {
    assertRefused('{}', 'model');
    assertRefused('{"previous_response_id":"resp_1"}', 'model');
    for (const value of ['""', '7', '{}', '[]', 'true']) assertRefused(`{"model":${value}}`, 'model');
    assert.equal(inspect('{"model":null}').model, null);
    assert.equal(inspect('{"model":"m"}').model, 'm');
  });

  it('is never streamed and has no output limit, whatever the body contains', () => {
    const { isStream, demand } = inspect(bodyWith('"stream":true', '"max_output_tokens":5'));
    assert.deepEqual([isStream, demand.outputTokensLimit], [false, null]);
    assert.throws(() => inspect(bodyWith()).readStream('tokens'), /does not support streaming/);
  });

  it('validates its input', () => {
    assertRefused(bodyWith('"input":7'), 'input');
    assertRefused(bodyWith('"input":[{"approve":1}]'), 'input[0].approve');
  });

  it('accepts a cache key of up to 64 code points', () => {
    for (const letter of ['k', '钥', '😀']) {
      inspect(bodyWith(`"prompt_cache_key":"${letter.repeat(64)}"`));
      assertRefused(bodyWith(`"prompt_cache_key":"${letter.repeat(65)}"`), 'prompt_cache_key');
    }
    inspect(bodyWith(`"prompt_cache_key":"${'\\u0041'.repeat(64)}"`));
  });

  it('validates its settings, and treats null as absent', () => {
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
      ['{"ttl":null,"ttl":"30m"}', 'prompt_cache_options.ttl'],
    ] as const) {
      assertRefused(bodyWith(`"prompt_cache_options":${value}`), param);
    }
  });

  it('refuses values that are not strings', () => {
    for (const name of ['instructions', 'previous_response_id', 'prompt_cache_key']) {
      inspect(bodyWith(`"${name}":""`));
      inspect(bodyWith(`"${name}":null`));
      for (const value of ['1', '[]', '{}', 'true']) assertRefused(bodyWith(`"${name}":${value}`), name);
    }
  });

  it('is charged by a compaction response', () => {
    assert.equal(inspect(bodyWith()).response, compactionResponse);
  });
});
