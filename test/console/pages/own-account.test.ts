import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { openConsole, saveForm } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { ask, createPerson, signIn, type TestPerson } from '../../support/people.ts';
import { startReceiver } from '../../support/receiver.ts';

/** Pages on keys, members, the account and the profile. */

const hello = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };

describe('the settings of accounts and users', { skip: withoutBrowser }, () => {
  let server: TestGateway;
  before(async () => {
    server = await startGateway({ noticeSettings: 'notices: { allowNetworks: [127.0.0.0/8] }' });
  });
  after(async () => {
    await server?.stop();
  });

  /** Creates an account with an owner and a member. */
  async function people(): Promise<{ accountId: string; owner: TestPerson; member: TestPerson }> {
    const { id: accountId } = await server.createAccount();
    const owner = await createPerson(server, { name: 'Ada', memberships: [{ accountId, role: 'owner' }] });
    const member = await createPerson(server, { name: 'Mo', memberships: [{ accountId, role: 'member' }] });
    return { accountId, owner, member };
  }

  const chat = async (key: string) => (await call(`${server.url}/v1/chat/completions`, key, hello)).status;

  /** Returns the secret in the open dialog and closes the dialog. */
  async function takeSecret(page: Page): Promise<string> {
    const secret = await page.getByRole('dialog').locator('code').innerText();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    return secret;
  }

  async function choose(page: Page, subject: string, action: string): Promise<void> {
    await page.getByRole('button', { name: `Actions for ${subject}` }).click();
    await page.getByRole('menuitem', { name: action, exact: true }).click();
  }

  it('a key needs only a name, is shown once, and works immediately', async () => {
    const { owner } = await people();
    await using console = await openConsole(server, { person: owner, at: '#/keys' });
    const { page } = console;
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('laptop');
    await page.getByLabel('Expires').selectOption('90');
    await page.getByRole('dialog').getByRole('button', { name: 'Create a key' }).click();
    await page.getByText('It is never shown again').waitFor();
    await console.assertAccessible();
    const key = await takeSecret(page);
    assert.equal(await chat(key), 200);
    await page.getByText('laptop').waitFor();
    assert.equal(await page.getByText(key).count(), 0);
    const stored = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href])',
    );
    assert.ok(!stored.includes(key));
  });

  it('limits of a key are sent as entered, and invalid amounts are not sent', async () => {
    const { owner } = await people();
    await using console = await openConsole(server, { person: owner, at: '#/keys' });
    const { page } = console;
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('ci');
    await page.getByRole('button', { name: 'More', exact: false }).click();
    await page.getByLabel('A day', { exact: true }).fill('1e3');
    await page.getByLabel('In all').fill('12345678.123456789');
    await page.getByRole('combobox', { name: 'Networks' }).fill('127.0.0.0/8');
    const create = page.getByRole('dialog').getByRole('button', { name: 'Create a key' });
    await create.click();
    await page.getByText('An amount such as').waitFor();
    await page.getByRole('alert').waitFor();
    assert.equal((await ask(server, 'GET', '/keys', undefined, owner.headers)).body.data.length, 1);
    await page.getByLabel('A day', { exact: true }).fill('0.5');
    await create.click();
    await takeSecret(page);
    const read = async (called: string) => {
      const { body } = await ask(server, 'GET', '/keys', undefined, owner.headers);
      return body.data.find(({ name }: { name: string }) => name === called);
    };
    const made = await read('ci');
    assert.deepEqual(
      [made.dailySpendCapYuan, made.totalSpendCapYuan, made.allowedNetworks],
      ['0.5', '12345678.123456789', ['127.0.0.0/8']],
    );
    await choose(page, 'ci', 'Rename');
    await page.getByRole('dialog').getByLabel('Name').fill('builds');
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
    await page.getByText('Key renamed.').waitFor();
    assert.equal((await read('builds')).id, made.id);
    await choose(page, 'builds', 'Change limits');
    await page.getByLabel('A day', { exact: true }).fill('');
    await page.getByLabel('Calls a day').fill('200');
    await page.getByRole('dialog').getByRole('button', { name: 'Change limits' }).click();
    await page.getByText('Limits changed.').waitFor();
    const changed = await read('builds');
    assert.deepEqual(
      [changed.dailySpendCapYuan, changed.totalSpendCapYuan, changed.dailyCalls],
      [null, '12345678.123456789', 200],
    );
  });

  it('a replaced key stays valid for the chosen time, its replacement keeps the expiry, and a revoked key is refused and filtered', async () => {
    const { accountId, owner } = await people();
    const expiresAt = new Date(Date.now() + 90 * 86_400_000).toISOString();
    const old = (await server.admin('POST', `/accounts/${accountId}/keys`, { name: 'server', expiresAt })).body;
    await using console = await openConsole(server, { person: owner, at: '#/keys' });
    const { page } = console;
    await choose(page, 'server', 'Replace');
    await page.getByLabel('The old key stays valid for').selectOption('3600');
    await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click();
    await page.getByText('The old key is valid until').waitFor();
    const key = await takeSecret(page);
    assert.deepEqual([await chat(old.key), await chat(key)], [200, 200]);
    const keys = (await ask(server, 'GET', '/keys', undefined, owner.headers)).body.data;
    assert.equal(
      keys.find(({ id, name }: { id: string; name: string }) => name === 'server' && id !== old.id).expiresAt,
      expiresAt,
    );
    await server.admin('DELETE', `/keys/${old.id}`);
    await page.reload();
    await choose(page, 'server', 'Revoke');
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Key revoked.').waitFor();
    assert.equal(await chat(key), 401);
    await page.getByText('server', { exact: true }).waitFor({ state: 'detached' });
    await page.getByText('revoked', { exact: true }).click();
    await page.getByText(old.prefix).waitFor();
    assert.equal(new URL(page.url()).hash, '#/keys?state=revoked');
  });

  it('a member sees and creates only own keys, and cannot change limits', async () => {
    const { accountId, member } = await people();
    await server.admin('POST', `/accounts/${accountId}/keys`, { name: 'of the account' });
    await server.admin('POST', `/accounts/${accountId}/keys`, { name: 'of Mo', userId: member.id });
    await using console = await openConsole(server, { person: member, at: '#/keys' });
    const { page } = console;
    await page.getByText('of Mo').waitFor();
    assert.equal(await page.getByText('of the account').count(), 0);
    await page.getByRole('button', { name: 'Actions for of Mo' }).click();
    await page.getByRole('menuitem', { name: 'Replace' }).waitFor();
    assert.equal(await page.getByRole('menuitem', { name: 'Change limits' }).count(), 0);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('button', { name: 'More', exact: false }).click();
    assert.equal(await page.getByLabel('Whose').count(), 0);
  });

  it('an invitation link is shown once; a member gets limits, and its keys are revoked or transferred', async () => {
    const { accountId, owner, member } = await people();
    const made = await server.admin('POST', `/accounts/${accountId}/keys`, { name: 'of Mo', userId: member.id });
    await using console = await openConsole(server, { person: owner, at: '#/members' });
    const { page } = console;
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByText('can read the balance with a key').waitFor();
    await page.getByRole('dialog').getByLabel('E-mail address').fill('grace@people.example');
    await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click();
    await page.getByText('It is never shown again').waitFor();
    assert.match(await takeSecret(page), /#\/welcome\?token=/);
    await page.getByText('grace@people.example').waitFor();
    await page.getByRole('button', { name: 'Withdraw' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
    await page.getByText('No open invitations').waitFor();
    const dialog = page.getByRole('dialog');
    await choose(page, 'Mo', 'Change limits');
    await dialog.getByLabel('A day', { exact: true }).fill('5');
    await dialog.getByLabel('Calls a day').fill('7');
    await dialog.getByRole('button', { name: 'Change limits' }).click();
    await page.getByText('¥0.00 of ¥5.00 a day').waitFor();
    await page.getByText('0 of 7 calls a day').waitFor();
    await choose(page, 'Mo', 'Remove');
    const revokes = dialog.getByLabel('Revoke the keys of this person');
    assert.ok(await revokes.isChecked());
    await revokes.uncheck();
    await page.getByText('The keys keep working').waitFor();
    await dialog.getByRole('combobox', { name: 'Transfer the keys to' }).click();
    await page.getByRole('option', { name: 'Ada' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('Member removed.').waitFor();
    await console.go(`#/keys?userId=${owner.id}`);
    await page.getByText('formerly Mo (left)').waitFor();
    assert.equal((await ask(server, 'GET', '/keys', undefined, owner.headers)).body.data[0].id, made.body.id);
  });

  it('the daily cap and the low-balance threshold are stored exactly', async () => {
    const { owner } = await people();
    await using console = await openConsole(server, { person: owner, at: '#/settings' });
    const { page } = console;
    const form = (label: string) => page.locator('form').filter({ has: page.getByLabel(label) });
    for (const [label, amount] of [
      ['Your cap', '99.123456789'],
      ['Threshold', '10.000000001'],
    ] as const) {
      await page.getByLabel(label).fill(amount);
      await saveForm(page, form(label));
    }
    await page.getByText('¥99.123456789').waitFor();
    const { body } = await ask(server, 'GET', '/low-balance', undefined, owner.headers);
    assert.equal(body.thresholdYuan, '10.000000001');
  });

  it('the balance can be hidden from members, and the page shows it', async () => {
    const { owner } = await people();
    await using console = await openConsole(server, { person: owner, at: '#/settings' });
    const { page } = console;
    const seen = page.getByRole('switch', { name: 'Keys of members read the balance' });
    const form = page.locator('form').filter({ has: seen });
    await seen.click();
    await saveForm(page, form);
    await page.getByText('Saved.', { exact: true }).waitFor();
    assert.equal(await seen.isChecked(), false);
    assert.equal((await ask(server, 'GET', '/account', undefined, owner.headers)).body.membersSeeBalance, false);
  });

  it('a webhook receives a test event, and the page shows its delivery', async (test) => {
    const receiver = await startReceiver();
    test.after(() => receiver.close());
    const { owner } = await people();
    await using console = await openConsole(server, { person: owner, at: '#/webhooks' });
    const { page } = console;
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    await page.getByLabel('Address').fill(receiver.url);
    await page.getByRole('dialog').getByRole('button', { name: 'Add an endpoint' }).click();
    await page.getByText('Copy the signing secret now').waitFor();
    assert.match(await takeSecret(page), /^whsec_/);
    await choose(page, receiver.url, 'Send a test');
    await page.getByText('delivered').waitFor();
    assert.equal(receiver.received[0]!.body.type, 'webhook.test');
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('Notice sent again.').waitFor();
    await console.assertAccessible();
    await choose(page, receiver.url, 'Disable');
    await page.getByText('disabled', { exact: true }).waitFor();
    await choose(page, receiver.url, 'Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No endpoints yet').waitFor();
  });

  it('the group robot of a messenger receives a test, and the page does not show its address', async (test) => {
    const receiver = await startReceiver();
    test.after(() => receiver.close());
    receiver.respond = (response) => void response.end('{"code":0}');
    const { owner } = await people();
    await using console = await openConsole(server, { person: owner, at: '#/webhooks' });
    const { page } = console;
    await page.getByRole('button', { name: 'Add an endpoint' }).click();
    await page.getByLabel('Send to').selectOption('feishu');
    await page.getByLabel('Address').fill(`${receiver.url}/robot-path-secret`);
    await page.getByLabel('Signing secret of the robot').fill('robot-secret');
    await page.getByLabel('Language of messages').selectOption('zh');
    await console.assertAccessible();
    await page.getByRole('dialog').getByRole('button', { name: 'Add an endpoint' }).click();
    await page.getByText('Endpoint added. Send a test to check it.').waitFor();
    const shown = `${new URL(receiver.url).origin}/…cret`;
    await choose(page, shown, 'Send a test');
    await page.getByText('delivered').waitFor();
    assert.match(receiver.received[0]!.body.content.text, /^测试/);
    assert.equal(typeof receiver.received[0]!.body.sign, 'string');
    await choose(page, shown, 'Edit');
    await page.getByLabel('Language of messages').selectOption('en');
    await page.getByRole('dialog').getByRole('button', { name: 'Edit' }).click();
    await page.getByText('Endpoint changed.').waitFor();
    const { body } = await ask(server, 'GET', '/webhooks', undefined, owner.headers);
    assert.deepEqual([body.data[0].language, body.data[0].isSigned], ['en', true]);
    assert.doesNotMatch(await page.content(), /path-secret|robot-secret/);
  });

  it('the overview shows a member their used budget, and an owner whose it is', async () => {
    const { accountId, owner, member } = await people();
    const made = await server.admin('POST', `/accounts/${accountId}/keys`, { name: 'laptop', userId: member.id });
    assert.equal(await chat(made.body.key), 200);
    const limits = { userId: member.id, weeklySpendCapYuan: '0.00001' };
    await server.admin('PATCH', `/accounts/${accountId}/members`, limits);
    // The limit counts from when it is set.
    assert.equal(await chat(made.body.key), 200);
    assert.equal(await chat(made.body.key), 429);
    await using console = await openConsole(server, { person: member, at: '#/' });
    await console.page.getByText('A budget is used up: its calls are refused').waitFor();
    await console.page.getByText(/^Your budget: ¥\S+ of ¥\S+ used this week\. Renewed at /).waitFor();
    await console.page.getByText('An owner of the account can raise it.').waitFor();
    await console.assertAccessible();
    await using ofOwner = await openConsole(server, { person: owner, at: '#/' });
    await ofOwner.page.getByText(/^Member Mo: ¥\S+ of ¥\S+ used this week\./).waitFor();
  });

  it('the settings say that owners get an e-mail only if there is a mail server', async () => {
    const { owner } = await people();
    await using console = await openConsole(server, { person: owner, at: '#/settings' });
    await console.page.getByText('When the balance falls below this amount, webhooks are called.').waitFor();
  });

  it('a voucher shows what it added, and a mistyped code shows the error', async () => {
    const { member } = await people();
    const batch = { name: 'spring', count: 1, amountYuan: '5.5' };
    const [code] = (await server.admin('POST', '/vouchers', batch, { 'idempotency-key': 'spring' })).body.codes;
    await using console = await openConsole(server, { person: member, at: '#/vouchers' });
    const { page } = console;
    await page.getByLabel('Voucher code').fill(`${code.slice(0, -1)}${code.endsWith('A') ? 'B' : 'A'}`);
    await page.getByRole('button', { name: 'Redeem' }).click();
    await page.getByText('The code is mistyped').waitFor();
    await page.getByLabel('Voucher code').fill(code.toLowerCase());
    await page.getByRole('button', { name: 'Redeem' }).click();
    await page.getByText('¥5.50 was added to the balance.').waitFor();
    await console.assertAccessible();
  });

  it('a user changes name and password, and ends all other sessions', async () => {
    const { owner } = await people();
    const elsewhere = await signIn(server, owner);
    await using console = await openConsole(server, { person: owner, at: '#/profile' });
    const { page } = console;
    await page.getByLabel('Name').fill('Ada L.');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await page.getByRole('button', { name: 'End all others' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End all others' }).click();
    await page.getByText('All other sessions have ended.').waitFor();
    assert.equal((await ask(server, 'GET', '/session', undefined, elsewhere)).status, 401);
    await page.getByLabel('Current password').fill('not the password');
    await page.getByLabel('New password *').fill('another long password');
    await page.getByLabel('Repeat the password').fill('another long password');
    await page.getByRole('button', { name: 'Change the password' }).click();
    await page.getByRole('alert').filter({ hasText: 'This failed' }).waitFor();
    await page.getByLabel('Current password').fill(owner.password);
    await page.getByRole('button', { name: 'Change the password' }).click();
    await page.getByText('Password changed.').waitFor();
    await signIn(server, { ...owner, password: 'another long password' });
    assert.equal((await ask(server, 'GET', '/session', undefined, owner.headers)).body.user.name, 'Ada L.');
  });
});
