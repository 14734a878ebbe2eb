import { isRecord } from '../../lib/json/json.ts';
import { readCount } from './usage-facts.ts';

/**
 * How often a provider ran a model beyond its first run, by whatever shows it. In a loop at the provider each run reads the whole
 * context again, so the bounds of a call grow with them. The names are matched by their words: a count that a vendor adds shows
 * rounds as well as those that are known, and none is charged by this.
 */

/** Counts of uses, each of which the model reads in a run of its own; the name of a count of anything else has one of `OTHERS`. */
const USES = /tool|search|plugin|connector|mcp|execution/i;
/** Lists and counts of the runs themselves, the first one included. */
const RUNS = /iteration|turn|round|step/i;
const OTHERS = /token|cost|price|fee|size|unit|source|latency|duration|second|_ms$/i;

type Kind = 'uses' | 'runs' | 'other' | 'neither';

/** By name: every call has the same dozen, and four patterns for each would be half of what reading a usage takes. */
const kinds = new Map<string, Kind>();
const KINDS_MAX = 1_000;

function kindOf(name: string): Kind {
  const known = kinds.get(name);
  if (known !== undefined) return known;
  const kind = OTHERS.test(name) ? 'other' : USES.test(name) ? 'uses' : RUNS.test(name) ? 'runs' : 'neither';
  if (kinds.size < KINDS_MAX && name.length <= NAME_CHARACTERS_MAX) kinds.set(name, kind);
  return kind;
}

const NAME_CHARACTERS_MAX = 64;

/** Members of a response outside its usage that list runs or count uses: Groq Compound, xAI. */
export const ROUND_MEMBERS: readonly string[] = ['usage_breakdown', 'server_side_tool_usage'];

const DEPTH_MAX = 3;

/** The rounds that a response shows in members outside its usage. */
export function roundsOutsideUsage(member: (name: string) => unknown): number {
  let most = 0;
  for (const name of ROUND_MEMBERS) most = Math.max(most, countIn(member(name), DEPTH_MAX));
  return most;
}

/** The uses that the members of a report count. Several members count the same uses in several spellings: the greatest counts. */
export function usesShown(report: Readonly<Record<string, unknown>>): number {
  let uses = 0;
  for (const name of Object.keys(report)) {
    if (kindOf(name) === 'uses') uses = Math.max(uses, countIn(report[name], DEPTH_MAX));
  }
  return uses;
}

/** The rounds beyond the first one that the members of a report show, as uses or as runs. */
export function roundsShown(report: Readonly<Record<string, unknown>>): number {
  let rounds = 0;
  for (const name of Object.keys(report)) {
    const kind = kindOf(name);
    if (kind === 'uses') rounds = Math.max(rounds, countIn(report[name], DEPTH_MAX));
    else if (kind === 'runs') rounds = Math.max(rounds, countIn(report[name], DEPTH_MAX) - 1);
  }
  return rounds;
}

/** A count, the sum of those inside, or how many objects are listed. */
function countIn(value: unknown, depth: number): number {
  if (Array.isArray(value)) return value.filter(isRecord).length;
  if (!isRecord(value)) return readCount(value) ?? 0;
  let sum = 0;
  if (depth === 0) return sum;
  for (const name of Object.keys(value)) if (kindOf(name) !== 'other') sum += countIn(value[name], depth - 1);
  return sum;
}
