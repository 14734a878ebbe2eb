import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { call } from '../support/client.ts';
import { requestOf } from '../support/families.ts';
import { assertSpent, startGateway } from '../support/gateway.ts';
import { chatCompletion, json } from '../support/provider.ts';
import { recordLogs } from '../support/recorded-logger.ts';

describe(`a stored response that the database refuses`, { timeout: 60_000 }, () => {
  it('is a 500 that charges nothing, and no part of the response is logged', async () => {
    const logs = recordLogs();
    const test = await startGateway({ logger: logs.logger });
    const account = await test.createAccount();
    test.provider.respond = json(200, chatCompletion());
    await test.database.script('alter table stored_responses add constraint no_bodies check (body is null)');
    const headers = { 'idempotency-key': 'refused' };
    const response = await call(`${test.url}/v1/chat/completions`, account.key, requestOf(false), { headers });
    assert.equal(response.status, 500);
    assert.equal(response.headers['x-error-code'], 'internal_error');
    await assertSpent(account, 0n);
    // `stop` searches the log.
    await test.stop();
    assert.match(logs.text(), /idempotency\.keep-response: the database refuses a row \(constraint no_bodies/);
  });
});
