import { isRecord } from '../../lib/json/json.ts';
import { noUsage, readDeclaredCount, type Usage } from '../metering/usage-facts.ts';

/** Reads image usage (contract 2.2). If it has no details, the input counts as text and the output as images. */
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

/** Returns the tokens of one kind: its own detail or, if missing, the total minus the detail of the other kind. */
function part(total: number, own: unknown, other: unknown): number {
  const ownTokens = readDeclaredCount(own);
  if (ownTokens != null) return Math.min(ownTokens, total);
  const otherTokens = readDeclaredCount(other);
  return otherTokens == null ? 0 : Math.max(total - otherTokens, 0);
}

/** Adds tokens of the model that wrote an SVG. They have the text price of the called model. `null` if the count is unreadable. */
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

export function deliveredAs(responded: unknown, requested: string | null): string | null {
  const isName = typeof responded === 'string' && responded !== '' && responded.length <= NAME_CHARACTERS_MAX;
  return isName ? responded : requested;
}

/** Sizes that are not names of a vendor's own: pixels, or `auto`. */
const NO_SIZE_NAME = /^\s*(?:auto|[0-9]+\s*[xX*×:]\s*[0-9]+)\s*$/;

/** Returns the delivered size, with the name in the request if it differs: Ark accepts 2K and reports 2496x1664. Prices can use either. */
export function deliveredSize(
  responded: unknown,
  requested: string | null,
): { readonly size: string | null; readonly sizeName?: string } {
  const size = deliveredAs(responded, requested);
  const isNamed = requested !== null && requested !== size && !NO_SIZE_NAME.test(requested);
  return isNamed ? { size, sizeName: requested } : { size };
}
