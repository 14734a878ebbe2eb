import type { LatencyGroup } from '../../api/types.ts';
import type { Format } from '../../text/written.ts';

export const MEASURES = ['duration', 'firstByte', 'errors', 'speed'] as const;
export type LatencyMeasure = (typeof MEASURES)[number];

/** A point of the chart. Figures are absent if there is no data. */
export interface LatencyPoint {
  readonly at: string;
  readonly p50?: number;
  readonly p95?: number;
}

/** The figures of a measure: milliseconds, ratio, or tokens per second. */
export function pointOf(at: string, group: LatencyGroup, measure: LatencyMeasure): LatencyPoint {
  switch (measure) {
    case 'duration':
      return { at, ...known(group.durationMs) };
    case 'firstByte':
      return { at, ...known(group.firstByteMs) };
    case 'errors':
      return { at, ...(group.errorRatio !== null && { p50: group.errorRatio }) };
    case 'speed':
      return { at, ...(group.tokensPerSecond !== null && { p50: group.tokensPerSecond }) };
  }
}

function known({ p50, p95 }: LatencyGroup['durationMs']): Pick<LatencyPoint, 'p50' | 'p95'> {
  return p50 === null || p95 === null ? {} : { p50, p95 };
}

export const hasPercentiles = (measure: LatencyMeasure): boolean => measure === 'duration' || measure === 'firstByte';

/** The greatest time of groups, which decides the unit of all. */
export const greatestMs = (groups: readonly LatencyGroup[], name: 'durationMs' | 'firstByteMs'): number =>
  Math.max(0, ...groups.map((group) => group[name].p95 ?? 0));

/** @param likeMs the greatest time that is shown, which decides the unit */
export function writeMeasure(value: number, measure: LatencyMeasure, likeMs: number, format: Format): string {
  if (hasPercentiles(measure)) return format.duration(value, likeMs);
  return measure === 'errors' ? format.percent(value) : writeSpeed(value, format);
}

/** Three significant digits, or an integer. */
export const writeSpeed = (tokensPerSecond: number, format: Format): string =>
  format.count(tokensPerSecond < 100 ? Number(tokensPerSecond.toPrecision(3)) : Math.round(tokensPerSecond));
