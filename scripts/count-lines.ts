import { execFileSync } from 'node:child_process';

/**
 * Counts lines of code, of comments and of unit tests by folder, without blank lines: the table "Size" of `docs/architecture.md`.
 *
 *   node scripts/count-lines.ts [COMMIT] [COMMIT before]
 */
interface Lines {
  code: number;
  comments: number;
  tests: number;
}

const ROOTS = /^(?:src\/[^/]+(?=\/)|src|console\/src|test|scripts|bench)/;
const [now = 'HEAD', before] = process.argv.slice(2);
const counted = count(now);
const earlier = before === undefined ? null : count(before);

console.log(
  earlier === null
    ? '| folder | code | comments | unit tests |'
    : '| folder | code | before | comments | before | unit tests | before |',
);
console.log(`|---|${'--:|'.repeat(earlier === null ? 3 : 6)}`);
for (const folder of [...new Set([...counted.keys(), ...(earlier?.keys() ?? [])])].sort()) console.log(row(folder));

function row(folder: string): string {
  const { code, comments, tests } = counted.get(folder) ?? { code: 0, comments: 0, tests: 0 };
  const was = earlier === null ? null : (earlier.get(folder) ?? { code: 0, comments: 0, tests: 0 });
  const cells = was === null ? [code, comments, tests] : [code, was.code, comments, was.comments, tests, was.tests];
  return `| \`${folder}\` | ${cells.map((lines) => lines.toLocaleString('en')).join(' | ')} |`;
}

function count(commit: string): Map<string, Lines> {
  const byFolder = new Map<string, Lines>();
  for (const file of git('ls-tree', '-r', '--name-only', commit).trim().split('\n')) {
    const [folder] = ROOTS.exec(file) ?? [];
    if (folder === undefined || !/\.tsx?$/.test(file)) continue;
    const { code, comments } = linesOf(git('show', `${commit}:${file}`));
    for (const name of folder.startsWith('src') ? [folder, 'src in all'] : [folder]) {
      const lines = byFolder.get(name) ?? { code: 0, comments: 0, tests: 0 };
      byFolder.set(name, lines);
      if (file.endsWith('.test.ts') && name !== 'test') lines.tests += code;
      else {
        lines.code += code;
        lines.comments += comments;
      }
    }
  }
  return byFolder;
}

function linesOf(text: string): { code: number; comments: number } {
  let [code, comments, isWithin] = [0, 0, false];
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (isWithin || line.startsWith('/*')) {
      comments++;
      isWithin = !line.includes('*/');
    } else if (line.startsWith('//')) comments++;
    else if (line !== '') code++;
  }
  return { code, comments };
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
}
