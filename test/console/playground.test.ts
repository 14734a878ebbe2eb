import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { codeOf, shortened } from '../../console/src/features/playground/code.ts';
import { bodyOf, isTemperature, NO_SETTINGS, type Turn } from '../../console/src/features/playground/conversation.ts';
import { adviceOf } from '../../console/src/parts/calling/what-to-do.ts';
import { errorCatalogue } from '../../src/errors/catalogue.ts';

const image = { id: 1, name: 'cat.png', dataUrl: `data:image/png;base64,${'QUJD'.repeat(100)}` };
const large = { id: 'large', outputTokens: 4096 };
const settings = { system: ' Be short. ', temperature: '0.5', outputTokens: '64' };

function turn(prompt: string, text: string, images: Turn['images'] = []): Turn {
  return { id: 0, prompt, images, answer: { state: 'done', text, ids: null, error: null } };
}

describe('a conversation of the playground', () => {
  it('is a chat request with all turns that have a response', () => {
    const turns = [turn('What is this?', 'A cat.', [image]), turn('Lost', '')];
    assert.deepEqual(bodyOf('chat', large, settings, turns, { prompt: 'And now?', images: [] }), {
      model: 'large',
      messages: [
        { role: 'system', content: 'Be short.' },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: image.dataUrl } },
            { type: 'text', text: 'What is this?' },
          ],
        },
        { role: 'assistant', content: 'A cat.' },
        { role: 'user', content: 'And now?' },
      ],
      max_tokens: 64,
      temperature: 0.5,
      stream: true,
    });
  });

  it('is a messages request, whose system text is no message and whose images have a media type', () => {
    assert.deepEqual(bodyOf('messages', large, settings, [], { prompt: '', images: [image] }), {
      model: 'large',
      system: 'Be short.',
      messages: [
        {
          role: 'user',
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD'.repeat(100) } }],
        },
      ],
      max_tokens: 64,
      temperature: 0.5,
      stream: true,
    });
  });

  it('sends no setting that is empty, but always a limit of the output', () => {
    const body = bodyOf('chat', large, NO_SETTINGS, [], { prompt: 'Hi', images: [] });
    assert.deepEqual(Object.keys(body), ['model', 'messages', 'max_tokens', 'stream']);
    const limitOf = (outputTokens: number | null): number =>
      (
        bodyOf('chat', { id: 'large', outputTokens }, NO_SETTINGS, [], { prompt: 'Hi', images: [] }) as {
          max_tokens: number;
        }
      ).max_tokens;
    assert.deepEqual([null, 4096, 100].map(limitOf), [2048, 2048, 100]);
  });

  for (const [text, isValid] of [
    ['', true],
    ['0', true],
    ['1.25', true],
    ['2', true],
    ['2.1', false],
    ['-1', false],
    ['1e0', false],
    ['.5', false],
  ] as const) {
    it(`the temperature "${text}" is ${isValid ? 'valid' : 'refused'}`, () => {
      assert.equal(isTemperature(text), isValid);
    });
  }
});

describe('the code of the playground', () => {
  const target = { origin: 'https://gate.example', context: 'balance', messagesName: 'altproto' } as const;
  const said = { prompt: `It's "here"`, images: [image] };

  it('contains no key, and the whole conversation, with quotes escaped for the shell', () => {
    const body = bodyOf('chat', large, settings, [], said);
    const code = codeOf('curl', 'chat', target, body);
    assert.match(code, /^curl -N https:\/\/gate\.example\/v1\/chat\/completions/);
    assert.ok(code.includes('Bearer $FAREGATE_KEY'));
    assert.ok(code.includes(`It'\\''s \\"here\\"`));
    assert.ok(code.includes(image.dataUrl));
  });

  it('is shown without the content of images', () => {
    const code = codeOf('TypeScript', 'messages', target, bodyOf('messages', large, settings, [], said));
    assert.ok(code.includes('QUJD'.repeat(100)));
    assert.ok(!shortened(code).includes('QUJD'.repeat(10)));
  });

  for (const operation of ['chat', 'messages'] as const) {
    it(`${operation}: the TypeScript and the Python have the fields of the body`, () => {
      const body = bodyOf(operation, large, settings, [], said);
      for (const language of ['TypeScript', 'Python'] as const) {
        const code = codeOf(language, operation, target, body);
        for (const part of ['large', 'max_tokens', '0.5', 'Be short.', 'FAREGATE_KEY', 'https://gate.example']) {
          assert.ok(code.includes(part), `${language}: ${part}`);
        }
      }
    });
  }
});

describe('advice for a refused call', () => {
  it('exists for every code that calls are refused with for lack of money, budget or capacity', () => {
    for (const row of Object.values(errorCatalogue)) {
      const isAdvised = 'isMoney' in row || row.status === 429;
      if (isAdvised) assert.notEqual(adviceOf(row.code), null, row.code);
    }
  });

  for (const [code, name] of [
    ['insufficient_balance', 'balance'],
    ['key_total_spend_limit_exceeded', 'keyBudget'],
    ['key_concurrency_limited', 'wait'],
    ['member_model_not_allowed', 'model'],
    ['member_daily_spend_limit_exceeded', 'memberBudget'],
    ['package_five_hour_quota_exhausted', 'plan'],
    ['package_input_too_large', 'size'],
    ['MODEL_ROUTING_NO_HEALTHY_ROUTE', 'provider'],
  ] as const) {
    it(`${code}: ${name}`, () => assert.equal(adviceOf(code)?.name, name));
  }

  it('does not exist where the message says all', () => assert.equal(adviceOf('invalid_request_error'), null));
});
