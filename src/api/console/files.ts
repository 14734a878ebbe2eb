import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type FileHandler, fileHandler } from '../served-file.ts';

export const BUILT_CONSOLE = fileURLToPath(new URL('../../../console/dist/', import.meta.url));

export interface Console {
  readonly page: string;
  /** Handlers by path below `/console/`. */
  readonly files: ReadonlyMap<string, FileHandler>;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** `cache-control` of files in `assets`, whose names contain a hash of the content. */
const UNCHANGING = 'public, max-age=31536000, immutable';
const CHANGING = 'public, max-age=300';

const ENCODINGS = [
  { encoding: 'br', suffix: '.br' },
  { encoding: 'gzip', suffix: '.gz' },
] as const;

/**
 * Reads a built console, about 3 MB with all encodings; `null` if there is none. It reads all files at once, so a page gets files of its
 * own version even if an upgrade replaces them on disk.
 */
export async function readConsole(directory: string): Promise<Console | null> {
  const names = (await readdir(directory, { recursive: true }).catch(absent)) ?? [];
  const read = await Promise.all(
    names.map(async (name) => [name, await readFile(join(directory, name)).catch(absent)]),
  );
  const contents = new Map(read as [string, Buffer | null][]);
  const page = contents.get('index.html');
  if (!page) return null;
  const files = new Map<string, FileHandler>();
  for (const [name, bytes] of contents) {
    const contentType = CONTENT_TYPES[extname(name)];
    if (!bytes || contentType === undefined) continue;
    const path = name.replaceAll('\\', '/');
    const encoded = ENCODINGS.flatMap(({ encoding, suffix }) => {
      const same = contents.get(name + suffix);
      return same ? [{ encoding, read: () => same }] : [];
    });
    const cacheControl = path.startsWith('assets/') ? UNCHANGING : CHANGING;
    files.set(path, fileHandler({ contentType, headers: {}, cacheControl, read: () => bytes, encoded }));
  }
  return { page: page.toString(), files };
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'EISDIR') return null;
  throw error;
}
