import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { createSettlementStore } from '../../../src/accounting/settlement/store.ts';
import { TIME } from '../../support/accounting-builders.ts';
import { type ConsoleOptions, openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call, startCall } from '../../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';
import { chatStream, json, liveResponse } from '../../support/provider.ts';
import { until } from '../../support/until.ts';

/** Pages on calls, routes and audits, and the actions of operators there. */

const hello = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };

describe('the operator pages on calls, routes and audits', { skip: withoutBrowser, timeout: 300_000 }, () => {
  let server: TestGateway;
  let operator: TestPerson;
  let auditor: TestPerson;
  let account: TestAccount;

  before(async () => {
    server = await startGateway({ usageIntervalMs: 100 });
    operator = await createPerson(server, { name: 'Ada', operatorRole: 'operator' });
    auditor = await createPerson(server, { name: 'Audrey', operatorRole: 'auditor' });
    account = await server.createAccount();
  });
  after(async () => {
    await server?.stop();
  });

  const open = (options: ConsoleOptions) => openConsole(server, { person: operator, ...options });
  const chat = (of: TestAccount) => call(`${server.url}/v1/chat/completions`, of.key, hello);

  /** Creates an unresolved call: another node takes it for dead while it still runs here. `end` completes it. */
  async function unresolvedCall() {
    const own = await server.createAccount();
    const live = liveResponse();
    const { respond } = server.provider;
    server.provider.respond = live.respond;
    const running = startCall(`${server.url}/v1/chat/completions`, own.key, { ...hello, stream: true });
    await live.opened;
    server.provider.respond = respond;
    const { body } = await server.admin('GET', `/calls?status=in_flight&accountId=${own.id}`);
    const callId: string = body.data[0].id;
    const time = { ...TIME, nowMs: null };
    await createSettlementStore(server.database).resolve([{ accountId: own.id, callId }], time);
    return {
      callId,
      async end(): Promise<void> {
        await live.write(chatStream(['Hello']).join(''));
        live.end();
        await (await running.response).ended();
        await server.observed.callsEnded(own.id, 1);
      },
    };
  }

  it('find the owner of a pasted key without storing the key or putting it into the address', async () => {
    await using console = await open({ at: '#/operator/find' });
    const { page } = console;
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await page.getByLabel(/^Name, e-mail address/).fill(`Authorization: Bearer ${account.key}`);
    await page.getByRole('button', { name: 'Find', exact: true }).click();
    await page.getByRole('heading', { name: 'Keys found' }).waitFor();
    await page.getByRole('link', { name: 'Calls of this key' }).waitFor();
    await console.assertAccessible();
    const stored = await page.evaluate<string>('JSON.stringify([localStorage, sessionStorage, document.cookie])');
    const kept = [page.url(), stored, ...addresses].filter((text) => text.includes(account.key.slice(0, 12)));
    assert.deepEqual(kept, []);
  });

  it('find a request by id, also if it was refused', async () => {
    const refused = await call(`${server.url}/v1/chat/completions`, account.key, { ...hello, model: 'no-such-model' });
    const requestId = String(refused.headers['x-request-id']);
    // Refusals are recorded in batches after their responses.
    await until(async () => (await server.admin('GET', `/calls?requestId=${requestId}`)).body.refusals.length > 0);
    await using console = await open({ at: '#/operator/find' });
    const { page } = console;
    await page.getByLabel(/^Name, e-mail address/).fill(requestId);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Refusals of this request' }).waitFor();
    const row = page.getByRole('row').filter({ hasText: '404 model_not_found' });
    await row.getByText(requestId).waitFor();
    await row.getByRole('cell', { name: 'test', exact: true }).waitFor();
    assert.ok(page.url().includes(requestId), 'the address can be sent to somebody');
  });

  it('find accounts and users by part of the name, and a voucher by its code without putting it into the address', async () => {
    await server.admin('PATCH', `/accounts/${account.id}`, { name: 'Harbour Lights' });
    const batch = await server.admin('POST', '/vouchers', { name: 'harbour fair', count: 1, amountYuan: '5' });
    const [code] = batch.body.codes;
    await using console = await open({ at: '#/operator/find' });
    const { page } = console;
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    const field = page.getByLabel(/^Name, e-mail address/);
    await field.fill('harbour');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Accounts' }).getByRole('link', { name: 'Harbour Lights' }).waitFor();
    await page
      .getByRole('region', { name: 'Batches of vouchers' })
      .getByRole('link', { name: 'harbour fair' })
      .waitFor();
    await field.fill('audrey');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'People' }).getByRole('link', { name: 'Audrey' }).waitFor();
    await console.assertAccessible();
    await field.fill(code);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: `Voucher …${code.slice(-4)}` }).waitFor();
    await page.getByText('nobody yet').waitFor();
    await console.assertAccessible();
    assert.deepEqual(
      [page.url(), ...addresses].filter((text) => text.includes(code.slice(0, 5))),
      [],
    );
  });

  it('filter calls and refusals by account and key name, and download them as CSV', async () => {
    const own = await server.createAccount();
    await server.admin('PATCH', `/accounts/${own.id}`, { name: 'Northern Star' });
    await chat(own);
    await own.endedCall();
    await using console = await open({ at: '#/operator/calls' });
    const { page } = console;
    await page.getByRole('combobox', { name: 'Account' }).fill('northern');
    await page.getByRole('option', { name: 'Northern Star' }).click();
    await page.getByRole('combobox', { name: 'Key' }).click();
    await page.getByRole('option', { name: 'test', exact: true }).click();
    await page.waitForURL(new RegExp(`accountId=${own.id}&keyId=${own.keyId}`));
    const rows = page.getByRole('region', { name: 'Calls' }).getByRole('row');
    await rows.nth(1).getByText('Northern Star').waitFor();
    assert.equal(await rows.count(), 2);
    await console.assertAccessible();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const saved = readFileSync(await (await download).path(), 'utf8')
      .trimEnd()
      .split('\r\n');
    assert.equal(saved.length, 2);
    assert.ok(saved[1]!.includes('Northern Star'));
    // Names for the ids in the address are read.
    await page.reload();
    await rows.nth(1).waitFor();
    assert.equal(await page.getByRole('combobox', { name: 'Account' }).inputValue(), 'Northern Star');
    assert.equal(await page.getByRole('combobox', { name: 'Key' }).inputValue(), 'test');
    await page.getByRole('tab', { name: 'Refusals' }).click();
    await page.getByText('No matching refusals').waitFor();
  });

  it('show the latency of routes in a chosen range', async () => {
    assert.equal((await chat(account)).status, 200);
    // Sums are calculated in the background.
    await until(async () => (await server.admin('GET', '/latency?model=test-chat')).body.data.length > 0);
    await using console = await open({ at: '#/operator/latency?range=hour' });
    const { page } = console;
    await page.getByText('Last week', { exact: true }).click();
    await page.getByRole('radio', { name: 'Last week' }).and(page.locator(':checked')).waitFor({ state: 'attached' });
    const row = page.getByRole('row').filter({ hasText: 'test-chat' });
    await row.getByText('chatty').waitFor();
    await row
      .getByText(/\d+ ms \/ \d+ ms/)
      .first()
      .waitFor();
    assert.match(page.url(), /range=week/);
    await console.assertAccessible();
    await page.getByRole('combobox', { name: 'Model' }).fill('test-mess');
    await page.getByRole('option', { name: 'test-messages' }).click();
    await page.getByText('No calls in this period').waitFor();
  });

  it('filter the audit log by the name of the actor', async () => {
    await using console = await open({ at: '#/operator/changes' });
    const { page } = console;
    await page.getByRole('combobox', { name: 'Who' }).fill('audr');
    await page.getByRole('option', { name: 'Audrey' }).click();
    await page.waitForURL(new RegExp(`actorId=${auditor.id}`));
    const { body } = await server.admin('GET', `/changes?actorId=${auditor.id}`);
    const rows = page.getByRole('region', { name: 'Changes' }).getByRole('row');
    await rows.filter({ hasText: 'Audrey' }).first().waitFor();
    assert.equal(await rows.count(), body.data.length + 1);
    await console.assertAccessible();
  });

  it('refund part of a charge, and the audit log names who did', async () => {
    const own = await server.createAccount();
    await chat(own);
    await server.observed.callsEnded(own.id, 1);
    const { body } = await server.admin('GET', `/calls?accountId=${own.id}`);
    const callId: string = body.data[0].id;
    await using console = await open({ at: `#/operator/calls/${callId}` });
    const { page } = console;
    await page.getByRole('button', { name: 'Refund' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Amount in yuan').fill('1000');
    await dialog.getByRole('button', { name: 'Refund' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Amount in yuan').fill('0.00001');
    await dialog.getByLabel('Memo').fill('half of it was missing');
    await dialog.getByRole('button', { name: 'Refund' }).click();
    await dialog.waitFor({ state: 'hidden' });
    assert.equal((await server.admin('GET', `/calls/${callId}`)).body.refundedYuan, '0.00001');
    await console.go(`#/operator/changes?subjectId=${callId}`);
    const sentence = `refunded ¥0.00001 of call ${callId}`;
    await page.getByRole('cell', { name: new RegExp(`^${sentence} .*: half of it was missing`) }).waitFor();
    await page.getByRole('button', { name: `Details of ${sentence}` }).click();
    await page.getByRole('dialog').getByRole('row', { name: 'Refunded ¥0.00 ¥0.00001' }).waitFor();
    await page.getByRole('dialog').getByText('Ada · Person').waitFor();
  });

  it('print charge, refunds and cost once', async () => {
    const own = await server.createAccount();
    await chat(own);
    const { id, chargeYuan } = await own.endedCall();
    await server.admin('POST', `/calls/${id}/refunds`, { amountYuan: '0.00001' });
    await using console = await open({ at: `#/operator/calls/${id}` });
    const { page } = console;
    const amounts = page.getByRole('row', { name: /^(Charge|Refunded|Cost)/ });
    await amounts.first().waitFor();
    await page.getByRole('heading', { name: 'Operators only' }).waitFor();
    assert.deepEqual(await amounts.allInnerTexts(), [
      `Charge, rounded half up once\t¥${chargeYuan}`,
      'Refunded\t¥0.00001',
      'Cost\tunknown',
    ]);
  });

  it('resolve a call with a charge up to its reservation', async () => {
    const { callId, end } = await unresolvedCall();
    await using console = await open({ at: '#/operator/unresolved' });
    const { page } = console;
    await page.getByRole('button', { name: 'Resolve' }).click();
    await console.assertAccessible();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Charge an amount').check();
    await dialog.getByLabel('Amount in yuan').fill('1000');
    await dialog.getByRole('button', { name: 'Resolve' }).click();
    await dialog.getByText(/at most that/).waitFor();
    await dialog.getByLabel('Amount in yuan').fill('0.00002');
    await dialog.getByRole('button', { name: 'Resolve' }).click();
    await page.getByText('No unresolved calls').waitFor();
    const resolved = (await server.admin('GET', `/calls/${callId}`)).body;
    assert.deepEqual([resolved.status, resolved.chargeYuan], ['resolved', '0.00002']);
    await end();
  });

  it('drain a route, so that its model returns 503, and resume it', async () => {
    const { body } = await server.admin('GET', '/routes');
    const { provider, providerModel } = body.data.find(({ model }: { model: string }) => model === 'test-chat');
    await using console = await open({ at: '#/operator/routes' });
    const { page } = console;
    await page.getByRole('button', { name: `Drain: ${provider} for test-chat as ${providerModel}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('alert').getByText('test-chat has no other route').waitFor();
    await dialog.getByLabel('Reason').fill('maintenance');
    await dialog.getByRole('button', { name: 'Drain' }).click();
    await page.getByText('Models without another route').waitFor();
    assert.equal((await chat(account)).status, 503);
    await console.go('#/operator');
    await page.getByText(/is drained/).waitFor();
    await console.go('#/operator/routes');
    await page.getByRole('region', { name: 'Active drains' }).getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('region', { name: 'Active drains' }).waitFor({ state: 'detached' });
    await page.getByText('Models without another route').waitFor({ state: 'detached' });
    assert.equal((await chat(account)).status, 200);
  });

  it('test a provider and show its response', async () => {
    await using console = await open({ at: '#/operator/routes' });
    const { page } = console;
    await page
      .getByRole('button', { name: /^Test / })
      .first()
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send test call' }).click();
    await page.getByRole('dialog').getByText('Provider model').waitFor();
    await console.assertAccessible();
  });

  it('run the audit and keep its result while other pages are shown', async () => {
    await using console = await open({ at: '#/operator/audit' });
    const { page } = console;
    await page.getByRole('button', { name: 'Run the audit' }).click();
    await page.getByText('All data is consistent').waitFor();
    await console.go('#/operator');
    await page.getByText('Last audit: all data was consistent').waitFor();
    await console.go('#/operator/audit');
    await page.getByText('All data is consistent').waitFor();
  });

  it('stop a running audit and run another one', async () => {
    await using console = await open({ at: '#/operator/audit' });
    const { page } = console;
    const ranges = server.observed.statement('audit.next-range');
    ranges.hold();
    const reached = ranges.reached(ranges.asked + 1);
    await page.getByRole('button', { name: 'Run the audit' }).click();
    await page.getByRole('heading', { name: 'The audit is running' }).waitFor();
    await reached;
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('The audit was stopped before it completed.').waitFor();
    // The next audit waits for the end of the first.
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.getByRole('heading', { name: 'The audit is running' }).waitFor();
    ranges.release();
    await page.getByText('All data is consistent').waitFor();
  });

  it('put filters into the address, and never send a key as a filter', async () => {
    await using console = await open({ at: '#/operator/calls' });
    const { page } = console;
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await page.getByLabel('Request id').fill(account.key);
    await page.keyboard.press('Enter');
    await page.getByText('This looks like an API key').waitFor();
    await page.getByRole('combobox', { name: 'Account' }).fill(account.key);
    await page.getByText('This looks like an API key').nth(1).waitFor();
    await page.getByLabel('Status').selectOption('failed');
    await page.getByText('No matching calls').waitFor();
    assert.equal(new URL(page.url()).hash, '#/operator/calls?status=failed');
    assert.deepEqual(
      addresses.filter((address) => address.includes('sk-')),
      [],
    );
  });

  it('show auditors everything, without buttons that change something', async () => {
    const { callId, end } = await unresolvedCall();
    await using console = await open({ person: auditor, at: `#/operator/calls/${callId}` });
    const { page } = console;
    await page.getByRole('heading', { name: 'Operators only' }).waitFor();
    assert.equal(await page.getByRole('button', { name: /Refund|Resolve/ }).count(), 0);
    await page.getByText('The outcome of this call is unknown: resolve it').waitFor();
    await page.getByRole('link', { name: 'All unresolved calls' }).click();
    await page.getByRole('link', { name: callId.slice(-8) }).waitFor();
    assert.equal(await page.getByRole('button', { name: /Resolve/ }).count(), 0);
    await console.go('#/operator/routes');
    await page.getByRole('columnheader', { name: 'Credentials' }).first().waitFor();
    assert.equal(await page.getByRole('button', { name: /Drain|Resume|Test/ }).count(), 0);
    await end();
  });

  it('say to operators alone that a provider refused the gateway’s account', async () => {
    const own = await server.createAccount();
    const owner = await createPerson(server, { memberships: [{ accountId: own.id, role: 'owner' }] });
    const { respond } = server.provider;
    const answer = async (status: number, message: string): Promise<string> => {
      server.provider.respond = json(status, { error: { message } });
      const response = await chat(own);
      assert.notEqual(response.status, 200);
      return String(response.headers['x-faregate-call-id'] ?? (await own.endedCall(status === 503 ? 1 : 2)).id);
    };
    const overloaded = await answer(503, 'The engine is overloaded');
    const unpaid = await answer(402, 'Organization acme-42 owes money.');
    server.provider.respond = respond;

    await using console = await open({ at: `#/operator/calls/${unpaid}` });
    const alert = console.page.getByRole('alert');
    await alert.getByText('Organization acme-42 owes money.').waitFor();
    await alert.getByText('Shown to operators only').waitFor();

    await using ofOwner = await openConsole(server, { person: owner, at: `#/calls/${overloaded}`, language: 'zh' });
    await ofOwner.page.getByRole('alert').getByText('The engine is overloaded').waitFor();
    await ofOwner.assertAccessible();
    await ofOwner.go(`#/calls/${unpaid}`);
    await ofOwner.page.getByRole('alert').getByText('供应商拒绝了本网关的账户。').waitFor();
    const shown = await ofOwner.page.getByRole('main').innerText();
    assert.doesNotMatch(shown, /acme-42|chatty|apiKey|upstream-chat|\b402\b/);
  });
});
