import assert from 'node:assert/strict';
import { crc32, deflateSync } from 'node:zlib';
import { parseConfig } from '../../src/config/load.ts';
import { type ClientResponse, call } from '../support/client.ts';
import {
  assertSpent,
  startGateway,
  type TestAccount,
  type TestGateway,
  type TestGatewayOptions,
  testConfigText,
} from '../support/gateway.ts';
import { json, type ReceivedRequest, type Respond } from '../support/provider.ts';

/** Helpers for tests of image calls: models of every family, images and forms, and provider responses. */

export const GENERATIONS = '/v1/images/generations';
export const EDITS = '/v1/images/edits';

/** GPT Image models by kinds of parameters, and older models. Each has another kind of price. */
export const gptImageModels = ['gpt-image-1', 'gpt-image-1.5', 'gpt-image-2', 'gpt-image-2.5-sunburst'] as const;
export const allModels = ['dall-e-2', 'dall-e-3', ...gptImageModels] as const;
/** A model of an unknown family, to which only the contract's general rules apply. */
export const UNKNOWN_MODEL = 'painter-x';
/** A model priced by quality and size, with the same name at its provider. */
export const PRICED_BY_IMAGE = 'gpt-image-2';
/** A model charged by tokens, with another name at its provider. */
export const PRICED_BY_TOKEN = 'gpt-image-1.5';

const TOKEN_PRICE = '{ input: "3", imageInput: "17", output: "13", imageOutput: "19" }';
const both = 'operations: [images.generate, images.edit]';

const models = `
  dall-e-2: { ${both}, price: { perImage: "0.000041" }, routes: [{ provider: chatty, model: upstream-dall-e-2 }] }
  dall-e-3:
    ${both}
    price: { perImage: { hd: "0.000043", 1024x1792: "0.000047", default: "0.000053" } }
    routes: [{ provider: chatty, model: upstream-dall-e-3 }]
  gpt-image-1: { ${both}, price: ${TOKEN_PRICE}, routes: [{ provider: chatty, model: upstream-gpt-image-1 }] }
  gpt-image-1.5: { ${both}, price: ${TOKEN_PRICE}, routes: [{ provider: chatty, model: upstream-gpt-image-1.5 }] }
  gpt-image-2.5-sunburst: { ${both}, price: ${TOKEN_PRICE}, routes: [{ provider: chatty, model: upstream-sunburst }] }
  painter-x: { ${both}, price: ${TOKEN_PRICE}, routes: [{ provider: chatty, model: painter-x }] }
  generate-only: { operations: [images.generate], price: ${TOKEN_PRICE}, routes: [{ provider: chatty, model: g }] }
  edit-only: { operations: [images.edit], price: ${TOKEN_PRICE}, routes: [{ provider: chatty, model: e }] }
`;

/** A gateway with these models, each under its own name. In the common configuration some are aliases of others. */
export async function startImageGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const gateway = await startGateway(options);
  const text = testConfigText(gateway.provider.url, { ...options, models });
  const own = text.replace('aliases: [gpt-image-1.5, dall-e-2]', 'aliases: []');
  assert.notEqual(own, text);
  gateway.gateway.reload(parseConfig(own, 'test.yaml', {}));
  return gateway;
}

/** Prices per image of `gpt-image-2` and the older models, in nano-yuan. */
export const imageNano = {
  low: 23_000n,
  high1024x1024: 29_000n,
  highOther: 31_000n,
  other: 37_000n,
  dallE2: 41_000n,
  dallE3Hd: 43_000n,
  dallE3Tall: 47_000n,
  dallE3Other: 53_000n,
} as const;

/** 20 text and 30 image tokens of input, 100 text and 300 image tokens of output. */
export const usage = {
  input_tokens: 50,
  input_tokens_details: { image_tokens: 30, text_tokens: 20 },
  output_tokens: 400,
  total_tokens: 450,
  output_tokens_details: { image_tokens: 300, text_tokens: 100 },
};
/** Its charge, calculated independently of the gateway. */
export const USAGE_NANO = 20n * 3_000n + 30n * 17_000n + 100n * 13_000n + 300n * 19_000n;
/** Usage in streams has no details of the output, so all output is image tokens. */
export const streamUsage = {
  input_tokens: 50,
  input_tokens_details: { image_tokens: 30, text_tokens: 20 },
  output_tokens: 400,
  total_tokens: 450,
};
export const STREAM_USAGE_NANO = 20n * 3_000n + 30n * 17_000n + 400n * 19_000n;

