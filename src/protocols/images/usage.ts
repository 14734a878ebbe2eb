import { isRecord } from '../../lib/json/json.ts';
import { noUsage, readDeclaredCount, type Usage } from '../metering/usage-facts.ts';

/**
 * Token facts of the image protocol (contract 2.2). Of the three totals none may be missing. Details are required by
 * the contract and yet missing in streams and at other vendors; tokens without a detail count as text in the input and
 * as image in the output, which is what an image model reads and writes by default.
 */
export function readImageUsage(usage: unknown): Usage | null {
  if (!isRecord(usage)) return null;
  const inputTokens = readDeclaredCount(usage.input_tokens);
  const outputTokens = readDeclaredCount(usage.output_tokens);
  if (inputTokens == null || outputTokens == null || readDeclaredCount(usage.total_tokens) == null) return null;

  const inputDetails = isRecord(usage.input_tokens_details) ? usage.input_tokens_details : {};
  const outputDetails = isRecord(usage.output_tokens_details) ? usage.output_tokens_details : {};
  const imageInputTokens = part(inputTokens, inputDetails.image_tokens, inputDetails.text_tokens);
  const textOutputTokens = part(outputTokens, outputDetails.text_tokens, outputDetails.image_tokens);
  return {
    ...noUsage,
    inputTokens: inputTokens - imageInputTokens,
    imageInputTokens,
    outputTokens: textOutputTokens,
    imageOutputTokens: outputTokens - textOutputTokens,
  };
}

/**
 * The part of a total that a detail names, or else what another detail leaves over. A detail cannot exceed the total
 * that it is part of; a provider that reports more must not make a token count twice.
 */
function part(total: number, own: unknown, other: unknown): number {
  const ownTokens = readDeclaredCount(own);
  if (ownTokens != null) return Math.min(ownTokens, total);
  const otherTokens = readDeclaredCount(other);
  return otherTokens == null ? 0 : Math.max(total - otherTokens, 0);
}

/**
 * Adds the tokens of the model that wrote an SVG, which the provider reports beside its `usage`. They are text, in and
 * out, at the price of the model that was called. `null` if they are reported and unreadable.
 */
export function withSvgUsage(usage: Usage, svgUsage: unknown): Usage | null {
  if (svgUsage === undefined || svgUsage === null) return usage;
  if (!isRecord(svgUsage)) return null;
  const inputTokens = readDeclaredCount(svgUsage.input_tokens);
  const outputTokens = readDeclaredCount(svgUsage.output_tokens);
  if (inputTokens == null || outputTokens == null) return null;
  return {
    ...usage,
    inputTokens: usage.inputTokens + inputTokens,
    outputTokens: usage.outputTokens + outputTokens,
    reasoningTokens: Math.min(readDeclaredCount(svgUsage.reasoning_tokens) ?? 0, outputTokens),
  };
}

const NAME_CHARACTERS_MAX = 64;

/** The quality or size of delivered images: as the response says, else as the request asked. */
export function deliveredAs(responded: unknown, requested: string | null): string | null {
  const isName = typeof responded === 'string' && responded !== '' && responded.length <= NAME_CHARACTERS_MAX;
  return isName ? responded : requested;
}

/** Sizes that are no vendor's name of one: pixels, and what leaves the choice to the model. */
const NO_SIZE_NAME = /^\s*(?:auto|[0-9]+\s*[xX*×:]\s*[0-9]+)\s*$/;

/**
 * The size of delivered images, with the name by which the request asked for it: Ark is asked for 2K and reports 2496x1664,
 * and a price list may know either.
 */
export function deliveredSize(
  responded: unknown,
  requested: string | null,
): { readonly size: string | null; readonly sizeName?: string } {
  const size = deliveredAs(responded, requested);
  const isNamed = requested !== null && requested !== size && !NO_SIZE_NAME.test(requested);
  return isNamed ? { size, sizeName: requested } : { size };
}
