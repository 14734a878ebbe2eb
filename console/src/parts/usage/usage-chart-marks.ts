import type { Format } from '../../text/written.ts';
import { fromNano, toNano } from '../../text/yuan.ts';
import type { UsageMeasure } from './usage-parts.ts';

/** As many as `PARTS_MAX`. */
const COLORS: readonly string[] = ['cyan.7', 'orange.6', 'teal.6', 'grape.6', 'blue.6', 'lime.7', 'pink.6', 'yellow.7'];
const OTHERS_COLOR = 'gray.5';

/** The colour of a part by its place among the greatest; all others have the same. */
export function colorOfPart(place: number): string {
  return COLORS[place] ?? OTHERS_COLOR;
}

export function writeMeasure(value: number, measure: UsageMeasure, format: Format): string {
  return measure === 'charge' ? format.yuan(fromNano(toNano(value.toFixed(6))), true) : format.count(value);
}
