import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { toLocalTime } from '../../../console/src/text/local-time.ts';
import { chooseAction, type OpenConsole, openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { makeFirstCall, NO_CATALOG } from '../../support/first-call.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { ask, createPerson, type TestPerson } from '../../support/people.ts';
import { SECONDS_MAX, WIDTHS_PX } from '../../support/practised-person.ts';
import { json } from '../../support/provider.ts';
import { until } from '../../support/until.ts';

/**
 * The first day of an operator, in one session of a browser: each test continues where the one before it ended. The account holder's day is
 * in `owner-day.test.ts`.
 */

const HOUR_MS = 3_600_000;

describe('on the first day, an operator', { skip: withoutBrowser, timeout: 300_000 }, () => {
  let server: TestGateway;
  let operator: TestPerson;
  let owner: TestPerson;
  let console: OpenConsole;
  let accountId: string;
  let apiKey: string;
  before(async () => {
    server = await startGateway({ ...NO_CATALOG, usageIntervalMs: 5 });
    operator = await createPerson(server, { name: 'Ada', operatorRole: 'operator' });
    console = await openConsole(server, { person: operator, at: '#/operator', widthPx: WIDTHS_PX.desktop });
  });
  after(async () => {
    await console?.[Symbol.asyncDispose]();
    await server?.stop();
  });

  const read = async (path: string) => (await server.admin('GET', path)).body;
  /** Makes a call with the account's key; returns its id. */
  async function chat(body: object = {}, headers: Record<string, string> = {}, status = 200): Promise<string> {
    const sent = { model: 'acme-large', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }], ...body };
    const response = await call(`${server.url}/v1/chat/completions`, apiKey, sent, { headers });
    assert.equal(response.status, status, response.text);
    return String(response.headers['x-faregate-call-id']);
  }

  it('gets from an empty installation to a charged call in less than three minutes', async (t) => {
    const { key, person } = await makeFirstCall(server, console, 'en', 'desktop');
    t.diagnostic(person.summary);
    assert.ok(person.seconds < SECONDS_MAX, person.summary);
    apiKey = key;
    accountId = (await read('/accounts')).data[0].id;
    owner = await createPerson(server, { name: 'Olga', memberships: [{ accountId, role: 'owner' }] });
  });

  it('sees that a provider failed, and why', async () => {
    const { page } = console;
    const { respond } = server.provider;
    const overloaded = { error: { message: 'The engine is overloaded' } };
    server.provider.respond = json(503, overloaded, { 'x-request-id': 'req_of_provider' });
    const id = await chat({}, {}, 503);
    server.provider.respond = respond;
    await console.go('#/operator/calls?status=failed');
    await page.locator(`main a[href="#/operator/calls/${id}"]`).first().click();
    const alert = page.getByRole('alert').filter({ hasText: 'The provider answered with an error.' });
    await alert.getByText('The engine is overloaded').waitFor();
    const attempt = page.getByRole('region', { name: 'Attempts' }).getByRole('row').nth(1);
    for (const cell of ['deepseek', 'large-1', 'apiKey', 'error 503', 'The engine is overloaded']) {
      await attempt.getByText(cell, { exact: true }).waitFor();
    }
    const { keyName, gatewayRequestId } = await read(`/calls/${id}`);
    await page.getByRole('link', { name: keyName, exact: true }).waitFor();
    await page.getByRole('row', { name: `Request id ${gatewayRequestId}` }).waitFor();
    await page.getByRole('row', { name: 'Provider request id req_of_provider' }).waitFor();
    await console.assertAccessible();
  });

  it('lets an account record who calls, and finds out who did', async () => {
    const { page } = console;
    await console.go(`#/operator/accounts/${accountId}`);
    await page.getByRole('button', { name: 'Edit what is recorded about callers' }).click();
    const dialog = page.getByRole('dialog');
    for (const fact of ['End user', 'Program', 'Client address']) {
      await dialog.getByRole('switch', { name: fact }).click();
    }
    await console.assertAccessible();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('End user, Program, Client address', { exact: true }).waitFor();
    await chat({ user: 'eve' }, { 'x-faregate-tags': 'night', 'user-agent': 'tester/1.0 (a computer)' });
    await console.go('#/operator/calls?endUser=eve&clientAddress=127.0.0.1');
    const rows = page.getByRole('table').locator('tbody tr');
    await until(async () => (await rows.count()) === 1);
    await console.assertAccessible();
    await console.go('#/operator/usage?by=program');
    await page.getByRole('row', { name: /^tester\/1\.0 / }).waitFor();
  });

  it('drains a provider, and resumes it', async () => {
    const { page } = console;
    await console.go('#/operator/routes');
    await page.getByRole('button', { name: 'Drain the provider: deepseek' }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('outage at the vendor');
    await page.getByRole('dialog').getByRole('button', { name: 'Drain' }).click();
    await page.getByText('outage at the vendor').first().waitFor();
    assert.equal((await read('/routes')).drains.length, 1);
    await page.getByRole('region', { name: 'Active drains' }).getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('region', { name: 'Active drains' }).waitFor({ state: 'detached' });
    assert.deepEqual((await read('/routes')).drains, []);
  });

  it('tops up an account, with the reference of the payment', async () => {
    const { page } = console;
    const dialog = page.getByRole('dialog');
    await console.go(`#/operator/accounts/${accountId}?tab=money`);
    await page.getByRole('button', { name: 'Top up' }).click();
    await dialog.getByLabel('Amount').fill('50');
    await dialog.getByLabel('Payment reference').fill('transfer 2026-0042');
    await dialog.getByRole('button', { name: /Top up/ }).click();
    await page.getByText('transfer 2026-0042').waitFor();
  });

  it('enters what a route costs, and sees the margin of its calls', async () => {
    const { page } = console;
    const dialog = page.getByRole('dialog');
    const sums = (of: string) => page.getByRole('region', { name: 'Sums' }).getByRole('row', { name: of });
    await console.go('#/operator/models');
    await chooseAction(page.getByRole('row', { name: /^acme-small/ }), 'Edit');
    await dialog.getByRole('button', { name: 'Add the cost of route 1' }).click();
    const cost = dialog.getByRole('group', { name: 'Cost of route 1, for your margin' });
    await cost.getByLabel('Input', { exact: true }).fill('0.5');
    await cost.getByLabel('Output', { exact: true }).fill('1.4');
    await dialog.getByRole('button', { name: 'Check and review' }).click();
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await dialog.waitFor({ state: 'hidden' });
    // A published revision is in force a moment later.
    await until(async () => (await read('/config')).config.models['acme-small'].routes[0].cost !== undefined);
    await chat({ model: 'acme-small' });
    await until(async () => (await read('/usage?groupBy=model')).data.length === 2);
    await console.go('#/operator/usage?by=model');
    // 1,000 tokens at ¥0.5 and 100 at ¥1.4 per million cost ¥0.00064, of a charge of ¥0.0012.
    await sums('acme-small').getByText('46.7%').waitFor();
    await sums('acme-large').getByText('cost unknown').waitFor();
    await console.go('#/operator/usage?by=account');
    await sums('alice')
      .getByText(/^of ¥0\.0012; other costs are unknown$/)
      .waitFor();
    await console.assertAccessible();
  });

  it('announces maintenance, which visitors and users see until they close it', async () => {
    const { page: form } = console;
    await console.go('#/operator/announcements');
    await form.getByRole('button', { name: 'New announcement' }).click();
    const dialog = form.getByRole('dialog');
    await dialog.getByLabel('English text').fill('Maintenance tonight');
    await dialog.getByLabel('Chinese text').fill('今晚维护');
    await dialog.getByLabel('Level').selectOption('warning');
    await dialog.getByLabel('For').selectOption('everyone');
    await dialog.getByLabel('Ends').fill(toLocalTime(Date.now() + HOUR_MS, 'Asia/Shanghai'));
    await dialog.getByRole('button', { name: 'New announcement' }).click();
    await form.getByText('Maintenance tonight / 今晚维护').waitFor();
    await form.getByText('shown', { exact: true }).waitFor();
    await console.assertAccessible();

    await using visitor = await openConsole(server, { language: 'zh' });
    await visitor.page.getByRole('alert').getByText('今晚维护').waitFor();
    await visitor.assertAccessible();

    await using ofOwner = await openConsole(server, { person: owner, at: '#/keys' });
    const banner = ofOwner.page.getByRole('alert').filter({ hasText: 'Maintenance tonight' });
    await banner.waitFor();
    await ofOwner.assertAccessible();
    await banner.getByRole('button', { name: 'Close' }).click();
    await banner.waitFor({ state: 'detached' });
    await ofOwner.page.reload();
    await ofOwner.page.getByRole('heading', { name: 'API keys' }).waitFor();
    assert.equal(await banner.count(), 0);

    await chooseAction(form.getByRole('row', { name: /Maintenance tonight/ }), 'Delete');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await form.getByText('Maintenance tonight / 今晚维护', { exact: true }).waitFor({ state: 'detached' });
    await visitor.page.reload();
    await visitor.page.getByRole('heading', { level: 1 }).waitFor();
    assert.equal(await visitor.page.getByRole('alert').count(), 0);
  });

  it('sees on Live that an account waits for an invoice, and issues it', async () => {
    const { page } = console;
    const ofOwner = (method: string, path: string, body: object) => ask(server, method, path, body, owner.headers);
    const buyer = { companyName: 'Lantern Ltd', taxNumber: '91310000X' };
    assert.equal((await ofOwner('PATCH', '/account', { buyer })).status, 200);
    const { data } = await read(`/accounts/${accountId}/ledger?kind=top_up&limit=1`);
    assert.equal((await ofOwner('POST', '/invoice-requests', { entryIds: [data[0].id] })).status, 201);
    await console.go('#/operator');
    await page.getByText('An account waits for an invoice').waitFor();
    await page.locator('main').getByRole('link', { name: 'Invoices' }).click();
    await page.getByRole('button', { name: 'Actions for Lantern Ltd' }).click();
    await page.getByRole('menuitem', { name: 'Issue' }).click();
    const closing = page.getByRole('dialog');
    await closing.getByText('91310000X').waitFor();
    await closing.getByLabel('Invoice number').fill('INV-2026-7');
    await console.assertAccessible();
    await closing.getByRole('button', { name: 'Issue' }).click();
    await page.getByText('Invoice issued.').waitFor();
    await page.getByText('No open requests').waitFor();
    const { body } = await ask(server, 'GET', '/invoice-requests', undefined, owner.headers);
    assert.deepEqual([body.data[0].state, body.data[0].invoiceNumber], ['issued', 'INV-2026-7']);
  });
});
