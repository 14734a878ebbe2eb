import { existsSync, globSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EncodedFile, ServedFile } from '../served-file.ts';

/** Where `npm run build` writes the console. */
export const BUILT_CONSOLE = fileURLToPath(new URL('../../../console/dist/', import.meta.url));

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The name of a file in `assets` changes with its content. */
const UNCHANGING = 'public, max-age=31536000, immutable';
const CHANGING = 'public, max-age=300';

const ENCODINGS = [
  { encoding: 'br', suffix: '.br' },
  { encoding: 'gzip', suffix: '.gz' },
] as const;

/** The page of the console; `null` where the console is not built. */
export function readConsolePage(directory: string): string | null {
  const path = join(directory, 'index.html');
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

/** The scripts, styles and pictures of the console, below `/console/`. They are read when they are first asked for. */
export function consoleFiles(directory: string): ServedFile[] {
  const names = globSync('**/*.{css,js,svg}', { cwd: directory }).map((name) => name.replaceAll('\\', '/'));
  return names.map((name) => {
    const path = join(directory, name);
    return {
      path: `/console/${name}`,
      contentType: CONTENT_TYPES[extname(name)]!,
      headers: {},
      cacheControl: name.startsWith('assets/') ? UNCHANGING : CHANGING,
      read: () => readFileSync(path),
      encoded: ENCODINGS.filter(({ suffix }) => existsSync(path + suffix)).map(
        ({ encoding, suffix }): EncodedFile => ({ encoding, read: () => readFileSync(path + suffix) }),
      ),
    };
  });
}
