import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { keySpelling, memberOf, objectText, stringText, valueText } from '../../../test/support/json-text.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { BodyFields } from './fields.ts';
import { splice } from './json-operation.ts';

const fieldsOf = (text: string) => BodyFields.read(Buffer.from(text));

/** Asserts a 400 with this message and field. */
function assertRefused(work: () => unknown, message: string | RegExp, param: string | null): void {
  assert.throws(work, { kind: 'invalidRequest', message, param });
}

describe('reading a body', () => {
  it('refuses an empty body', () => {
    assertRefused(() => fieldsOf(''), 'The body is empty; a JSON object is expected.', null);
  });

  it('refuses bytes that are not UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.of(0xc3, 0x28), Buffer.from('"}')]);
    assertRefused(() => BodyFields.read(bytes), 'The body is not valid UTF-8.', null);
  });

  it('reports the offset of invalid JSON', () => {
    assertRefused(
      () => fieldsOf('{"a":1,}'),
      'The body is not valid JSON: a string is expected here (at byte 7).',
      null,
    );
    assertRefused(() => fieldsOf('\ufeff{"a":1}'), /a value is expected here \(at byte 0\)/, null);
  });

  it('refuses nesting that would overflow other parsers', () => {
    assertRefused(() => fieldsOf(`{"a":${'['.repeat(600)}${']'.repeat(600)}}`), /nested deeper than 256 levels/, null);
  });

  it('names the limit that a body exceeds', () => {
    const text = `{"a":[${'[],'.repeat(2 ** 20)}[]]}`;
    assertRefused(() => fieldsOf(text), /^The body is too complex: the text has more than 1048576 values \(/, null);
  });

  it('applies the same limits to nested objects', () => {
    const members = Array.from({ length: 10_001 }, (_, i) => `"k${i}":0`).join(',');
    const fields = fieldsOf(`{"options":{${members}}}`);
    assertRefused(
      () => fields.optionalObject('options'),
      /is too complex: the object has more than 10000 members/,
      null,
    );
  });

  it('refuses strings and numbers that are too long', () => {
    const longest = 'm'.repeat(64 * 1024 - 2);
    assert.equal(fieldsOf(`{"model":"${longest}"}`).requiredText('model'), longest);
    for (const read of ['requiredText', 'optionalText'] as const) {
      const fields = fieldsOf(`{"model":"${longest}m"}`);
      assertRefused(() => fields[read]('model'), /"model" is longer than 65536 bytes/, 'model');
    }
    const digits = (count: number) => fieldsOf(`{"n":1${'.'}${'0'.repeat(count)}}`);
    assert.equal(digits(400).optionalWhole('n', 1), 1);
    assertRefused(() => digits(2_000_000).optionalWhole('n', 1), /from 1, not 1\.0{38}\.$/, 'n');
  });

  it('refuses a body that is not a JSON object', () => {
    for (const [kind, text] of Object.entries({
      array: '[]',
      string: '"{}"',
      number: '7',
      true: 'true',
      null: 'null',
    })) {
      assertRefused(() => fieldsOf(text), `The body is a JSON ${kind}; an object is expected.`, null);
    }
  });

  it('accepts an object without members', () => {
    assert.equal(fieldsOf(' { } ').isEmpty, true);
    assert.equal(fieldsOf('{"a":1}').isEmpty, false);
  });
});

