import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatResponse } from '../support/provider.ts';
import { openConnection, type RawConnection, type RawResponse, requestBytes } from '../support/raw.ts';
import { callBytes } from '../support/transport.ts';

/** Exact paths of calls are served without the framework, other spellings with it. Clients see no difference. */

const CHAT = '/v1/chat/completions';
const COUNT = '/v1/responses/input_tokens';
const ORIGIN = 'https://app.example';
const HELLO = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };
const JSON_TYPE = ['content-type', 'application/json'] as const;

/** The exact path, and other spellings of it. */
const SPELLINGS: readonly ((path: string) => string)[] = [
  (path) => path,
  (path) => `${path}?api-version=1`,
  (path) => `/${path}`,
  (path) => `${path}/`,
  (path) => path.replace('chat', '%63hat').replace('responses', '%72esponses'),
  (path) => `http://gateway.test${path}`,
];

/** Sends a request to a path. Its responses are compared. */
type Ask = (connection: RawConnection, path: string, account: TestAccount) => Promise<readonly RawResponse[]>;

const once =
  (bytes: (path: string, account: TestAccount) => Buffer): Ask =>
  async (connection, path, account) => {
    connection.write(bytes(path, account));
    return [await connection.response()];
  };

const ASKED: Readonly<Record<string, readonly [status: number, ask: Ask]>> = {
  'a call': [200, once((path, { key }) => callBytes(key, path, HELLO))],
  'a stream': [200, once((path, { key }) => callBytes(key, path, { ...HELLO, stream: true }))],
  'a call of a page of another origin': [
    200,
    once((path, { key }) => callBytes(key, path, HELLO, { headers: [['origin', ORIGIN]] })),
  ],
  'a call in chunks': [200, once((path, { key }) => callBytes(key, path, HELLO, { chunkBytes: 7 }))],
  'a request without a key': [401, once((path) => requestBytes({ path, headers: [JSON_TYPE], body: '{}' }))],
  'a request with a wrong key': [401, once((path) => callBytes('wrong', path, HELLO))],
  'a model that is not there': [404, once((path, { key }) => callBytes(key, path, { ...HELLO, model: 'none' }))],
  'a body of another type': [
    415,
    once((path, { key }) =>
      requestBytes({
        path,
        headers: [
          ['authorization', `Bearer ${key}`],
          ['content-type', 'text/plain'],
        ],
        body: 'x',
      }),
    ),
  ],
  'a body that is not JSON': [400, once((path, { key }) => callBytes(key, path, '{"model":'))],
  'a body that is too large': [
    413,
    once((path, { key }) => callBytes(key, path, '', { headers: [['content-length', '10000000000']] })),
  ],
  'a WebSocket': [
    426,
    once((path) =>
      requestBytes({
        path,
        headers: [
          ['upgrade', 'websocket'],
          ['connection', 'upgrade'],
        ],
      }),
    ),
  ],
  'two hosts': [400, once((path, { key }) => callBytes(key, path, HELLO, { headers: [['Host', 'other.test']] }))],
  'a body that waits for 100 Continue': [
    100,
    async (connection, path, { key }) => {
      const [head, body] = split(callBytes(key, path, HELLO, { headers: [['expect', '100-continue']] }));
      connection.write(head);
      const interim = await connection.response();
      connection.write(body);
      return [interim, await connection.response()];
    },
  ],
  'a body that waits for 100 Continue with a wrong key': [
    401,
    once((path) => split(callBytes('wrong', path, HELLO, { headers: [['expect', '100-continue']] }))[0]),
  ],
  'a call of HTTP/1.0': [
    200,
    once((path, { key }) => Buffer.from(callBytes(key, path, HELLO).toString().replace('HTTP/1.1', 'HTTP/1.0'))),
  ],
  'a repeat of a call': [
    200,
    async (connection, path, { key }) => {
      const bytes = callBytes(key, path, HELLO, { headers: [['idempotency-key', 'once']] });
      // With the first spelling, this is the call itself; the others repeat it.
      connection.write(bytes);
      await connection.response();
      connection.write(bytes);
      return [await connection.response()];
    },
  ],
  'two calls, one sent ahead': [
    200,
    async (connection, path, { key }) => {
      connection.write(Buffer.concat([callBytes(key, path, HELLO), callBytes('wrong', path, HELLO)]));
      return [await connection.response(), await connection.response()];
    },
  ],
};

function split(bytes: Buffer): [head: Buffer, body: Buffer] {
  const end = bytes.indexOf('\r\n\r\n') + 4;
  return [bytes.subarray(0, end), bytes.subarray(end)];
}

/** A response without the parts that always differ. */
function comparable({ status, headers, body }: RawResponse): object {
  const ids = /\b(?:req|call)_[0-9a-z]{26}\b/g;
  const { date, 'x-faregate-available-yuan': available, ...rest } = headers;
  const kept = Object.entries(rest).map(([name, value]) => [name, value.replace(ids, 'ID')]);
  return { status, headers: Object.fromEntries(kept.sort()), body: body.toString().replace(ids, 'ID') };
}

describe('another spelling of the path of a call', { timeout: 120_000 }, () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({ server: `cors: { origins: ["${ORIGIN}"] }` });
    gateway.provider.respond = chatResponse();
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());

  async function assertSame(path: string, status: number, ask: Ask): Promise<void> {
    const [exact, ...others] = SPELLINGS.map((spelling) => spelling(path));
    const expected = await responsesAt(exact!, ask);
    assert.equal(expected[0]!.status, status);
    for (const other of others) {
      assert.deepEqual((await responsesAt(other, ask)).map(comparable), expected.map(comparable), other);
    }
  }

  async function responsesAt(path: string, ask: Ask): Promise<readonly RawResponse[]> {
    const connection = await openConnection(gateway.url);
    try {
      return await ask(connection, path, account);
    } finally {
      connection.destroy();
    }
  }

  for (const [what, [status, ask]] of Object.entries(ASKED)) {
    test(`has the same response: ${what}`, () => assertSame(CHAT, status, ask));
  }

  test('has the same response: an estimate', () =>
    assertSame(
      COUNT,
      200,
      once((path, { key }) => callBytes(key, path, { model: 'test-responses', input: 'Hello' })),
    ));

  test('has the same response: a method that is not allowed', () =>
    assertSame(
      CHAT,
      405,
      once((path) => requestBytes({ method: 'PUT', path })),
    ));
});
