import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { splice } from '../operations/json-operation.ts';
import { type ParameterAction, parameterBreach } from './parameter-names.ts';
import { compileParameters, type Parameters, parameterChanges } from './parameters.ts';

function applied(body: string, ...layers: readonly Parameters[]): string {
  const bytes = Buffer.from(body);
  const changes = parameterChanges(bytes, compileParameters(...layers));
  return splice(bytes, changes?.splices ?? []).toString();
}

describe('parameters of a route', () => {
  const cases: readonly [body: string, parameters: Parameters, sent: string][] = [
    ['{"a":1}', {}, '{"a":1}'],
    ['{ "a" : 1.0 }', { set: { a: '2' } }, '{ "a" : 2 }'],
    ['{"a":1}', { set: { a: '1' } }, '{"a":1}'],
    ['{"a":1,"a":2,"A":3}', { set: { a: '9' } }, '{"a":9,"a":9,"A":9}'],
    ['{"m":[]}', { set: { a: '{"b":[1]}' }, default: { c: '"d"' } }, '{"m":[],"a":{"b":[1]},"c":"d"}'],
    ['{"a":0,"b":null}', { default: { a: '1', b: '2', c: '3' } }, '{"a":0,"b":2,"c":3}'],
    ['{ }', { set: { a: '1' } }, '{ "a":1}'],
    ['{"a":1,"b":2,"c":3}', { remove: ['a', 'b'] }, '{"c":3}'],
    ['{"a":1, "b":2 ,"c":3}', { remove: ['b'] }, '{"a":1 ,"c":3}'],
    ['{"a":1,"b":2,"c":3}', { remove: ['b', 'c'] }, '{"a":1}'],
    ['{"a":1,"b":[{"b":2}],"a":3}', { remove: ['a'] }, '{"b":[{"b":2}]}'],
    ['{"a":1}', { remove: ['a'], set: { b: '2' } }, '{"b":2}'],
    ['{"\\u0061":1,"b":"\\"a\\":1"}', { remove: ['a'] }, '{"b":"\\"a\\":1"}'],
    [
      '{"a":10,"b":"11","c":9,"d":"x"}',
      { max: { a: '9', b: '9', c: '9', d: '9', e: '9' } },
      '{"a":9,"b":9,"c":9,"d":"x"}',
    ],
    ['{"a":1e999}', { max: { a: '0.5' } }, '{"a":0.5}'],
    ['{"a":"1\\u0030","b":"\\u0039"}', { max: { a: '9', b: '9' } }, '{"a":9,"b":"\\u0039"}'],
    ['{"m":1}', { default: { a: '8' }, max: { a: '9' } }, '{"m":1,"a":8}'],
    ['{"o":{"x":1,"y":2}}', { set: { 'o.x': '7' }, remove: ['o.y'], max: { 'o.z': '1' } }, '{"o":{"x":7}}'],
    ['{"m":1}', { set: { 'o.x': '7', 'o.p.q': '8' }, remove: ['o.y'] }, '{"m":1,"o":{"x":7,"p":{"q":8}}}'],
    ['{"o":null,"p":"text"}', { set: { 'o.x': '1' }, default: { 'p.x': '1' } }, '{"o":{"x":1},"p":"text"}'],
    ['{"o":"text"}', { set: { 'o.x': '1' } }, '{"o":{"x":1}}'],
  ];
  for (const [body, parameters, sent] of cases) {
    it(`${body} with ${JSON.stringify(parameters)}`, () => {
      assert.equal(applied(body, parameters), sent);
      assert.equal(applied(sent, parameters), sent, 'a second time, nothing is left to change');
    });
  }

  it('of a route replace those of the provider for the same member', () => {
    const ofProvider = { set: { a: '1', b: '1' }, remove: ['c'], max: { d: '1' } };
    assert.equal(
      applied('{"a":0,"c":0,"d":5}', ofProvider, { remove: ['a'], max: { c: '9', d: '3' } }),
      '{"c":0,"d":3,"b":1}',
    );
  });

  const layered: readonly [ofProvider: Parameters, ofRoute: Parameters, sent: string][] = [
    [{ set: { 'o.x': '1' } }, { remove: ['o'] }, '{"m":1}'],
    [{ default: { M_: '2', n: '2' } }, { remove: ['m', 'N'] }, '{}'],
    [{ set: { o: '{"y":1}' } }, { set: { 'o.x': '1' } }, '{"m":1,"o":{"x":1}}'],
    [{ remove: ['m'] }, { max: { 'm.x': '1' } }, '{"m":1}'],
    [{ set: { 'o.x': '1' } }, { set: { 'o.y': '2' } }, '{"m":1,"o":{"x":1,"y":2}}'],
  ];
  for (const [ofProvider, ofRoute, sent] of layered) {
    it(`of a provider, ${JSON.stringify(ofProvider)}, and of its route, ${JSON.stringify(ofRoute)}`, () => {
      assert.equal(applied('{"m":1}', ofProvider, ofRoute), sent);
    });
  }

  it('say what they changed', () => {
    const parameters = { set: { 'o.x': '1', n: '2' }, default: { k: '1' }, remove: ['u', 'w'], max: { t: '1' } };
    const changes = parameterChanges(Buffer.from('{"o":{},"n":1,"u":1,"t":2}'), compileParameters(parameters))!;
    const { leftOut, added, changed } = changes;
    assert.deepEqual({ leftOut, added, changed }, { leftOut: ['u'], added: ['o.x', 'k'], changed: ['n', 't'] });
  });

  it('change what a parser sees, and no other byte of it', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const value = fc.json({ maxDepth: 2 });
    const space = fc.constantFrom('', ' ', '\n\t');
    const members = fc.array(fc.tuple(name, value, space), { maxLength: 6 });
    const parameters = fc.record({
      set: fc.dictionary(fc.constant('a'), value),
      default: fc.dictionary(
        fc.constant('b'),
        value.filter((json) => json !== 'null'),
      ),
      remove: fc.subarray(['c']),
    });
    fc.assert(
      fc.property(members, parameters, (given, asked) => {
        const unique = given.filter(([key], index) => given.findIndex(([other]) => other === key) === index);
        const body = `{${unique.map(([key, json, gap]) => `${gap}"${key}"${gap}:${gap}${json}${gap}`).join(',')}}`;
        const expected: Record<string, unknown> = Object.fromEntries(
          unique.map(([key, json]) => [key, JSON.parse(json)]),
        );
        for (const key of asked.remove) delete expected[key];
        for (const [key, json] of Object.entries(asked.set)) expected[key] = JSON.parse(json);
        for (const [key, json] of Object.entries(asked.default)) expected[key] ??= JSON.parse(json);
        const sent = applied(body, asked);
        assert.deepEqual(JSON.parse(sent), expected);
        for (const [key, json, gap] of unique) {
          const isTouched = key === 'c' ? asked.remove.length > 0 : key === 'a' ? 'a' in asked.set : json === 'null';
          if (!isTouched) assert.ok(sent.includes(`"${key}"${gap}:${gap}${json}`), sent);
        }
      }),
      { numRuns: propertyRuns(1000) },
    );
  });
});

