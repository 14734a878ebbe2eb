import type { BodyFields } from './fields.ts';

/** A request whose input tokens the gateway estimates itself. No provider is called and nothing is charged. */
export interface Estimate {
  readonly name: string;
  readonly kind: 'responses' | 'messages';
  /** Whether the model must be callable (contract 4.4), or only selects the tokenizer (4.7). */
  readonly requiresModel: boolean;
  /**
   * Returns the model that the request names; `null` if none.
   *
   * @throws GatewayError `invalidRequest` with the field that is wrong.
   */
  inspect(fields: BodyFields): string | null;
  toResponse(inputTokens: number): object;
}
