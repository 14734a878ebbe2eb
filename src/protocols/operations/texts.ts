import type { JsonReader } from '../../lib/json/json-reader.ts';

export interface Texts {
  /** At least 1. */
  readonly inputs: number;
  /** Tokens that are given as numbers. */
  readonly numbers: number;
}

/** Counts texts: one or several, each as a string or as a list of tokens. */
export function readTexts(reader: JsonReader): Texts {
  let texts = 0;
  let numbers = 0;
  const { kind } = reader;
  if (kind === 'array') {
    for (reader.enter(); reader.nextItem(); ) {
      const item = reader.kind;
      if (item === 'number') numbers++;
      else texts++;
      if (item === 'array') for (reader.enter(); reader.nextItem(); ) if (reader.kind === 'number') numbers++;
    }
  }
  // Numbers directly in the array are the tokens of a single text.
  return { inputs: Math.max(texts, 1), numbers };
}
