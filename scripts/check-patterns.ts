import { globSync, readFileSync } from 'node:fs';
import { analyse } from 'scslre';
import { children, type Node, parse, placeOf } from './syntax-tree.ts';

/**
 * Checks that every regular expression of the gateway and the console takes linear time. Otherwise a client could block the gateway
 * with a long run of spaces. Exit code 1 for violations.
 *
 *   node scripts/check-patterns.ts [FILE…]
 *
 * The analysis is static. It finds quantifiers that restart at each character (`/\s*;/`, `/0+$/`), adjacent quantifiers that share
 * characters, and nested quantifiers.
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

/** The literals of a file. Patterns that are built at run time consist of escaped names. */
function patternsOf(file: string): Pattern[] {
  const text = readFileSync(file, 'utf8');
  const below = (node: Node): Pattern[] => {
    const regex = node.regex as { readonly pattern: string; readonly flags: string } | undefined;
    if (node.type !== 'Literal' || regex === undefined) return children(node).flatMap(below);
    return [{ place: placeOf(file, text, node), source: regex.pattern, flags: regex.flags }];
  };
  return below(parse(file, text));
}
