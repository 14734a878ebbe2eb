import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { COUNTED_UNITS_MAX } from './body-counter.ts';
import { type BodyKind, CONTROL_FIELDS, countBody } from './count-body.ts';
import { Tokenizer } from './tokenizer.ts';

const tokenizer = new Tokenizer();
const count = (kind: BodyKind, body: unknown) => countBody(kind, Buffer.from(JSON.stringify(body)), tokenizer);
/** The tokens of texts that are counted separately. */
const tokens = (...texts: readonly string[]) => texts.reduce((sum, text) => sum + tokenizer.count(text), 0);
const json = (value: unknown) => tokens(JSON.stringify(value));
const base64 = (sizeBytes: number) => Buffer.alloc(sizeBytes, 0x5a).toString('base64');
const base64Text = (text: string) => Buffer.from(text).toString('base64');

const TEXT = 'Grüße from the harbour, 你好, <|endoftext|>!';
const REMOTE = 'https://files.example/a.bin';
const ITEM = 4;
const MESSAGE = 2;
const KIB = 2 ** 10;
const MIB = 2 ** 20;

/** Cost of a body in addition to its base of 6: text and budgets. */
type Cost = readonly [textTokens: number, budgetTokens: number];
type Case = readonly [what: string, value: unknown, cost: Cost];

function assertCost(kind: BodyKind, body: unknown, [textTokens, budgetTokens]: Cost): void {
  const counted = count(kind, body);
  assert.deepEqual([counted.textTokens, counted.budgetTokens], [textTokens, budgetTokens + 6]);
}

