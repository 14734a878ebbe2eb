import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

/**
 * Checks which file imports which: imports point down the layers, and never in a circle. Imports of types count, because
 * a reader has to follow them all the same. Exit code 1 where a rule is broken.
 *
 *   node scripts/check-imports.ts [directory]
 *
 * Tests are left out: nothing imports them, and they bring together what the code keeps apart.
 */

const DOMAINS = [
  'accounts',
  'billing',
  'catalog',
  'idempotency',
  'key-limits',
  'nodes',
  'plans',
  'routing',
  'upstream',
];

/** From top to bottom. A file may import from layers below its own, and from its own area, never from beside or above. */
const LAYERS: readonly (readonly string[])[] = [
  ['main'],
  ['cli'],
  ['demo'],
  ['app'],
  ['endpoints', 'admin'],
  ['queries'],
  ['call'],
  ['settlement'],
  ['reservations'],
  DOMAINS,
  ['config', 'http'],
  ['operations'],
  ['pricing', 'protocols', 'images'],
  ['metering', 'tokens'],
  ['db'],
  ['errors'],
  ['lib'],
];

interface Allowance {
  /** A file, an area (a folder of `src`), or a pattern of files in any of the domains: `DOMAIN/...`. */
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

/** Imports that the layers forbid, each with the reason why it is right. One that is used no more has to go. */
const ALLOWANCES: readonly Allowance[] = [
  { from: 'routing', to: 'providers/catalog/catalog.ts', reason: 'a route is chosen among those of a model, a value' },
];

interface Restriction {
  /** An area that only some may import, though it is below them. */
  readonly area: string;
  /** The files or areas that may. */
  readonly importers: readonly { readonly from: string; readonly reason: string }[];
  /** What the others do instead. */
  readonly mend: string;
}

const RESTRICTIONS: readonly Restriction[] = [
  {
    area: 'http',
    importers: [
      { from: 'app', reason: 'wires the server' },
      { from: 'endpoints', reason: 'serves the public addresses' },
      { from: 'admin', reason: 'serves the admin addresses' },
    ],
    mend: 'Take what you need as an argument, so that this part works without a request.',
  },
  {
    area: 'db',
    importers: [
      { from: 'DOMAIN/*store.ts', reason: 'the SQL of a domain' },
      { from: 'accounting/reservations/store.ts', reason: 'the SQL of reservations' },
      { from: 'accounting/reservations/account-store.ts', reason: 'the SQL of what limits accounts' },
      { from: 'accounting/settlement/store.ts', reason: 'the SQL of the ends of calls' },
      { from: 'accounting/reservations/reservations.ts', reason: 'knows a lost database from other errors' },
      { from: 'accounting/settlement/database-settlement.ts', reason: 'knows a lost database from other errors' },

      {
        from: 'accounting/accounts/principals.ts',
        reason: 'listens for revocations, and knows a lost database from other errors',
      },
      { from: 'accounting/settlement/stored-responses.ts', reason: 'knows a lost database from other errors' },
      { from: 'app', reason: 'hands the database to the stores' },
      { from: 'cli', reason: 'opens the database, and migrates it' },
    ],
    mend: 'Put the SQL into the store.ts of the domain.',
  },
];

const INDEX_OF_LAYER = new Map(LAYERS.flatMap((areas, index) => areas.map((area) => [area, index] as const)));

interface Import {
  readonly from: string;
  readonly to: string;
  readonly line: number;
}

interface Violation {
  readonly place: string;
  readonly problem: string;
  readonly mend: string;
}

const root = process.argv[2] ?? 'src';
const files = globSync('**/*.ts', { cwd: root })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => !file.endsWith('.test.ts'))
  .sort();
const imports = files.flatMap(readImports);
const usedRules = new Set<object>();

const violations = [
  ...files.flatMap(checkArea),
  ...imports.flatMap(checkImport),
  ...findCycles(imports),
  ...findUnusedRules(),
];
for (const { place, problem, mend } of violations) console.error(`${place}: ${problem}\n  ${mend}`);
if (violations.length > 0) process.exitCode = 1;
else console.log(`Imports of ${files.length} files point down, without a cycle.`);

/**
 * The imports of a file by relative path. Biome's formatting puts each at the start of a line, or its `from` behind the
 * closing brace there, so nothing in a string or a comment is taken for one.
 */
