import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

/** What the package has of a library itself, so that the library is not installed with all that nothing reads of it. */
interface Part {
  /** Names that the program imports: a module with them, and with what of the library they need. */
  readonly exports?: readonly string[];
  /** Files that are taken along as they are, by patterns; they keep their paths. */
  readonly files?: readonly string[];
}

const PARTS: Readonly<Record<string, Part>> = {
  '@copilotkit/aimock': { exports: ['LLMock'] },
  'gpt-tokenizer': { files: ['package.json', 'data/o200k_base.tiktoken'] },
  'lru-cache': { exports: ['LRUCache'] },
  'swagger-ui-dist': {
    files: [
      'package.json',
      'swagger-ui-bundle.js',
      'swagger-ui-bundle.js.LICENSE.txt',
      'swagger-ui.css',
      'favicon-32x32.png',
    ],
  },
  zod: { exports: ['z'] },
};

/** What npm installs with the package, or what whoever wants it installs. */
const { dependencies, peerDependencies } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);
const installed: ReadonlySet<string> = new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies)]);

const NOTICES = '{LICENSE,LICENCE,NOTICE,COPYING}*';

/** Where modules name others: what is imported, loaded when it is needed, or looked for. `is distinct from 'x'` is SQL. */
const NAMES =
  /((?<!\bdistinct )\bfrom |\bimport |\bimport\(|\bimport\.meta\.resolve\()(['"`])((?:@[\w.-]+\/)?[a-z][\w.-]*)((?:\/[^'"`]*)?)\2/g;

/** Puts the parts into `third-party` of the compiled program, and has its modules take them from there. */
export async function addParts(dist: string): Promise<void> {
  for (const [name, part] of Object.entries(PARTS)) {
    const target = join(dist, 'third-party', name);
    mkdirSync(target, { recursive: true });
    copyFiles(packageFolder(name), target, [...(part.files ?? []), NOTICES]);
    if (part.exports !== undefined) await bundle(name, part.exports, target);
  }
  for (const path of globSync('**/*.js', { cwd: dist, exclude: ['third-party/**'] })) pointToParts(dist, path);
}

function packageFolder(name: string): string {
  return fileURLToPath(new URL(`../node_modules/${name}`, import.meta.url));
}

function copyFiles(folder: string, target: string, patterns: readonly string[]): void {
  for (const pattern of patterns) {
    const found = globSync(pattern, { cwd: folder });
    if (found.length === 0) throw new Error(`${folder} has no ${pattern}.`);
    for (const path of found) {
      mkdirSync(dirname(join(target, path)), { recursive: true });
      copyFileSync(join(folder, path), join(target, path));
    }
  }
}

/** A library as one module, in place of the hundreds of files that it is published as. */
async function bundle(name: string, names: readonly string[], target: string): Promise<void> {
  const entry = join(target, 'entry.js');
  writeFileSync(entry, `export { ${names.join(', ')} } from '${name}';\n`);
  await build({
    configFile: false,
    logLevel: 'warn',
    root: fileURLToPath(new URL('..', import.meta.url)),
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: target,
      emptyOutDir: false,
      minify: false,
      rollupOptions: { input: entry, output: { entryFileNames: 'index.js', codeSplitting: false } },
    },
  });
  rmSync(entry);
}

/**
 * Libraries that the package has parts of are not installed, so a module must not name them. Nor any other one that is not installed with the
 * package: that would fail when the module is loaded, perhaps only on a Sunday.
 */
function pointToParts(dist: string, path: string): void {
  const file = join(dist, path);
  const before = readFileSync(file, 'utf8');
  const after = before.replace(NAMES, (whole, start: string, quote: string, name: string, rest: string) => {
    const part = PARTS[name];
    if (part === undefined) {
      if (!isBuiltin(name) && !installed.has(name)) {
        throw new Error(
          `${path} needs ${name}, which is neither a dependency nor a part (${basename(import.meta.filename)}).`,
        );
      }
      return whole;
    }
    const inside = part.exports === undefined ? fileOf(name, rest) : '/index.js';
    const there = relative(dirname(path), join('third-party', `${name}${inside}`)).replaceAll('\\', '/');
    return `${start}${quote}${there.startsWith('.') ? there : `./${there}`}${quote}`;
  });
  if (after !== before) writeFileSync(file, after);
}

/** The file of a library that a name means, by its path in the library. */
function fileOf(name: string, rest: string): string {
  // The rest of a name that is put together when the program runs.
  if (rest.includes('${')) return rest;
  const found = fileURLToPath(import.meta.resolve(`${name}${rest}`));
  return found.slice(packageFolder(name).length).replaceAll('\\', '/');
}
