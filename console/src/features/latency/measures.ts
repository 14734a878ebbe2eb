import type { LatencyGroup } from '../../api/types.ts';
import type { Format } from '../../text/written.ts';
import type { latencyTexts } from './texts.ts';

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

type Words = (typeof latencyTexts)['en'];

/** Milliseconds below ten seconds, seconds above. */
export function writeMs(ms: number | null, format: Format, text: Words): string {
  if (ms === null) return '–';
  if (ms < 10_000) return text.milliseconds(format.count(Math.round(ms)));
  return text.seconds(format.count(Math.round(ms / 1_000)));
}

export function writeMeasure(value: number, measure: LatencyMeasure, format: Format, text: Words): string {
  if (hasPercentiles(measure)) return writeMs(value, format, text);
  return measure === 'errors' ? format.percent(value) : format.count(Math.round(value));
}
