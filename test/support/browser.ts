import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after } from 'node:test';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { findChromium } from './chromium.ts';
import type { TestGateway } from './gateway.ts';
import type { PersonHeaders } from './people.ts';
import { writePlainFont } from './plain-font.ts';
import { newPage, returnPage, takePage } from './reused-pages.ts';

/**
 * The pages of the console in the system's Chromium. Tests that need a browser are in `test/console/pages`, which only full runs include,
 * and take `skip: withoutBrowser` (`chromium.ts`).
 */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let opened: Promise<Browser> | null = null;

// `after` works in tests only; the script that takes screenshots is not one.
if (process.env.NODE_TEST_CONTEXT !== undefined) after(async () => (await opened)?.close());

/**
 * The browser of this process, closed when the process ends. Starting one takes longer than most of its tests.
 * @throws if the console was not built since its last change.
 */
export function openBrowser(): Promise<Browser> {
  opened ??= startBrowser();
  return opened;
}

/** A browser with a single font, the same on all machines. The caller closes it. @throws as `openBrowser` */
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
  // Chromium's sandbox does not work as root, which containers often use. Only pages of this machine are loaded.
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  // Without a graphics card, drawing without the GPU process is faster, and pages of a test run too briefly to benefit from optimised
  // code.
  const compiledOnce = '--js-flags=--no-maglev --no-opt';
  const args = ['--disable-gpu', '--disable-gpu-rasterization', '--disable-extensions', compiledOnce, ...sandbox];
  return chromium.launch({ executablePath, args, env: { ...process.env, ...environment } });
}

/** A stale build would prove nothing about the current source. */
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
  /** Signed in with this person's session; without it, nobody is signed in. */
  readonly person?: { readonly headers: PersonHeaders };
  /** Where to begin, such as `#/keys`. */
  readonly at?: string;
  readonly language?: 'en' | 'zh';
  readonly theme?: 'light' | 'dark';
  /** Time zone of the browser. */
  readonly timezone?: string;
  /** 390 is a phone. */
  readonly widthPx?: number;
  readonly heightPx?: number;
  /** By default the browser of this process. A page of another browser is in a new context, which is closed with it. */
  readonly browser?: Browser;
  /** In a new context, for tests that use clocks, permissions or init scripts, or need a browser without the console's files. */
  readonly isNew?: boolean;
}

/**
 * An open page of the console. Disposing of it ends the page and fails the test if the page threw or violated its content security
 * policy.
 */
export interface OpenConsole extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Navigates to a fragment, such as `#/keys`. */
  go(place: string): Promise<void>;
  /** Fails if axe finds a violation, a target is smaller than 24 px and close to another, or the page is wider than the window. */
  assertAccessible(): Promise<void>;
}

/** Chooses an action in the menu of a row. */
export async function chooseAction(row: Locator | Page, action: string): Promise<void> {
  await row.getByRole('button', { name: /^Actions for/ }).click();
  const page = 'page' in row ? row.page() : row;
  await page.getByRole('menuitem', { name: action, exact: true }).click();
}

/** Opens the console without cookies and storage of earlier tests. */
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
    isNew = false,
  }: ConsoleOptions = {},
): Promise<OpenConsole> {
  const options = {
    viewport: { width: widthPx, height: heightPx },
    locale: language === 'zh' ? 'zh-CN' : 'en-GB',
    timezoneId: timezone,
    colorScheme: theme,
    reducedMotion: 'reduce',
  } as const;
  const isOwn = browser !== undefined || isNew;
  const page = await (isOwn ? newPage : takePage)(browser ?? (await openBrowser()), options);
  const context = page.context();
  if (person !== undefined) {
    const [name = '', value = ''] = person.headers.cookie.split(/=(.*)/s);
    await context.addCookies([{ name, value, url, httpOnly: true, sameSite: 'Lax' }]);
  }
  page.setDefaultTimeout(60_000);
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    // The browser logs every error response; pages show these themselves.
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
      if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(AXE);
      // Only violations: the rules that pass are several times the size of the page.
      const { violations } = await page.evaluate<AxeResult>(
        `axe.run({ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })
          .then(({ violations }) => ({ violations }))`,
      );
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join('\n  ')}`);
      assert.deepEqual(found, []);
      const overhangPx = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
      assert.ok(overhangPx <= 0, `the page is ${overhangPx} px wider than the window`);
    },
    async [Symbol.asyncDispose]() {
      if (isOwn) await context.close();
      else await returnPage(page, url, options);
      assert.deepEqual(problems, []);
    },
  };
}

/**
 * Saves a form and waits until that is complete. The button alone does not show it, because it is disabled from the click until the
 * response.
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
