import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { call } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway, testConfigText } from '../support/gateway.ts';
import { chatResponse, json } from '../support/provider.ts';
import { type LoggedLine, recordLogs } from '../support/recorded-logger.ts';
import { until } from '../support/until.ts';

/** Log lines of requests, failing providers, and operators' changes (docs/logging.md). */

const CHAT = '/v1/chat/completions';
const chatBody = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };

describe('the log', () => {
  const logs = recordLogs();
  const options = { routing: '{ breaker: { failures: 2, probeAfter: 1ms } }' };
  let gateway: TestGateway;
  let account: TestAccount;

  before(async () => {
    gateway = await startGateway({ ...options, logger: logs.logger });
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());
  beforeEach(() => {
    gateway.provider.respond = chatResponse();
    logs.lines.length = 0;
  });

  const linesOf = (message: string | RegExp): LoggedLine[] =>
    logs.lines.filter((line) => (typeof message === 'string' ? line.message === message : message.test(line.message)));

  async function theLine(message: string | RegExp): Promise<LoggedLine> {
    await until(() => linesOf(message).length > 0);
    assert.equal(linesOf(message).length, 1, JSON.stringify(linesOf(message)));
    return linesOf(message)[0]!;
  }

  function reload(requests: string): void {
    const text = `${testConfigText(gateway.provider.url, options)}\nlog: { requests: ${requests} }`;
    gateway.gateway.reload(parseConfig(text, 'test.yaml', {}));
  }

  test('has one line for a call, with usage and charge, and without unknown values', async () => {
    await call(gateway.url + CHAT, account.key, chatBody, { headers: { 'x-client-request-id': 'mine' } });
    const { level, details } = await theLine('request');
    const record = await account.lastCall();
    const { requestId, durationMs, firstByteMs, ...rest } = JSON.parse(JSON.stringify(details));
    assert.equal(level, 'info');
    assert.match(requestId, /^req_/);
    assert.ok(Number.isInteger(durationMs) && Number.isInteger(firstByteMs));
    assert.deepEqual(rest, {
      clientRequestId: 'mine',
      callId: record.id,
      accountId: account.id,
      keyId: account.keyId,
      keyPrefix: account.key.slice(0, 10),
      clientAddress: '127.0.0.1',
      method: 'POST',
      path: CHAT,
      operation: 'chat',
      context: 'balance',
      model: 'test-chat',
      provider: 'chatty',
      providerModel: 'upstream-chat',
      end: 'succeeded',
      status: 200,
      inputTokens: 11,
      outputTokens: 7,
      usage: 'observed',
      chargeYuan: record.chargeYuan,
      chunks: 1,
    });
  });

  test('has the refused request, shortened, and the reason', async () => {
    await call(gateway.url + CHAT, account.key, { ...chatBody, model: 'm'.repeat(300) });
    const { details } = (await theLine('request')) as { details: Record<string, unknown> };
    assert.deepEqual(
      [details.end, details.status, details.code, details.param],
      ['refused', 404, 'model_not_found', 'model'],
    );
    assert.equal(details.modelAsked, `${'m'.repeat(200)}…`);
  });

  test('has no key, even if a client sends it in the wrong place', async () => {
    await call(gateway.url + CHAT, account.key, { ...chatBody, model: account.key });
    await until(() => linesOf('request').length > 0);
    const [line] = linesOf('request');
    assert.deepEqual(
      [line!.details.modelAsked, line!.details.reason],
      ['[key]', 'The model "[key]" does not exist, or you do not have access to it.'],
    );
  });

  test('has the requests that the current configuration selects', async () => {
    const health = () => fetch(`${gateway.url}/healthz`);
    const refused = () => call(gateway.url + CHAT, account.key, { ...chatBody, model: 'none' });
    try {
      for (const [mode, ends] of [
        ['refused', ['refused']],
        ['none', []],
        ['all', ['succeeded', 'refused', 'succeeded']],
      ] as const) {
        reload(mode);
        logs.lines.length = 0;
        await call(gateway.url + CHAT, account.key, chatBody);
        await refused();
        await health();
        reload('all');
        // Reports arrive in the order in which responses are closed.
        await call(gateway.url + CHAT, account.key, chatBody);
        const wanted = mode === 'all' ? ends : [...ends, 'succeeded'];
        await until(() => linesOf('request').length >= wanted.length);
        assert.deepEqual(
          linesOf('request').map(({ details }) => details.end),
          wanted,
          mode,
        );
      }
    } finally {
      reload('all');
    }
  });

  test('has a provider’s failure in one line, without a stack trace', async () => {
    gateway.provider.respond = (_request, response) => void response.socket!.destroy();
    await call(gateway.url + CHAT, account.key, chatBody);
    const { level, details } = await theLine('a call failed');
    assert.equal(level, 'warn');
    assert.equal(details.provider, 'chatty');
    assert.equal(details.err, undefined);
    assert.match(String(details.reason), /other side closed/);
    assert.equal((await theLine('request')).level, 'warn');
  });

  test('has one line when a breaker opens, and one when it closes', async () => {
    gateway.provider.respond = json(500, { error: { message: 'Broken.' } });
    for (let i = 0; i < 4; i++) await call(gateway.url + CHAT, account.key, { ...chatBody, model: 'test-both' });
    const opened = await theLine(/breaker is open/);
    assert.equal(opened.details.route, 'test-both chatty test-both');
    assert.equal(opened.details.reason, 'status 500');
    gateway.provider.respond = chatResponse();
    await until(async () => {
      const { status } = await call(gateway.url + CHAT, account.key, { ...chatBody, model: 'test-both' });
      return status === 200;
    });
    assert.equal((await theLine(/breaker is closed/)).details.route, opened.details.route);
  });

  test('has each change through the admin API with actor, action and address, and without secrets', async () => {
    const { body } = await gateway.admin('POST', `/accounts/${account.id}/keys`, { name: 'more' });
    const { details } = await theLine('a change through the admin API');
    const { requestId, ...rest } = details;
    assert.match(String(requestId), /^req_/);
    assert.deepEqual(rest, {
      by: 'admin_token',
      action: 'Create an API key; its text is shown only once',
      id: body.id,
      clientAddress: '127.0.0.1',
    });
    await gateway.admin('GET', '/accounts');
    await gateway.admin('POST', '/accounts', { name: '' });
    await gateway.admin('POST', '/keys/search', { key: body.key });
    assert.equal(linesOf('a change through the admin API').length, 1);
    const drain = { provider: 'chatty', model: 'test-both' };
    const drained = await gateway.admin('POST', '/routes/drain', drain);
    assert.equal(drained.status, 200, JSON.stringify(drained.body));
    await gateway.admin('POST', '/routes/resume', drain);
    assert.deepEqual(
      linesOf('a change through the admin API').map((line) => line.details.id),
      [body.id, 'chatty test-both', 'chatty test-both'],
    );
    assert.ok(!logs.text().includes(body.key));
  });
});
