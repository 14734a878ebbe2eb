import assert from 'node:assert/strict';
import { type AddressInfo, connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatResponse, messagesResponse } from '../support/provider.ts';
import { openConnection, type RawResponse, requestBytes } from '../support/raw.ts';
import { callBytes, startServer } from '../support/transport.ts';

/**
 * Requests that two readers could understand differently, and requests hidden in others (request smuggling). Each gets an error in the
 * envelope, or its connection is closed; a hidden request never runs.
 */

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const bodies = {
  [CHAT]: { model: 'test-both', messages: [{ role: 'user', content: 'Hello' }] },
  [MESSAGES]: { model: 'test-both', max_tokens: 16, messages: [{ role: 'user', content: 'Hello' }] },
} as const;
const CHAT_COST = costNano({ input: 11, output: 7 });
const COSTS = { [CHAT]: CHAT_COST, [MESSAGES]: costNano({ input: 12, output: 8 }) } as const;

let gateway: TestGateway;
let account: TestAccount;

describe('framing', () => {
  before(async () => {
    gateway = await startGateway();
    gateway.provider.respond = (request, response) =>
      (request.path.endsWith('/messages') ? messagesResponse() : chatResponse())(request, response);
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());

  /** All bytes that arrive until the gateway closes the connection. */
  async function allThatComes(bytes: Buffer): Promise<string> {
    const connection = await openConnection(gateway.url);
    connection.write(bytes);
    return (await connection.closed()).toString('latin1');
  }

  interface Status {
    readonly calls: number;
    readonly balanceNano: bigint;
  }

  async function state(): Promise<Status> {
    const { balanceNano } = await account.money();
    return { calls: gateway.provider.requests.length, balanceNano };
  }

  async function assertCarriedOut(calls: number, before: Status, costEach = CHAT_COST): Promise<void> {
    assert.equal(gateway.provider.requests.length, before.calls + calls);
    const balanceNano = before.balanceNano - BigInt(calls) * costEach;
    assert.deepEqual(await account.money(), { balanceNano, heldNano: 0n });
  }

  function assertRefusal(received: RawResponse, status: number, isMessages = false): void {
    const shown = `${received.status} ${JSON.stringify(received.headers)} ${received.body}`;
    assert.equal(received.status, status, shown);
    assert.equal(received.headers['x-error-code'], 'invalid_request_error', shown);
    assert.equal(received.headers.connection, 'close', shown);
    const body = JSON.parse(received.body.toString());
    assert.equal(body.error.type, 'invalid_request_error', shown);
    assert.equal(body.type, isMessages ? 'error' : undefined, shown);
  }

  /** Expects one refusal with `close`, a closed connection, and no call. */
  async function refuses(bytes: Buffer, { status = 400, isMessages = false } = {}): Promise<void> {
    const before = await state();
    const connection = await openConnection(gateway.url);
    try {
      connection.write(bytes);
      assertRefusal(await connection.response(), status, isMessages);
      assert.equal((await connection.closed()).toString('latin1'), '', 'more came behind the response');
    } finally {
      connection.destroy();
    }
    await assertCarriedOut(0, before);
  }

  for (const path of [CHAT, MESSAGES] as const) {
    const isMessages = path === MESSAGES;
    const body = JSON.stringify(bodies[path]);
    const hidden = (): Buffer => callBytes(account.key, path, body);
    /** A call with these header lines instead of its usual framing, followed by these bytes. */
    const withLines = (lines: readonly string[], rest: Buffer | string, version = '1.1'): Buffer =>
      Buffer.concat([
        Buffer.from(
          [
            `POST ${path} HTTP/${version}`,
            'Host: gateway.test',
            `Authorization: Bearer ${account.key}`,
            'Content-Type: application/json',
            ...lines,
            '',
            '',
          ].join('\r\n'),
          'latin1',
        ),
        Buffer.from(rest),
      ]);
    const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const length = `Content-Length: ${body.length}`;
    const CHUNKED = 'Transfer-Encoding: chunked';

    describe(`${isMessages ? 'messages' : 'chat'}: a request that hides another one`, { timeout: 60_000 }, () => {
      const ambiguous: readonly (readonly [what: string, bytes: () => Buffer])[] = [
        [
          'behind a length and chunks',
          () => withLines([length, CHUNKED], Buffer.concat([Buffer.from('0\r\n\r\n'), hidden()])),
        ],
        [
          'behind chunks and a length',
          () => withLines([CHUNKED, length], Buffer.concat([Buffer.from('0\r\n\r\n'), hidden()])),
        ],
        [
          'behind two lengths',
          () => withLines(['Content-Length: 0', length], Buffer.concat([Buffer.from(body), hidden()])),
        ],
        ['behind two equal lengths', () => withLines([length, length], Buffer.concat([Buffer.from(body), hidden()]))],
        [
          'behind a list of lengths',
          () =>
            withLines([`Content-Length: ${body.length}, ${body.length}`], Buffer.concat([Buffer.from(body), hidden()])),
        ],
        [
          'behind a signed length',
          () => withLines([`Content-Length: +${body.length}`], Buffer.concat([Buffer.from(body), hidden()])),
        ],
        [
          'behind a hexadecimal length',
          () => withLines(['Content-Length: 0x10'], Buffer.concat([Buffer.from(body), hidden()])),
        ],
        ['behind a length too large for a number', () => withLines(['Content-Length: 18446744073709551617'], hidden())],
        [
          'behind an unknown transfer coding that ends like a known one',
          () => withLines(['Transfer-Encoding: xchunked'], Buffer.concat([Buffer.from(chunked), hidden()])),
        ],
        [
          'behind a transfer coding before chunks',
          () => withLines(['Transfer-Encoding: gzip, chunked'], Buffer.concat([Buffer.from(chunked), hidden()])),
        ],
        [
          'behind a transfer coding after chunks',
          () => withLines(['Transfer-Encoding: chunked, identity'], Buffer.concat([Buffer.from(chunked), hidden()])),
        ],
        [
          'behind two lines of transfer codings',
          () => withLines([CHUNKED, 'Transfer-Encoding: identity'], Buffer.concat([Buffer.from(chunked), hidden()])),
        ],
        ['behind chunks twice', () => withLines([CHUNKED, CHUNKED], Buffer.concat([Buffer.from(chunked), hidden()]))],
        [
          'behind a transfer coding with a control character',
          () => withLines(['Transfer-Encoding:\u000bchunked'], Buffer.concat([Buffer.from(chunked), hidden()])),
        ],
        [
          'behind a space before the colon',
          () => withLines(['Transfer-Encoding : chunked', length], Buffer.concat([Buffer.from(chunked), hidden()])),
        ],
        [
          'behind a folded line',
          () => withLines(['X-Folded: a', ` ${CHUNKED}`, length], Buffer.concat([Buffer.from(body), hidden()])),
        ],
        [
          'behind chunks in HTTP/1.0',
          () => withLines([CHUNKED, 'Connection: keep-alive'], Buffer.concat([Buffer.from(chunked), hidden()]), '1.0'),
        ],
        [
          'behind a second Host',
          () => withLines(['Host: other.test', length], Buffer.concat([Buffer.from(body), hidden()])),
        ],
        [
          'behind a bare line feed in the head',
          () => withLines([`X-Test: a\n${CHUNKED}`, length], Buffer.concat([Buffer.from(body), hidden()])),
        ],
        [
          'behind a bare carriage return in the head',
          () => withLines([`X-Test: a\r${CHUNKED}`, length], Buffer.concat([Buffer.from(body), hidden()])),
        ],
        [
          'behind a chunk whose size is signed',
          () => withLines([CHUNKED], Buffer.concat([Buffer.from(`-${chunked}`), hidden()])),
        ],
        [
          'behind a chunk whose size has a prefix',
          () => withLines([CHUNKED], Buffer.concat([Buffer.from(`0x${chunked}`), hidden()])),
        ],
        [
          'behind a chunk whose size is too large for a number',
          () => withLines([CHUNKED], Buffer.concat([Buffer.from(`f${'0'.repeat(16)}${chunked}`), hidden()])),
        ],
        [
          'behind a chunk longer than it says',
          () =>
            withLines([CHUNKED], Buffer.concat([Buffer.from(chunked.replace('\r\n0\r\n', 'x\r\n0\r\n')), hidden()])),
        ],
        [
          'behind chunks that end their lines with a line feed alone',
          () => withLines([CHUNKED], Buffer.concat([Buffer.from(chunked.replaceAll('\r\n', '\n')), hidden()])),
        ],
        [
          'behind a chunk extension with a line feed in it',
          () => withLines([CHUNKED], Buffer.concat([Buffer.from(chunked.replace('\r\n', ';a=\nb\r\n')), hidden()])),
        ],
        [
          'behind chunk extensions without end',
          () =>
            withLines(
              [CHUNKED],
              Buffer.concat([Buffer.from(`${body.length.toString(16)};${'e'.repeat(40_000)}\r\n`), hidden()]),
            ),
        ],
      ];
      for (const [what, bytes] of ambiguous) {
        test(`${what} is 400, and neither runs`, () => refuses(bytes(), { isMessages }));
      }

      test('in its own body: the first one runs and not the second', async () => {
        const before = await state();
        const text = JSON.stringify({ ...bodies[path], user: `\r\n\r\n${hidden()}` });
        const connection = await openConnection(gateway.url);
        connection.write(callBytes(account.key, path, text));
        assert.equal((await connection.response()).status, 200);
        connection.write(requestBytes({ method: 'GET', path: '/healthz' }));
        assert.deepEqual(JSON.parse((await connection.response('GET')).body.toString()), { status: 'ok' });
        connection.destroy();
        await assertCarriedOut(1, before, COSTS[path]);
      });

      test('in the body of a request with a method that has none: it does not run', async () => {
        const before = await state();
        for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE']) {
          const connection = await openConnection(gateway.url);
          connection.write(requestBytes({ method, path: '/healthz', body: hidden() }));
          const status = (await connection.response(method)).status;
          assert.equal(status, method === 'GET' || method === 'HEAD' ? 200 : 404);
          connection.write(requestBytes({ method: 'GET', path: '/healthz' }));
          assert.equal((await connection.response('GET')).status, 200);
          connection.destroy();
        }
        await assertCarriedOut(0, before);
      });

      test('after a refused body whose rest is not read: it does not run', async () => {
        const before = await state();
        for (const [line, begin] of [
          ['Content-Length: 1073741824', ''],
          [CHUNKED, '40000000\r\n'],
        ]) {
          const text = requestBytes({ path, headers: [['content-type', 'application/json']] })
            .toString()
            .replace('\r\n\r\n', `\r\n${line}\r\n\r\n`);
          const responses = await allThatComes(Buffer.concat([Buffer.from(text + begin), hidden()]));
          assert.equal(responses.split('HTTP/1.1 ').length, 2, responses);
          assert.match(responses, /^HTTP\/1\.1 401 /);
        }
        await assertCarriedOut(0, before);
      });

      const accepted: readonly (readonly [what: string, bytes: () => Buffer])[] = [
        ['with chunk extensions', () => withLines([CHUNKED], chunked.replace('\r\n', ';name=value;quoted="a b"\r\n'))],
        ['with CHUNKED in capitals', () => withLines(['TRANSFER-ENCODING: CHUNKED'], chunked)],
        ['behind an empty line', () => Buffer.concat([Buffer.from('\r\n'), hidden()])],
        [
          'with an address in absolute form',
          () => Buffer.from(hidden().toString().replace(path, `http://gateway.test${path}`)),
        ],
        [
          'of HTTP/1.0 without Host',
          () => Buffer.from(hidden().toString().replace('HTTP/1.1\r\nHost: gateway.test', 'HTTP/1.0')),
        ],
      ];
      for (const [what, bytes] of accepted) {
        test(`${what} hides nothing: it is served once`, async () => {
          const before = await state();
          const connection = await openConnection(gateway.url);
          connection.write(bytes());
          const received = await connection.response();
          assert.equal(received.status, 200, received.body.toString());
          connection.destroy();
          assert.deepEqual(JSON.parse(gateway.provider.requests.at(-1)!.body.toString()), bodies[path]);
          await assertCarriedOut(1, before, COSTS[path]);
        });
      }

      test('trailers are not headers: a credential or a version in them is ignored', async () => {
        const before = await state();
        const trailed = (trailers: string): string => chunked.replace(/\r\n\r\n$/, `\r\n${trailers}\r\n\r\n`);
        const connection = await openConnection(gateway.url);
        connection.write(
          Buffer.concat([
            withLines(
              [CHUNKED, 'Trailer: Authorization'],
              trailed(`Authorization: Bearer other\r\naltproto-version: 1999-01-01\r\nX-Sum: 1`),
            ),
            hidden(),
          ]),
        );
        for (let i = 0; i < 2; i++) assert.equal((await connection.response()).status, 200);
        const { headers } = gateway.provider.requests.at(-2)!;
        assert.deepEqual(headers, gateway.provider.requests.at(-1)!.headers);
        connection.destroy();

        const keyless = withLines([CHUNKED], trailed(`Authorization: Bearer ${account.key}`)).toString();
        const other = await openConnection(gateway.url);
        other.write(keyless.replace(/Authorization: [^\r]*\r\n/, ''));
        assert.equal((await other.response()).status, 401);
        other.destroy();
        await assertCarriedOut(2, before, COSTS[path]);
      });

      test("the provider's trailers are not passed on, and do not affect the response or the charge", async () => {
        const before = await state();
        const received = gateway.provider.respond;
        gateway.provider.respond = (request, response) => {
          response.setHeader('Trailer', 'X-Secret, X-Request-Id');
          const end = response.end.bind(response);
          response.end = ((...given: Parameters<typeof end>) => {
            response.addTrailers({ 'X-Secret': 'provider.example', 'X-Request-Id': 'trailed' });
            return end(...given);
          }) as typeof response.end;
          response.setHeader('transfer-encoding', 'chunked');
          return received(request, response);
        };
        for (const stream of [false, true]) {
          const request = { ...bodies[path], stream };
          const comes = await allThatComes(
            callBytes(account.key, path, request, { headers: [['connection', 'close']] }),
          );
          assert.match(comes, /^HTTP\/1\.1 200 /);
          assert.doesNotMatch(comes, /provider\.example|trailed|trailer/i);
        }
        gateway.provider.respond = received;
        await assertCarriedOut(2, before, COSTS[path]);
      });
    });
  }

  describe('a request with an unusual target', { timeout: 60_000 }, () => {
    const get = (target: string, more = ''): Buffer =>
      Buffer.from(`GET ${target} HTTP/1.1\r\nHost: gateway.test\r\n${more}\r\n`, 'latin1');

    test('in absolute form reaches its address', async () => {
      const connection = await openConnection(gateway.url);
      for (const origin of ['http://gateway.test', 'https://other.test:8443', 'HTTP://GATEWAY.TEST']) {
        connection.write(get(`${origin}/healthz`));
        const received = await connection.response('GET');
        assert.equal(received.status, 200, `${origin}: ${received.body}`);
      }
      connection.write(get('http://gateway.test/v1/user/balance', `Authorization: Bearer ${account.key}\r\n`));
      assert.equal((await connection.response('GET')).status, 200);
      connection.destroy();
    });

    test('in absolute form with an unknown address is 404 in the envelope of its path', async () => {
      const connection = await openConnection(gateway.url);
      for (const [target, isMessages] of [
        ['http://gateway.test/v1/nothing', false],
        ['http://gateway.test/v1/messages/nothing', true],
        ['http://gateway.test', null],
        ['ftp://gateway.test/healthz', null],
      ] as const) {
        connection.write(get(target));
        const received = await connection.response('GET');
        if (isMessages === null) assert.ok([200, 400, 404].includes(received.status), `${target}: ${received.status}`);
        else assert.equal(received.status, 404);
        const { type } = JSON.parse(received.body.toString());
        if (isMessages !== null) assert.equal(type, isMessages ? 'error' : undefined, target);
      }
      connection.destroy();
    });

    test('in the form * gets a response, and the connection stays open', async () => {
      const connection = await openConnection(gateway.url);
      connection.write(requestBytes({ method: 'OPTIONS', path: '*' }));
      assert.equal((await connection.response('OPTIONS')).status, 404);
      connection.write(get('/healthz'));
      assert.equal((await connection.response('GET')).status, 200);
      connection.destroy();
    });

    for (const [what, bytes] of [
      ['as an authority', 'GET gateway.test:80 HTTP/1.1\r\nHost: gateway.test\r\n\r\n'],
      ['as in HTTP/0.9', 'GET /healthz\r\n\r\n'],
      ['as in HTTP/2 without a preface', 'GET /healthz HTTP/2.0\r\nHost: gateway.test\r\n\r\n'],
      ['with a zero byte', 'GET /health\0z HTTP/1.1\r\nHost: gateway.test\r\n\r\n'],
      ['with a tab', 'GET\t/healthz HTTP/1.1\r\nHost: gateway.test\r\n\r\n'],
      ['with a line feed alone behind the first line', 'GET /healthz HTTP/1.1\nHost: gateway.test\r\n\r\n'],
    ] as const) {
      test(`${what} is 400 and closes the connection`, () => refuses(Buffer.from(bytes, 'latin1')));
    }

    test('for a tunnel is closed', async () => {
      assert.equal(
        await allThatComes(Buffer.from('CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n')),
        '',
      );
    });
  });

  describe('headers', { timeout: 60_000 }, () => {
    const body = JSON.stringify(bodies[CHAT]);
    const lines = (count: number) => Array.from({ length: count }, (_, i) => [`x-${i}`, '1'] as const);

    test('of 1,900 lines are read to the last one', async () => {
      const before = await state();
      const connection = await openConnection(gateway.url);
      connection.write(
        requestBytes({
          path: CHAT,
          headers: [...lines(1900), ['content-type', 'application/json'], ['authorization', `Bearer ${account.key}`]],
          body,
        }),
      );
      assert.equal((await connection.response()).status, 200);
      connection.destroy();
      await assertCarriedOut(1, before);
    });

    test('of more than 2,000 lines are 431', async () => {
      for (const count of [2000, 5000])
        await refuses(callBytes(account.key, CHAT, body, { headers: lines(count) }), { status: 431 });
    });

    test('with bytes beyond ASCII reach the provider unchanged, if they are passed on', async () => {
      const before = await state();
      const beta = Buffer.from('gr\u00fc\u00dfe-\u4f60\u597d', 'utf8').toString('latin1');
      const connection = await openConnection(gateway.url);
      const headers = [
        ['altproto-beta', beta],
        ['x-note', beta],
        ['user-agent', beta],
      ] as const;
      connection.write(callBytes(account.key, MESSAGES, bodies[MESSAGES], { headers }));
      const received = await connection.response();
      assert.equal(received.status, 200, received.body.toString());
      connection.destroy();
      const sent = gateway.provider.requests.at(-1)!.headers;
      assert.equal(sent['anthropic-beta'], beta);
      assert.equal(sent['x-note'], undefined);
      await assertCarriedOut(1, before, COSTS[MESSAGES]);
    });

    test('with a zero byte, a bare carriage return or a delete character in a value are 400', async () => {
      for (const value of ['a\0b', 'a\rb', 'a\u007fb']) {
        await refuses(callBytes(account.key, CHAT, body, { headers: [['altproto-beta', value]] }));
      }
    });

    test('with the credential twice are accepted if both are equal, in any case of their names', async () => {
      const before = await state();
      const twice = (other: string) =>
        callBytes(account.key, CHAT, body, { headers: [['AUTHORIZATION', `bearer ${other}`]] });
      const connection = await openConnection(gateway.url);
      connection.write(twice(account.key));
      assert.equal((await connection.response()).status, 200);
      connection.write(twice('other'));
      assert.equal((await connection.response()).status, 401);
      connection.destroy();
      await assertCarriedOut(1, before);
    });
  });

  describe('a server with several addresses', { timeout: 60_000 }, () => {
    test('sends errors for broken requests at each of them', async () => {
      const server = await startServer({}, undefined, 'localhost');
      try {
        const addresses = server.app.addresses() as AddressInfo[];
        assert.ok(addresses.length > 0);
        for (const { address, port } of addresses) {
          const socket = connect(port, address, () => socket.write('GET\r\n\r\n'));
          const parts: Buffer[] = [];
          for await (const part of socket) parts.push(part);
          assert.match(
            Buffer.concat(parts).toString(),
            /^HTTP\/1\.1 400 .*"code":"invalid_request_error"\}\}$/s,
            address,
          );
        }
      } finally {
        await server.close();
      }
    });
  });

  describe('a connection without a complete request', { timeout: 60_000 }, () => {
    test('does no harm if it is reset in the middle of a head', async () => {
      const before = await state();
      const { hostname, port } = new URL(gateway.url);
      const seen = new Promise<void>((resolve) => {
        gateway.gateway.app.server.once('connection', (socket) => socket.once('close', () => resolve()));
      });
      const socket = connect(Number(port), hostname, () => {
        socket.write(callBytes(account.key, CHAT, bodies[CHAT]).subarray(0, 40), () => socket.resetAndDestroy());
      });
      await seen;
      await assertCarriedOut(0, before);
    });
  });
});
