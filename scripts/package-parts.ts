import { copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Packages of which the program reads single files and runs no code. The package contains these files, so that installers download
 * neither the rest nor the install script of a dependency of `swagger-ui-dist`.
 */
const FILES: Readonly<Record<string, readonly string[]>> = {
  'gpt-tokenizer': ['package.json', 'data/o200k_base.tiktoken'],
  'swagger-ui-dist': [
    'package.json',
    'swagger-ui-bundle.js',
    'swagger-ui-bundle.js.LICENSE.txt',
    'swagger-ui.css',
    'favicon-32x32.png',
  ],
};

const NOTICES = '{LICENSE,LICENCE,NOTICE,COPYING}*';

const { dependencies, peerDependencies } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);
const installed: ReadonlySet<string> = new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies)]);

/** Names of packages in modules: in imports, dynamic imports and `import.meta.resolve`. `is distinct from 'x'` is SQL. */
const NAMES =
  /((?<!\bdistinct )\bfrom |\bimport |\bimport\(|\bimport\.meta\.resolve\()(['"`])((?:@[\w.-]+\/)?[a-z][\w.-]*)((?:\/[^'"`]*)?)\2/g;

/** Copies the files into `third-party` of the compiled program, and redirects its modules to them. */
export function addParts(dist: string): void {
  for (const [name, files] of Object.entries(FILES)) copyFiles(name, join(dist, 'third-party', name), files);
  for (const path of globSync('**/*.js', { cwd: dist, exclude: ['third-party/**'] })) redirect(dist, path);
}

function copyFiles(name: string, target: string, files: readonly string[]): void {
  const folder = fileURLToPath(new URL(`../node_modules/${name}`, import.meta.url));
  for (const pattern of [...files, NOTICES]) {
    const found = globSync(pattern, { cwd: folder });
    if (found.length === 0) throw new Error(`${folder} has no ${pattern}.`);
    for (const path of found) {
      mkdirSync(dirname(join(target, path)), { recursive: true });
      copyFileSync(join(folder, path), join(target, path));
    }
  }
}

/** @throws Error if a module names a package that is not installed with this one, which would fail when the module is loaded */
function redirect(dist: string, path: string): void {
  const file = join(dist, path);
  const before = readFileSync(file, 'utf8');
  const after = before.replace(NAMES, (whole, start: string, quote: string, name: string, rest: string) => {
    if (Object.hasOwn(FILES, name)) {
      const target = relative(dirname(path), join('third-party', name + rest)).replaceAll('\\', '/');
      return `${start}${quote}${target.startsWith('.') ? target : `./${target}`}${quote}`;
    }
    if (isBuiltin(name) || installed.has(name)) return whole;
    throw new Error(`${path} needs ${name}, which is not a dependency (${basename(import.meta.filename)}).`);
  });
  if (after !== before) writeFileSync(file, after);
}
