import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { extname, join, normalize } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { linkOf } from '../../tools/site/.vitepress/places.ts';
import { openBrowser } from '../support/browser.ts';
import { withoutBrowser } from '../support/chromium.ts';
import { createTestDatabase } from '../support/database.ts';
import { listenOnLoopback } from '../support/loopback.ts';

/** Builds and opens the documentation site. */

const SITE = 'docs/.site';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

it('a link of a page to a file that is not there fails', () => {
  assert.equal(linkOf('docs/limits.md', '../README.md#the-console'), './index.md#the-console');
  assert.equal(linkOf('docs/limits.md', '../package.json'), null);
  assert.throws(() => linkOf('docs/limits.md', 'absent.md'), /docs\/limits\.md links to absent\.md/);
});

describe('the site', { skip: withoutBrowser }, () => {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '/', 'http://site').pathname);
    const file = join(SITE, path.endsWith('/') ? `${path}index.html` : path);
    if (!existsSync(file)) response.writeHead(404).end();
    else
      response
        .writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' })
        .end(readFileSync(file));
  });
  const problems: string[] = [];
  let page: Page;
  let url: string;

  before(async () => {
    // The API pages come from a demo, which starts twice as fast on a server.
    const stored = await createTestDatabase();
    await promisify(execFile)(process.execPath, ['scripts/build-docs.ts'], {
      env: { ...process.env, DATABASE_URL: stored.url },
    });
    await stored.remove();
    url = `http://127.0.0.1:${(await listenOnLoopback(server)).port}`;
    const context = await (await openBrowser()).newContext({ reducedMotion: 'reduce' });
    page = await context.newPage();
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  });
  after(async () => {
    await page?.context().close();
    server.close();
  });

  for (const [place, heading] of [
    ['/', 'Faregate'],
    ['/configuration-reference.html', 'Configuration reference'],
    ['/api/admin.html', 'The admin API'],
    ['/zh/console.html', ''],
  ] as const) {
    it(`${place} is shown without errors, and axe finds nothing serious`, async () => {
      await page.goto(url + place);
      assert.ok((await page.locator('main h1').innerText()).includes(heading));
      await page.evaluate(AXE);
      const { violations } = await page.evaluate<{
        violations: { id: string; impact: string; nodes: { html: string }[] }[];
      }>(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) => ({ violations }))`);
      const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
      assert.deepEqual(
        serious.map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`),
        [],
      );
      assert.deepEqual(problems, []);
    });
  }

  for (const [start, words, found] of [
    ['/', 'connectionsPerAddress', '/configuration-reference'],
    ['/zh/', '控制台', '/zh/'],
  ] as const) {
    it(`a search for ${words} finds a page of ${start}`, async () => {
      await page.goto(url + start);
      await page.locator('.DocSearch-Button').click();
      await page.locator('#localsearch-input').fill(words);
      await page.locator(`#localsearch-list a[href*="${found}"]`).first().waitFor();
      assert.deepEqual(problems, []);
    });
  }

  it('the switch of the language leads to the same page, and to the first one where there is no Chinese page', async () => {
    for (const [from, to] of [
      ['/console.html', '**/zh/console.html'],
      ['/limits.html', '**/zh/'],
    ] as const) {
      await page.goto(url + from);
      await page.locator('.VPNavBarTranslations button').hover();
      await page.locator('.VPNavBarTranslations a', { hasText: '简体中文' }).click();
      await page.waitForURL(to);
    }
    assert.deepEqual(problems, []);
  });
});
