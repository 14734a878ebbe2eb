import { isRecord } from '../../lib/json/json.ts';
import { readCount } from './usage-facts.ts';

/**
 * This file counts rounds: model runs at the provider after the first one. Each one reads the whole context again, so the bounds of a call
 * grow with them. Member names are matched by the words in them, so that unknown counts are included. Rounds are never charged.
 */

/** Names of tool uses, each of which implies another model run. */
const USES = /tool|search|plugin|connector|mcp|execution/i;
const RUNS = /iteration|turn|round|step/i;
const OTHERS = /token|cost|price|fee|size|unit|source|latency|duration|second|_ms$/i;

type Kind = 'uses' | 'runs' | 'other' | 'neither';

/** Cache: matching four patterns would take half the time of reading usage. */
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

/** Members outside of usage with lists of runs or counts of tool uses (Groq Compound, xAI). */
export const ROUND_MEMBERS: readonly string[] = ['usage_breakdown', 'server_side_tool_usage'];

const DEPTH_MAX = 3;

export function roundsOutsideUsage(member: (name: string) => unknown): number {
  let most = 0;
  for (const name of ROUND_MEMBERS) most = Math.max(most, countIn(member(name), DEPTH_MAX));
  return most;
}

/** Returns the tool uses in a report. Several names can count the same uses, so the greatest count applies. */
export function usesShown(report: Readonly<Record<string, unknown>>): number {
  let uses = 0;
  for (const name of Object.keys(report)) {
    if (kindOf(name) === 'uses') uses = Math.max(uses, countIn(report[name], DEPTH_MAX));
  }
  return uses;
}

/** Returns the rounds in a report: as tool uses, or as model runs after the first one. */
export function roundsShown(report: Readonly<Record<string, unknown>>): number {
  let rounds = 0;
  for (const name of Object.keys(report)) {
    const kind = kindOf(name);
    if (kind === 'uses') rounds = Math.max(rounds, countIn(report[name], DEPTH_MAX));
    else if (kind === 'runs') rounds = Math.max(rounds, countIn(report[name], DEPTH_MAX) - 1);
  }
  return rounds;
}

function countIn(value: unknown, depth: number): number {
  if (Array.isArray(value)) return value.filter(isRecord).length;
  if (!isRecord(value)) return readCount(value) ?? 0;
  let sum = 0;
  if (depth === 0) return sum;
  for (const name of Object.keys(value)) if (kindOf(name) !== 'other') sum += countIn(value[name], depth - 1);
  return sum;
}
