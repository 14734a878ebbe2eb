import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { responseAnything } from '../../conformance/addresses.ts';
import { plansText, subscribe } from '../../conformance/plans.ts';
import { openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { startGateway, type TestAccount, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';
import { until } from '../../support/until.ts';

/** What account holders see if something fails. Their first day is in `owner-day.test.ts`. */

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
});
