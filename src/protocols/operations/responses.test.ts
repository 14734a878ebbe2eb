import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readInput, refusalsOf } from '../../../test/support/request-input.ts';
import { responses } from './responses.ts';

const inspect = (text: string) => readInput(responses, text);
const assertRefused = refusalsOf(responses);

/** A body with a model and additional members. */
const bodyWith = (...members: readonly string[]): string => `{${['"model":"m"', ...members].join(',')}}`;

describe('responses', () => {
  it('reads model, stream and requested output', () => {
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

  it('requires a model', () => {
    for (const text of ['{}', '{"model":null}', '{"model":""}', '{"model":7}']) assertRefused(text, 'model');
  });

  it('accepts a string, an array or no input, with any content', () => {
    for (const input of ['null', '""', '"x"', '[]', '[1,null,{"file_id":"x"}]']) inspect(bodyWith(`"input":${input}`));
    for (const input of ['1', '{}', 'true']) assertRefused(bodyWith(`"input":${input}`), 'input');
  });

  it('refuses background mode, which would have no usage', () => {
    assertRefused(bodyWith('"background":true'), 'background');
    assertRefused(bodyWith('"background":"no"'), 'background');
    for (const value of ['false', 'null']) inspect(bodyWith(`"background":${value}`));
  });

  it('refuses wrong types of the members that it reads', () => {
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
});
