import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { pauseBetweenLooks } from './until.ts';

/** Faults of a page that need no picture to compare with: see `page-faults.js`, which runs in the page. */
const SCRIPT = readFileSync(new URL('./page-faults.js', import.meta.url), 'utf8');
/** Maximum number of looks at a page that keeps its faults: it renders in several steps, as its data arrives. */
const LOOKS_MAX = 100;

/** Looks at a page, or the dialog that is open in it, until it has no faults. Returns those that remain. */
export async function findFaults(page: Page, language: 'en' | 'zh'): Promise<string[]> {
  await page.evaluate(SCRIPT);
  for (let looks = 1; ; looks++) {
    const found = await page.evaluate<string[]>(`findPageFaults(${JSON.stringify(language)})`);
    if (found.length === 0 || looks === LOOKS_MAX) return found;
    await pauseBetweenLooks();
  }
}
