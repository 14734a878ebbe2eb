import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first one has the same engine without windows: a page takes half of the time and CPU in it. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The path of the system's Chromium, from `FAREGATE_TEST_CHROMIUM` or `PATH`; `null` if none is installed. */
export function findChromium(): string | null {
  const given = process.env.FAREGATE_TEST_CHROMIUM;
  if (given !== undefined && given !== '') return given;
  const directories = (process.env.PATH ?? '').split(delimiter);
  const paths = NAMES.flatMap((name) => directories.map((directory) => join(directory, name)));
  return paths.find((path) => existsSync(path)) ?? null;
}

/** Why tests with a browser are skipped; `false` if they run. */
export const withoutBrowser =
  findChromium() === null ? 'no Chromium here: install one, or name it in FAREGATE_TEST_CHROMIUM' : false;
