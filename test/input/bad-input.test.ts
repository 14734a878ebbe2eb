import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatResponse, chatStream, liveResponse, messagesResponse } from '../support/provider.ts';
import { openConnection, type RawRequest, type RawResponse, requestBytes } from '../support/raw.ts';

/**
 * For any input, the response is in the catalogue, in the format of the address, and has no other effect: the provider is not called,
 * nothing is charged or reserved, and the connection continues to work or is closed.
 */

type Family = 'chat' | 'messages';
type Headers = readonly (readonly [name: string, value: string])[];

const BODY_BYTES_MAX = 64 * 1024;
const JSON_TYPE = ['content-type', 'application/json'] as const;

interface Address {
  readonly family: Family;
  readonly path: string;
  /** A successful request. */
  readonly body: Readonly<Record<string, unknown>>;
}

const addresses: readonly Address[] = [
  {
    family: 'chat',
    path: '/v1/chat/completions',
    body: { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] },
  },
  {
    family: 'messages',
    path: '/v1/messages',
    body: { model: 'test-messages', max_tokens: 16, messages: [{ role: 'user', content: 'Hello' }] },
  },
];

/** `error.type` by status. */
const types: Readonly<Record<Family, Readonly<Record<number, string>>>> = {
  chat: {
    400: 'invalid_request_error',
    401: 'authentication_error',
    404: 'invalid_request_error',
    405: 'invalid_request_error',
    408: 'invalid_request_error',
    413: 'invalid_request_error',
    415: 'invalid_request_error',
    426: 'invalid_request_error',
    431: 'invalid_request_error',
    503: 'api_error',
  },
  messages: {
    400: 'invalid_request_error',
    401: 'authentication_error',
    404: 'not_found_error',
    405: 'invalid_request_error',
    408: 'invalid_request_error',
    413: 'request_too_large',
    415: 'invalid_request_error',
    426: 'invalid_request_error',
    431: 'invalid_request_error',
    503: 'api_error',
  },
};

