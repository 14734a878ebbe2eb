import { isRecord } from '../../lib/json/json.ts';
import { readCount } from './usage-facts.ts';

/** Maximum number of members of a merged object; further ones are dropped. Usage has about a dozen members in two levels. */
const MEMBERS_MAX = 128;
const DEPTH_MAX = 4;

/** Merges two cumulative usage reports of a stream. Takes the maximum of each number, also in nested objects and lists. */
export function greatestFigures(before: unknown, reported: unknown, depth = 0): unknown {
  if (reported === null || reported === undefined) return before;
  if (before === null || before === undefined) return depth < DEPTH_MAX ? reported : undefined;
  if (isFigure(before) || isFigure(reported)) return greaterCount(before, reported);
  if (depth >= DEPTH_MAX) return before;
  if (Array.isArray(before) && Array.isArray(reported)) {
    const length = Math.min(Math.max(before.length, reported.length), MEMBERS_MAX);
    return Array.from({ length }, (_, i) => greatestFigures(before[i], reported[i], depth + 1));
  }
  if (!isRecord(before) || !isRecord(reported)) return reported;
  // An object without a prototype, because member names can be anything.
  const merged: Record<string, unknown> = Object.assign(Object.create(null), before);
  let members = Object.keys(before).length;
  for (const [name, value] of Object.entries(reported)) {
    if (!Object.hasOwn(before, name) && ++members > MEMBERS_MAX) continue;
    merged[name] = greatestFigures(merged[name], value, depth + 1);
  }
  return merged;
}

function isFigure(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && readCount(value) !== undefined);
}

function greaterCount(before: unknown, reported: unknown): unknown {
  const [countBefore, countReported] = [readCount(before), readCount(reported)];
  if (countBefore == null) return countReported ?? reported;
  return countReported == null ? countBefore : Math.max(countBefore, countReported);
}
