import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { CDPSession, Page } from 'playwright-core';
import { beside, cut, differingPixels, type Picture, readPng, writePng } from './small-png.ts';
import { pauseBetweenLooks } from './until.ts';

/**
 * Pictures of pages, compared with those in `test/console/pages/pictures`, at a tenth of the width and height: they show positions, sizes
 * and colours, but no text. The browser has one font (`plain-font.ts`) and a stopped clock.
 */

const DIRECTORY = 'test/console/pages/pictures';
const SCALE = 0.1;
/** Per colour channel, out of 255: edges blend with the background. */
const COLOR_MAX = 40;
/** Share of a picture's pixels: durations and paths differ in length. */
const DIFFERING_MAX = 0.004;
/** Maximum number of pictures of a page that keeps changing. */
const TRIES_MAX = 60;

/** `npm run console:pictures` writes the pictures instead of comparing them. */
export const isWriting = process.env.FAREGATE_WRITE_PICTURES === '1';

export interface Look {
  readonly theme: 'light' | 'dark';
  readonly widthPx: number;
  readonly heightPx: number;
}

const DESKTOP = { widthPx: 1440, heightPx: 900 };
/** As high as the desktop: how far the menu scrolls must not depend on which of the two sizes changes first. */
const PHONE = { widthPx: 390, heightPx: 900 };

const CENTER_MENU = `document.querySelector('nav [aria-current="page"]')?.scrollIntoView({ block: 'center' })`;

/** Between the two; without pictures of its own, because the layout is that of one of them. */
export const TABLET = { widthPx: 1024, heightPx: 900 };

/** Every page in both themes, at a desktop and on a phone. Each differs in one thing from the one before. */
export const PAGE_LOOKS: readonly Look[] = [
  { theme: 'light', ...DESKTOP },
  { theme: 'dark', ...DESKTOP },
  { theme: 'dark', ...PHONE },
  { theme: 'light', ...PHONE },
];

/** Takes the pictures of one page after another. */
export class PagePictures {
  readonly #page: Page;
  readonly #session: CDPSession;
  readonly #looks: readonly Look[];
  readonly #wrong: string[] = [];
  #directory: string | null = null;

  private constructor(page: Page, session: CDPSession, looks: readonly Look[]) {
    this.#page = page;
    this.#session = session;
    this.#looks = looks;
  }

  /** `looks`: all, in the order in which they are taken. */
  static async of(page: Page, looks: readonly Look[]): Promise<PagePictures> {
    return new PagePictures(page, await page.context().newCDPSession(page), looks);
  }

  /** Shows the next page in the first look. */
  async begin(): Promise<void> {
    await this.#show(this.#looks[0]!);
  }

  async #show({ theme, widthPx, heightPx }: Look): Promise<void> {
    await this.#page.emulateMedia({ colorScheme: theme });
    await this.#page.setViewportSize({ width: widthPx, height: heightPx });
  }

  /** Takes the page in all looks, and records differences from the picture of that name. `look` is called in each of them. */
  async compare(name: string, look: (at: Look) => Promise<void>): Promise<void> {
    const file = join(DIRECTORY, `${name}.png`);
    const wanted = isWriting || !existsSync(file) ? null : this.#parts(readPng(readFileSync(file)));
    const taken: Picture[] = [];
    const wrong: string[] = [];
    for (const [index, at] of this.#looks.entries()) {
      if (index > 0) await this.#show(at);
      const { picture, isRight } = await this.#settled(at, wanted?.[index]);
      taken.push(picture);
      if (!isRight) wrong.push(`${at.theme}, ${at.widthPx} px`);
      await look(at);
    }
    const whole = writePng(beside(taken));
    if (isWriting) write(file, whole);
    else if (wrong.length > 0) {
      this.#directory ??= mkdtempSync(join(tmpdir(), 'faregate-pictures-'));
      write(join(this.#directory, `${name}-now.png`), whole);
      write(join(this.#directory, `${name}-page.png`), await this.#page.screenshot());
      if (wanted !== null) write(join(this.#directory, `${name}-wanted.png`), readFileSync(file));
      this.#wrong.push(`${name}: ${wanted === null ? 'there is no picture of it' : wrong.join('; ')}`);
    }
  }

  /** Fails if a page differed from its picture, and names the files to compare. */
  end(): void {
    assert.deepEqual(
      this.#wrong,
      [],
      `Pages differ from their pictures. Both are in ${this.#directory}; if pages are as they should be: npm run console:pictures\n${this.#wrong.join('\n')}`,
    );
  }

  /** A page renders in several steps. Returns once it matches; otherwise once it stops changing. */
  async #settled(look: Look, wanted: Picture | undefined): Promise<{ picture: Picture; isRight: boolean }> {
    let last: Picture | null = null;
    let alike = 0;
    for (let tries = 0; ; tries++) {
      const picture = await this.#take(look);
      const differing = wanted === undefined ? 1 : differingPixels(picture, wanted, COLOR_MAX);
      if (differing <= picture.width * picture.height * DIFFERING_MAX && wanted !== undefined)
        return { picture, isRight: true };
      alike = last?.pixels.equals(picture.pixels) ? alike + 1 : 0;
      if (alike >= (wanted === undefined ? 2 : 20) || tries === TRIES_MAX) return { picture, isRight: isWriting };
      last = picture;
      await pauseBetweenLooks();
    }
  }

  /** The pictures of all looks, from a file that has them next to each other. */
  #parts(whole: Picture): Picture[] {
    let left = 0;
    return this.#looks.map(({ widthPx, heightPx }) => {
      const part = cut(whole, left, widthPx * SCALE, heightPx * SCALE);
      left += part.width;
      return part;
    });
  }

  async #take({ widthPx, heightPx }: Look): Promise<Picture> {
    // How far the menu was scrolled, so that its page is seen, depends on what was seen before.
    if (widthPx === DESKTOP.widthPx) await this.#page.evaluate(CENTER_MENU);
    const { data } = await this.#session.send('Page.captureScreenshot', {
      format: 'png',
      optimizeForSpeed: true,
      clip: { x: 0, y: 0, width: widthPx, height: heightPx, scale: SCALE },
    });
    return readPng(Buffer.from(data, 'base64'));
  }
}

function write(path: string, bytes: Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
}
