import type { Format } from '../../text/written.ts';
import { fromNano, toNano } from '../../text/yuan.ts';
import { type Placed, placesOf } from './color-places.ts';
import type { UsageMeasure, UsagePart } from './usage-parts.ts';

const COLORS: readonly string[] = [
  ...['cyan.7', 'orange.6', 'teal.6', 'grape.6', 'blue.6', 'lime.7', 'pink.6', 'yellow.7'],
  ...['indigo.6', 'green.8', 'violet.4'],
];
const OTHERS_COLOR = 'gray.5';
const WHOLE_COLOR = COLORS[0]!;

const STORED_AS = 'faregate.colors';

/**
 * The colours of the parts of a chart. A part keeps its colour on all pages and later visits; all other parts (`null`) share one.
 */
export function colorsOf(parts: readonly (UsagePart | null)[]): readonly string[] {
  if (parts.length === 1 && parts[0]?.id === '') return [WHOLE_COLOR];
  const ids = parts.flatMap((part) => (part === null ? [] : [part.id]));
  const known = storedPlaces();
  const { places, next } = placesOf(ids, known, COLORS.length);
  if (next !== known) localStorage.setItem(STORED_AS, JSON.stringify(next));
  return parts.map((part) => (part === null ? OTHERS_COLOR : COLORS[places.get(part.id)!]!));
}

function storedPlaces(): readonly Placed[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORED_AS) ?? '[]');
    const isPlaced = (each: unknown): each is Placed =>
      Array.isArray(each) && typeof each[0] === 'string' && Number.isInteger(each[1]) && COLORS[each[1]] !== undefined;
    return Array.isArray(stored) ? stored.filter(isPlaced) : [];
  } catch {
    return [];
  }
}

export function writeMeasure(value: number, measure: UsageMeasure, format: Format): string {
  return measure === 'charge' ? format.yuan(fromNano(toNano(value.toFixed(9))), true) : format.count(value);
}
