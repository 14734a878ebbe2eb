import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { captureResponse } from '../../../test/support/captured.ts';
import {
  keySpelling,
  memberOf,
  memberText,
  objectText,
  type SpeltMember,
  space,
  stringText,
  valueText,
} from '../../../test/support/json-text.ts';
import { readInput, refusalsOf } from '../../../test/support/request-input.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { chat } from './chat.ts';

const READ_KEYS = ['model', 'messages', 'stream', 'n', 'max_tokens', 'max_completion_tokens', 'stream_options'];

const inspect = (text: string) => readInput(chat, text);
const assertRefused = refusalsOf(chat);

/** A body with a model, messages and additional members. */
const bodyWith = (...members: readonly string[]): string =>
  `{${['"model":"m"', '"messages":[]', ...members].join(',')}}`;

const sentAs = (text: string, providerModel = 'm'): string => inspect(text).toProvider(providerModel).toString();

const unread = memberOf(
  stringText.filter(({ value }) => !READ_KEYS.includes(value)),
  valueText,
);
const model = memberOf(keySpelling('model'), fc.constantFrom('"m"', '"\\u006d"', '"acme/m-1"', '"模型"'));
const messages = memberOf(keySpelling('messages'), fc.constantFrom('[]', '[{"role":"user","content":"hé"}]', '[ 1 ]'));

/** The value that a member of the client's body must have for the provider. */
interface Rewritten {
  readonly member: SpeltMember;
  readonly sent: string;
}

const kept = (member: SpeltMember): Rewritten => ({ member, sent: memberText(member) });

/** `stream_options` in all forms, each with the value that the provider must receive. */
const streamOptions: fc.Arbitrary<Rewritten> = fc.oneof(
  memberOf(keySpelling('stream_options'), fc.constant('null')).map((member) => ({
    member,
    sent: memberText({ ...member, value: '{"include_usage":true}' }),
  })),
  fc
    .tuple(
      memberOf(keySpelling('stream_options'), fc.constant('')),
      fc.array(
        memberOf(
          stringText.filter(({ value }) => value !== 'include_usage'),
          valueText,
        ),
        { maxLength: 2 },
      ),
      fc.option(memberOf(keySpelling('include_usage'), fc.constantFrom('true', 'false', 'null'))),
      space,
    )
    .map(([outer, others, includeUsage, inside]) => {
      const objectWith = (members: readonly SpeltMember[]) =>
        members.length === 0 ? `{${inside}}` : objectText(members);
      if (includeUsage === null) {
        const value = objectWith(others);
        const inserted = `{"include_usage":true${others.length === 0 ? '' : ','}${value.slice(1)}`;
        return { member: { ...outer, value }, sent: memberText({ ...outer, value: inserted }) };
      }
      const value = objectWith([...others, includeUsage]);
      const asked = objectWith([...others, { ...includeUsage, value: 'true' }]);
      return { member: { ...outer, value }, sent: memberText({ ...outer, value: asked }) };
    }),
);

