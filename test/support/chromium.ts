import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first has the same engine without windows and their menus: a page takes half of the time and of the processor in it. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Where the system's Chromium is: as `FAREGATE_TEST_CHROMIUM` says, or on the path; `null` if none is installed. */
export function findChromium(): string | null {
  const given = process.env.FAREGATE_TEST_CHROMIUM;
  if (given !== undefined && given !== '') return given;
  const directories = (process.env.PATH ?? '').split(delimiter);
  const paths = NAMES.flatMap((name) => directories.map((directory) => join(directory, name)));
  return paths.find((path) => existsSync(path)) ?? null;
}

/** Why tests with a browser are left out; `false` where they run. */
export const withoutBrowser =
  findChromium() === null ? 'no Chromium here: install one, or name it in FAREGATE_TEST_CHROMIUM' : false;
