import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { RequestReport } from '../../src/requests/request-report.ts';
import { call, startCall } from '../support/client.ts';
import { costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatResponse, chatStream, json, liveResponse } from '../support/provider.ts';
import { openConnection } from '../support/raw.ts';
import { until } from '../support/until.ts';

/** Observers get one report of each request, when its response is closed and its call has ended. */

const CHAT = '/v1/chat/completions';
const chatBody = { model: 'test-chat-latest', messages: [{ role: 'user', content: 'Hello' }] };

describe('reports of requests', () => {
  const reports: RequestReport[] = [];
  let gateway: TestGateway;
  let account: TestAccount;

  before(async () => {
    gateway = await startGateway({
      server: 'trustedProxies: [127.0.0.9], connectionsPerAddress: 20, cors: { origins: ["https://page.example"] }',
      observers: [
        () => {
          throw new Error('an observer that fails');
        },
        // The tests themselves use the admin API.
        (report) => void (report.kind !== 'admin' || report.status === 401 ? reports.push(report) : undefined),
      ],
    });
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());
  beforeEach(() => {
    gateway.provider.respond = chatResponse();
    reports.length = 0;
  });

  async function theReport(): Promise<RequestReport> {
    await until(() => reports.length > 0);
    assert.equal(reports.length, 1);
    return reports[0]!;
  }

  test('of a call: caller, request, usage and charge', async () => {
    const response = await call(gateway.url + CHAT, account.key, chatBody, {
      headers: { 'x-request-id': 'theirs-7', 'x-forwarded-for': '203.0.113.9' },
    });
    assert.equal(response.status, 200);
    const report = await theReport();
    const record = await account.lastCall();
    assert.deepEqual(
      {
        ...pick(report, [
          'kind',
          'end',
          'method',
          'path',
          'operation',
          'context',
          'callId',
          'isAdmitted',
          'modelAsked',
        ]),
        ...pick(report, ['model', 'isStream', 'status', 'errorCode', 'clientRequestId', 'clientAddress']),
        accountId: report.principal?.accountId,
        keyId: report.principal?.keyId,
        keyPrefix: report.principal?.keyPrefix,
        provider: report.outcome?.provider,
        chargeNano: report.outcome?.chargeNano,
      },
      {
        kind: 'call',
        end: 'succeeded',
        method: 'POST',
        path: CHAT,
        operation: 'chat',
        context: 'balance',
        accountId: account.id,
        keyId: account.keyId,
        keyPrefix: `${account.key.slice(0, 10)}…`,
        callId: record.id,
        isAdmitted: true,
        modelAsked: 'test-chat-latest',
        model: 'test-chat',
        provider: 'chatty',
        isStream: false,
        status: 200,
        errorCode: null,
        chargeNano: costNano({ input: 11, output: 7 }),
        clientRequestId: 'theirs-7',
        // The peer is not a trusted proxy, so its header is ignored.
        clientAddress: '127.0.0.1',
      },
    );
    assert.equal(report.outcome?.usage?.inputTokens, 11);
    assert.equal(report.outcome?.usage?.source, 'observed');
    assert.ok(report.durationMs > 0 && report.chunks > 0 && report.outcome?.firstByteMs !== null);
  });

  test('of a call whose client disconnected: complete when the call has ended, with its charge', async () => {
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const started = startCall(gateway.url + CHAT, account.key, { ...chatBody, stream: true });
    const [first] = chatStream(['Hello', 'there']);
    await live.opened;
    await live.write(first!);
    await (await started.response).until('data:');
    started.drop();
    const report = await theReport();
    assert.equal(report.end, 'aborted');
    assert.equal(report.status, 200);
    assert.equal(report.isStream, true);
    assert.equal(report.outcome?.usage?.source, 'estimated');
    assert.equal(report.callId, (await account.endedCall()).id);
  });

  test("of a refused call: the client's error, and what was known by then", async () => {
    await call(gateway.url + CHAT, account.key, { ...chatBody, model: 'nothing-like-it' });
    const report = await theReport();
    assert.deepEqual(pick(report, ['end', 'status', 'errorCode', 'errorParam', 'isAdmitted', 'callId', 'model']), {
      end: 'refused',
      status: 404,
      errorCode: 'model_not_found',
      errorParam: 'model',
      isAdmitted: false,
      callId: null,
      model: null,
    });
    assert.equal(report.modelAsked, 'nothing-like-it');
    assert.equal(report.principal?.accountId, account.id);
    assert.equal(report.outcome, null);
  });

  test('of a call that its provider refused: failed, because it was admitted', async () => {
    gateway.provider.respond = json(400, { error: { message: 'No.' } });
    await call(gateway.url + CHAT, account.key, chatBody);
    const report = await theReport();
    assert.deepEqual(pick(report, ['end', 'status', 'isAdmitted']), { end: 'failed', status: 400, isAdmitted: true });
    assert.deepEqual([report.outcome?.chargeNano, report.outcome?.provider], [null, 'chatty']);
  });

  test('of a repeat: repeated, without a charge', async () => {
    const headers = { 'idempotency-key': 'once' };
    await call(gateway.url + CHAT, account.key, chatBody, { headers });
    await call(gateway.url + CHAT, account.key, chatBody, { headers });
    await until(() => reports.length === 2);
    const repeated = reports.map(({ end, outcome }) => [end, outcome === null]);
    assert.deepEqual(repeated, [
      ['succeeded', false],
      ['repeated', true],
    ]);
  });

  test('of requests that are not calls', async () => {
    const key = { authorization: `Bearer ${account.key}` };
    const page = { origin: 'https://page.example', 'access-control-request-method': 'POST' };
    for (const [method, path, headers, expected] of [
      ['GET', '/v1/models/test-chat?x=secret', key, ['query', 'succeeded', '/v1/models/:model', 'models.read', 200]],
      ['GET', '/v1/user/balance', {}, ['query', 'refused', '/v1/user/balance', 'balance', 401]],
      ['GET', '/nowhere/secret', {}, ['unknown', 'refused', null, null, 404]],
      ['PUT', CHAT, {}, ['unknown', 'refused', CHAT, null, 405]],
      ['GET', '/%zz', {}, ['unknown', 'refused', null, null, 400]],
      ['GET', '/healthz', {}, ['health', 'succeeded', '/healthz', null, 200]],
      ['GET', '/admin/v1/accounts/none', {}, ['admin', 'refused', '/admin/v1/accounts/:id', null, 401]],
      ['OPTIONS', CHAT, page, ['preflight', 'succeeded', null, null, 204]],
    ] as const) {
      reports.length = 0;
      await (await fetch(gateway.url + path, { method, headers: { ...headers } })).arrayBuffer();
      const { kind, end, path: pattern, operation, status } = await theReport();
      assert.deepEqual([kind, end, pattern, operation, status], expected, `${method} ${path}`);
    }
  });

  test('of a revoked key: with the account and key', async () => {
    const key = await gateway.admin('POST', `/accounts/${account.id}/keys`, { name: 'gone' });
    await gateway.admin('DELETE', `/keys/${key.body.id}`);
    reports.length = 0;
    await call(gateway.url + CHAT, key.body.key, chatBody);
    const report = await theReport();
    assert.deepEqual(pick(report, ['end', 'status']), { end: 'refused', status: 401 });
    assert.deepEqual([report.principal?.accountId, report.principal?.keyId], [account.id, key.body.id]);
  });

  test('of bytes that are not HTTP, and of connections above the limit', async () => {
    const broken = await openConnection(gateway.url);
    broken.write('NOT HTTP AT ALL\r\n\r\n');
    await broken.closed();
    const { kind, end, method, status, errorCode, clientAddress } = await theReport();
    assert.deepEqual(
      [kind, end, method, status, errorCode, clientAddress],
      ['unknown', 'refused', null, 400, 'invalid_request_error', '127.0.0.1'],
    );

    reports.length = 0;
    const many = await Promise.all(
      Array.from({ length: 21 }, () => openConnection(gateway.url, { localAddress: '127.0.0.3' }).catch(() => null)),
    );
    const refused = await theReport();
    for (const one of many) one?.destroy();
    assert.deepEqual(pick(refused, ['kind', 'end', 'status', 'clientAddress']), {
      kind: 'connection',
      end: 'refused',
      status: null,
      clientAddress: '127.0.0.3',
    });
  });

  test('of a request with an incomplete body: one, with its response', async () => {
    const head = `POST ${CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: application/json\r\n`;
    const broken = await openConnection(gateway.url);
    broken.write(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nno length\r\n`);
    const response = await broken.response();
    await broken.closed();
    const cut = await openConnection(gateway.url);
    cut.write(`${head}Content-Length: 100\r\n\r\nhello`);
    cut.halfClose();
    await cut.closed();
    await until(() => reports.length >= 2);
    await (await fetch(`${gateway.url}/healthz`)).arrayBuffer();
    await until(() => reports.at(-1)!.kind === 'health');
    assert.deepEqual(
      reports.slice(0, -1).map((report) => ({
        ...pick(report, ['kind', 'end', 'status', 'errorCode', 'path']),
        accountId: report.principal?.accountId,
      })),
      Array.from({ length: 2 }, () => ({
        kind: 'call',
        end: 'refused',
        status: 400,
        errorCode: 'invalid_request_error',
        accountId: account.id,
        path: CHAT,
      })),
    );
    assert.equal(response.headers['x-request-id'], reports[0]!.requestId);
  });

  test("behind a trusted proxy, the address is the client's", async () => {
    const proxied = await openConnection(gateway.url, { localAddress: '127.0.0.9' });
    proxied.write('GET /healthz HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 10.1.1.1, 2001:db8::7\r\n\r\n');
    await proxied.response();
    assert.equal((await theReport()).clientAddress, '2001:db8::7');
    proxied.destroy();
  });

  test('a client’s own id longer than 128 characters, or with a space, is dropped', async () => {
    for (const [headers, kept] of [
      [{ 'x-request-id': 'x'.repeat(128) }, 'x'.repeat(128)],
      [{ 'x-request-id': 'x'.repeat(129) }, null],
      [{ 'x-request-id': 'a b' }, null],
      [{ 'x-request-id': 'a b', 'x-client-request-id': 'c' }, 'c'],
    ] as const) {
      reports.length = 0;
      await (await fetch(`${gateway.url}/healthz`, { headers: { ...headers } })).arrayBuffer();
      assert.equal((await theReport()).clientRequestId, kept);
    }
  });
});

function pick<Key extends keyof RequestReport>(report: RequestReport, keys: readonly Key[]): Pick<RequestReport, Key> {
  return Object.fromEntries(keys.map((key) => [key, report[key]])) as Pick<RequestReport, Key>;
}
