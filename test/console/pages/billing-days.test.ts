import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { call } from '../../support/client.ts';
import { createTestClock } from '../../support/clock.ts';
import { startGateway, type TestAccount, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';

/** Days and months are the gateway's, independent of the browser's time zone and clock. */

const hello = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };

describe('days in the pages of account holders', { skip: withoutBrowser }, () => {
  // 1 December, 00:30 in Shanghai, the billing time zone; 30 November, 11:30 in New York.
  const clock = createTestClock('2026-11-30T16:30:00Z');
  const elsewhere = { timezone: 'America/New_York' } as const;
  let server: TestGateway;
  let account: TestAccount;
  let owner: TestPerson;
  before(async () => {
    server = await startGateway({ clock, usageIntervalMs: 10 });
    account = await server.createAccount();
    owner = await createPerson(server, { memberships: [{ accountId: account.id, role: 'owner' }] });
    assert.equal((await call(`${server.url}/v1/chat/completions`, account.key, hello)).status, 200);
    await account.endedCall();
  });
  after(async () => {
    await server?.stop();
  });

  it('usage ends today in the billing time zone', async () => {
    await using console = await openConsole(server, { person: owner, at: '#/usage', ...elsewhere });
    const { page } = console;
    await page.getByRole('cell', { name: 'test-chat' }).waitFor();
    assert.equal(await page.getByLabel('To', { exact: true }).inputValue(), '2026-12-01');
    assert.equal(await page.getByLabel('From', { exact: true }).inputValue(), '2026-11-02');
    await page.getByText('Today', { exact: true }).click();
    await page.getByRole('cell', { name: 'test-chat' }).waitFor();
    assert.match(page.url(), /from=2026-12-01&to=2026-12-01/);
  });

  it('calls are found by their start day in the billing time zone', async () => {
    await using console = await openConsole(server, { person: owner, ...elsewhere });
    const { page } = console;
    await console.go('#/calls?from=2026-12-01&to=2026-12-01');
    await page.getByRole('cell', { name: 'test-chat' }).waitFor();
    await page.getByText('on these days (Asia/Shanghai)').waitFor();
    await console.go('#/calls?from=2026-11-30&to=2026-11-30');
    await page.getByText('No matching calls').waitFor();
    // An invalid day does not filter.
    await console.go('#/calls?from=2026-13-45');
    await page.getByRole('cell', { name: 'test-chat' }).waitFor();
  });

  it('instants are shown in the display time zone, and both zones are named if they differ', async () => {
    await using console = await openConsole(server, { person: owner, at: '#/calls', ...elsewhere });
    const { page } = console;
    await page.getByText('1 Dec 2026, 00:30:00').waitFor();
    const named = page.getByText('Times are those of America/New_York; days and months are those of Asia/Shanghai.');
    assert.equal(await named.count(), 0);
    await page.getByRole('button', { name: 'You' }).click();
    await page.getByRole('menuitem', { name: 'America/New_York (this browser)' }).click();
    await page.getByText('30 Nov 2026, 11:30:00').waitFor();
    await named.waitFor();
    await console.assertAccessible();
    await page.reload();
    await page.getByText('30 Nov 2026, 11:30:00').waitFor();
    // The days of filters stay in the billing time zone.
    await console.go('#/calls?from=2026-12-01&to=2026-12-01');
    await page.getByText('on these days (Asia/Shanghai)').waitFor();
    await page.getByRole('cell', { name: 'test-chat' }).waitFor();
    await page.getByRole('button', { name: 'You' }).click();
    await page.getByRole('menuitem', { name: 'UTC' }).click();
    await page.getByText('30 Nov 2026, 16:30:00').waitFor();
  });

  it('the statement defaults to the current month in the billing time zone, from its first to its last day', async () => {
    await using console = await openConsole(server, {
      person: owner,
      at: '#/ledger?tab=statement',
      ...elsewhere,
    });
    const { page } = console;
    await page.getByRole('heading', { name: 'Statement of 2026-12' }).waitFor();
    await page.getByText('1 Dec 2026 – 31 Dec 2026').waitFor();
  });
});
