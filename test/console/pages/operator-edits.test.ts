import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { type ConsoleOptions, chooseAction, openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { createTestDatabase } from '../../support/database.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { ask, createPerson, type TestPerson } from '../../support/people.ts';
import { startReceiver } from '../../support/receiver.ts';
import { sql } from '../../support/sql.ts';
import { until } from '../../support/until.ts';
import { imported } from '../../transfer/books.ts';

/** Concurrent changes by operators, and late or lost responses. */
describe('changes of operators', { skip: withoutBrowser }, () => {
  let server: TestGateway;
  let operator: TestPerson;

  before(async () => {
    server = await startGateway({ noticeSettings: 'notices: { allowNetworks: [127.0.0.0/8] }' });
    operator = await createPerson(server, { name: 'Olga', operatorRole: 'operator' });
  });
  after(async () => {
    await server?.stop();
  });

  const open = (options: ConsoleOptions) => openConsole(server, { person: operator, ...options });
  const read = async (path: string) => (await server.admin('GET', path)).body;
  const press = (page: Page, name: string) => page.getByRole('dialog').getByRole('button', { name }).click();

  it('of an account keep concurrent changes of others', async () => {
    const { id } = await server.createAccount();
    await using console = await open({ at: `#/operator/accounts/${id}` });
    const { page } = console;
    const dialog = page.getByRole('dialog');

    await page.getByRole('button', { name: 'Edit caps, price and group' }).click();
    await dialog.getByLabel(/^Daily spending cap/).fill('5');
    await server.admin('PATCH', `/accounts/${id}`, { priceFactorBasisPoints: 8000 });
    await press(page, 'Save');
    await dialog.waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'Edit rate limits' }).click();
    await dialog.getByLabel('Requests per minute').first().fill('60');
    await server.admin('PATCH', `/accounts/${id}`, {
      tokensPerMinute: 9000,
      modelLimits: { 'test-chat': { requestsPerMinute: 3, tokensPerMinute: null } },
    });
    await press(page, 'Save');
    await dialog.waitFor({ state: 'detached' });

    const account = await read(`/accounts/${id}`);
    assert.deepEqual(
      [account.dailySpendCapYuan, account.priceFactorBasisPoints, account.requestsPerMinute, account.tokensPerMinute],
      ['5', 8000, 60, 9000],
    );
    assert.deepEqual(account.modelLimits, { 'test-chat': { requestsPerMinute: 3, tokensPerMinute: null } });
  });

  it('of a key keep them too, and an unchanged form sends nothing', async () => {
    const { id, keyId } = await server.createAccount();
    await using console = await open({ at: `#/operator/accounts/${id}?tab=keys` });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.method()));
    await chooseAction(page, 'Change limits');
    await dialog.getByLabel('A day', { exact: true }).fill('2.5');
    await console.assertAccessible();
    await dialog.getByRole('combobox', { name: 'Models' }).fill('test-ch');
    await page.getByRole('option', { name: 'test-chat' }).click();
    await dialog.getByRole('button', { name: 'Add a budget for a model' }).click();
    await dialog.getByRole('combobox', { name: 'Model', exact: true }).fill('test-mess');
    await page.getByRole('option', { name: 'test-messages' }).click();
    await dialog.getByLabel('A month', { exact: true }).last().fill('50');
    await console.assertAccessible();
    await server.admin('PATCH', `/keys/${keyId}`, {
      concurrency: 3,
      modelBudgets: { 'test-chat': { totalSpendCapYuan: '7' } },
    });
    await press(page, 'Save');
    await dialog.waitFor({ state: 'detached' });
    const [key] = (await read(`/accounts/${id}/keys`)).data;
    assert.deepEqual([key.dailySpendCapYuan, key.concurrency, key.allowedModels], ['2.5', 3, ['test-chat']]);
    assert.equal(key.modelBudgets['test-messages'].monthlySpendCapYuan, '50');
    assert.equal(key.modelBudgets['test-chat'].totalSpendCapYuan, '7');
    await page.getByText('¥0.00 of ¥50.00 a month for test-messages').waitFor();

    await chooseAction(page, 'Change limits');
    await press(page, 'Save');
    await dialog.waitFor({ state: 'detached' });
    assert.equal(asked.filter((method) => method === 'PATCH').length, 1);
  });

  it('of a user do not restore a removed role', async () => {
    const auditor = await createPerson(server, { name: 'Aude', operatorRole: 'auditor' });
    await using console = await open({ at: '#/operator/users?search=Aude' });
    const { page } = console;
    await chooseAction(page, 'Edit');
    await page.getByRole('dialog').getByLabel(/^Name/).fill('Aude Martin');
    await server.admin('PATCH', `/users/${auditor.id}`, { operatorRole: null });
    await press(page, 'Save');
    await page.getByText('Aude Martin', { exact: true }).waitFor();
    const user = await read(`/users/${auditor.id}`);
    assert.deepEqual([user.name, user.operatorRole], ['Aude Martin', null]);
  });

  it('with a lost response are reported as uncertain, and a retry adds nothing', async () => {
    const { id } = await server.createAccount({ balanceYuan: '1' });
    await using console = await open({ at: `#/operator/accounts/${id}?tab=money` });
    const { page } = console;
    const losesResponse = async (route: Route): Promise<void> => {
      await route.fetch();
      await route.abort('connectionreset');
    };
    await page.route('**/top-ups', losesResponse, { times: 1 });
    await page.getByRole('button', { name: 'Top up' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/^Amount/).fill('5');
    await press(page, 'Top up');
    await dialog.getByText('Check whether the change was made').waitFor();
    assert.equal((await read(`/accounts/${id}`)).balanceYuan, '6');
    await press(page, 'Top up');
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await read(`/accounts/${id}`)).balanceYuan, '6');

    // The first change has its response, so the same input again is a new change.
    await page.getByRole('button', { name: 'Top up' }).click();
    await dialog.getByLabel(/^Amount/).fill('5');
    await press(page, 'Top up');
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await read(`/accounts/${id}`)).balanceYuan, '11');
  });

  it('keep the form open until the response arrives, so that a new key is seen', async () => {
    const { id } = await server.createAccount();
    await using console = await open({ at: `#/operator/accounts/${id}?tab=keys` });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    const held = Promise.withResolvers<void>();
    const sent = Promise.withResolvers<void>();
    await page.route('**/keys', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      sent.resolve();
      await held.promise;
      return route.continue();
    });
    await page.getByRole('button', { name: 'New key' }).click();
    await dialog.getByLabel(/^Name/).fill('slow');
    await press(page, 'New key');
    await sent.promise;
    // The request may be sent before the form is rendered as pending.
    await dialog.getByRole('button', { name: 'Cancel', disabled: true }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Cancel', disabled: true }).waitFor();
    await dialog.getByRole('button', { name: 'Close', disabled: true }).waitFor();
    held.resolve();
    await page.getByText(/^sk-fg-\w{20,}$/).waitFor();
  });

  it('refund the rest of a charge from the ledger', async () => {
    const account = await server.createAccount();
    await call(`${server.url}/v1/chat/completions`, account.key, {
      model: 'test-chat',
      messages: [{ role: 'user', content: 'Hello' }],
    });
    const { id: callId, chargeYuan } = await account.endedCall();
    await using console = await open({ at: `#/operator/accounts/${account.id}?tab=money` });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Refund' }).click();
    await dialog.getByText('Refundable').waitFor();
    await dialog.getByLabel('Amount in yuan').fill('0.000001');
    await press(page, 'Refund ¥0.000001');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Refund' }).click();
    await dialog.getByText('¥0.000001').waitFor();
    await press(page, 'Refund the rest');
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await read(`/calls/${callId}`)).refundedYuan, chargeYuan);
    assert.equal((await read(`/accounts/${account.id}`)).balanceYuan, '100');
    await page.getByRole('button', { name: 'Refund' }).click();
    await dialog.getByText('This charge is already fully refunded').waitFor();
    await press(page, 'Refund the rest');
    await dialog.getByRole('alert').waitFor();
  });

  it('create a user with a one-time link that a newer link invalidates', async () => {
    await using console = await open({ at: '#/operator/users' });
    const { page } = console;
    await page.getByRole('button', { name: 'New user' }).click();
    await page.getByRole('dialog').getByLabel(/^Name/).fill('Grace');
    await press(page, 'New user');
    await page.getByText('Send this link to Grace yourself').waitFor();
    const first = await linkIn(page);
    await chooseAction(page.getByRole('row', { name: /Grace/ }), 'New link');
    await press(page, 'New link');
    await page.getByText(first).waitFor({ state: 'detached' });
    const second = await linkIn(page);
    await console.assertAccessible();

    await using ofFirst = await openConsole(server, { at: new URL(first).hash });
    await ofFirst.page.getByText('This link is not valid').waitFor();
    await using ofSecond = await openConsole(server, { at: new URL(second).hash });
    await ofSecond.page.getByText('Grace').first().waitFor();
    await ofSecond.page.getByLabel('New password').fill('a password of Grace');
    await ofSecond.page.getByRole('button', { name: 'Sign in' }).click();
    await ofSecond.page.getByText('You belong to no account').waitFor();
  });

  it('add an existing user to an account by part of the name', async () => {
    const { id } = await server.createAccount();
    await createPerson(server, { name: 'Henrietta' });
    await using console = await open({ at: `#/operator/accounts/${id}?tab=people` });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Add a user' }).click();
    await dialog.getByRole('combobox', { name: 'User' }).fill('henri');
    await page.getByRole('option', { name: /Henrietta/ }).click();
    await dialog.getByLabel('Role').selectOption('owner');
    assert.match(await dialog.getByRole('combobox', { name: 'User' }).inputValue(), /^Henrietta/);
    await press(page, 'Add a user');
    await dialog.waitFor({ state: 'detached' });
    const { data } = await read(`/accounts/${id}/members`);
    assert.deepEqual(
      data.map((each: { name: string; role: string }) => [each.name, each.role]),
      [['Henrietta', 'owner']],
    );
  });

  it('limit a member across all keys, and remove the member while another one takes the keys', async () => {
    const { id: accountId } = await server.createAccount();
    const [ada, mo] = await Promise.all(
      (['owner', 'member'] as const).map((role) =>
        createPerson(server, { name: role === 'owner' ? 'Ada' : 'Mo', memberships: [{ accountId, role }] }),
      ),
    );
    await server.admin('POST', `/accounts/${accountId}/keys`, { name: 'of Mo', userId: mo!.id });
    await using console = await open({ at: `#/operator/accounts/${accountId}?tab=people` });
    const { page } = console;
    const dialog = page.getByRole('dialog');
    const ofMo = page.getByRole('row', { name: /Mo/ });
    await chooseAction(ofMo, 'Change limits');
    await dialog.getByLabel('A month', { exact: true }).fill('5');
    await dialog.getByLabel('Calls a day').fill('7');
    await press(page, 'Change limits');
    await ofMo.getByText('¥0.00 of ¥5.00 a month').waitFor();
    await ofMo.getByText('0 of 7 calls a day').waitFor();
    await chooseAction(ofMo, 'Remove');
    await dialog.getByLabel('Revoke the keys of this person').uncheck();
    await dialog.getByRole('combobox', { name: 'Transfer the keys to' }).click();
    await page.getByRole('option', { name: 'Ada' }).click();
    await console.assertAccessible();
    await press(page, 'Remove');
    await ofMo.waitFor({ state: 'detached' });
    const { data } = await read(`/accounts/${accountId}/keys?userId=${ada!.id}`);
    assert.deepEqual(
      data.map((key: Record<string, unknown>) => [key.name, key.formerUserName, key.revokedAt]),
      [['of Mo', 'Mo', null]],
    );
    const { data: left } = await read(`/accounts/${accountId}/members`);
    assert.deepEqual(
      left.map(({ userId }: { userId: string }) => userId),
      [ada!.id],
    );
  });

  it("enable an account's endpoint from the Notices page, and resend a notice", async (test) => {
    const receiver = await startReceiver();
    test.after(() => receiver.close());
    const account = await server.createAccount();
    const owner = await createPerson(server, { memberships: [{ accountId: account.id, role: 'owner' }] });
    const made = await ask(server, 'POST', '/webhooks', { url: receiver.url }, owner.headers);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    await ask(server, 'POST', `/webhooks/${made.body.id}/test`, {}, owner.headers);
    await until(() => receiver.received.length === 1);
    await ask(server, 'PATCH', `/webhooks/${made.body.id}`, { status: 'disabled' }, owner.headers);
    await using console = await open({ at: '#/operator/notices' });
    const { page } = console;
    const row = page.getByRole('row').filter({ hasText: receiver.url });
    await row.getByRole('link').waitFor();
    await row.getByText('disabled', { exact: true }).waitFor();
    await chooseAction(row, 'Enable');
    await row.getByText('active', { exact: true }).waitFor();
    await chooseAction(row, 'Deliveries');
    const delivery = page.getByRole('row').filter({ hasText: 'delivered' });
    await delivery.getByText('Test').waitFor();
    await console.assertAccessible();
    await delivery.getByRole('button', { name: 'Send again' }).click();
    await until(() => receiver.received.length === 2);
    assert.deepEqual(
      receiver.received.map(({ id, body }) => [id, body.type]),
      Array(2).fill([receiver.received[0]!.id, 'webhook.test']),
    );
  });

  it('are in a downloaded backup that can be imported, and the audit log names who downloaded it', async (test) => {
    const stored = await createTestDatabase();
    test.after(() => stored.remove());
    const person = await createPerson(server, { name: 'Olga', operatorRole: 'operator' });
    await sql(server.database, `update sessions set authenticated_at = now() - interval '1 hour' where user_id = $1`, [
      person.id,
    ]);
    await using console = await open({ at: '#/operator/backup', person });
    const { page } = console;
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download a backup' }).click();
    // The session alone is not enough.
    const notice = page.getByRole('alert').filter({ hasText: 'Sign in again' });
    await notice.getByLabel('Your password').fill('not the password');
    await notice.getByRole('button', { name: 'Sign in' }).click();
    await notice.getByText('Sign-in failed.').waitFor();
    await notice.getByLabel('Your password').fill(person.password);
    await notice.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The backup is complete and saved').waitFor();
    const text = await readFile(await (await download).path(), 'utf8');
    const { rows, unsound } = await imported(stored.database, text);
    assert.ok(rows.changes > 0 && rows.users > 0);
    assert.deepEqual(unsound, []);
    await console.go('#/operator/changes');
    const taken = page.getByRole('row').filter({ hasText: 'downloaded a backup of the database' });
    await taken.getByText('Olga').waitFor();
  });

  async function linkIn(page: Page): Promise<string> {
    return (await page.getByText(/#\/welcome\?token=/).textContent())!;
  }
});
