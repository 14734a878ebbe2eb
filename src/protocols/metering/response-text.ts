import { textAndPictures } from './data-runs.ts';
import { estimateTokens } from './estimate.ts';

/** Where the text that a model wrote stands in a whole response. */
export interface ResponseText {
  /** Members with text. */
  readonly text: readonly string[];
  /** Members with the model's reasoning; providers send the same one under several names, so the longest counts. */
  readonly reasoning?: readonly string[];
  /** Members with objects that the model wrote, such as the input of a tool. */
  readonly written?: readonly string[];
  /** Members in which more of these stand. What is in others, such as the pages that a search found, is not the model's. */
  readonly through: readonly string[];
}

/** The tokens of the text in a value, by its size. The value may be nested as deeply as it likes. */
export function responseTextTokens(
  value: unknown,
  { text, reasoning = [], written = [], through }: ResponseText,
): number {
  let textBytes = 0;
  const reasoningBytes = new Map<string, number>();
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (Array.isArray(next)) {
      for (const item of next) open.push(item);
      continue;
    }
    if (typeof next !== 'object' || next === null) continue;
    for (const [name, member] of Object.entries(next)) {
      if (typeof member === 'string') {
        if (text.includes(name)) textBytes += textAndPictures(member).sizeBytes;
        else if (reasoning.includes(name)) {
          reasoningBytes.set(name, (reasoningBytes.get(name) ?? 0) + Buffer.byteLength(member));
        }
      } else if (written.includes(name) && member !== null) {
        textBytes += Buffer.byteLength(JSON.stringify(member));
      } else if (through.includes(name)) {
        open.push(member);
      }
    }
  }
  return estimateTokens(textBytes + Math.max(0, ...reasoningBytes.values()));
}
