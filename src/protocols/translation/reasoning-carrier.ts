import type { OpaqueReasoning } from './answer.ts';
import type { AnswerTerms } from './answer-terms.ts';
import { writeCarrier } from './carriers.ts';
import type { RawText } from './conversation.ts';
import { fromRawText } from './raw-text.ts';
import { TextParts } from './text-parts.ts';

/** Longest reasoning that a carrier takes along. */
const TEXT_BYTES_MAX = 256 * 1024;

/** Reasoning of a block that is being written, for its carrier. A signature is only valid with the text that it signs. */
export class KeptReasoning {
  readonly #parts = new TextParts();
  #isWhole = true;

  add(text: RawText): void {
    if (this.#parts.sizeBytes + text.length <= TEXT_BYTES_MAX) this.#parts.add(text);
    else this.#isWhole = false;
  }

  get sizeBytes(): number {
    return this.#parts.sizeBytes;
  }

  /** @param isShown whether the client keeps the text unchanged, so that the carrier needs none */
  carrier({ maker }: Pick<AnswerTerms, 'maker'>, opaque: OpaqueReasoning | null, isShown: boolean): string {
    const text = this.#parts.take();
    const isWhole = this.#isWhole;
    this.#isWhole = true;
    const { details, ...rest } = opaque ?? {};
    return writeCarrier({
      maker,
      ...(isWhole && rest),
      ...(!isShown && isWhole && text !== '' && { text: fromRawText(text) }),
      ...(details !== undefined && { details: `[${details.join(',')}]` }),
    });
  }
}
