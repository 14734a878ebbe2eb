import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TestGateway } from '../support/gateway.ts';
import { json } from '../support/provider.ts';
import { byScope } from '../support/scope.ts';
import {
  assertRefusal,
  editForm,
  ImageCaller,
  imageNano,
  imagesBody,
  PRICED_BY_IMAGE,
  PRICED_BY_TOKEN,
  startImageGateway,
  USAGE_NANO,
  usage,
} from './images.ts';

const addresses = ['generations', 'edits'] as const;
type Address = (typeof addresses)[number];

interface Fields {
  readonly n?: number;
  readonly quality?: string;
  readonly size?: string;
}

const upstreamError = { status: 502, code: 'upstream_error', type: 'api_error' };

describe('2.2 Images result', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startImageGateway();
  });
  after(() => gateway.stop());

  const send = (caller: ImageCaller, address: Address, model: string, { n = 1, ...rest }: Fields = {}) =>
    address === 'generations'
      ? caller.generate({ model, prompt: 'A boat', n, ...rest })
      : caller.edit(editForm({ model, n: String(n), ...rest }));

  /** Asserts that the provider's response is charged this amount and arrives byte for byte. */
  async function assertTaken(body: object | string, model: string, costNano: bigint, rest?: Fields) {
    const bytes = typeof body === 'string' ? body : JSON.stringify(body);
    // Requests as many images as the response has; more are not charged.
    const { data } = JSON.parse(bytes) as { data: readonly unknown[] };
    for (const address of addresses) {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, bytes);
      const response = send(caller, address, model, { n: data.length, ...rest });
      await caller.taken(response, costNano);
      assert.equal((await response).text, bytes);
    }
  }

  /** Asserts that an unbillable provider response is withheld and free. */
  async function assertFailsClosed(body: object | string, model: string) {
    for (const address of addresses) {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, body);
      const response = await send(caller, address, model);
      assertRefusal(response, upstreamError);
      assert.equal(response.headers['x-should-retry'], 'false');
      await caller.unpaid();
    }
  }

  it('2.2 a result arrives byte for byte, with undeclared fields and the provider’s spelling', async () => {
    const odd = ` {\n"data" : [ {"url":null,"b64_json":"a\\u0062","revised_prompt":null, "x":1.50} ],"created":1790000000, "usage":${JSON.stringify(usage)},"new":{"a":[ ]}}\n`;
    await assertTaken(odd, PRICED_BY_TOKEN, USAGE_NANO);
  });

  it('2.2 created is required: a result without it, or with no number in it, is 502 and costs nothing', async () => {
    for (const created of [undefined, null, '1790000000']) {
      for (const model of [PRICED_BY_IMAGE, PRICED_BY_TOKEN])
        await assertFailsClosed(imagesBody(1, { created }), model);
    }
  });

  it('2.2 data is required and has at least one item: a result without one is 502 and costs nothing', async () => {
    for (const data of [undefined, null, [], {}, 'image']) {
      for (const model of [PRICED_BY_IMAGE, PRICED_BY_TOKEN]) await assertFailsClosed(imagesBody(1, { data }), model);
    }
  });

  it('2.2 an item holds b64_json, revised_prompt and url, each a string or null', async () => {
    const data = [
      { b64_json: 'aaaa', revised_prompt: 'A boat at sea', url: null },
      { b64_json: null, revised_prompt: null, url: 'https://images.example/1?token=x' },
    ];
    await assertTaken(imagesBody(2, { data }), PRICED_BY_IMAGE, 2n * imageNano.other);
  });

  it('2.2 an item without an image does not count: a result of failures only arrives and is free', async () => {
    const error = { code: 'OutputImageSensitiveContentDetected', message: 'The image was refused.' };
    const data = [{ url: 'https://images.example/1' }, { error }, { url: null, b64_json: null }, { url: '', error }];
    await assertTaken(imagesBody(4, { data }), PRICED_BY_IMAGE, imageNano.other);
    for (const model of [PRICED_BY_IMAGE, PRICED_BY_TOKEN]) {
      await assertTaken(imagesBody(2, { data: [{ error }, { url: '', error }] }), model, 0n);
      await assertFailsClosed(imagesBody(1, { data: [{ url: null, b64_json: null }] }), model);
    }
  });

  it('2.2 background, output_format, quality and size may each be a string or null', async () => {
    const named = { background: 'transparent', output_format: 'png', quality: 'low', size: '1024x1024' };
    await assertTaken(imagesBody(1, named), PRICED_BY_IMAGE, imageNano.low);
    const unnamed = { background: null, output_format: null, quality: null, size: null };
    await assertTaken(imagesBody(1, unnamed), PRICED_BY_IMAGE, imageNano.other);
    await assertTaken(imagesBody(1, { ...named, size: 'auto', background: 'opaque' }), PRICED_BY_TOKEN, USAGE_NANO);
  });

  it('2.2 if billing binds to the output image count, the charge is the real number of images in data', async () => {
    for (const count of [1, 3, 10]) {
      await assertTaken(imagesBody(count), PRICED_BY_IMAGE, BigInt(count) * imageNano.other);
    }
  });

  it('2.2 an image is charged by its actual quality and size, whatever was requested', async () => {
    const requested = { quality: 'low', size: '1536x1024' };
    const cases = [
      [{ quality: 'high', size: '1024x1024' }, imageNano.high1024x1024],
      [{ quality: 'high' }, imageNano.highOther],
      [{ quality: 'medium', size: '1024x1024' }, imageNano.other],
      [{ size: '1024x1024' }, imageNano.low],
      [{}, imageNano.low],
    ] as const;
    for (const [rest, nano] of cases) await assertTaken(imagesBody(2, rest), PRICED_BY_IMAGE, 2n * nano, requested);
  });

  it('2.2 if billing binds to token usage, the charge is by the tokens of text and of images, in and out', async () => {
    await assertTaken(imagesBody(4), PRICED_BY_TOKEN, USAGE_NANO);
    const textOnly = { ...usage, input_tokens_details: { image_tokens: 0, text_tokens: 50 } };
    await assertTaken(
      imagesBody(1, { usage: textOnly }),
      PRICED_BY_TOKEN,
      50n * 3_000n + 100n * 13_000n + 300n * 19_000n,
    );
  });

  it('2.2 output_tokens_details is optional: without it all output is charged as images', async () => {
    const { output_tokens_details: _, ...rest } = usage;
    const nano = 20n * 3_000n + 30n * 17_000n + 400n * 19_000n;
    await assertTaken(imagesBody(1, { usage: rest }), PRICED_BY_TOKEN, nano);
    await assertTaken(imagesBody(1, { usage: { ...rest, output_tokens_details: null } }), PRICED_BY_TOKEN, nano);
  });

  it('2.2 without usage, or with usage that lacks a total, a call that is charged by tokens is 502 and costs nothing', async () => {
    const broken = [undefined, null, {}, [], 'none', ...['input_tokens', 'output_tokens', 'total_tokens']].map(
      (each) => (typeof each === 'string' && each in usage ? { ...usage, [each]: undefined } : each),
    );
    for (const each of broken) await assertFailsClosed(imagesBody(1, { usage: each }), PRICED_BY_TOKEN);
  });

  it('2.2 usage figures are int32 from 0 up: with any other total a call that is charged by tokens is 502', async () => {
    for (const total of [-1, 1.5, '50', null, 2 ** 31]) {
      await assertFailsClosed(imagesBody(1, { usage: { ...usage, input_tokens: total } }), PRICED_BY_TOKEN);
      await assertFailsClosed(imagesBody(1, { usage: { ...usage, total_tokens: total } }), PRICED_BY_TOKEN);
    }
  });

  it('2.2 without usage a call that is charged by image succeeds', async () => {
    for (const each of [undefined, null]) {
      await assertTaken(imagesBody(2, { usage: each }), PRICED_BY_IMAGE, 2n * imageNano.other);
    }
  });

  it('2.2 with neither images nor usage a call is 502 and costs nothing', async () => {
    for (const model of [PRICED_BY_IMAGE, PRICED_BY_TOKEN]) {
      await assertFailsClosed({ created: 1_790_000_000 }, model);
      await assertFailsClosed({}, model);
    }
  });

  it('2.2 a response other than a JSON object is 502 and free', async () => {
    for (const body of ['', '[]', 'null', '<html></html>', '{"created":1,"data":[{"b64_json":"aa']) {
      await assertFailsClosed(body, PRICED_BY_IMAGE);
    }
  });

  it('2.2 images of tens of megabytes arrive byte for byte and are counted', async () => {
    const b64 = 'iVBORw0KGgo+'.repeat(byScope({ full: 1_450_000, quick: 200_000 }));
    await assertTaken(
      `{"created":1790000000,"data":[{"b64_json":"${b64}"},{"b64_json":"${b64}"}],"usage":null}`,
      PRICED_BY_IMAGE,
      2n * imageNano.other,
    );
  });
});
