import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { openBrowser } from '../test/support/browser.ts';
import { LISTENING, type ReadPrinted, withGateway } from './started-demo.ts';

/**
 * Takes the console screenshots for the documentation: the four main pages of the demo in both languages, one in the dark theme.
 *
 *   npm run console:screenshots [-- DIRECTORY]
 *
 * Requires the system's Chromium, and fonts with Chinese characters.
 */
const OUT = process.argv[2] ?? fileURLToPath(new URL('../docs/console', import.meta.url));

const SHOTS = [
  { name: 'overview', place: '#/', theme: 'light' },
  { name: 'usage', place: '#/usage', theme: 'dark' },
  { name: 'models', place: '#/models', theme: 'light' },
  { name: 'live', place: '#/operator', theme: 'light' },
] as const;
const LANGUAGES = { en: 'en-GB', zh: 'zh-CN' } as const;

mkdirSync(OUT, { recursive: true });
await withGateway({}, async (printed) => {
  const demo = await readBanner(printed);
  const browser = await openBrowser();
  for (const language of Object.keys(LANGUAGES) as (keyof typeof LANGUAGES)[]) await take(browser, demo, language);
  await browser.close();
});

interface Demo {
  readonly url: string;
  readonly user: string;
  readonly password: string;
}

/** Reads the address and the sign-in data that the demo prints. */
async function readBanner(printed: ReadPrinted): Promise<Demo> {
  const [, url] = await printed(LISTENING);
  const [, user, password] = await printed(/user and password +(\S+) +(\S+)\n/);
  return { url: url!, user: user!, password: password! };
}

async function take(browser: Browser, { url, user, password }: Demo, language: keyof typeof LANGUAGES): Promise<void> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    deviceScaleFactor: 1.5,
    locale: LANGUAGES[language],
    timezoneId: 'Asia/Shanghai',
    reducedMotion: 'reduce',
  });
  const signedIn = await context.request.post(`${url}/account/v1/sessions`, {
    data: { user, password },
    headers: { 'sec-fetch-site': 'same-origin' },
  });
  if (!signedIn.ok()) throw new Error(`The sign-in was refused: ${await signedIn.text()}`);
  for (const { name, place, theme } of SHOTS) {
    const page = await context.newPage();
    await page.emulateMedia({ colorScheme: theme });
    await page.goto(`${url}/console${place}`);
    await page.locator('main h1').first().waitFor();
    await page.waitForLoadState('networkidle');
    const path = join(OUT, `${name}-${language}.png`);
    await page.screenshot({ path });
    console.log(`${path}: ${Math.round(readFileSync(path).length / 1024)} KB`);
    await page.close();
  }
  await context.close();
}
