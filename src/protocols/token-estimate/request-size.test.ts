import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scanJson } from '../../lib/json/json-scan.ts';
import { estimateRequestTokens } from './request-size.ts';

const estimateText = (text: string): number => {
  const json = Buffer.from(text);
  return estimateRequestTokens(json, scanJson(json).longValues);
};
const estimate = (body: unknown): number => estimateText(JSON.stringify(body));
const base64 = (sizeBytes: number): string => Buffer.alloc(sizeBytes, 0xa7).toString('base64');
const user = (...content: object[]) => ({ model: 'm', messages: [{ role: 'user', content }] });

const MEBIBYTE = 2 ** 20;

describe('the size estimate of a request', () => {
  /** Each with the budget of its media, to which ten percent are added; the rest of the body is some 30 tokens of text. */
  const media: readonly [what: string, body: unknown, tokens: number][] = [
    [
      'a picture of a chat call',
      user({ type: 'image_url', image_url: { url: `data:image/png;base64,${base64(MEBIBYTE)}` } }),
      3_072,
    ],
    [
      'a picture of a responses call',
      { input: [{ type: 'input_image', image_url: `data:image/jpeg;base64,${base64(MEBIBYTE)}` }] },
      3_072,
    ],
    [
      'a picture of a messages call',
      user({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64(MEBIBYTE) } }),
      4_864,
    ],
    [
      'a picture whose type stands behind it',
      user({ type: 'image', source: { data: base64(MEBIBYTE), media_type: 'image/png', type: 'base64' } }),
      4_864,
    ],
    [
      'a document of a messages call',
      user({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: base64(MEBIBYTE) } }),
      48_000,
    ],
    [
      'a file of a responses call',
      { input: [{ type: 'input_file', file_data: `data:application/pdf;base64,${base64(3 * MEBIBYTE)}` }] },
      160_000,
    ],
    ['a file as plain base64', user({ type: 'file', file: { file_data: base64(5_000) } }), 8_000],
    ['a sound', user({ type: 'input_audio', input_audio: { data: base64(128 * 1024), format: 'wav' } }), 2_000],
    [
      'a picture that the model made',
      { input: [{ type: 'image_generation_call', id: 'ig_1', result: base64(MEBIBYTE) }] },
      3_072,
    ],
  ];
  for (const [what, body, tokens] of media) {
    it(`counts ${what} by its budget`, () => {
      const counted = estimate(body);
      const budget = Math.ceil((tokens * 11) / 10);
      assert.ok(counted >= budget && counted < budget + 60, String(counted));
    });
  }

  it('finds the smallest picture that counts as one wherever it begins', () => {
    const header = 'data:image/png;base64,';
    const picture = `${header}${base64(6_000).slice(0, 4_096 - header.length)}`;
    const asText = estimate(user({ type: 'image_url', image_url: { url: ' '.repeat(picture.length) } }));
    for (let before = 0; before < 2_100; before += 3) {
      const body = user({ type: 'text', text: ' '.repeat(before) }, { type: 'image_url', image_url: { url: picture } });
      assert.ok(estimate(body) > asText + 1_000, `${before} bytes before it`);
    }
  });

  it('counts each of several pictures', () => {
    const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${base64(10_000)}` } };
    const counted = estimate(user(picture, picture, picture));
    assert.ok(counted >= 3 * 3_379 && counted < 3 * 3_379 + 95, String(counted));
  });

  it('finds a picture whose slashes are escaped, and one with spaces around its colon', () => {
    const escaped = JSON.stringify({ url: `data:image/png;base64,${base64(10_000)}` }).replaceAll('/', '\\/');
    assert.ok(estimateText(escaped) < 3_500);
    const spaced = JSON.stringify({ url: `data:image/png;base64,${base64(10_000)}` }, null, 2).replace(':', ' : ');
    assert.ok(estimateText(spaced) < 3_500);
  });

  /** A smaller reservation for them would let clients pay less. */
  const texts: readonly [what: string, body: unknown][] = [
    ['plain text', user({ type: 'text', text: 'word '.repeat(20_000) })],
    ['text that is base64', user({ type: 'text', text: base64(100_000) })],
    ['text that looks like a data URL', user({ type: 'text', text: `data:image/png;base64,${base64(100_000)}` })],
    ['text under a key of media', user({ type: 'document', source: { type: 'text', data: 'word '.repeat(20_000) } })],
    ['text in a data URL', user({ type: 'file', file: { file_data: `data:text/plain;base64,${base64(100_000)}` } })],
    ['a result of a tool', { input: [{ type: 'shell_call', result: 'a b '.repeat(10_000) }] }],
    [
      'a quoted picture',
      user({ type: 'text', text: JSON.stringify({ url: `data:image/png;base64,${base64(9_000)}` }) }),
    ],
  ];
  for (const [what, body] of texts) {
    it(`counts ${what} as four bytes a token`, () => {
      assert.equal(estimate(body), Math.ceil(JSON.stringify(body).length / 4));
    });
  }

  it('counts a small picture as the text it is written in, which is less than its budget', () => {
    const body = user({ type: 'image_url', image_url: { url: `data:image/png;base64,${base64(90)}` } });
    assert.equal(estimate(body), Math.ceil(JSON.stringify(body).length / 4));
  });

  it('looks for no picture behind as many long values as are noted', () => {
    const picture = `"url":"data:image/png;base64,${base64(10_000)}"`;
    const crowded = `{"texts":[${`"${'x'.repeat(40)}",`.repeat(2 ** 16)}0],${picture}}`;
    assert.equal(estimateText(crowded), Math.ceil(crowded.length / 4));
  });
});