describe('members that parameters can change', () => {
  const cases: readonly [name: string, actions: readonly ParameterAction[]][] = [
    ['temperature', ['set', 'default', 'remove', 'max']],
    ['chat_template_kwargs', ['set', 'default', 'remove', 'max']],
    ['enable_thinking', ['set', 'default', 'remove', 'max']],
    ['user', ['set', 'default', 'remove', 'max']],
    ['reasoning_effort', ['set', 'default', 'remove', 'max']],
    ['max_tokens', ['default', 'max']],
    ['Max-Tokens', ['default', 'max']],
    ['max_output_tokens', ['default', 'max']],
    ['service_tier', ['remove']],
    ...(
      [
        ...[
          'model',
          'stream',
          'stream_options',
          'n',
          'best_of',
          'tools',
          'tool_choice',
          'functions',
          'messages',
          'input',
        ],
        ...[
          'system',
          'models',
          'fallbacks',
          'previous_response_id',
          'conversation',
          'extra_body',
          'web_search_options',
        ],
        ...[
          'modalities',
          'audio',
          'size',
          'quality',
          'background',
          'data_sources',
          'lora_path',
          'prediction',
          'MODEL',
          'suffix',
        ],
      ] as const
    ).map((name): [string, readonly ParameterAction[]] => [name, []]),
  ];
  for (const [name, actions] of cases) {
    it(`${name}: ${actions.join(', ') || 'none'}`, () => {
      const possible = (['set', 'default', 'remove', 'max'] as const).filter(
        (action) => parameterBreach(name, action) === null,
      );
      assert.deepEqual(possible, actions);
    });
  }
});
