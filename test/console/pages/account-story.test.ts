import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import { responseAnything } from '../../conformance/addresses.ts';
import { plansText, subscribe } from '../../conformance/plans.ts';
import { openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { startGateway, type TestAccount, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';
import { until } from '../../support/until.ts';

/** The first steps of a new account holder. */

describe('an account holder', { skip: withoutBrowser }, () => {
  let server: TestGateway;
  let account: TestAccount;
  let owner: TestPerson;
  before(async () => {
    server = await startGateway({ plans: plansText({ starter: {} }), usageIntervalMs: 10 });
    server.provider.respond = responseAnything;
    account = await server.createAccount();
    await subscribe(server, account, 'starter');
    owner = await createPerson(server, { name: 'Ada', memberships: [{ accountId: account.id, role: 'owner' }] });
  });
  after(async () => {
    await server?.stop();
  });

  it('signs in, creates a key, calls with an SDK, sees the charge, revokes the key, and is refused', async () => {
    await using console = await openConsole(server, { at: '#/keys' });
    const { page } = console;
    await page.getByLabel('E-mail address or name').fill(owner.email);
    await page.getByLabel(/^Password/).fill(owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();

    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('laptop');
    await page.getByRole('dialog').getByRole('button', { name: 'Create a key' }).click();
    const apiKey = await page.getByRole('dialog').locator('code').innerText();
    await page.getByRole('button', { name: 'Done' }).click();

    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 });
    const ask = () =>
      client.chat.completions.create({
        model: 'test-chat',
        messages: [{ role: 'user', content: 'Hello!' }],
        stream: true,
      });
    let text = '';
    for await (const chunk of await ask()) text += chunk.choices[0]?.delta?.content ?? '';
    assert.notEqual(text, '');

    const charged = await account.endedCall();
    await console.go('#/calls');
    await page.getByRole('row').filter({ hasText: 'laptop' }).getByText('succeeded').waitFor();
    await page.getByRole('row').filter({ hasText: 'laptop' }).getByRole('link').click();
    await page
      .getByRole('row', { name: /^Charge/ })
      .getByText(`¥${charged.chargeYuan}`)
      .waitFor();
    await console.assertAccessible();

    await console.go('#/keys');
    await page.getByRole('button', { name: 'Actions for laptop' }).click();
    await page.getByRole('menuitem', { name: 'Revoke', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await assert.rejects(ask(), (error: { status?: number }) => error.status === 401);
  });

  it('makes a test call in the quickstart and sees its cost', async () => {
    await using console = await openConsole(server, { person: owner, at: '#/quickstart' });
    const { page } = console;
    await page.getByRole('button', { name: 'Create a trial key' }).click();
    await page.getByText('A trial key is in use').waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Cost:').waitFor();
    const { chargeYuan } = await account.endedCall(2);
    await page.getByText(`: ¥${chargeYuan}`).waitFor();
    const { body } = await server.admin('GET', `/accounts/${account.id}/keys`);
    const made = body.data.find(({ name }: { name: string }) => name === 'Console trial');
    assert.deepEqual([made.totalSpendCapYuan, made.scopes], ['1', ['calls']]);
    const stored = await page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
    assert.ok(!stored.includes('sk-'));
    await console.assertAccessible();
    const shown = (): Promise<string> => page.getByRole('main').innerText();
    const key = await page.getByLabel('API key').inputValue();
    assert.ok((await shown()).includes(key));
    await page.getByRole('combobox', { name: 'Client' }).click();
    await page.getByRole('option', { name: 'Zed' }).click();
    await page.getByText('These settings outlive the trial key').waitFor();
    await page.getByText('Windows: cmd').click();
    await page.getByText('setx FAREGATE_API_KEY').waitFor();
    assert.ok(!(await shown()).includes(key));
    await page.getByRole('combobox', { name: 'Client' }).click();
    await page.getByRole('option', { name: 'Cline' }).click();
    await page.getByText('Checked on').waitFor();
    await console.assertAccessible();
  });

  it('sees that a response was cut off, and its cost', async () => {
    await using console = await openConsole(server, { person: owner, at: '#/quickstart' });
    const { page } = console;
    await page.route(/\/v1\/chat\/completions$/, async (route) => {
      const response = await route.fetch();
      const body = await response.body();
      await route.fulfill({ response, body: body.subarray(0, body.indexOf('"finish_reason":"stop"')) });
    });
    await page.getByRole('button', { name: 'Create a trial key' }).click();
    await page.getByText('A trial key is in use').waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('The connection was lost').waitFor();
    await page.getByText('Cost:').waitFor();
  });

  it('sees that plans failed to load, and retries', async () => {
    await using console = await openConsole(server, { person: owner });
    const { page } = console;
    await page.route(/\/account\/v1\/plans/, (route) => route.abort());
    await console.go('#/plan');
    await page.getByRole('alert').getByRole('button').waitFor();
    assert.equal(await page.getByRole('heading', { name: 'Plan terms' }).count(), 0);
    await page.unroute(/\/account\/v1\/plans/);
    await page.getByRole('alert').getByRole('button').click();
    await page.getByRole('heading', { name: 'Plan terms' }).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
  });

  it('finds a refused request by its id, with the reason', async () => {
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${account.key}`,
        'content-type': 'application/json',
        'x-request-id': 'my-own-id',
      },
      body: JSON.stringify({ model: 'no-such-model', messages: [] }),
    });
    assert.equal(response.status, 404);
    const requestId = response.headers.get('x-request-id')!;
    // Refusals are recorded in batches after their responses.
    await until(async () => (await server.admin('GET', `/calls?requestId=${requestId}`)).body.refusals.length > 0);
    await using console = await openConsole(server, { person: owner, at: '#/calls' });
    const { page } = console;
    await page.getByLabel('Request id').fill(requestId);
    await page.keyboard.press('Enter');
    await page.getByText('no-such-model').first().waitFor();
  });

  it('reads a monthly statement that matches the balance', async () => {
    await using console = await openConsole(server, { person: owner, at: '#/ledger?tab=statement' });
    const { balanceNano } = await account.money();
    const balance = `¥${balanceNano / 1_000_000_000n}.${String((balanceNano / 10_000_000n) % 100n).padStart(2, '0')}`;
    await console.page.getByText('Closing balance').waitFor();
    await console.page.getByText(balance).first().waitFor();
    await console.assertAccessible();
  });
});