export const B64 = 'iVBORw0KGgo+/AAAA=';

/** A non-streaming provider response. Members that are `undefined` in `rest` are removed. */
export function imagesBody(count = 1, rest: object = {}): object {
  const data = Array.from({ length: count }, () => ({ b64_json: B64 }));
  return { created: 1_790_000_000, data, usage, ...rest };
}

/** The event of a stream. The response may state quality and size of its image. */
export function imageEvent(type: string, rest: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
}

export type StreamKind = 'image_generation' | 'image_edit';

export const look = {
  created_at: 1_790_000_000,
  size: '1024x1024',
  quality: 'high',
  background: 'opaque',
  output_format: 'png',
};

export function partialEvent(kind: StreamKind, index = 0, b64_json = B64): string {
  return imageEvent(`${kind}.partial_image`, { b64_json, ...look, partial_image_index: index });
}

export function completedEvent(kind: StreamKind, rest: object = {}): string {
  return imageEvent(`${kind}.completed`, { b64_json: B64, ...look, usage: streamUsage, ...rest });
}

/** Responds as a real provider does, with a stream if requested. */
export function imagesResponse(kind: StreamKind): Respond {
  return (request, response) => {
    const text = request.body.toString('latin1');
    const isStream = /"stream"\s*:\s*true/.test(text) || /name="?stream"?\r\n\r\ntrue\r\n/.test(text);
    if (!isStream) return json(200, imagesBody())(request, response);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(completedEvent(kind));
  };
}

/** A real PNG, black with one bit per pixel, padded to `sizeBytes` with a chunk that decoders ignore. */
export function png(width = 64, height = width, sizeBytes = 0): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 1;
  const pixels = deflateSync(Buffer.alloc((1 + Math.ceil(width / 8)) * height));
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  const chunks = [signature, pngChunk('IHDR', header), pngChunk('IDAT', pixels), pngChunk('IEND', Buffer.alloc(0))];
  const missing = sizeBytes - Buffer.concat(chunks).length;
  if (sizeBytes > 0) {
    assert.ok(missing >= 12, 'a PNG of this size cannot be made');
    chunks.splice(2, 0, pngChunk('paDd', Buffer.alloc(missing - 12)));
  }
  return Buffer.concat(chunks);
}

function pngChunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}

/** The header of a JPEG up to its dimensions, and filling. */
export function jpeg(width = 64, height = 64): Buffer {
  const frame = Buffer.from('ffd8ffc0001108000000000301220002110103110100', 'hex');
  frame.writeUInt16BE(height, 7);
  frame.writeUInt16BE(width, 9);
  return Buffer.concat([frame, Buffer.alloc(100, 1)]);
}

/** The header of a WebP up to its dimensions, and filling. */
export function webp(width = 64, height = 64): Buffer {
  const head = Buffer.alloc(130, 1);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(122, 4);
  head.write('WEBPVP8X', 8, 'latin1');
  head.writeUInt32LE(10, 16);
  head.writeUIntLE(width - 1, 24, 3);
  head.writeUIntLE(height - 1, 27, 3);
  return head;
}

/** A part of a form: text, or a file if it has a file name. */
export interface Part {
  readonly name: string;
  readonly content: Buffer | string;
  readonly filename?: string;
  readonly type?: string;
}

export const text = (name: string, content: Buffer | string): Part => ({ name, content });
export const file = (name: string, content: Buffer, filename = 'image.png', type = 'image/png'): Part => ({
  name,
  content,
  filename,
  type,
});

export const BOUNDARY = '----form-boundary-0f1e2d3c';

