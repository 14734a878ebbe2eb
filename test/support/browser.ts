import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after } from 'node:test';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { findChromium } from './chromium.ts';
import type { TestGateway } from './gateway.ts';
import type { PersonHeaders } from './people.ts';
import { writePlainFont } from './plain-font.ts';

/**
 * The pages of the console in the system's Chromium. Tests that need it stand in `test/console/pages`, which only full runs have; they
 * take `skip: withoutBrowser` (`chromium.ts`).
 */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let opened: Promise<Browser> | null = null;

// Only tests, which a script that makes pictures is not, run something at their end.
if (process.env.NODE_TEST_CONTEXT !== undefined) after(async () => (await opened)?.close());

/**
 * The browser of this process, which ends with it: to start one takes more than most of the tests in it, and whoever opens the console
 * has no past in it. @throws if the console is not built as it stands.
 */
export function openBrowser(): Promise<Browser> {
  opened ??= startBrowser();
  return opened;
}

/** A browser with one font, which is the same on all machines. Whoever opens it closes it. @throws as `openBrowser` */
export async function openPlainBrowser(): Promise<Browser> {
  const font = writePlainFont();
  const browser = await startBrowser({ FONTCONFIG_FILE: font.configFile });
  browser.on('disconnected', () => font.remove());
  return browser;
}

async function startBrowser(environment: Readonly<Record<string, string>> = {}): Promise<Browser> {
  requireFreshBuild();
  const executablePath = findChromium();
  assert.ok(executablePath !== null);
  // Chromium has no sandbox as root, which containers often are; it loads pages of this machine only.
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  // Without a graphics card, pages are drawn faster without the way by one.
  // A page of a test does nothing often enough to gain what it takes to compile it for speed.
  const compiledOnce = '--js-flags=--no-maglev --no-opt';
  const args = ['--disable-gpu', '--disable-gpu-rasterization', '--disable-extensions', compiledOnce, ...sandbox];
  return chromium.launch({ executablePath, args, env: { ...process.env, ...environment } });
}

/** A test of what was built before the last change would prove nothing. */
function requireFreshBuild(): void {
  const built = 'console/dist/index.html';
  const sources = globSync('console/{index.html,vite.config.ts,public/*,src/**/*}').map((path) => statSync(path));
  const newestMs = Math.max(...sources.filter((each) => each.isFile()).map(({ mtimeMs }) => mtimeMs));
  assert.ok(
    existsSync(built) && statSync(built).mtimeMs >= newestMs,
    'The console is not built, or has changed. Run: npm run build',
  );
}

export interface ConsoleOptions {
  /** Whose session the browser has; nobody's if it is absent. */
  readonly person?: { readonly headers: PersonHeaders };
  /** Where to begin, such as `#/keys`. */
  readonly at?: string;
  readonly language?: 'en' | 'zh';
  readonly theme?: 'light' | 'dark';
  /** Of the browser. */
  readonly timezone?: string;
  /** 390: a phone. */
  readonly widthPx?: number;
  readonly heightPx?: number;
  /** That of this process, if none is given. */
  readonly browser?: Browser;
}

/** A page of the console as somebody sees it. Disposed of, it is closed, and fails where it broke its policy or threw. */
export interface OpenConsole extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Goes to another place of the console, such as `#/keys`. */
  go(place: string): Promise<void>;
  /** Fails where axe finds something, or the page is wider than the window. */
  assertAccessible(): Promise<void>;
}

/** Opens the console as a person, in a browser without a past. */
export async function openConsole(
  { url }: Pick<TestGateway, 'url'>,
  {
    person,
    at = '',
    language = 'en',
    theme = 'light',
    timezone = 'Asia/Shanghai',
    widthPx = 1280,
    heightPx = 900,
    browser,
  }: ConsoleOptions = {},
): Promise<OpenConsole> {
  const context = await (browser ?? (await openBrowser())).newContext({
    viewport: { width: widthPx, height: heightPx },
    locale: language === 'zh' ? 'zh-CN' : 'en-GB',
    timezoneId: timezone,
    colorScheme: theme,
    reducedMotion: 'reduce',
  });
  if (person !== undefined) {
    const [name = '', value = ''] = person.headers.cookie.split(/=(.*)/s);
    await context.addCookies([{ name, value, url, httpOnly: true, sameSite: 'Lax' }]);
  }
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    // A response that is an error is written to the console of the browser, too; pages show it themselves.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      problems.push(message.text());
  });
  await page.goto(`${url}/console${at}`);

  return {
    page,
    context,
    async go(place) {
      await page.evaluate(`window.location.hash = ${JSON.stringify(place)}`);
    },
    async assertAccessible() {
      await page.locator('main h1').waitFor();
      await page.evaluate(AXE);
      // What is in order, and why, is several times as much as the page itself.
      const { violations } = await page.evaluate<AxeResult>(
        `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => ({ violations }))`,
      );
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join('\n  ')}`);
      assert.deepEqual(found, []);
      const overhangPx = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
      assert.ok(overhangPx <= 0, `the page is ${overhangPx} px wider than the window`);
    },
    async [Symbol.asyncDispose]() {
      await context.close();
      assert.deepEqual(problems, []);
    },
  };
}

/**
 * Saves a form, and waits for the end of it. The button alone would not say so: it is off from the click on, while the response is awaited.
 *
 * @throws if the gateway refuses the change.
 */
export async function saveForm(page: Page, form: Locator): Promise<void> {
  const response = page.waitForResponse((each) => each.request().method() !== 'GET');
  await form.getByRole('button', { name: 'Save' }).click();
  assert.ok((await response).ok(), 'the change was refused');
  await form.getByRole('button', { name: 'Save', disabled: true }).waitFor();
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}