describe('chat', () => {
  it('changes only the model and the request for usage in a body, to the byte', () => {
    const stream = memberOf(keySpelling('stream'), fc.constantFrom('true', 'false', 'null'));
    const parts = fc.record({
      model,
      messages,
      stream: fc.option(stream),
      streamOptions: fc.option(streamOptions),
      unread: fc.array(unread, { maxLength: 4 }),
      order: fc.array(fc.nat(), { minLength: 8, maxLength: 8 }),
      before: space,
      after: space,
      providerModel: fc.oneof(fc.constant('m'), fc.string({ minLength: 1 })),
    });
    fc.assert(
      fc.property(parts, (drawn) => {
        const { providerModel } = drawn;
        const isStream = drawn.stream?.value === 'true';
        const isSameModel = (JSON.parse(drawn.model.value) as string) === providerModel;
        const sentModel = isSameModel ? drawn.model : { ...drawn.model, value: JSON.stringify(providerModel) };
        const members: Rewritten[] = [
          { member: drawn.model, sent: memberText(sentModel) },
          kept(drawn.messages),
          ...(drawn.stream === null ? [] : [kept(drawn.stream)]),
          ...(drawn.streamOptions === null ? [] : [isStream ? drawn.streamOptions : kept(drawn.streamOptions.member)]),
          ...drawn.unread.map(kept),
        ]
          .map((member, i) => ({ member, rank: drawn.order[i % 8]! }))
          .sort((left, right) => left.rank - right.rank)
          .map(({ member }) => member);
        const body = `${drawn.before}${objectText(members.map(({ member }) => member))}${drawn.after}`;
        const added = isStream && drawn.streamOptions === null ? ',"stream_options":{"include_usage":true}' : '';
        const expected = `${drawn.before}{${members.map(({ sent }) => sent).join(',')}${added}}${drawn.after}`;

        const bytes = Buffer.from(body);
        const input = readInput(chat, bytes);
        assert.equal(input.model, JSON.parse(drawn.model.value));
        assert.equal(input.isStream, isStream);
        assert.equal(input.toProvider(providerModel).toString(), expected);
        assert.equal(bytes.toString(), body, 'the body itself is left alone');
        if (isStream) {
          const sent = JSON.parse(expected) as { stream_options: { include_usage: unknown } };
          assert.equal(sent.stream_options.include_usage, true);
        }
      }),
      { numRuns: propertyRuns(800) },
    );
  });

  it('refuses a duplicate include_usage, with its path in the error', () => {
    const text = bodyWith('"stream":true', '"stream_options":{"include_usage":true,"include\\u005fusage":false}');
    assertRefused(text, 'stream_options.include_usage');
  });

  it('forwards duplicate members that it does not read', () => {
    const text = bodyWith('"seed":1', '"seed":9223372036854775807', '"stream_options":{}', '"stream_options":1');
    assert.equal(sentAs(text), text);
  });

  for (const [members, param] of [
    ['"messages":[]', 'model'],
    ['"model":null,"messages":[]', 'model'],
    ['"model":"","messages":[]', 'model'],
    ['"model":5,"messages":[]', 'model'],
    ['"model":"m"', 'messages'],
    ['"model":"m","messages":null', 'messages'],
    ['"model":"m","messages":"hi"', 'messages'],
    ['"model":"m","messages":[],"stream":"true"', 'stream'],
    ['"model":"m","messages":[],"stream":1', 'stream'],
    ['"model":"m","messages":[],"n":0', 'n'],
    ['"model":"m","messages":[],"n":1.5', 'n'],
    ['"model":"m","messages":[],"max_tokens":-1', 'max_tokens'],
    ['"model":"m","messages":[],"max_tokens":"5"', 'max_tokens'],
    ['"model":"m","messages":[],"max_completion_tokens":1e300', 'max_completion_tokens'],
    ['"model":"m","messages":[],"stream":true,"stream_options":true', 'stream_options'],
    [
      '"model":"m","messages":[],"stream":true,"stream_options":{"include_usage":"yes"}',
      'stream_options.include_usage',
    ],
  ] as const) {
    it(`blames ${param} in {${members}}`, () => {
      assertRefused(`{${members}}`, param);
    });
  }

  it('ignores stream_options if the response is not streamed', () => {
    const text = bodyWith('"stream_options":"nonsense"');
    assert.equal(sentAs(text), text);
  });

  const askings: readonly [client: string, provider: string][] = [
    ['', ',"stream_options":{"include_usage":true}'],
    [',"stream_options":null', ',"stream_options":{"include_usage":true}'],
    [
      ',"stream_options":{"include_obfuscation":false}',
      ',"stream_options":{"include_usage":true,"include_obfuscation":false}',
    ],
  ];
  for (const [client, provider] of askings) {
    it(`requests usage if the client sends ${client === '' ? 'nothing' : client.slice(1)}, and drops the chunk`, () => {
      const input = inspect(`{"model":"m","messages":[],"stream":true${client}}`);
      assert.equal(input.toProvider('m').toString(), `{"model":"m","messages":[],"stream":true${provider}}`);
      const usageChunk = Buffer.from('data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n');
      assert.equal(input.readStream('tokens').read(usageChunk), 'drop');
    });
  }

  it('keeps the usage chunk if the client requested it', () => {
    const text = bodyWith('"stream":true', '"stream_options":{"include_usage":true}');
    const input = inspect(text);
    assert.equal(input.toProvider('m').toString(), text);
    const usageChunk = Buffer.from('data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n');
    assert.equal(input.readStream('tokens').read(usageChunk), 'pass');
  });

  it('determines choices and tokens from the body', () => {
    for (const [members, choices, outputTokens] of [
      [[], 1, null],
      [['"max_tokens":50', '"max_completion_tokens":60'], 1, 60],
      [['"max_tokens":70', '"max_completion_tokens":60'], 1, 70],
      [['"n":3', '"max_tokens":50'], 3, 50],
    ] as const) {
      const input = inspect(bodyWith(...members));
      assert.deepEqual([input.choices, input.demand.outputTokensLimit], [choices, outputTokens]);
    }
  });

  it('reads the usage of non-streaming responses', () => {
    const { response } = inspect(bodyWith());
    const body = '{"usage":{"prompt_tokens":3,"completion_tokens":4}}';
    assert.equal(response.usage(captureResponse(response, body), 'tokens')?.inputTokens, 3);
  });
});
