import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import OpenAI from 'openai';
import { call } from '../support/client.ts';
import { assertSpent, type TestGateway } from '../support/gateway.ts';
import { keySpelling, memberOf, memberText, space, stringText, valueText } from '../support/json-text.ts';
import { json, sse } from '../support/provider.ts';
import { sendRaw } from '../support/raw.ts';
import { propertyRuns } from '../support/scope.ts';
import {
  allModels,
  assertRefusal,
  badRequest,
  completedEvent,
  GENERATIONS,
  gptImageModels,
  ImageCaller,
  imageNano,
  imagesBody,
  imagesResponse,
  PRICED_BY_IMAGE,
  PRICED_BY_TOKEN,
  partialEvent,
  plainCostNano,
  STREAM_USAGE_NANO,
  startImageGateway,
  UNKNOWN_MODEL,
  USAGE_NANO,
} from './images.ts';
import { notTestable } from './rule.ts';

const prompt = 'A boat';

/** The model's name at the provider, by public name. */
const providerModels: Readonly<Record<string, string>> = {
  'dall-e-2': 'upstream-dall-e-2',
  'gpt-image-2': 'gpt-image-2',
};

describe('4.5 POST /v1/images/generations', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startImageGateway();
  });
  after(() => gateway.stop());

  /** Asserts that each of these bodies is forwarded and charged. The response is one image, or its event. */
  async function assertTaken(model: string, bodies: readonly object[]) {
    const caller = await ImageCaller.create(gateway);
    gateway.provider.respond = imagesResponse('image_generation');
    for (const body of bodies) {
      const isStream = 'stream' in body && body.stream === true;
      const given = { prompt, model, ...body };
      const costNano = isStream ? streamCostNano(model) : priceNano(model, body);
      const request = await caller.taken(caller.generate(given), costNano);
      const { model: _, ...rest } = JSON.parse(request.body.toString());
      const { model: __, ...sent } = JSON.parse(JSON.stringify(given));
      assert.deepEqual(rest, sent);
    }
  }

  /** Asserts that each of these bodies is refused with 400 and names the parameter. */
  async function assertRefused(model: string | null, param: string, bodies: readonly object[]) {
    const caller = await ImageCaller.create(gateway);
    for (const body of bodies) {
      const given = { prompt, ...(model === null ? {} : { model }), ...body };
      await caller.refused(() => caller.generate(given), badRequest(param));
    }
  }

  /** Sends the same values of one parameter to every model: some accept them, the others refuse them. */
  async function assertByModel(
    name: string,
    values: readonly unknown[],
    takers: readonly string[],
    rest: object = {},
    models: readonly string[] = allModels,
  ) {
    const bodies = values.map((value) => ({ ...rest, [name]: value }));
    for (const model of [...models, UNKNOWN_MODEL]) {
      if (takers.includes(model) || model === UNKNOWN_MODEL) await assertTaken(model, bodies);
      else await assertRefused(model, name, bodies);
    }
  }

  /** The response leaves quality and size to the request, which matters for models that are charged by them. */
  function priceNano(model: string, body: object): bigint {
    const { quality, size } = { quality: null, size: null, ...body };
    if (model === 'gpt-image-2' && quality === 'low') return imageNano.low;
    if (model === 'gpt-image-2' && quality === 'high') {
      return size === '1024x1024' ? imageNano.high1024x1024 : imageNano.highOther;
    }
    if (model === 'dall-e-3' && quality === 'hd') return imageNano.dallE3Hd;
    if (model === 'dall-e-3' && size === '1024x1792') return imageNano.dallE3Tall;
    return plainCostNano(model);
  }

  function streamCostNano(model: string): bigint {
    return model === 'gpt-image-2' ? imageNano.high1024x1024 : STREAM_USAGE_NANO;
  }

  /** Values that are invalid in any JSON member of this kind. */
  const noStrings = [1, true, ['a'], { a: 1 }];
  const noWholeNumbers = ['1', true, 1.5, [1], {}];

  describe('parameters', () => {
    it('4.5 prompt is required, and a string that is not empty', async () => {
      const caller = await ImageCaller.create(gateway);
      for (const given of [undefined, null, '', ...noStrings]) {
        await caller.refused(() => caller.generate({ model: PRICED_BY_IMAGE, prompt: given }), badRequest('prompt'));
      }
    });

    for (const [model, charactersMax] of [
      ['dall-e-2', 1000],
      ['dall-e-3', 4000],
      ...gptImageModels.map((each) => [each, 32_000] as const),
    ] as const) {
      it(`4.5 a prompt for ${model} has at most ${charactersMax} characters`, async () => {
        for (const character of ['a', '船', '😀']) {
          await assertTaken(model, [{ prompt: character.repeat(charactersMax) }]);
          await assertRefused(model, 'prompt', [{ prompt: `${character.repeat(charactersMax)}.` }]);
        }
      });
    }

    it('4.5 model may be omitted or null: with only plain parameters it is dall-e-2', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      const plain = [
        {},
        { n: 1, size: '512x512', response_format: 'url', user: 'u', quality: 'standard', stream: false },
        { size: '1024x1024', background: null, output_format: null, partial_images: null, moderation: null },
        { prompt: 'a'.repeat(1000) },
      ];
      for (const body of plain.flatMap((each) => [each, { ...each, model: null }])) {
        const request = await caller.taken(caller.generate({ prompt, ...body }), imageNano.dallE2);
        assert.equal(JSON.parse(request.body.toString()).model, providerModels['dall-e-2']);
      }
    });

    it('4.5 model omitted or null with parameters of GPT Image only is gpt-image-2', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = imagesResponse('image_generation');
      const bodies: readonly object[] = [
        { background: 'transparent' },
        { moderation: 'low' },
        { output_format: 'webp', output_compression: 50 },
        { output_format: 'png' },
        { quality: 'medium' },
        { size: '1536x1024' },
        { size: '2048x1152', model: null },
        { stream: true },
        { stream: true, partial_images: 2, model: null },
      ];
      for (const body of bodies) {
        const nano = 'stream' in body ? imageNano.high1024x1024 : imageNano.other;
        const request = await caller.taken(caller.generate({ prompt, ...body }), nano);
        assert.equal(JSON.parse(request.body.toString()).model, providerModels['gpt-image-2']);
      }
    });

    it('4.5 the rules of a model hold if it was picked as the default as well', async () => {
      await assertRefused(null, 'prompt', [{ prompt: 'a'.repeat(1001) }]);
      await assertRefused(null, 'size', [{ moderation: 'low', size: '256x256' }]);
    });

    it('4.5 model is a string that is not empty', async () => {
      await assertRefused(null, 'model', [{ model: '' }, ...noStrings.map((model) => ({ model }))]);
    });

    it('4.5 a model that does not exist is 404 model_not_found', async () => {
      const caller = await ImageCaller.create(gateway);
      for (const model of ['no-such-model', 'null', 'DALL-E-2', 'dall-e-2 ']) {
        const expected = { status: 404, code: 'model_not_found', param: 'model' };
        await caller.refused(() => caller.generate({ prompt, model }), expected);
      }
    });

    it('4.5 a model without this operation is 400 model_not_found', async () => {
      const caller = await ImageCaller.create(gateway);
      for (const model of ['edit-only', 'test-chat']) {
        const expected = { status: 400, code: 'model_not_found', param: 'model' };
        await caller.refused(() => caller.generate({ prompt, model }), expected);
      }
    });

    it('4.5 a model of only the other protocol is 404 MODEL_ROUTING_PROTOCOL_UNSUPPORTED', async () => {
      const caller = await ImageCaller.create(gateway);
      const expected = { status: 404, code: 'MODEL_ROUTING_PROTOCOL_UNSUPPORTED', param: 'model' };
      await caller.refused(() => caller.generate({ prompt, model: 'test-messages' }), expected);
    });

    const choices: readonly [name: string, values: readonly string[], takers: readonly string[], rest?: object][] = [
      ['background', ['transparent', 'opaque', 'auto'], gptImageModels],
      ['moderation', ['low', 'auto'], gptImageModels],
      ['output_format', ['png', 'jpeg', 'webp'], gptImageModels],
      ['quality', ['standard'], ['dall-e-2', 'dall-e-3']],
      ['quality', ['hd'], ['dall-e-3']],
      ['quality', ['low', 'medium', 'high'], gptImageModels],
      ['quality', ['auto'], allModels],
      ['response_format', ['url', 'b64_json'], ['dall-e-2', 'dall-e-3']],
      ['style', ['vivid', 'natural'], ['dall-e-3']],
      ['size', ['256x256', '512x512'], ['dall-e-2', 'gpt-image-2.5-sunburst']],
      ['size', ['1024x1024'], allModels],
      ['size', ['1792x1024', '1024x1792'], ['dall-e-3', 'gpt-image-2', 'gpt-image-2.5-sunburst']],
      ['size', ['1536x1024', '1024x1536', 'auto'], gptImageModels],
      ['size', ['2048x1152', '3840x2160', '1024x640'], ['gpt-image-2', 'gpt-image-2.5-sunburst']],
    ];
    for (const [name, values, takers, rest] of choices) {
      it(`4.5 ${name} ${values.join(', ')} is for ${takers === allModels ? 'all models' : takers.join(', ')}`, async () => {
        await assertByModel(name, values, takers, rest);
      });
    }

    it('4.5 gpt-image-2 accepts WIDTHxHEIGHT only within the limits of sides, pixels and aspect ratio', async () => {
      await assertTaken('gpt-image-2', [
        { size: '1024x640' },
        { size: '3840x2160' },
        { size: '2160x3840' },
        { size: '3840x1280' },
      ]);
      const refused = [
        ...['1024x639', '1000x1000', '3856x1600', '1600x3856', '3840x1264', '1008x640', '3840x2176', '512x512'],
        ...['1024X1024', '1024*1024', '1024x1024 ', '01024x1024', '+1024x1024', '1024x', '-16x-16', '1e3x1024', 'huge'],
      ];
      await assertRefused(
        'gpt-image-2',
        'size',
        refused.map((size) => ({ size })),
      );
    });

    const words: readonly [name: string, refused: readonly string[]][] = [
      ['background', ['white', 'TRANSPARENT', 'auto ', '']],
      ['moderation', ['high', 'none', '']],
      ['output_format', ['jpg', 'PNG', 'bmp', '']],
      ['quality', ['best', 'HD', 'ultra', '']],
      ['response_format', ['b64', 'URL', 'json', '']],
      ['style', ['dull', 'Vivid', '']],
      ['size', ['']],
    ];
    for (const [name, refused] of words) {
      it(`4.5 ${name} is one of its values or null, whatever the model`, async () => {
        const bodies = [...refused, ...noStrings].map((value) => ({ [name]: value }));
        for (const model of [null, UNKNOWN_MODEL]) await assertRefused(model, name, bodies);
      });
    }

    it('4.5 every parameter but prompt may be null, which is as if it were absent', async () => {
      const names = ['background', 'moderation', 'n', 'output_compression', 'output_format', 'partial_images'];
      const others = ['quality', 'response_format', 'size', 'stream', 'style', 'user'];
      const nulls = Object.fromEntries([...names, ...others].map((name) => [name, null]));
      for (const model of [...allModels, UNKNOWN_MODEL]) await assertTaken(model, [nulls]);
    });

    it('4.5 n is an integer from 1 to 10', async () => {
      const caller = await ImageCaller.create(gateway);
      for (const [given, count] of [
        [1, 1],
        [2, 2],
        [10, 10],
      ] as const) {
        gateway.provider.respond = json(200, imagesBody(count));
        await caller.taken(caller.generate({ prompt, model: 'dall-e-2', n: given }), BigInt(count) * imageNano.dallE2);
      }
      const bodies = [0, -1, 11, 2 ** 31, ...noWholeNumbers].map((n) => ({ n }));
      for (const model of [...allModels, UNKNOWN_MODEL]) await assertRefused(model, 'n', bodies);
    });

    it('4.5 dall-e-3 makes one image at a time', async () => {
      await assertTaken('dall-e-3', [{ n: 1 }]);
      await assertRefused('dall-e-3', 'n', [{ n: 2 }]);
    });

    it('4.5 output_compression is an integer from 0 to 100', async () => {
      const rest = { output_format: 'webp' };
      await assertByModel('output_compression', [0, 100], gptImageModels, rest, gptImageModels);
      const bodies = [-1, 101, ...noWholeNumbers].map((value) => ({ ...rest, output_compression: value }));
      for (const model of [...gptImageModels, UNKNOWN_MODEL]) await assertRefused(model, 'output_compression', bodies);
    });

    it('4.5 output_compression is accepted only with output_format jpeg or webp', async () => {
      for (const model of [...gptImageModels, UNKNOWN_MODEL]) {
        await assertTaken(
          model,
          ['jpeg', 'webp'].map((output_format) => ({ output_format, output_compression: 50 })),
        );
        const bodies = [{ output_format: 'png' }, { output_format: null }, {}];
        await assertRefused(
          model,
          'output_compression',
          bodies.map((each) => ({ ...each, output_compression: 50 })),
        );
      }
    });

    it('4.5 background transparent is accepted only with output_format png or webp', async () => {
      for (const model of [...gptImageModels, UNKNOWN_MODEL]) {
        const formats = ['png', 'webp', null];
        await assertTaken(
          model,
          formats.map((output_format) => ({ background: 'transparent', output_format })),
        );
        await assertRefused(model, 'background', [{ background: 'transparent', output_format: 'jpeg' }]);
      }
    });

    it('4.5 partial_images is an integer from 0 to 3', async () => {
      await assertByModel('partial_images', [0, 3], gptImageModels, { stream: true }, gptImageModels);
      const bodies = [-1, 4, ...noWholeNumbers].map((value) => ({ stream: true, partial_images: value }));
      for (const model of [...gptImageModels, UNKNOWN_MODEL]) await assertRefused(model, 'partial_images', bodies);
    });

    it('4.5 partial_images is accepted only with stream true', async () => {
      for (const model of [...allModels, UNKNOWN_MODEL]) {
        const bodies = [{}, { stream: false }, { stream: null }].map((each) => ({ ...each, partial_images: 0 }));
        await assertRefused(model, 'partial_images', bodies);
      }
    });

    it('4.5 stream is a boolean or null, and true for GPT Image models only', async () => {
      await assertByModel('stream', [true], gptImageModels);
      await assertByModel('stream', [false, null], allModels);
      await assertRefused(
        UNKNOWN_MODEL,
        'stream',
        ['true', 1, 0, '', {}].map((stream) => ({ stream })),
      );
    });

    it('4.5 user is a string', async () => {
      for (const model of allModels) await assertTaken(model, [{ user: 'someone 船' }]);
      await assertRefused(
        UNKNOWN_MODEL,
        'user',
        noStrings.map((user) => ({ user })),
      );
    });

    it('4.5 fields that are not listed pass', async () => {
      const others = { safety_identifier: 'x', frame_count: 4, svg: { title: 'm' }, input_fidelity: 7 };
      for (const model of allModels) await assertTaken(model, [others]);
    });

    it('4.5 a second copy of a key that is read is 400, and names the key', async () => {
      const caller = await ImageCaller.create(gateway);
      for (const name of ['model', 'prompt', 'n', 'size', 'quality', 'stream', 'partial_images', 'user']) {
        const rest = name === 'prompt' ? '' : '"prompt":"p",';
        const body = `{${rest}"${name}":"1","\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}":"1"}`;
        await caller.refused(() => caller.generate(body), badRequest(name));
      }
    });
  });

  describe('the request', () => {
    it('4.5 the body is JSON: another Content-Type is 415, and anything but a JSON object is 400', async () => {
      const caller = await ImageCaller.create(gateway);
      const body = JSON.stringify({ prompt });
      for (const type of ['text/plain', 'multipart/form-data; boundary=b', 'application/x-www-form-urlencoded', '']) {
        const expected = { status: 415, code: 'unsupported_media_type' };
        await caller.refused(() => caller.generate(body, { 'content-type': type }), expected);
      }
      for (const broken of ['', '{', '[]', '"prompt"', '{"prompt":"a"} x', Buffer.from([0x7b, 0xff, 0x7d])]) {
        await caller.refused(() => caller.generate(broken), badRequest(null));
      }
    });

    it('4.5 the key is required, as Bearer', async () => {
      const { account } = await ImageCaller.create(gateway);
      const before = gateway.provider.requests.length;
      const headers = [{ authorization: 'Bearer sk-fg-wrong' }, { authorization: account.key }, { authorization: '' }];
      for (const each of headers) {
        const response = await call(gateway.url + GENERATIONS, account.key, { prompt }, { headers: each });
        assertRefusal(response, { status: 401, code: 'invalid_api_key', type: 'authentication_error' });
      }
      assert.equal(gateway.provider.requests.length, before);
    });

    it('4.5 another method than POST is 405', async () => {
      const { account } = await ImageCaller.create(gateway);
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const headers = [['authorization', `Bearer ${account.key}`]] as const;
        const response = await sendRaw(gateway.url, { method, path: GENERATIONS, headers });
        assert.equal(response.status, 405);
        assert.equal(response.headers.allow, 'POST');
        assert.equal(JSON.parse(response.body.toString()).error.code, 'method_not_allowed');
      }
    });

    it('4.5 a call without money is 429 insufficient_balance, and is not to be retried', async () => {
      const account = await gateway.createAccount({ balanceYuan: '0' });
      const before = gateway.provider.requests.length;
      const response = await call(gateway.url + GENERATIONS, account.key, { prompt });
      assertRefusal(response, { status: 429, code: 'insufficient_balance', type: 'insufficient_quota' });
      assert.equal(response.headers['x-should-retry'], 'false');
      assert.equal(gateway.provider.requests.length, before);
    });

    it('4.5 only the value of model is replaced; every other byte of the body arrives as it came', async () => {
      gateway.provider.respond = json(200, imagesBody());
      const caller = await ImageCaller.create(gateway);
      const known = ['prompt', 'model', 'background', 'moderation', 'n', 'output_compression', 'output_format'];
      known.push('partial_images', 'quality', 'response_format', 'size', 'stream', 'style', 'user');
      const others = fc.array(
        memberOf(
          stringText.filter(({ value }) => !known.includes(value)),
          valueText,
        ),
        { maxLength: 4 },
      );
      const model = memberOf(keySpelling('model'), fc.constantFrom('"gpt-image-1.5"', '"gpt\\u002dimage-1.5"'));
      const named = memberOf(keySpelling('prompt'), fc.constantFrom('"p"', '" \\u8239 "', '"船\\n"'));
      const numRuns = propertyRuns(100);
      await fc.assert(
        fc.asyncProperty(space, others, model, others, named, others, async (around, a, given, b, asked, c) => {
          const body = (value: string): string =>
            `${around}{${around}${[...a, { ...given, value }, ...b, asked, ...c].map(memberText).join(',')}${around}}${around}`;
          const response = await caller.generate(body(given.value));
          assert.equal(response.status, 200, response.text);
          assert.equal(gateway.provider.requests.at(-1)!.body.toString(), body('"upstream-gpt-image-1.5"'));
        }),
        { numRuns },
      );
      await assertSpent(caller.account, BigInt(numRuns) * USAGE_NANO);
    });

    it('4.5 a body whose model has the same name at the provider arrives as it is', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      const body = ' {"prompt" : "\\u8239",\n"n":1e0, "model":"gpt\\u002dimage-2" ,"x":9223372036854775807}\n';
      const request = await caller.taken(caller.generate(body), imageNano.other);
      assert.equal(request.body.toString(), body);
      assert.equal(request.headers['content-type'], 'application/json');
      assert.equal(request.path, '/v1/images/generations');
      assert.equal(request.headers.authorization, 'Bearer provider-secret-key-1');
    });

    it('4.5 a default model is inserted, and in place of a null; every other byte arrives as it came', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      for (const [given, sent] of [
        [' { "prompt":"p" }', ' {"model":"upstream-dall-e-2", "prompt":"p" }'],
        ['{"prompt":"p", "model" : null }', '{"prompt":"p", "model" : "upstream-dall-e-2" }'],
      ] as const) {
        const request = await caller.taken(caller.generate(given), imageNano.dallE2);
        assert.equal(request.body.toString(), sent);
      }
    });

    it('4.5 a compressed or chunked body arrives as the original', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      const body = JSON.stringify({ model: PRICED_BY_IMAGE, prompt });
      const request = await caller.taken(
        caller.generate(gzipSync(body), { 'content-encoding': 'gzip' }),
        imageNano.other,
      );
      assert.equal(request.body.toString(), body);
      const headers = [
        ['authorization', `Bearer ${caller.account.key}`],
        ['content-type', 'application/json'],
      ] as const;
      const raw = await sendRaw(gateway.url, { path: GENERATIONS, headers, body, chunkBytes: 3 });
      assert.equal(raw.status, 200);
      assert.equal(gateway.provider.requests.at(-1)!.body.toString(), body);
      await assertSpent(caller.account, 2n * imageNano.other);
    });
  });

  describe('the response', () => {
    it('4.5 the response is JSON, or an event stream when streaming', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = imagesResponse('image_generation');
      const whole = caller.generate({ model: PRICED_BY_TOKEN, prompt });
      await caller.taken(whole, USAGE_NANO);
      assert.match((await whole).headers['content-type']!, /^application\/json/);
      const stream = caller.generate({ model: PRICED_BY_TOKEN, prompt, stream: true });
      await caller.taken(stream, STREAM_USAGE_NANO);
      assert.match((await stream).headers['content-type']!, /^text\/event-stream/);
    });

    it('4.5 x-request-id is always there: the one of the provider, or one of the gateway', async () => {
      const caller = await ImageCaller.create(gateway);
      for (const isStream of [false, true]) {
        const responded = (headers: Record<string, string>) =>
          isStream ? sse([completedEvent('image_generation')], headers) : json(200, imagesBody(), headers);
        const body = { model: PRICED_BY_TOKEN, prompt, stream: isStream };
        gateway.provider.respond = responded({ 'x-request-id': 'req_of_the_provider' });
        assert.equal((await caller.generate(body)).headers['x-request-id'], 'req_of_the_provider');
        gateway.provider.respond = responded({});
        assert.match((await caller.generate(body)).headers['x-request-id'] as string, /^req_/);
      }
    });

    it('4.5 retry-after and x-ratelimit-* of the provider are kept, and other headers are not', async () => {
      const caller = await ImageCaller.create(gateway);
      const limits = Object.fromEntries(
        ['limit', 'remaining', 'reset'].flatMap((what) =>
          ['input-tokens', 'output-tokens', 'requests', 'tokens'].map((of) => [`x-ratelimit-${what}-${of}`, '7']),
        ),
      );
      const headers = { ...limits, 'retry-after': '3', 'set-cookie': 'a=b', server: 'x', 'x-secret': 's' };
      for (const isStream of [false, true]) {
        gateway.provider.respond = isStream
          ? sse([completedEvent('image_generation')], headers)
          : json(200, imagesBody(), headers);
        const response = await caller.generate({ model: PRICED_BY_TOKEN, prompt, stream: isStream });
        assert.equal(response.status, 200);
        for (const name of ['retry-after', ...Object.keys(limits)]) assert.ok(response.headers[name], name);
        for (const name of ['set-cookie', 'server', 'x-secret']) assert.equal(response.headers[name], undefined);
      }
    });

    it('4.5 a refusal of the provider keeps its status and words, with retry-after, and costs nothing', async () => {
      const caller = await ImageCaller.create(gateway);
      for (const [status, code, type] of [
        [400, 'invalid_request_error', 'invalid_request_error'],
        [403, 'permission_denied', 'permission_error'],
        [429, 'upstream_error', 'rate_limit_error'],
        [500, 'upstream_error', 'api_error'],
      ] as const) {
        for (const stream of [false, true]) {
          gateway.provider.respond = json(status, { error: { message: 'No boats today.' } }, { 'retry-after': '5' });
          const response = await caller.generate({ model: PRICED_BY_TOKEN, prompt, stream });
          assertRefusal(response, { status, code, type });
          assert.equal(response.json.error.message, 'No boats today.');
          assert.equal(response.headers['retry-after'], '5');
          await caller.unpaid();
        }
      }
    });

    it('4.5 a stream sends image_generation.partial_image and image_generation.completed with their fields', async () => {
      const caller = await ImageCaller.create(gateway);
      const events = [partialEvent('image_generation'), completedEvent('image_generation')];
      gateway.provider.respond = sse(events);
      const response = caller.generate({ model: PRICED_BY_TOKEN, prompt, stream: true, partial_images: 1 });
      await caller.taken(response, STREAM_USAGE_NANO);
      assert.equal((await response).text, events.join(''));
    });

    it('4.5 a response without usage facts fails closed: 502 upstream_error, and nothing is charged', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody(1, { usage: undefined }));
      const response = await caller.generate({ model: PRICED_BY_TOKEN, prompt });
      assertRefusal(response, { status: 502, code: 'upstream_error', type: 'api_error' });
      await caller.unpaid();
    });

    it('4.5 a non-streaming response to a streaming request is 502, and free', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      const response = await caller.generate({ model: PRICED_BY_TOKEN, prompt, stream: true });
      assertRefusal(response, { status: 502, code: 'upstream_error', type: 'api_error' });
      await caller.unpaid();
    });

    it('4.5 the official client gets images and streams of them', async () => {
      const caller = await ImageCaller.create(gateway);
      const client = new OpenAI({ apiKey: caller.account.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
      gateway.provider.respond = imagesResponse('image_generation');
      const images = await client.images.generate({ model: PRICED_BY_TOKEN, prompt });
      assert.equal(images.data?.length, 1);
      assert.equal(images.usage?.total_tokens, 450);
      const stream = await client.images.generate({ model: PRICED_BY_TOKEN, prompt, stream: true });
      const types: string[] = [];
      for await (const event of stream) types.push(event.type);
      assert.deepEqual(types, ['image_generation.completed']);
      await assertSpent(caller.account, USAGE_NANO + STREAM_USAGE_NANO);
    });

    it('4.5 images variations, asynchronous tasks and videos have no address', async () => {
      const { account } = await ImageCaller.create(gateway);
      for (const path of ['/v1/images/variations', '/v1/images/tasks', '/v1/images', '/v1/videos']) {
        const response = await call(gateway.url + path, account.key, { prompt });
        assert.equal(response.status, 404, path);
      }
    });
  });

  notTestable(
    '4.5 which GPT Image models support a transparent background',
    'the contract does not list them; none is known that does not',
  );
});
