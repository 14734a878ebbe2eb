import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { EXCEPTIONS, ROOMS, type Room } from './rooms.ts';

/**
 * Checks which file imports which. Imports point down the list of rooms, reach only files that a room shows to others, and
 * never go in a circle. Imports of types count, because a reader has to follow them all the same. Exit code 1 where a rule
 * is broken.
 *
 *   node scripts/check-imports.ts [directory]
 *
 * Tests are left out: nothing imports them, and they bring together what the code keeps apart.
 */

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

const EXCEPTIONS_MAX = 5;

const root = process.argv[2] ?? 'src';
const files = globSync('**/*.ts', { cwd: root })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => !file.endsWith('.test.ts'))
  .sort();
const imports = files.flatMap(readImports);
const placeOf = new Map(ROOMS.map(({ name }, place) => [name, place] as const));
const usedExceptions = new Set<object>();
const usedFromOutside = new Set<string>();

const violations = [
  ...files.flatMap(checkRoom),
  ...imports.flatMap(checkImport),
  ...findCycles(imports),
  ...findUnusedRules(),
];
for (const { place, problem, mend } of violations) console.error(`${place}: ${problem}\n  ${mend}`);
if (violations.length > 0) process.exitCode = 1;
else console.log(`Imports of ${files.length} files point down the rooms, without a cycle.`);

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

/** The room that a file is in; `main.ts` is a room by itself. */
function roomOf(file: string): Room | undefined {
  const name = file.split('/')[0]!.replace(/\.ts$/, '');
  return ROOMS[placeOf.get(name) ?? -1];
}

function checkRoom(file: string): Violation[] {
  if (roomOf(file) !== undefined) return [];
  const mend = 'Put it into the room that it belongs to; docs/architecture.md says what each owns.';
  return [{ place: `${root}/${file}`, problem: 'is in no room.', mend }];
}

function checkImport({ from, to, line }: Import): Violation[] {
  const place = `${root}/${from}:${line}`;
  if (to.startsWith('..') || to.endsWith('.test.ts')) {
    return [
      { place, problem: `imports ${to}, a test or a file outside of ${root}.`, mend: 'Move what it needs here.' },
    ];
  }
  const [fromRoom, toRoom] = [roomOf(from), roomOf(to)];
  if (fromRoom === undefined || toRoom === undefined || fromRoom === toRoom) return [];
  const exception = EXCEPTIONS.find((each) => each.from === from && each.to === to);
  if (exception !== undefined) {
    usedExceptions.add(exception);
    return [];
  }
  if (placeOf.get(fromRoom.name)! > placeOf.get(toRoom.name)!) {
    return [
      {
        place,
        problem: `imports ${to}, but ${toRoom.name} is above ${fromRoom.name}.`,
        mend: `Take what you need of ${toRoom.name} as an argument, or move it down to ${fromRoom.name} or below.`,
      },
    ];
  }
  const shown = toRoom.shows.find(({ files }) => files.includes(to));
  if (shown === undefined) {
    return [
      {
        place,
        problem: `imports ${to}, which is internal to ${toRoom.name}.`,
        mend: `Use a file that ${toRoom.name} shows, or add this one to its list in scripts/rooms.ts.`,
      },
    ];
  }
  usedFromOutside.add(to);
  if (shown.only === undefined || shown.only.some((pattern) => posix.matchesGlob(from, pattern))) return [];
  return [{ place, problem: `imports ${to}; only ${shown.only.join(', ')} may.`, mend: shown.mend ?? '' }];
}

/** For every file that imports itself in a circle the shortest way round, unless a circle named before has it. */
function findCycles(all: readonly Import[]): Violation[] {
  const next = new Map<string, string[]>();
  for (const { from, to } of all) next.set(from, [...(next.get(from) ?? []), to]);
  const found: Violation[] = [];
  const named = new Set<string>();
  for (const start of files) {
    const cycle = named.has(start) ? null : shortestCycle(start, next);
    if (cycle === null) continue;
    for (const file of cycle) named.add(file);
    found.push({
      place: `${root}/${start}`,
      problem: `imports itself: ${[...cycle, start].join(' → ')}.`,
      mend: 'Move what two of them share into a file of its own that imports neither.',
    });
  }
  return found;
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
  const place = 'scripts/rooms.ts';
  const shown = ROOMS.flatMap((room) => room.shows.flatMap((each) => each.files));
  const many: Violation = {
    place,
    problem: `has ${EXCEPTIONS.length} exceptions; ${EXCEPTIONS_MAX} is the most.`,
    mend: 'Move code instead.',
  };
  return [
    ...shown
      .filter((file) => !usedFromOutside.has(file))
      .map((file) => ({ place, problem: `no other room uses ${file}.`, mend: 'Remove it from the list.' })),
    ...EXCEPTIONS.filter((each) => !usedExceptions.has(each)).map(({ from, to }) => ({
      place,
      problem: `nothing needs the exception ${from} → ${to} any more.`,
      mend: 'Remove its line.',
    })),
    ...(EXCEPTIONS.length > EXCEPTIONS_MAX ? [many] : []),
  ];
}