describe('countBody with a responses body', () => {
  const bodies: readonly Case[] = [
    ['only a model', { model: 'm' }, [0, 0]],
    ['null fields', { input: null, instructions: null, tools: null, reasoning: null, text: null, x: null }, [0, 0]],
    ['empty fields', { input: [], instructions: '', tools: [], reasoning: {}, text: {}, x: '', y: [], z: {} }, [0, 0]],
    ['a string input', { input: TEXT }, [tokens(TEXT), ITEM]],
    ['instructions', { instructions: TEXT }, [tokens(TEXT), ITEM]],
    ['instructions and a string', { instructions: 'Be brief.', input: TEXT }, [tokens('Be brief.', TEXT), 2 * ITEM]],
    ['reasoning settings', { reasoning: { effort: 'high', summary: 'auto' } }, [0, 64]],
    ['unknown reasoning settings', { reasoning: { effort: 'low', style: 'terse' } }, [tokens('"style":"terse"'), 64]],
    ['output settings', { text: { verbosity: 'low' } }, [tokens('"text":{"verbosity":"low"}'), 0]],
    [
      'an unknown field',
      { hint: { a: [1, TEXT, true] } },
      [tokens(`"hint":{"a":[1,${JSON.stringify(TEXT)},true]}`), 0],
    ],
    [
      'tools',
      { tools: [{ type: 'function', name: 'f', strict: true, parameters: { type: 'object' } }] },
      [json({ name: 'f', parameters: { type: 'object' } }), 32 + 12],
    ],
    [
      'three tools',
      { tools: [{ type: 'web_search' }, { name: 'g' }, 'odd'] },
      [tokens('{"name":"g"}', '"odd"'), 32 + 36],
    ],
  ];
  for (const [what, body, cost] of bodies) {
    it(`counts ${what}`, () => assertCost('responses', body, cost));
  }

  const items: readonly Case[] = [
    ['a text message', { role: 'user', content: TEXT }, [tokens(TEXT), 0]],
    ['a message with a name', { type: 'message', role: 'user', name: 'ada', content: TEXT }, [tokens(TEXT, 'ada'), 0]],
    [
      'text parts',
      {
        content: [
          { type: 'input_text', text: TEXT },
          { type: 'output_text', text: 'b', annotations: [] },
        ],
      },
      [tokens(TEXT, 'b'), 0],
    ],
    ['a refusal', { role: 'assistant', content: [{ type: 'refusal', refusal: TEXT }] }, [tokens(TEXT), 0]],
    [
      'a function call',
      { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '{"a":1}' },
      [tokens('f', '{"a":1}'), 0],
    ],
    ['a function result', { type: 'function_call_output', call_id: 'c1', output: TEXT }, [tokens(TEXT), 0]],
    [
      'a result in parts',
      { type: 'function_call_output', output: [{ type: 'input_text', text: TEXT }] },
      [tokens(TEXT), 0],
    ],
    [
      'a result that is a screenshot',
      { type: 'computer_call_output', output: { type: 'computer_screenshot' } },
      [0, 3_072],
    ],
    ['a custom tool call', { type: 'custom_tool_call', name: 'p', input: TEXT }, [tokens('p', TEXT), 0]],
    [
      'reasoning',
      { type: 'reasoning', id: 'rs', summary: [{ type: 'summary_text', text: TEXT }], content: null },
      [tokens(TEXT), 0],
    ],
    ['encrypted reasoning', { type: 'reasoning', summary: [], encrypted_content: base64(3_000) }, [0, 750]],
    ['a compaction', { type: 'compaction', encrypted_content: base64(4_000) }, [0, 1_000]],
    [
      'an item of unknown type',
      { type: 'new_call', status: 'completed', action: { query: TEXT } },
      [tokens(`"action":${JSON.stringify({ query: TEXT })}`), 0],
    ],
    [
      'a generated image',
      { type: 'image_generation_call', result: base64(5_000), size: 'x' },
      [tokens('"size":"x"'), 3_072],
    ],
    ['an item that is a string', TEXT, [tokens(TEXT), 0]],
    ['an item that is null', null, [0, 0]],
    ['an item that is a number', 12, [tokens('12'), 0]],
  ];
  for (const [what, item, [text, budget]] of items) {
    it(`counts ${what}`, () => assertCost('responses', { input: [item] }, [text, budget + ITEM]));
  }

  const image = (rest: object) => ({
    type: 'input_image',
    image_url: `data:image/png;base64,${base64(9_000)}`,
    ...rest,
  });
  const parts: readonly Case[] = [
    ['an image', image({}), [0, 3_072]],
    ['an image by URL', { type: 'input_image', image_url: REMOTE }, [0, 3_072]],
    ['an image of detail auto', image({ detail: 'auto' }), [0, 3_072]],
    ['an image of detail high', image({ detail: 'high' }), [0, 3_072]],
    ['an image of detail low', image({ detail: 'low' }), [0, 512]],
    ['an image of detail original', image({ detail: 'original' }), [0, 12_288]],
    ['an image of an unknown detail', image({ detail: ['low'] }), [0, 3_072]],
    ['an image in the chat format', { type: 'image_url', image_url: { url: REMOTE, detail: 'low' } }, [0, 512]],
    [
      'a PDF of tier 1',
      { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${base64(64 * KIB)}` },
      [tokens('a.pdf'), 8_000],
    ],
    ['a PDF of tier 2', { type: 'input_file', file_data: `data:application/pdf;base64,${base64(MIB)}` }, [0, 48_000]],
    [
      'a PDF of tier 3',
      { type: 'input_file', file_data: `data:application/pdf;base64,${base64(MIB + 1)}` },
      [0, 160_000],
    ],
    ['a file without a data URL', { type: 'input_file', file_data: base64(100) }, [0, 8_000]],
    [
      'a file of plain text',
      { type: 'input_file', file_data: `data:text/plain;base64,${base64Text(TEXT)}` },
      [tokens(TEXT), 0],
    ],
    [
      'a file of plain text with a charset',
      { type: 'input_file', file_data: `data:text/plain;charset=utf-8,${encodeURIComponent(TEXT)}` },
      [tokens(TEXT), 0],
    ],
    ['a file by URL', { type: 'input_file', file_url: REMOTE }, [0, 48_000]],
    ['a file by id', { type: 'input_file', file_id: 'file_1' }, [0, 48_000]],
    [
      'a file in the chat format',
      { type: 'file', file: { filename: 'a', file_data: base64(10) } },
      [tokens('a'), 8_000],
    ],
    ['audio', { type: 'input_audio', input_audio: { data: base64(64 * KIB + 1), format: 'wav' } }, [0, 2_000]],
    ['an unknown part', { type: 'input_video', clip: TEXT }, [tokens(`"clip":${JSON.stringify(TEXT)}`), 0]],
    [
      'a data URL in an unknown part',
      { type: 'x', a: { b: `data:image/png;base64,${base64(900)}` } },
      [tokens('"a":{"b":""}'), 3_072],
    ],
    [
      'plain text in an unknown part',
      { type: 'x', a: `data:text/plain;base64,${base64Text(TEXT)}` },
      [tokens(TEXT), 0],
    ],
    ['audio in an unknown part', { type: 'x', a: `data:audio/wav;base64,${base64(10)}` }, [0, 1_000]],
    ['a part that is a string', TEXT, [tokens(TEXT), 0]],
    ['a part that is null', null, [0, 0]],
  ];
  for (const [what, part, [text, budget]] of parts) {
    it(`counts ${what}`, () =>
      assertCost('responses', { input: [{ role: 'user', content: [part] }] }, [text, budget + ITEM]));
  }
});

describe('countBody with a messages body', () => {
  const bodies: readonly Case[] = [
    ['a text message', { model: 'm', messages: [{ role: 'user', content: TEXT }] }, [tokens(TEXT), MESSAGE]],
    ['several messages', { messages: [{ content: 'a' }, { content: TEXT }] }, [tokens('a', TEXT), 2 * MESSAGE]],
    ['a system prompt', { system: TEXT, messages: [] }, [tokens(TEXT), 0]],
    [
      'a system prompt in blocks',
      { system: [{ type: 'text', text: TEXT, cache_control: { type: 'ephemeral' } }] },
      [tokens(TEXT), 0],
    ],
    ['null tools', { messages: [], tools: null }, [0, 0]],
    [
      'tools',
      { tools: [{ name: 'f', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' } }, { name: 'g' }] },
      [tokens('{"name":"f","input_schema":{"type":"object"}}', '{"name":"g"}'), 810 + 120],
    ],
    ['thinking', { thinking: { type: 'enabled', budget_tokens: 2_000 } }, [0, 64]],
    ['disabled thinking', { thinking: { type: 'disabled' } }, [0, 0]],
    ['an output format', { output_config: { effort: 'low' } }, [tokens('"output_config":{"effort":"low"}'), 0]],
  ];
  for (const [what, body, cost] of bodies) {
    it(`counts ${what}`, () => assertCost('messages', body, cost));
  }

  const document = (source: unknown, rest: object = {}) => ({ type: 'document', source, ...rest });
  const blocks: readonly Case[] = [
    ['text', { type: 'text', text: TEXT, citations: null }, [tokens(TEXT), 0]],
    [
      'an image',
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64(9_000) } },
      [0, 4_864],
    ],
    ['an image by URL', { type: 'image', source: { type: 'url', url: REMOTE } }, [0, 4_864]],
    [
      'a plain text document',
      document({ type: 'text', media_type: 'text/plain', data: TEXT }, { title: 'T', context: 'C' }),
      [tokens(TEXT, 'T', 'C'), 0],
    ],
    [
      'plain text in base64',
      document({ type: 'base64', media_type: 'text/plain', data: base64Text(TEXT) }),
      [tokens(TEXT), 0],
    ],
    ['a PDF', document({ type: 'base64', media_type: 'application/pdf', data: base64(100 * KIB) }), [0, 48_000]],
    ['a document by URL', document({ type: 'url', url: REMOTE }), [0, 48_000]],
    ['a document by id', document({ type: 'file', file_id: 'file_1' }), [0, 48_000]],
    ['a document of blocks', document({ type: 'content', content: [{ type: 'text', text: TEXT }] }), [tokens(TEXT), 0]],
    ['an uploaded file', { type: 'container_upload', file_id: 'file_1' }, [0, 48_000]],
    [
      'a search result',
      { type: 'search_result', title: 'T', source: 'S', content: [{ type: 'text', text: TEXT }] },
      [tokens('T', 'S', TEXT), 0],
    ],
    ['thinking', { type: 'thinking', thinking: TEXT, signature: base64(9_000) }, [tokens(TEXT), 0]],
    ['omitted thinking', { type: 'thinking', thinking: '', signature: base64(400) }, [0, 100]],
    ['redacted thinking', { type: 'redacted_thinking', data: base64(400) }, [0, 100]],
    [
      'a tool use',
      { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: TEXT } },
      [tokens('f') + json({ a: TEXT }), 0],
    ],
    [
      'a tool result',
      { type: 'tool_result', tool_use_id: 'toolu_1', content: TEXT, is_error: true },
      [tokens(TEXT), 0],
    ],
    [
      'a result in blocks',
      {
        type: 'tool_result',
        content: [
          { type: 'text', text: TEXT },
          { type: 'image', source: {} },
        ],
      },
      [tokens(TEXT), 4_864],
    ],
    [
      'search results',
      {
        type: 'web_search_tool_result',
        content: [{ type: 'web_search_result', title: 'T', url: 'U', encrypted_content: base64(40) }],
      },
      [tokens('T', 'U'), 10],
    ],
    [
      'a source in an unknown block',
      { type: 'x', a: [{ type: 'base64', media_type: 'application/pdf', data: base64(9) }] },
      [tokens('"a":[""]'), 8_000],
    ],
    [
      'an image in tool input',
      { type: 'tool_use', name: 'f', input: { a: { type: 'image', source: {} } } },
      [tokens('f', '{"a":""}'), 4_864],
    ],
    ['a data URL of an image in an unknown field', { type: 'x', a: 'data:image/png;base64,QQ==' }, [0, 4_864]],
  ];
  for (const [what, block, [text, budget]] of blocks) {
    it(`counts ${what}`, () =>
      assertCost('messages', { messages: [{ role: 'user', content: [block] }] }, [text, budget + MESSAGE]));
  }
});

describe('countBody of a request that is translated', () => {
  const image = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(9_000) };

  it('counts messages as chat does', () => {
    const tools = [{ name: 'a' }, { name: 'b' }];
    const messages = [{ role: 'user', content: [{ type: 'image', source: image }] }];
    const { translatedBudgetTokens, budgetTokens } = count('messages', { system: TEXT, tools, messages });
    assert.deepEqual(translatedBudgetTokens, { chat: 6 + 4 + 32 + 2 * 12 + 4 + 3_072, messages: budgetTokens });
  });

  it('counts responses as messages does', () => {
    const input = [
      { role: 'user', content: [{ type: 'input_image', image_url: 'https://a.example/b.png', detail: 'low' }] },
    ];
    const { translatedBudgetTokens, budgetTokens } = count('responses', {
      instructions: TEXT,
      tools: [{ name: 'a' }],
      input,
    });
    assert.deepEqual(translatedBudgetTokens, { chat: budgetTokens, messages: 6 + 810 + 60 + 2 + 4_864 });
  });
});

describe('countBody', () => {
  it('ignores control fields, whatever they contain', () => {
    for (const kind of ['responses', 'messages'] as const) {
      for (const field of CONTROL_FIELDS[kind]) {
        assertCost(kind, { [field]: { a: [TEXT, `data:image/png;base64,${base64(30)}`] } }, [0, 0]);
      }
    }
  });

  it('never counts base64 as text, however large the file', () => {
    const file = `data:application/pdf;base64,${base64(9 * MIB)}`;
    assertCost('responses', { input: [{ content: [{ type: 'input_file', file_data: file }] }] }, [0, 400_000 + ITEM]);
  });

  it('counts nested blocks to any depth', () => {
    let nested: unknown = TEXT;
    for (let level = 0; level < 500; level++) nested = [{ type: 'tool_result', content: nested }];
    assert.ok(count('messages', { messages: [{ content: nested }] }).textTokens >= tokens(TEXT));
    const depth = 20_000;
    const text = `{"input":${'['.repeat(depth)}${'{"content":'.repeat(depth)}"x"${'}'.repeat(depth)}${']'.repeat(depth)}}`;
    assert.ok(countBody('responses', Buffer.from(text), tokenizer).textTokens >= depth);
  });

  it('counts text beyond the limit by size, with the same density and at least by bytes', () => {
    const sentence = 'The quick brown fox jumps over the lazy dog. ';
    const prose = sentence.repeat(Math.floor(COUNTED_UNITS_MAX / sentence.length));
    const exact = count('messages', { system: prose, messages: [] }).textTokens;
    assert.equal(exact, tokens(prose));
    const behind = (rest: string, start = prose, startTokens = exact) =>
      count('messages', { system: [start, rest], messages: [] }).textTokens - startTokens;
    const units = 100_000;
    const near = (value: number, expected: number) => assert.ok(Math.abs(value / expected - 1) < 0.001, `${value}`);
    // Prose has less than one token per four bytes, incompressible text more.
    near(behind('x'.repeat(units)), units / 4);
    near(behind('你'.repeat(units)), (3 * units) / 4);
    const dense = '7x'.repeat(COUNTED_UNITS_MAX / 2);
    const denseTokens = tokens(dense);
    near(behind('x'.repeat(units), dense, denseTokens), (denseTokens / dense.length) * units);
    // Text counted by size does not raise the density of later text.
    const system = [dense, ...Array<string>(10).fill('你'.repeat(units))];
    const many = count('messages', { system, messages: [] }).textTokens - denseTokens;
    near(many, 10 * behind('你'.repeat(units), dense, denseTokens));
    // A text counts the same in one part or several.
    const whole = count('messages', { system: prose + sentence.repeat(1_000), messages: [] }).textTokens;
    assert.ok(whole > exact + (sentence.length * 999) / 4);
  });

  it('treats names of prototype properties as unknown members', () => {
    const text = '{"__proto__":{"a":"b"},"constructor":"c","input":[{"toString":"d","content":"e"}]}';
    const expected = tokens('"__proto__":{"a":"b"}', '"constructor":"c"', '"toString":"d"', 'e');
    assert.equal(countBody('responses', Buffer.from(text), tokenizer).textTokens, expected);
  });

  it('returns integers for any JSON value in any position, and never throws', () => {
    const word = fc.constantFrom(
      ...[
        'text',
        'content',
        'input',
        'messages',
        'tools',
        'system',
        'source',
        'data',
        'image_url',
        'file_data',
        'output',
      ],
      ...['input_image', 'input_file', 'image', 'document', 'tool_result', 'thinking', 'file', 'base64', 'reasoning'],
      ...['detail', 'encrypted_content', 'summary', 'input_audio', 'data:text/plain;base64,QQ==', 'redacted_thinking'],
    );
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'medium' },
        fc.oneof(word, fc.constant(null), fc.boolean(), fc.double({ noNaN: true }), fc.string()),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(
          fc.oneof({ weight: 6, arbitrary: word }, { weight: 3, arbitrary: fc.constant('type') }),
          tie('value'),
          {
            maxKeys: 5,
          },
        ),
      ),
    }));
    fc.assert(
      fc.property(fc.constantFrom('responses' as const, 'messages' as const), value, (kind, body) => {
        const { textTokens, budgetTokens } = count(kind, body);
        assert.ok(Number.isSafeInteger(textTokens) && textTokens >= 0);
        assert.ok(Number.isSafeInteger(budgetTokens) && budgetTokens >= 0);
      }),
      { numRuns: propertyRuns(3_000) },
    );
  });
});
