import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { toLocalTime } from '../../../console/src/text/local-time.ts';
import { openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { createTestClock, type TestClock } from '../../support/clock.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';

/** What visitors and people see of the operator: name, logo, prices, announcements. */

const HOUR_MS = 3_600_000;

/** Its script would change the title of a page that runs it. */
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><script>document.title = "run"</script><rect width="40" height="20"/></svg>';

describe('the operator’s own console', { skip: withoutBrowser }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'branding-'));
  let server: TestGateway;
  let clock: TestClock;
  let owner: TestPerson;
  let operator: TestPerson;
  before(async () => {
    writeFileSync(join(directory, 'logo.svg'), LOGO);
    clock = createTestClock(new Date().toISOString());
    server = await startGateway({
      clock,
      consoleSettings: `branding: { name: Acme & Sons, logo: ${join(directory, 'logo.svg')}, supportAddress: help@acme.example }
console: { pricing: true }`,
      models: `  test-steps:
    displayName: Steps
    operations: [chat]
    price:
      input: "2"
      cachedInput: "0.25"
      output: "9"
      above: { "128000": { input: "4", cachedInput: "0.5", output: "18" } }
    routes: [{ provider: chatty, model: steps }]`,
      groups:
        'groups: { vip: { name: Only VIPs, prices: { test-chat: { input: "1.2345", cachedInput: "1", output: "2" } } } }',
    });
    const { id: accountId } = await server.createAccount();
    owner = await createPerson(server, { name: 'Ada', memberships: [{ accountId, role: 'owner' }] });
    operator = await createPerson(server, { name: 'Olga', operatorRole: 'operator' });
  });
  after(async () => {
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it('has the name, the logo and the support address before and after sign-in', async () => {
    await using entrance = await openConsole(server);
    await entrance.page.getByText('Acme & Sons').waitFor();
    await entrance.page.getByRole('link', { name: 'help@acme.example' }).waitFor();
    assert.equal(await entrance.page.title(), 'Sign in · Acme & Sons');
    await entrance.assertAccessible();
    await using console = await openConsole(server, { person: owner, at: '#/keys', widthPx: 390, theme: 'dark' });
    const { page } = console;
    const logo = page.locator('header img');
    await logo.waitFor();
    await page.waitForFunction("document.querySelector('header img').naturalWidth === 40");
    assert.equal(await page.title(), 'API keys · Acme & Sons');
    assert.equal(
      await page.getByRole('link', { name: 'help@acme.example' }).getAttribute('href'),
      'mailto:help@acme.example',
    );
    await console.assertAccessible();
  });

  it('does not run scripts of a logo that is opened by itself', async () => {
    await using console = await openConsole(server);
    const { page, context } = console;
    const address = await page.locator('img').first().getAttribute('src');
    const opened = await context.newPage();
    await opened.goto(server.url + address);
    assert.notEqual(await opened.title(), 'run');
  });

  it('shows prices to everybody, with a search, and neither unlisted models nor prices of groups', async () => {
    for (const [language, title, steps] of [
      ['en', 'Models and prices', 'Input above 128000 · Input'],
      ['zh', '模型与价格', '输入超过 128000 · 输入'],
    ] as const) {
      await using console = await openConsole(server, { language, widthPx: language === 'zh' ? 390 : 1280 });
      const { page } = console;
      await page.goto(`${server.url}/pricing`);
      await page.getByRole('heading', { name: title, level: 1 }).waitFor();
      await page.getByRole('region', { name: 'Steps' }).getByText(steps).waitFor();
      const shown = await page.locator('body').innerText();
      assert.match(shown, /Acme & Sons/);
      assert.doesNotMatch(shown, /test-hidden|test-unrouted|VIP|1\.2345/);
      await console.assertAccessible();
      await page.getByRole('textbox').fill('steps');
      await page.getByText('test-chat').first().waitFor({ state: 'detached' });
      await page.emulateMedia({ media: 'print' });
      assert.equal(await page.getByRole('textbox').isVisible(), false);
    }
  });

  it('shows an announcement from its start to its end, until somebody closes it', async () => {
    await using atWork = await openConsole(server, { person: operator, at: '#/operator/announcements' });
    const { page: form } = atWork;
    await form.getByRole('button', { name: 'New announcement' }).click();
    const dialog = form.getByRole('dialog');
    await dialog.getByLabel('English text').fill('Maintenance tonight');
    await dialog.getByLabel('Chinese text').fill('今晚维护');
    await dialog.getByLabel('Level').selectOption('warning');
    await dialog.getByLabel('For').selectOption('everyone');
    await dialog.getByLabel('Ends').fill(toLocalTime(clock.nowMs() + HOUR_MS, 'Asia/Shanghai'));
    await dialog.getByRole('button', { name: 'New announcement' }).click();
    await form.getByText('Maintenance tonight / 今晚维护').waitFor();
    await form.getByText('shown', { exact: true }).waitFor();
    await atWork.assertAccessible();

    await using visitor = await openConsole(server, { language: 'zh' });
    await visitor.page.getByRole('alert').getByText('今晚维护').waitFor();
    await visitor.assertAccessible();

    await using console = await openConsole(server, { person: owner, at: '#/keys' });
    const banner = console.page.getByRole('alert').filter({ hasText: 'Maintenance tonight' });
    await banner.waitFor();
    await console.assertAccessible();
    await banner.getByRole('button', { name: 'Close' }).click();
    await banner.waitFor({ state: 'detached' });
    await console.page.reload();
    await console.page.getByRole('heading', { name: 'API keys' }).waitFor();
    assert.equal(await banner.count(), 0);

    clock.advance(HOUR_MS);
    await visitor.page.reload();
    await visitor.page.getByRole('heading', { level: 1 }).waitFor();
    assert.equal(await visitor.page.getByRole('alert').count(), 0);
  });
});