describe('the fields of a body', () => {
  it('are found even if their key has escapes', () => {
    fc.assert(
      fc.property(
        memberOf(
          keySpelling('model'),
          stringText.filter(({ value }) => value !== '' && value.isWellFormed()).map(({ text }) => text),
        ),
        (model) => {
          assert.equal(fieldsOf(objectText([model])).requiredText('model'), JSON.parse(model.value));
        },
      ),
      { numRuns: propertyRuns(200) },
    );
  });

  it('are refused if their key is duplicated, in any spelling and with any values', () => {
    const copy = memberOf(keySpelling('stream'), valueText);
    const other = memberOf(
      stringText.filter(({ value }) => value !== 'stream'),
      valueText,
    );
    const others = fc.array(other, { maxLength: 2 });
    fc.assert(
      fc.property(others, copy, others, copy, others, (before, first, between, second, after) => {
        const text = objectText([...before, first, ...between, second, ...after]);
        assertRefused(() => fieldsOf(text), 'The key "stream" appears more than once.', 'stream');
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it('are refused under a key that other parsers could mistake for theirs, alone or in addition', () => {
    const spellings = ['Stream', 'STREAM', '\u017ftream', '\\u017ftream', 'st_ream', '\\u0053tream'];
    for (const key of spellings) {
      for (const text of [
        `{"model":"m","${key}":true}`,
        `{"stream":false,"${key}":true}`,
        `{"${key}":1,"stream":true}`,
      ]) {
        assertRefused(
          () => fieldsOf(text).has('x'),
          /can be mistaken for "stream"\. Use the exact spelling, only once/,
          'stream',
        );
      }
    }
    assertRefused(() => fieldsOf('{"max_to\u212aens":9}').has('x'), /"max_tokens"/, 'max_tokens');
    assertRefused(
      () => fieldsOf('{"maxCompletionTokens":9}').has('x'),
      /"max_completion_tokens"/,
      'max_completion_tokens',
    );
  });

  it('are refused likewise in nested objects, with the path in the error', () => {
    const options = fieldsOf('{"stream_options":{"Include_Usage":false}}').optionalObject('stream_options')!;
    assertRefused(
      () => options.optionalBoolean('include_usage'),
      'The key "Include_Usage" can be mistaken for "stream_options.include_usage". Use the exact spelling, only once.',
      'stream_options.include_usage',
    );
  });

  it('must be unique if they affect the cost of any operation, whether read or not', () => {
    for (const key of ['model', 'n', 'best_of', 'tools', 'service_tier', 'quality', 'max_output_tokens']) {
      assertRefused(
        () => fieldsOf(`{"${key}":1,"x":0,"${key}":2}`).has('x'),
        `The key "${key}" appears more than once.`,
        key,
      );
    }
  });

  it('ignore keys that no parser could mistake for them', () => {
    const text = '{"Metadata":1,"metadata":2,"tool":1,"modelx":1,"":2,"m\u00f6del":3,"toolſ_":4,"N1":5}';
    assertRefused(() => fieldsOf(text).has('x'), /can be mistaken for "tools"/, 'tools');
    assert.doesNotThrow(() => fieldsOf(text.replace('toolſ_', 'x')).has('x'));
  });

  it('may be accompanied by duplicates of other keys', () => {
    assert.equal(fieldsOf('{"x":1,"model":"m","x":2}').requiredText('model'), 'm');
  });

  it('are distinct from fields of the same name in nested objects', () => {
    assert.equal(fieldsOf('{"x":{"stream":true,"stream":false}}').optionalBoolean('stream'), null);
  });

  it('include null members', () => {
    const fields = fieldsOf('{"a": null}');
    assert.deepEqual(fields.member('a'), { key: 'a', kind: 'null', valueStart: 6, valueEnd: 10 });
    assert.equal(fields.member('b'), undefined);
  });

  describe('a required string', () => {
    it('is decoded', () => {
      assert.equal(fieldsOf('{"model":"a\\u0062\\n\\ud83d\\ude00é"}').requiredText('model'), 'ab\n😀é');
    });

    it('has no unpaired surrogate, since parsers disagree about those', () => {
      for (const text of ['\\ud800', 'm\\udc00\\ud800', '\\uD83Dx']) {
        const fields = fieldsOf(`{"model":"${text}"}`);
        assertRefused(
          () => fields.requiredText('model'),
          /a string of complete Unicode characters, not string/,
          'model',
        );
        assertRefused(() => fields.optionalText('model'), /a string of complete Unicode characters/, 'model');
      }
    });

    for (const text of ['{}', '{"model":null}']) {
      it(`is missing in ${text}`, () => {
        assertRefused(() => fieldsOf(text).requiredText('model'), 'The field "model" is required.', 'model');
      });
    }

    it('must not be empty', () => {
      assertRefused(
        () => fieldsOf('{"model":""}').requiredText('model'),
        'The field "model" must not be empty.',
        'model',
      );
    });

    for (const [value, found] of [
      ['1', '1'],
      ['true', 'boolean'],
      ['false', 'boolean'],
      ['["m"]', 'array'],
      ['{}', 'object'],
      [`1${'0'.repeat(100)}`, `1${'0'.repeat(39)}`],
    ]) {
      it(`must not be ${value}`, () => {
        const expected = `The field "model" must be a string, not ${found}.`;
        assertRefused(() => fieldsOf(`{"model":${value}}`).requiredText('model'), expected, 'model');
      });
    }
  });

  it('have values of any type; numbers must equal their digits exactly', () => {
    assert.deepEqual(fieldsOf('{"a":[1,{"b":null}]}').value('a'), [1, { b: null }]);
    assert.equal(fieldsOf('{"a":0.7}').value('a'), 0.7);
    assert.equal(fieldsOf('{"a":2.0}').value('a'), 2);
    assertRefused(() => fieldsOf('{"a":0.99999999999999999999}').value('a'), /a number with fewer digits/, 'a');
  });

  describe('a required array', () => {
    it('may contain anything', () => {
      assert.doesNotThrow(() => fieldsOf('{"messages":[1,null,{}]}').requireKind('messages', ['array']));
      assert.doesNotThrow(() => fieldsOf('{"messages":[]}').requireKind('messages', ['array']));
    });

    it('must not be absent, null or of another type', () => {
      const required = 'The field "messages" is required.';
      assertRefused(() => fieldsOf('{}').requireKind('messages', ['array']), required, 'messages');
      assertRefused(() => fieldsOf('{"messages":null}').requireKind('messages', ['array']), required, 'messages');
      const wrong = 'The field "messages" must be an array, not string.';
      assertRefused(() => fieldsOf('{"messages":"hi"}').requireKind('messages', ['array']), wrong, 'messages');
    });
  });

  describe('an optional boolean', () => {
    for (const [text, value] of [
      ['{}', null],
      ['{"stream":null}', null],
      ['{"stream":true}', true],
      ['{"stream":false}', false],
    ] as const) {
      it(`is ${value} in ${text}`, () => {
        assert.equal(fieldsOf(text).optionalBoolean('stream'), value);
      });
    }

    for (const [value, found] of [
      ['"true"', 'string'],
      ['1', '1'],
      ['[]', 'array'],
    ]) {
      it(`must not be ${value}`, () => {
        const expected = `The field "stream" must be a boolean, not ${found}.`;
        assertRefused(() => fieldsOf(`{"stream":${value}}`).optionalBoolean('stream'), expected, 'stream');
      });
    }
  });

  describe('an optional integer', () => {
    for (const [value, number] of [
      ['null', null],
      ['0', 0],
      ['7', 7],
      ['7.0', 7],
      ['1e3', 1000],
      ['1.50e1', 15],
      ['120e-1', 12],
      ['0e-9', 0],
      ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ] as const) {
      it(`is ${number} for ${value}`, () => {
        assert.equal(fieldsOf(`{"n":${value}}`).optionalWhole('n', 0), number);
      });
    }

    it('is zero without a sign', () => {
      assert.ok(Object.is(fieldsOf('{"n":-0}').optionalWhole('n', 0), 0));
    });

    it('is null if absent', () => {
      assert.equal(fieldsOf('{}').optionalWhole('n', 0), null);
    });

    for (const [value, found] of [
      ['-1', '-1'],
      ['0.5', '0.5'],
      ['0.99999999999999999999', '0.99999999999999999999'],
      ['1.00000000000000000000001', '1.00000000000000000000001'],
      ['10e-2', '10e-2'],
      ['1e-400', '1e-400'],
      ['9007199254740992', '9007199254740992'],
      ['1e400', '1e400'],
      ['"7"', 'string'],
      ['true', 'boolean'],
      ['[7]', 'array'],
    ]) {
      it(`must not be ${value}`, () => {
        const expected = `The field "n" must be a whole number from 0, not ${found}.`;
        assertRefused(() => fieldsOf(`{"n":${value}}`).optionalWhole('n', 0), expected, 'n');
      });
    }

    it('must not be below its minimum', () => {
      assert.equal(fieldsOf('{"n":1}').optionalWhole('n', 1), 1);
      assertRefused(() => fieldsOf('{"n":0}').optionalWhole('n', 1), /a whole number from 1, not 0/, 'n');
    });
  });

  describe('an optional object', () => {
    it('is null if absent or null', () => {
      assert.equal(fieldsOf('{}').optionalObject('options'), null);
      assert.equal(fieldsOf('{"options":null}').optionalObject('options'), null);
    });

    it('has its own fields, with their paths in errors', () => {
      const options = fieldsOf('{"a":[], "options": {"on": true, "bad": 1, "twice":1, "twice":2} }').optionalObject(
        'options',
      )!;
      assert.equal(options.optionalBoolean('on'), true);
      assert.equal(options.optionalBoolean('a'), null);
      assertRefused(() => options.optionalBoolean('bad'), /"options\.bad" must be a boolean, not 1/, 'options.bad');
      assertRefused(() => options.optionalBoolean('twice'), /"options\.twice" appears more than once/, 'options.twice');
      assertRefused(() => options.requiredText('gone'), /"options\.gone" is required/, 'options.gone');
    });

    it('has the offsets of its braces', () => {
      const text = '{"options" : {"on":true} }';
      const options = fieldsOf(text).optionalObject('options')!;
      assert.equal(text.slice(options.start, options.end), '{"on":true}');
      assert.equal(options.isEmpty, false);
    });

    it('must not be of another type', () => {
      assertRefused(
        () => fieldsOf('{"options":[]}').optionalObject('options'),
        /must be an object, not array/,
        'options',
      );
    });
  });
});

describe('splice', () => {
  it('returns the same buffer if there is nothing to replace', () => {
    const bytes = Buffer.from('abc');
    assert.equal(splice(bytes, []), bytes);
  });

  it('keeps all other bytes', () => {
    const position = fc.nat({ max: 30 });
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 31, maxLength: 40 }),
        fc.tuple(position, position, position, position),
        fc.string(),
        (content, positions, text) => {
          const [a, b, c, d] = positions.sort((left, right) => left - right) as [number, number, number, number];
          fc.pre(a < c);
          const bytes = Buffer.from(content);
          const spliced = splice(bytes, [
            { start: c, end: d, text: '-' },
            { start: a, end: b, text },
          ]);
          const [before, between, behind] = [bytes.subarray(0, a), bytes.subarray(b, c), bytes.subarray(d)];
          assert.deepEqual(spliced, Buffer.concat([before, Buffer.from(text), between, Buffer.from('-'), behind]));
          assert.deepEqual(bytes, Buffer.from(content));
        },
      ),
      { numRuns: propertyRuns(200) },
    );
  });
});