export function partBytes({ name, content, filename, type }: Part, boundary = BOUNDARY): Buffer {
  const disposition = `Content-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}`;
  const head = `--${boundary}\r\n${disposition}\r\n${type === undefined ? '' : `Content-Type: ${type}\r\n`}\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from('\r\n')]);
}

/** A form as clients send it. */
export function form(parts: readonly Part[], boundary = BOUNDARY): Buffer {
  return Buffer.concat([...parts.map((part) => partBytes(part, boundary)), Buffer.from(`--${boundary}--\r\n`)]);
}

export const formType = (boundary = BOUNDARY): string => `multipart/form-data; boundary=${boundary}`;

/** The parts that every edit needs, valid for any model that can edit. */
export const editParts: readonly Part[] = [file('image', png()), text('prompt', 'Add a boat')];

/** The usual edit, with these text parts first. */
export function editForm(texts: Readonly<Record<string, Buffer | string>>, files = editParts): Buffer {
  const named = Object.entries(texts).map(([name, content]) => text(name, content));
  const rest = files.filter(({ name }) => !Object.hasOwn(texts, name));
  return form([...named, ...rest]);
}

/** Sends image calls of one account, and tracks their charges. */
export class ImageCaller {
  readonly gateway: TestGateway;
  readonly account: TestAccount;
  #spentNano = 0n;

  private constructor(gateway: TestGateway, account: TestAccount) {
    this.gateway = gateway;
    this.account = account;
  }

  static async create(gateway: TestGateway): Promise<ImageCaller> {
    return new ImageCaller(gateway, await gateway.createAccount());
  }

  generate(body: object | Buffer | string, headers: Record<string, string> = {}): Promise<ClientResponse> {
    return call(this.gateway.url + GENERATIONS, this.account.key, body, { headers });
  }

  edit(body: Buffer, headers: Record<string, string> = {}): Promise<ClientResponse> {
    return call(this.gateway.url + EDITS, this.account.key, body, {
      headers: { 'content-type': formType(), ...headers },
    });
  }

  /** Sends a call that succeeds with this charge; returns the provider's request. */
  async taken(responded: Promise<ClientResponse>, costNano: bigint): Promise<ReceivedRequest> {
    const response = await responded;
    assert.equal(response.status, 200, response.text);
    this.#spentNano += costNano;
    await assertSpent(this.account, this.#spentNano);
    return this.gateway.provider.requests.at(-1)!;
  }

  /** Sends a call that is refused in the chat envelope before a provider is called, without charge. */
  async refused(responded: () => Promise<ClientResponse>, expected: Refusal): Promise<ClientResponse> {
    const before = this.gateway.provider.requests.length;
    const response = await responded();
    assertRefusal(response, expected);
    assert.equal(this.gateway.provider.requests.length, before, 'the provider was called');
    await this.unpaid();
    return response;
  }

  /** Asserts that only the charges passed to `taken` were paid, and that nothing is reserved. */
  unpaid(): Promise<void> {
    return assertSpent(this.account, this.#spentNano);
  }
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly param?: string | null;
  readonly type?: string;
}

/** 400 that names this parameter. */
export const badRequest = (param: string | null): Refusal => ({ status: 400, code: 'invalid_request_error', param });

/** Asserts an error in the chat envelope (contract, section 7), with the headers that every error has. */
export function assertRefusal(
  response: Pick<ClientResponse, 'status' | 'headers' | 'text' | 'json'>,
  expected: Refusal,
): void {
  const { status, code, param = null, type = 'invalid_request_error' } = expected;
  assert.equal(response.status, status, response.text);
  const { error, ...rest } = response.json;
  assert.deepEqual(rest, {});
  const { message, ...facts } = error;
  assert.equal(typeof message, 'string');
  assert.deepEqual(facts, { code, param, type }, message);
  assert.match(response.headers['content-type'] ?? '', /^application\/json\b/);
  assert.equal(response.headers['x-error-code'], code);
  assert.equal(response.headers['x-request-id'], response.headers['request-id']);
  assert.ok(response.headers['x-request-id']);
}

/** The charge per image for the responses above, which state neither quality nor size. */
export function plainCostNano(model: string): bigint {
  switch (model) {
    case 'dall-e-2':
      return imageNano.dallE2;
    case 'dall-e-3':
      return imageNano.dallE3Other;
    case 'gpt-image-2':
      return imageNano.other;
    default:
      return USAGE_NANO;
  }
}
