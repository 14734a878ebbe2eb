import { isRecord } from '../../lib/json/json.ts';
import { readCount } from './usage-facts.ts';

/** Usage objects have a dozen members in two levels; further members that a provider adds are left out. */
const MEMBERS_MAX = 128;
const DEPTH_MAX = 4;

/**
 * Puts two reports of one stream together: the greatest figure of each field counts, in nested objects and lists too.
 * Reports are cumulative, so a figure that falls, or is zero behind a real one, does not change what was used. The
 * fields are those of the wire: totals and their details are compared each by themselves, before anything is
 * subtracted.
 */
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
  // Without a prototype: a field may have any name.
  const merged: Record<string, unknown> = Object.assign(Object.create(null), before);
  let members = Object.keys(before).length;
  for (const [name, value] of Object.entries(reported)) {
    if (!Object.hasOwn(before, name) && ++members > MEMBERS_MAX) continue;
    merged[name] = greatestFigures(merged[name], value, depth + 1);
  }
  return merged;
}

/** Whether a value is a number, or a count as text. */
function isFigure(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && readCount(value) !== undefined);
}

/** A value that is no count gives way to one that is. */
function greaterCount(before: unknown, reported: unknown): unknown {
  const [countBefore, countReported] = [readCount(before), readCount(reported)];
  if (countBefore == null) return countReported ?? reported;
  return countReported == null ? countBefore : Math.max(countBefore, countReported);
}
