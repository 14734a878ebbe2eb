import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../support/gateway.ts';
import { createPerson, type TestPerson } from '../support/people.ts';
import { openConnection, type RawConnection, type RawResponse, requestBytes, sendRaw } from '../support/raw.ts';

/** Hostile bodies for the admin API and the account API. */

const SIGN_IN = '/account/v1/sessions';
const KIBIBYTE = 1024;

describe('a body for the admin API or the account API', () => {
  let g: TestGateway;
  let owner: TestPerson;
  let ownHeaders: [string, string][];
  const operatorHeaders: [string, string][] = [['authorization', `Bearer ${ADMIN_TOKEN}`]];

  before(async () => {
    // One of several accounts may take 3.5 MiB of the memory.
    g = await startGateway({ server: 'bodyLimit: 1MiB, bodyMemory: 4MiB' });
    const { id: accountId } = await g.createAccount();
    owner = await createPerson(g, { memberships: [{ accountId, role: 'owner' }] });
    ownHeaders = Object.entries(owner.headers);
  });
  after(() => g.stop());

  async function send(path: string, body: string | Buffer, headers: [string, string][] = []): Promise<RawResponse> {
    return await sendRaw(g.url, { path, body, headers: [['content-type', 'application/json'], ...headers] });
  }
  const messageOf = ({ body }: RawResponse): string => JSON.parse(body.toString()).error.message;
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

  it('must be small and not encoded if its sender has not signed in', async () => {
    const large = await send(SIGN_IN, JSON.stringify({ user: 'x'.repeat(16 * KIBIBYTE), password: 'x' }));
    assert.equal(large.status, 413);
    const encoded = await send(SIGN_IN, gzipSync('{"user":"x","password":"x"}'), [['content-encoding', 'gzip']]);
    assert.deepEqual([encoded.status, messageOf(encoded).includes('Content-Encoding')], [415, true]);
    for (const body of [nested(500), `{"a":${nested(8)}}`, `{"a":[${'1,'.repeat(200)}1]}`]) {
      const refused = await send(SIGN_IN, body);
      assert.equal(refused.status, 400);
      assert.match(messageOf(refused), /too large to be read: the (value is nested deeper|text has more) than/);
    }
  });

  it('is checked for its number of values and its depth before it is parsed', async () => {
    const tooMany = `{"name":[${'{},'.repeat(20_000)}{}]}`;
    for (const [path, headers] of [
      ['/account/v1/keys', ownHeaders],
      ['/admin/v1/accounts', operatorHeaders],
    ] as const) {
      for (const body of [tooMany, nested(100_000), gzipSync(nested(500_000))]) {
        const encoding: [string, string][] = typeof body === 'string' ? [] : [['content-encoding', 'gzip']];
        const refused = await send(path, body, [...headers, ...encoding]);
        assert.equal(refused.status, 400);
        assert.match(messageOf(refused), /too large to be read/);
      }
    }
  });

  it('is quoted in errors with at most 200 characters of an unknown member', async () => {
    const name = 'n'.repeat(400 * KIBIBYTE);
    for (const body of [{ [name]: 1 }, { name: 'x', modelLimits: { [name]: { requestsPerMinute: 'x' } } }]) {
      const refused = await send('/account/v1/keys', JSON.stringify(body), ownHeaders);
      assert.equal(refused.status, 400);
      assert.ok(refused.body.length < 2 * KIBIBYTE, `${refused.body.length} bytes`);
    }
    const account = await g.createAccount();
    const bearer: [string, string] = ['authorization', `Bearer ${account.key}`];
    const call = await send('/v1/chat/completions', `{"${name}":1,"${name}":1}`, [bearer]);
    assert.equal(call.status, 400);
    assert.ok(call.body.length < 2 * KIBIBYTE, `${call.body.length} bytes`);
  });

  it('takes memory from the share of its account, so that unfinished ones leave memory for others', async () => {
    const open: RawConnection[] = [];
    const announce = async (path: string, headers: [string, string][]): Promise<number> => {
      const connection = await openConnection(g.url);
      open.push(connection);
      const head: [string, string][] = [
        ['content-type', 'application/json'],
        ['content-length', String(1000 * KIBIBYTE)],
        ['expect', '100-continue'],
      ];
      connection.write(requestBytes({ path, headers: [...head, ...headers] }));
      return (await connection.response()).status;
    };
    try {
      for (let i = 0; i < 3; i++) assert.equal(await announce('/account/v1/keys', ownHeaders), 100);
      assert.equal(await announce('/account/v1/keys', ownHeaders), 503);
      assert.equal((await send('/admin/v1/accounts', '{"name":"other"}', operatorHeaders)).status, 201);
    } finally {
      for (const connection of open) connection.destroy();
    }
  });
});