function readImports(from: string): Import[] {
  const found: Import[] = [];
  for (const [index, line] of readFileSync(posix.join(root, from), 'utf8').split('\n').entries()) {
    if (/^\s*(\*|\/\/)/.test(line)) continue;
    const statement = /^(?:import|export|\})(?:[^'"]*\sfrom)?\s*'(\.[^']+)'/.exec(line);
    const inline = [...line.matchAll(/\bimport\(\s*'(\.[^']+)'/g)];
    for (const match of statement === null ? inline : [statement, ...inline]) {
      found.push({ from, to: posix.join(posix.dirname(from), match[1]!), line: index + 1 });
    }
  }
  return found;
}

/** The folder of `src` that a file is in, or the name of a file beside these: `app.ts` is the area `app`. */
function areaOf(file: string): string {
  return file.split('/')[0]!.replace(/\.ts$/, '');
}

function checkArea(file: string): Violation[] {
  if (INDEX_OF_LAYER.has(areaOf(file))) return [];
  const mend = 'Put it where it belongs, or add its folder to LAYERS in scripts/check-imports.ts.';
  return [{ place: `${root}/${file}`, problem: `"${areaOf(file)}" is in no layer.`, mend }];
}

function checkImport({ from, to, line }: Import): Violation[] {
  const place = `${root}/${from}:${line}`;
  if (to.startsWith('..') || to.endsWith('.test.ts')) {
    return [
      { place, problem: `imports ${to}, a test or a file outside of ${root}.`, mend: 'Move what it needs here.' },
    ];
  }
  const fromArea = areaOf(from);
  const toArea = areaOf(to);
  if (fromArea === toArea) return [];
  const fromLayer = INDEX_OF_LAYER.get(fromArea);
  const toLayer = INDEX_OF_LAYER.get(toArea);
  if (fromLayer === undefined || toLayer === undefined) return [];

  const restriction = RESTRICTIONS.find(({ area }) => area === toArea);
  if (restriction !== undefined && fromLayer < toLayer) {
    const importer = restriction.importers.find((allowed) => covers(allowed.from, from));
    if (importer !== undefined) {
      usedRules.add(importer);
      return [];
    }
    const allowed = restriction.importers.map((each) => each.from).join(', ');
    return [{ place, problem: `imports ${to}; only ${allowed} may.`, mend: restriction.mend }];
  }
  if (fromLayer < toLayer) return [];

  const allowance = ALLOWANCES.find((each) => covers(each.from, from) && covers(each.to, to));
  if (allowance !== undefined) {
    usedRules.add(allowance);
    return [];
  }
  const isBeside = fromLayer === toLayer;
  return [
    {
      place,
      problem: `imports ${to}, but ${toArea} is ${isBeside ? 'beside' : 'above'} ${fromArea}.`,
      mend: isBeside
        ? `Let a layer above bring the two together (for domains: call), or move what they share below both.`
        : `Take what you need of ${toArea} as an argument, or move it down to ${fromArea} or below.`,
    },
  ];
}

/** Whether a rule's file, area or pattern means this file. */
function covers(rule: string, file: string): boolean {
  if (rule.startsWith('DOMAIN/')) return posix.matchesGlob(file, rule.replace('DOMAIN', `{${DOMAINS.join(',')}}`));
  return rule.endsWith('.ts') ? file === rule : areaOf(file) === rule;
}

/** For every file that imports itself in a circle the shortest way round, unless a circle told before has it. */
function findCycles(all: readonly Import[]): Violation[] {
  const next = new Map<string, string[]>();
  for (const { from, to } of all) next.set(from, [...(next.get(from) ?? []), to]);
  const violations: Violation[] = [];
  const told = new Set<string>();
  for (const start of files) {
    const cycle = told.has(start) ? null : shortestCycle(start, next);
    if (cycle === null) continue;
    for (const file of cycle) told.add(file);
    violations.push({
      place: `${root}/${start}`,
      problem: `imports itself: ${[...cycle, start].join(' → ')}.`,
      mend: 'Move what two of them share into a file of its own that imports neither.',
    });
  }
  return violations;
}

function shortestCycle(start: string, next: ReadonlyMap<string, readonly string[]>): string[] | null {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const file of queue) {
    for (const to of next.get(file) ?? []) {
      if (to === start) {
        const path = [file];
        while (path[0] !== start) path.unshift(cameFrom.get(path[0]!)!);
        return path;
      }
      if (cameFrom.has(to)) continue;
      cameFrom.set(to, file);
      queue.push(to);
    }
  }
  return null;
}

/** A rule that nothing uses would silently allow what it was not made for. */
function findUnusedRules(): Violation[] {
  const unused = [
    ...ALLOWANCES.map((rule) => ({ rule, name: `${rule.from} → ${rule.to}` })),
    ...RESTRICTIONS.flatMap(({ area, importers }) =>
      importers.map((rule) => ({ rule, name: `${rule.from} → ${area}` })),
    ),
  ].filter(({ rule }) => !usedRules.has(rule));
  return unused.map(({ name }) => ({
    place: 'scripts/check-imports.ts',
    problem: `nothing needs the exception ${name} any more.`,
    mend: 'Remove its line.',
  }));
}
