import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

/** A4 is narrower than the width below which lists are cards on the screen. */
const PAPER = { width: 680, height: 960 };
const SCREEN = { width: 1280, height: 900 };

/**
 * Fails if a statement or receipt does not print these texts dark on white, or prints more of the console than the paper.
 *
 * @param hasTable whether its lists must be tables
 */
export async function assertPrinted(page: Page, texts: readonly string[], hasTable: boolean): Promise<void> {
  await page.emulateMedia({ media: 'print' });
  for (const text of texts) {
    assert.equal(await page.getByText(text, { exact: true }).first().isVisible(), true, text);
  }
  for (const hidden of ['header', 'nav', '.page-head', '.no-print']) {
    for (const each of await page.locator(hidden).all()) assert.equal(await each.isVisible(), false, hidden);
  }
  const color = "getComputedStyle(document.body).getPropertyValue('--mantine-color-text')";
  assert.equal(await page.evaluate(color), '#000');
  assert.equal(await page.evaluate('getComputedStyle(document.querySelector(".paper")).color'), 'rgb(0, 0, 0)');
  await page.setViewportSize(PAPER);
  if (hasTable) await page.locator('.paper table').first().waitFor();
  assert.ok((await page.pdf()).length > 1_000);
  await page.setViewportSize(SCREEN);
  await page.emulateMedia({ media: 'screen' });
}
