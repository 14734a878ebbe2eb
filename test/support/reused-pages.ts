import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

/**
 * Pages that the tests of a process use one after another. The first page of a context starts a process, and requests and compiles the
 * console: 1.1 s of CPU, of which opening it again in the same page takes 0.4 s.
 */

export type PageOptions = Required<
  Pick<BrowserContextOptions, 'colorScheme' | 'locale' | 'reducedMotion' | 'timezoneId'>
> & { readonly viewport: { readonly width: number; readonly height: number } };

/** Events that tests listen to. Other listeners are Playwright's own. */
const EVENTS = ['console', 'dialog', 'download', 'pageerror', 'popup', 'request', 'requestfailed', 'response'] as const;

/** Unused pages by what a page cannot change. */
const unused = new Map<string, Page[]>();

const keyOf = ({ locale, reducedMotion, timezoneId }: PageOptions): string =>
  `${locale} ${reducedMotion} ${timezoneId}`;

/** A blank page without cookies and storage: one that `returnPage` has received, or a new one in a new context. */
export async function takePage(browser: Browser, options: PageOptions): Promise<Page> {
  const page = unused.get(keyOf(options))?.pop();
  if (page === undefined) return newPage(browser, options);
  await page.setViewportSize(options.viewport);
  await page.emulateMedia({ colorScheme: options.colorScheme, media: null });
  return page;
}

/** A page in a new context, which has requested and compiled nothing yet. */
export async function newPage(browser: Browser, options: PageOptions): Promise<Page> {
  return (await browser.newContext(options)).newPage();
}

/**
 * Makes the page available to `takePage`, without anything that a test left in it or in its context. Clocks, permissions and init scripts
 * cannot be removed: a test that uses them takes a new page, and closes its context.
 *
 * @param origin where the page is; a page that is elsewhere is closed, because storage belongs to an origin.
 */
export async function returnPage(page: Page, origin: string, options: PageOptions): Promise<void> {
  const context = page.context();
  try {
    for (const other of context.pages()) if (other !== page) await other.close();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.setOffline(false);
    if (new URL(page.url()).origin !== new URL(origin).origin) throw new Error(`The page is at ${page.url()}`);
    await page.evaluate('localStorage.clear(); sessionStorage.clear()');
    // The next page would show what is under the pointer.
    await page.mouse.move(-1, -1);
    await page.goto('about:blank');
    for (const event of EVENTS) page.removeAllListeners(event);
    await context.clearCookies();
  } catch {
    await context.close();
    return;
  }
  const key = keyOf(options);
  unused.set(key, [...(unused.get(key) ?? []), page]);
}
