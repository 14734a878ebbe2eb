import { globSync, readFileSync } from 'node:fs';
import { analyse } from 'scslre';
import { parseSync } from 'vite';

/**
 * Checks every regular expression of the gateway and the console: none may take time that grows faster than the text it reads,
 * because a client that sends a long run of blanks would stop the gateway with it. Exit code 1 if one can.
 *
 *   node scripts/check-patterns.ts [FILE…]
 *
 * The analysis is static. It finds a quantifier that begins anew at each character (`/\s*;/`, `/0+$/`), two quantifiers that share
 * characters, and nested ones.
 */

interface Pattern {
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

const named = process.argv.slice(2);
const ours = globSync(['src/**/*.ts', 'console/src/**/*.{ts,tsx}'], { exclude: ['**/*.test.ts', '**/*.test.tsx'] });
const files = named.length > 0 ? named : ours.sort();
const patterns = files.flatMap(patternsOf);
const violations = patterns.flatMap(({ place, source, flags }) => {
  const { reports } = analyse({ source, flags });
  const [report] = reports;
  if (report === undefined) return [];
  return [`${place}: /${source}/${flags} can take ${report.exponential ? 'exponential' : 'quadratic'} time`];
});
if (violations.length > 0) {
  console.error(
    `${violations.join('\n')}\n  Split, slice or scan instead, so that each character is read a bounded number of times.`,
  );
  process.exitCode = 1;
} else console.log(`${patterns.length} regular expressions take linear time.`);

/** The literals of a file. A pattern that is put together at run time is made of escaped names. */
function patternsOf(file: string): Pattern[] {
  const text = readFileSync(file, 'utf8');
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
  const found: Pattern[] = [];
  const add = (start: number, source: string, flags: string): void => {
    found.push({ place: `${file}:${text.slice(0, start).split('\n').length}`, source, flags });
  };
  walk(program);
  return found;

  function walk(node: unknown): void {
    if (Array.isArray(node)) node.forEach(walk);
    if (typeof node !== 'object' || node === null || Array.isArray(node)) return;
    if (isRegExpLiteral(node)) add(node.start, node.regex.pattern, node.regex.flags);
    else Object.values(node).forEach(walk);
  }
}

interface RegExpLiteral {
  readonly start: number;
  readonly regex: { readonly pattern: string; readonly flags: string };
}

function isRegExpLiteral(node: object): node is RegExpLiteral {
  return 'type' in node && node.type === 'Literal' && 'regex' in node;
}
