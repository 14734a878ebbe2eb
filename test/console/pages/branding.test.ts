import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';

/** What visitors and people see of the operator: name, logo, prices. */

/** Its script would change the title of a page that runs it. */
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><script>document.title = "run"</script><rect width="40" height="20"/></svg>';

describe('the operator’s own console', { skip: withoutBrowser }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'branding-'));
  let server: TestGateway;
  let owner: TestPerson;
  before(async () => {
    writeFileSync(join(directory, 'logo.svg'), LOGO);
    server = await startGateway({
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
});
