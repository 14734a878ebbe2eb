import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';

/**
 * Counts the figures of "Old and new" in `docs/architecture.md`, for commits of this repository:
 *
 *   node scripts/count-layout.ts 370eabb HEAD
 *   node scripts/count-layout.ts 85564c89..e20f3d81 2fea6219^1..2fea6219   net lines added by changes
 *
 * A circle is a set of folders that all reach each other by imports, including types. Tests are ignored, and so are imports between a
 * folder and its subfolders. A form of a call is an exported type whose name ends in `Call`. The files of a recipe are those in its
 * table in `docs/recipes.md`, or all that it names if it has no table.
 */
const ROOTS = ['src', 'test', 'console/src'];

const given = process.argv.slice(2);
const ranges = given.filter((one) => one.includes('..'));
if (ranges.length > 0) console.log(addedBy(ranges));

for (const commit of given.filter((one) => !ranges.includes(one))) {
  const root = mkdtempSync(join(tmpdir(), 'faregate-layout-'));
  try {
    execFileSync('tar', ['-x', '-C', root], {
      input: execFileSync('git', ['archive', commit, ...ROOTS, 'docs'], { maxBuffer: 2 ** 30 }),
    });
    console.log(commit, count(root));
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** Counts TypeScript and SQL without fixtures. */
function addedBy(changes: readonly string[]): object {
  const added = { source: 0, tests: 0 };
  for (const change of changes) {
    const files = execFileSync('git', ['diff', '--numstat', '--no-renames', change], { encoding: 'utf8' });
    for (const [, more, less, file] of files.matchAll(/^(\d+)\t(\d+)\t(\S+\.(?:tsx?|sql))$/gm)) {
      const isOfTests = /^test\/|\.test\.tsx?$/.test(file!);
      if (!file!.startsWith('test/fixtures/')) added[isOfTests ? 'tests' : 'source'] += Number(more) - Number(less);
    }
  }
  return added;
}

function count(root: string): object {
  const read = (file: string): string => readFileSync(join(root, file), 'utf8');
  const sizes = ROOTS.map((folder) => {
    const files = globSync(`${folder}/**/*.{ts,tsx,sql}`, { cwd: root });
    return [
      folder,
      { files: files.length, lines: files.reduce((sum, file) => sum + read(file).split('\n').length - 1, 0) },
    ];
  });
  const sources = globSync('{src,console/src}/**/*.{ts,tsx}', { cwd: root }).filter(
    (file) => !/\.test\.tsx?$/.test(file),
  );
  const imports = new Map<string, Set<string>>();
  for (const file of sources) {
    const from = posix.dirname(file);
    const to = imports.get(from) ?? new Set();
    imports.set(from, to);
    for (const [, path] of read(file).matchAll(/^(?:import|export|\})[^'"\n]*'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm)) {
      if (path === undefined) continue;
      const folder = posix.dirname(posix.join(from, path));
      if (!`${folder}/`.startsWith(`${from}/`) && !`${from}/`.startsWith(`${folder}/`)) to.add(folder);
    }
  }
  const circles = circlesOf(imports);
  return {
    ...Object.fromEntries(sizes),
    rooms: new Set(globSync('src/*/**/*.ts', { cwd: root }).map((file) => file.split('/')[1])).size,
    circles: circles.length,
    foldersInCircles: circles.flat().length,
    ofCalls: globSync('src/calls/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts')).length,
    formsOfCalls: new Set(
      globSync('src/**/*.ts', { cwd: root }).flatMap(
        (file) => read(file).match(/^export (?:interface|class|type) \w*Call\b/gm) ?? [],
      ),
    ).size,
    recipes: recipeSizes(read('docs/recipes.md')),
  };
}

function recipeSizes(page: string): object {
  const recipes = page.split(/^## /m).slice(1);
  return Object.fromEntries(
    recipes.map((recipe) => {
      const rows = recipe.match(/^\| `[^|]*/gm)?.join('') ?? recipe;
      return [recipe.split('\n')[0], new Set(rows.match(/`(?:src|test|scripts|console|docs|deploy)\/[^`]+`/g)).size];
    }),
  );
}

function circlesOf(imports: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const reached = new Map([...imports.keys()].map((folder) => [folder, reachedFrom(folder, imports)]));
  const left = new Set(imports.keys());
  const circles: string[][] = [];
  for (const folder of left) {
    const circle = [...left].filter((other) => reached.get(folder)!.has(other) && reached.get(other)?.has(folder));
    for (const each of circle) left.delete(each);
    if (circle.length > 1) circles.push(circle);
  }
  return circles;
}

function reachedFrom(folder: string, imports: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [folder];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const to of imports.get(next) ?? []) {
      if (reached.has(to)) continue;
      reached.add(to);
      open.push(to);
    }
  }
  return reached;
}