interface Refusal {
  readonly status: number;
  readonly code: string;
  /** `x-should-retry`; `null` if the catalogue specifies nothing. */
  readonly retry: 'false' | null;
  /** The chat format's `param`. Checked only there, because the messages format has none. */
  readonly param?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

const invalid = (param: string | null = null): Refusal => ({
  status: 400,
  code: 'invalid_request_error',
  retry: 'false',
  param,
});
const badKey: Refusal = { status: 401, code: 'invalid_api_key', retry: 'false', param: null };
const wrongType: Refusal = { status: 415, code: 'unsupported_media_type', retry: 'false', param: null };
const tooLarge: Refusal = { status: 413, code: 'request_too_large', retry: 'false', param: null };
const nowhere: Refusal = { status: 404, code: 'not_found', retry: 'false', param: null };
const noModel: Refusal = { status: 404, code: 'model_not_found', retry: 'false', param: 'model' };

const bomb = Buffer.alloc(4 * 2 ** 20, ' ');
const bombs = [
  ['gzip', gzipSync(bomb)],
  ['deflate', deflateSync(bomb)],
  ['br', brotliCompressSync(bomb, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ['zstd', zstdCompressSync(bomb)],
] as const;

const clock = createTestClock('2026-11-20T04:00:00Z');
let gateway: TestGateway;
/** Without configured size limits. */
let roomy: TestGateway;
let account: TestAccount;
let roomyAccount: TestAccount;

describe('bad input', () => {
  before(async () => {
    gateway = await startGateway({
      clock,
      server: 'bodyLimit: 64KiB',
    });
    roomy = await startGateway({ server: 'uploadIdleTimeout: 1s' });
    for (const { provider } of [gateway, roomy]) {
      provider.respond = (request, response) =>
        (request.path.endsWith('/messages') ? messagesResponse() : chatResponse())(request, response);
    }
    account = await gateway.createAccount();
    roomyAccount = await roomy.createAccount();
  });

  after(async () => {
    await gateway?.stop();
    await roomy?.stop();
  });

  /** Checks the exact keys of the error, and the headers of every refusal. */
  function assertRefusal(response: RawResponse, family: Family | 'admin', expected: Refusal, method = 'POST'): void {
    const shown = `${response.status} ${JSON.stringify(response.headers)} ${response.body}`;
    assert.equal(response.status, expected.status, shown);
    const { headers } = response;
    assert.match(headers['content-type'] ?? '', /^application\/json(; charset=utf-8)?$/, shown);
    assert.equal(headers['x-error-code'], expected.code, shown);
    assert.equal(headers['x-should-retry'] ?? null, expected.retry, shown);
    assert.match(headers['x-request-id'] ?? '', /^req_[0-9a-z]{26}$/, shown);
    assert.equal(headers['request-id'], headers['x-request-id'], shown);
    for (const [name, value] of Object.entries(expected.headers ?? {})) assert.equal(headers[name], value, shown);
    if (method === 'HEAD') return;

    const body = JSON.parse(response.body.toString());
    assert.ok(typeof body.error.message === 'string' && body.error.message !== '', shown);
    assert.ok(body.error.message.length < 1_000, `a message of ${body.error.message.length} characters`);
    if (family === 'chat') {
      assert.deepEqual(Object.keys(body), ['error'], shown);
      assert.deepEqual(Object.keys(body.error).sort(), ['code', 'message', 'param', 'type'], shown);
      assert.equal(body.error.code, expected.code, shown);
      assert.equal(body.error.type, types.chat[expected.status], shown);
      if (expected.param !== undefined) assert.equal(body.error.param, expected.param, shown);
    } else if (family === 'messages') {
      assert.deepEqual(Object.keys(body).sort(), ['error', 'request_id', 'type'], shown);
      assert.deepEqual(Object.keys(body.error).sort(), ['details', 'message', 'type'], shown);
      assert.deepEqual(body.error.details, { error_code: expected.code }, shown);
      assert.equal(body.type, 'error', shown);
      assert.equal(body.error.type, types.messages[expected.status], shown);
      assert.equal(body.request_id, headers['request-id'], shown);
    } else {
      assert.deepEqual(Object.keys(body), ['error'], shown);
      assert.deepEqual(Object.keys(body.error).sort(), ['code', 'message', 'param'], shown);
      assert.equal(body.error.code, expected.code, shown);
    }
  }

  /** State that a refusal must not change. */
  async function footprint(on: TestGateway) {
    const [sums] = await on.database.query<{
      balance: string;
      reserved: string;
      entries: bigint;
      reservations: bigint;
      calls: bigint;
    }>({
      name: 'test.footprint',
      text: `select (select sum(balance_nano) from balances)::text as balance, (select sum(reserved_nano) from balances)::text as reserved,
  (select count(*) from ledger_entries) as entries, (select count(*) from reservations) as reservations, (select count(*) from calls) as calls`,
    });
    return { ...sums, providerCalls: on.provider.requests.length };
  }

  /** Sends the bytes, expects the refusal, and checks that there were no other effects. */
  async function refuses(
    bytes: Buffer,
    family: Family | 'admin',
    expected: Refusal,
    { on = gateway, method = 'POST' }: { on?: TestGateway; method?: string } = {},
  ): Promise<void> {
    const before = await footprint(on);
    const connection = await openConnection(on.url);
    try {
      connection.write(bytes);
      const response = await connection.response(method);
      assertRefusal(response, family, expected, method);
      if (response.headers.connection === 'close') {
        assert.equal((await connection.closed()).length, 0, 'more bytes came after the response');
      } else {
        connection.write(requestBytes({ method: 'GET', path: '/healthz' }));
        assert.equal((await connection.response('GET')).status, 200, 'the connection cannot be used again');
      }
    } finally {
      connection.destroy();
    }
    assert.deepEqual(await footprint(on), before);
  }

  /** Sends the bytes and expects a success that is charged once. */
  async function accepts(bytes: Buffer, on = gateway): Promise<RawResponse> {
    const before = await footprint(on);
    const connection = await openConnection(on.url);
    try {
      connection.write(bytes);
      const response = await connection.response();
      assert.equal(response.status, 200, response.body.toString());
      const now = await footprint(on);
      assert.equal(now.entries, before.entries! + 1n);
      assert.equal(now.providerCalls, before.providerCalls + 1);
      assert.equal(now.reservations, 0n);
      return response;
    } finally {
      connection.destroy();
    }
  }

  const bearer = (key = account.key) => ['authorization', `Bearer ${key}`] as const;
  const goodHeaders = (): Headers => [bearer(), JSON_TYPE];
  const roomyHeaders = (): Headers => [bearer(roomyAccount.key), JSON_TYPE];

  /** A request with the account's key and a JSON body. */
  function post(path: string, body: Buffer | string, more: Partial<RawRequest> = {}): Buffer {
    return requestBytes({ path, headers: goodHeaders(), body, ...more });
  }

  for (const address of addresses) {
    const { family, path, body } = address;
    const valid = JSON.stringify(body);
    const replaced = (key: string, value: unknown): string => JSON.stringify({ ...body, [key]: value });
    /** The valid body with an additional first member. */
    const joined = (first: string): string => `{${first},${valid.slice(1)}`;

    describe(`${family}: a body`, { timeout: 60_000 }, () => {
      const notJson: readonly (readonly [what: string, body: Buffer | string])[] = [
        ['in UTF-16', Buffer.from(valid, 'utf16le')],
        ['with an overlong UTF-8 form', Buffer.from(valid.replace('Hello', '\u00c0\u00af'), 'latin1')],
        ['with a surrogate in UTF-8', Buffer.from(valid.replace('Hello', '\u00ed\u00a0\u0080'), 'latin1')],
      ];
      for (const [what, bytes] of notJson) {
        test(`${what} is 400`, () => refuses(post(path, bytes), family, invalid()));
      }

      test('that is missing is 400', () => refuses(requestBytes({ path, headers: goodHeaders() }), family, invalid()));

      for (const [what, bytes, param] of [
        [
          'whose max_tokens is too large for a number',
          replaced('max_tokens', 16).replace(':16', ':1e999'),
          'max_tokens',
        ],
        ['with a second model spelled with escapes', joined('"m\\u006fdel":"test-both"'), 'model'],
      ] as const) {
        test(`${what} is 400 and names ${param}`, () => refuses(post(path, bytes), family, invalid(param)));
      }

      test('of a megabyte of nested arrays is 400', () => {
        const nested = joined(`"metadata":${'['.repeat(2 ** 20)}`);
        return refuses(post(path, nested, { headers: roomyHeaders() }), family, invalid(), { on: roomy });
      });
    });

    describe(`${family}: a content type`, { timeout: 60_000 }, () => {
      for (const type of [
        'application/problem+json',
        'application/jsonx',
        'json',
        ';',
        'application/json; charset=latin1',
        'application/json; charset=utf-16',
        'application/json; charset="gb18030"',
      ]) {
        test(`${JSON.stringify(type)} is 415`, () =>
          refuses(post(path, valid, { headers: [bearer(), ['content-type', type]] }), family, wrongType));
      }

      for (const type of [
        'Application/JSON',
        'application/json;charset=utf-8',
        'application/json; charset=UTF-8',
        'application/json ; Charset="utf-8"',
        'application/json; charset=utf8',
        'application/json; profile="x"; charset=utf-8',
        'application/json;',
      ]) {
        test(`${JSON.stringify(type)} is JSON`, async () => {
          await accepts(post(path, valid, { headers: [bearer(), ['content-type', type]] }));
        });
      }
    });

    test(`${family}: a credential of ten thousand letters is 401`, () =>
      refuses(post(path, valid, { headers: [bearer('k'.repeat(10_000)), JSON_TYPE] }), family, badKey));

    describe(`${family}: a model`, { timeout: 60_000 }, () => {
      for (const [what, model, expected] of [
        ['with a name of 10,000 letters', 'm'.repeat(10_000), noModel],
        ['with a non-ASCII name', '模型', noModel],
        ['with control characters in its name', `${body.model}\u001b[31m`, invalid('model')],
        ['with a direction mark in its name', `${body.model}\u202e`, invalid('model')],
        ['named like a prototype property', '__proto__', noModel],
        ['in upper case', String(body.model).toUpperCase(), noModel],
        ['followed by a space', `${body.model} `, noModel],
        ["with its provider's name", 'upstream-chat', noModel],
      ] as const) {
        test(`${what} is ${expected.status} ${expected.code}`, () =>
          refuses(post(path, replaced('model', model)), family, expected));
      }
    });

    describe(`${family}: the size of a body`, { timeout: 60_000 }, () => {
      test('with an announced length over the limit is 413 before any of it is sent', () =>
        refuses(requestBytes({ path, headers: [...goodHeaders(), ['content-length', String(2 ** 40)]] }), family, {
          ...tooLarge,
          headers: { connection: 'close' },
        }));

      test('of unlimited length is 413 as soon as it exceeds the limit', async () => {
        const before = await footprint(gateway);
        const connection = await openConnection(gateway.url);
        connection.write(requestBytes({ path, headers: [...goodHeaders(), ['transfer-encoding', 'chunked']] }));
        const chunk = `2000\r\n${' '.repeat(0x2000)}\r\n`;
        for (let sent = 0; sent <= BODY_BYTES_MAX; sent += 0x2000) connection.write(chunk);
        assertRefusal(await connection.response(), family, { ...tooLarge, headers: { connection: 'close' } });
        await connection.closed();
        assert.deepEqual(await footprint(gateway), before);
      });
    });

    describe(`${family}: an encoded body`, { timeout: 60_000 }, () => {
      const encoded = (encoding: string, bytes: Buffer | string, more: Partial<RawRequest> = {}): Buffer =>
        requestBytes({ path, headers: [...goodHeaders(), ['content-encoding', encoding]], body: bytes, ...more });

      for (const [encoding, bytes] of [
        ['gzip', gzipSync(valid)],
        ['GZIP', gzipSync(valid)],
        ['x-gzip', gzipSync(valid)],
        ['deflate', deflateSync(valid)],
        ['br', brotliCompressSync(valid)],
        ['zstd', zstdCompressSync(valid)],
        ['identity', Buffer.from(valid)],
      ] as const) {
        test(`in ${encoding} reaches the provider decoded`, async () => {
          const plain = await accepts(post(path, valid));
          const expected = gateway.provider.requests.at(-1)!;
          for (const chunkBytes of [undefined, 7]) {
            const response = await accepts(encoded(encoding, bytes, chunkBytes === undefined ? {} : { chunkBytes }));
            assert.deepEqual(response.body, plain.body);
            const received = gateway.provider.requests.at(-1)!;
            assert.equal(received.headers['content-encoding'], undefined);
            assert.deepEqual(received.body, expected.body);
          }
        });
      }

      const wrongSum = gzipSync(valid);
      wrongSum[wrongSum.length - 8]! ^= 1;
      const broken: readonly (readonly [what: string, encoding: string, body: Buffer | string])[] = [
        ['plain JSON declared as gzip', 'gzip', valid],
        ['truncated gzip', 'gzip', gzipSync(valid).subarray(0, -12)],
        ['gzip with a wrong checksum', 'gzip', wrongSum],
        ['empty gzip', 'gzip', ''],
        ['gzip of malformed JSON', 'gzip', gzipSync(valid.slice(1))],
        ['deflate without a zlib header', 'deflate', gzipSync(valid).subarray(10, -8)],
        ['plain JSON declared as br', 'br', valid],
        ['truncated br', 'br', brotliCompressSync(valid).subarray(0, -4)],
        ['plain JSON declared as zstd', 'zstd', valid],
        ['truncated zstd', 'zstd', zstdCompressSync(valid).subarray(0, -4)],
      ];
      for (const [what, encoding, bytes] of broken) {
        test(`${what} is 400`, () => refuses(encoded(encoding, bytes), family, invalid()));
      }

      for (const [encoding, bytes] of bombs) {
        test(`of 4 MiB compressed to a few bytes of ${encoding} is 413`, () =>
          refuses(encoded(encoding, bytes), family, tooLarge));
      }

      for (const encoding of ['lzma', 'compress', 'gzip, gzip', 'gzip, br', '']) {
        test(`in ${JSON.stringify(encoding)} is 415`, () =>
          refuses(encoded(encoding, gzipSync(valid)), family, wrongType));
      }
    });

    describe(`${family}: an address`, { timeout: 60_000 }, () => {
      test('accepts a trailing slash, a doubled leading slash and any query', async () => {
        for (const target of [
          `${path}/`,
          `/${path}`,
          `/${path}/`,
          `${path}?beta=true&model=other`,
          `${path}/?%zz&&=`,
        ]) {
          await accepts(post(target, valid));
        }
      });

      test('refuses a WebSocket immediately with 426', () =>
        refuses(
          requestBytes({
            method: 'GET',
            path,
            headers: [
              bearer(),
              ['connection', 'Upgrade'],
              ['upgrade', 'websocket'],
              ['sec-websocket-version', '13'],
              ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='],
            ],
          }),
          family,
          { status: 426, code: 'invalid_request_error', retry: 'false', headers: { connection: 'close' } },
          { method: 'GET' },
        ));

      test('ignores an offer to upgrade to another HTTP version', async () => {
        const offer = [
          ['connection', 'Upgrade, HTTP2-Settings'],
          ['upgrade', 'h2c'],
          ['http2-settings', 'AAMAAABkAAQAAP__'],
        ] as const;
        await accepts(post(path, valid, { headers: [...goodHeaders(), ...offer] }));
      });

      test('reports the first of two errors: method, credential, type, size, body, model', async () => {
        const notJson = ['content-type', 'text/plain'] as const;
        const huge = ['content-length', String(2 ** 40)] as const;
        await refuses(requestBytes({ method: 'PUT', path, headers: [['content-type', ';']], body: valid }), family, {
          status: 405,
          code: 'method_not_allowed',
          retry: 'false',
        });
        await refuses(requestBytes({ path, headers: [bearer('wrong'), notJson, huge] }), family, badKey);
        await refuses(requestBytes({ path, headers: [bearer('wrong'), ['content-type', ';']] }), family, badKey);
        await refuses(requestBytes({ path, headers: [bearer(), notJson, huge] }), family, wrongType);
        await refuses(post(path, `x${'y'.repeat(BODY_BYTES_MAX)}`), family, tooLarge);
        await refuses(post(path, joined('"model":"no-such-model"')), family, invalid('model'));
        await refuses(
          post(path, replaced('model', 'no-such-model').replace('"messages":[', '"messages":{},"x":[')),
          family,
          invalid('messages'),
        );
      });
    });

    describe(`${family}: an incomplete body`, { timeout: 60_000 }, () => {
      const announced = (headers: Headers, sent = ''): Buffer =>
        Buffer.concat([
          requestBytes({ path, headers: [...headers, ['content-length', String(valid.length)]] }),
          Buffer.from(sent),
        ]);
      const malformed: Refusal = { ...invalid(), headers: { connection: 'close' } };

      test('is 400 when the client closes its side', async () => {
        const before = await footprint(gateway);
        const connection = await openConnection(gateway.url);
        connection.write(announced(goodHeaders(), valid.slice(0, 20)));
        connection.halfClose();
        assertRefusal(await connection.response(), family, malformed);
        await connection.closed();
        assert.deepEqual(await footprint(gateway), before);
      });

      test('in chunks is 400 when the client closes its side', async () => {
        const before = await footprint(gateway);
        const connection = await openConnection(gateway.url);
        connection.write(post(path, valid, { chunkBytes: 10 }).subarray(0, -5));
        connection.halfClose();
        assertRefusal(await connection.response(), family, malformed);
        await connection.closed();
        assert.deepEqual(await footprint(gateway), before);
      });

      test('costs nothing when the client breaks the connection', async () => {
        const before = await footprint(gateway);
        for (const bytes of [announced(goodHeaders()), announced(goodHeaders(), valid.slice(0, 20))]) {
          const connection = await openConnection(gateway.url);
          connection.write(bytes);
          connection.destroy();
        }
        await refuses(post(path, ''), family, invalid());
        assert.deepEqual(await footprint(gateway), before);
      });

      test('is read to its end, however slowly it arrives', async () => {
        const connection = await openConnection(gateway.url);
        connection.write(announced(goodHeaders()));
        for (const letter of valid) {
          connection.write(letter);
          await new Promise((resolve) => setImmediate(resolve));
        }
        assert.equal((await connection.response()).status, 200);
        connection.destroy();
      });

      test('is 408 after a long pause, and the connection is closed', () =>
        refuses(
          requestBytes({ path, headers: [...roomyHeaders(), ['content-length', '100']] }),
          family,
          { status: 408, code: 'invalid_request_error', retry: null, headers: { connection: 'close' } },
          { on: roomy },
        ));

      const expecting = (headers: Headers): Headers => [...headers, ['expect', '100-continue']];
      for (const [what, headers, expected] of [
        ['without a key', () => [JSON_TYPE], badKey],
        ['with another type', () => [bearer(), ['content-type', 'text/plain']], wrongType],
        ['in an unknown encoding', () => [...goodHeaders(), ['content-encoding', 'lzma']], wrongType],
        ['that is too large', () => [...goodHeaders(), ['content-length', '999999']], tooLarge],
      ] as readonly (readonly [string, () => Headers, Refusal])[]) {
        // Whether the body follows cannot be known, so the connection is closed.
        test(`${what} is refused before the body is requested`, () => {
          const request = headers().some(([name]) => name === 'content-length')
            ? requestBytes({ path, headers: expecting(headers()) })
            : announced(expecting(headers()));
          return refuses(request, family, { ...expected, headers: { connection: 'close' } });
        });
      }

      test('is requested if the client waits, and then served', async () => {
        const connection = await openConnection(gateway.url);
        connection.write(announced(expecting(goodHeaders())));
        assert.equal((await connection.response()).status, 100);
        connection.write(valid);
        assert.equal((await connection.response()).status, 200);
        connection.write(post(path, valid));
        assert.equal((await connection.response()).status, 200);
        connection.destroy();
      });

      test('is served if the client expects something unknown', async () => {
        await accepts(post(path, valid, { headers: [...goodHeaders(), ['expect', '200-maybe']] }));
      });
    });

    describe(`${family}: headers`, { timeout: 60_000 }, () => {
      const tooMany: Refusal = {
        status: 431,
        code: 'invalid_request_error',
        retry: 'false',
        headers: { connection: 'close' },
      };
      const padding = (bytes: number): Headers =>
        Array.from({ length: bytes / 1024 }, (_, i) => [`x-metadata-${i}`, 'm'.repeat(1000)] as const);

      test('of 60 KiB are served', async () => {
        await accepts(post(path, valid, { headers: [...goodHeaders(), ...padding(60 * 1024)] }));
      });

      test('of 70 KiB are 431, in the format of the address that the connection called before', async () => {
        const connection = await openConnection(gateway.url);
        connection.write(post(path, valid));
        assert.equal((await connection.response()).status, 200);
        const before = await footprint(gateway);
        connection.write(post(path, valid, { headers: [...goodHeaders(), ...padding(70 * 1024)] }));
        assertRefusal(await connection.response(), family, tooMany);
        await connection.closed();
        assert.deepEqual(await footprint(gateway), before);
      });
    });
  }

  describe('an unknown address', { timeout: 60_000 }, () => {
    for (const [path, family] of [
      ['/v1/nothing', 'chat'],
      ['/v1', 'chat'],
      ['/v1/chat', 'chat'],
      ['/v1/chat/completions/more', 'chat'],
      ['/V1/Chat/Completions', 'chat'],
      ['/v1/chat%2fcompletions', 'chat'],
      ['/v1/messages/more', 'messages'],
      ['/altproto/v1/nothing', 'messages'],
      ['//altproto/v1/nothing?a=b', 'messages'],
      ['/admin/v1/nothing', 'admin'],
    ] as const) {
      test(`${path} is 404 in the ${family} format, whatever the method and the credential`, async () => {
        for (const method of ['GET', 'POST', 'HEAD', 'DELETE', 'OPTIONS', 'PROPFIND']) {
          await refuses(requestBytes({ method, path, headers: [JSON_TYPE], body: '{}' }), family, nowhere, { method });
        }
      });
    }

    test('that cannot be decoded is 400', () =>
      refuses(requestBytes({ method: 'GET', path: `/v1/%zz${'z'.repeat(10_000)}` }), 'chat', invalid(), {
        method: 'GET',
      }));
  });

  describe('bytes that are not HTTP', { timeout: 60_000 }, () => {
    const notHttp: Refusal = { ...invalid(), headers: { connection: 'close' } };
    for (const [what, bytes] of [
      ['noise', Buffer.from(Array.from({ length: 400 }, (_, i) => (i * 197 + 31) % 256))],
      ['a TLS handshake', Buffer.from('16030100f8010000f40303', 'hex')],
      ['an SSH banner', Buffer.from('SSH-2.0-OpenSSH_9.9\r\n')],
      ['the HTTP/2 preface', Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
      ['an unknown method', Buffer.from('BREW /coffee HTTP/1.1\r\nHost: a\r\n\r\n')],
      ['an unknown version', Buffer.from('GET / HTTP/3.0\r\nHost: a\r\n\r\n')],
      ['a request line without an address', Buffer.from('GET\r\n\r\n')],
    ] as const) {
      test(`${what} receives a 400, and the connection is closed`, () => refuses(bytes, 'chat', notHttp));
    }

    test('noise in the middle of a stream closes the connection and is not part of the response', async () => {
      const streaming = await gateway.createAccount();
      const respond = gateway.provider.respond;
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const connection = await openConnection(gateway.url);
      const body = JSON.stringify({ ...addresses[0]!.body, stream: true });
      connection.write(post('/v1/chat/completions', body, { headers: [bearer(streaming.key), JSON_TYPE] }));
      await live.opened;
      const [first] = chatStream(['Hello']);
      await live.write(first!);
      await connection.received(first!);
      connection.write(Buffer.from([0xff, 0xfe, 0x0d, 0x0a, 0x0d, 0x0a]));
      const rest = (await connection.closed()).toString();
      gateway.provider.respond = respond;
      assert.ok(rest.startsWith('HTTP/1.1 200 '), rest);
      assert.equal(rest.split('HTTP/1.1').length, 2, rest);
      await live.closed;
      assert.equal((await streaming.endedCall()).status, 'aborted');
    });

    test('headers of 70 KiB on a new connection are 431', () =>
      refuses(requestBytes({ method: 'GET', path: '/', headers: [['x-metadata', 'm'.repeat(70 * 1024)]] }), 'chat', {
        status: 431,
        code: 'invalid_request_error',
        retry: 'false',
        headers: { connection: 'close' },
      }));

    test('a connection without data does not affect others', async () => {
      const silent = await openConnection(gateway.url);
      await refuses(post('/v1/chat/completions', ''), 'chat', invalid());
      silent.destroy();
    });
  });
});
