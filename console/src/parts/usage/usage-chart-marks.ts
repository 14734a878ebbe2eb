import type { Format } from '../../text/written.ts';
import { fromNano, toNano } from '../../text/yuan.ts';
import type { UsageMeasure } from './usage-parts.ts';

/** One for each of the `PARTS_MAX` parts. */
const COLORS: readonly string[] = ['cyan.7', 'orange.6', 'teal.6', 'grape.6', 'blue.6', 'lime.7', 'pink.6', 'yellow.7'];
const OTHERS_COLOR = 'gray.5';

/** The colour by rank. All other parts share one colour. */
export function colorOfPart(place: number): string {
  return COLORS[place] ?? OTHERS_COLOR;
}

export function writeMeasure(value: number, measure: UsageMeasure, format: Format): string {
  return measure === 'charge' ? format.yuan(fromNano(toNano(value.toFixed(6))), true) : format.count(value);
}
