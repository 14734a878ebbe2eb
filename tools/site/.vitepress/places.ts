import { existsSync, globSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Which Markdown files of the repository are pages of the site, and where each is. */

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const PAGES = [
  '{README,CHANGELOG,CONTRIBUTING}.md',
  'docs/**/*.md',
  'src/**/README.md',
  'console/README.md',
  'deploy/**/*.md',
  'test/conformance/REPORT.md',
  'test/fixtures/releases/README.md',
];

export const pages: readonly string[] = globSync(PAGES, { cwd: ROOT }).sort();

/** The generator takes every Markdown file that is not named here. */
export const otherFiles: readonly string[] = globSync('**/*.md', {
  cwd: ROOT,
  exclude: (name) => ['node_modules', 'data', 'dist', '.site'].includes(posix.basename(name)),
}).filter((file) => !pages.includes(file));

/** The place of a file on the site: pages of `docs` are at the top, what stands beside the code is below `source`. */
export function placeOf(file: string): string {
  const isCode = file.includes('/') && !file.startsWith('docs/');
  const below = isCode ? `source/${file}` : file.replace(/^docs\//, '');
  return below.replace(/(^|\/)README\.md$/, '$1index.md');
}

export class DeadLinkError extends Error {
  constructor(page: string, target: string) {
    super(`${page} links to ${target}, which is not there`);
    this.name = 'DeadLinkError';
  }
}

/**
 * Where a link of a page leads on the site; `null` where it leads to a file that is no page, such as a source.
 *
 * @throws DeadLinkError
 */
export function linkOf(page: string, target: string): string | null {
  const [path = '', anchor] = target.split('#');
  const end = anchor === undefined ? '' : `#${anchor}`;
  if (path === '') return end;
  const file = posix.join(posix.dirname(page), decodeURI(path)).replace(/\/$/, '');
  if (!existsSync(join(ROOT, file))) throw new DeadLinkError(page, target);
  if (!pages.includes(file)) return null;
  const from = dirname(placeOf(page));
  const relative = posix.relative(from, placeOf(file));
  return `${relative.startsWith('.') ? '' : './'}${relative}${end}`;
}
