import type { BodyFields } from './fields.ts';

/** An operation that estimates the input tokens of a request, without a provider and free of charge. */
export interface Estimate {
  readonly name: string;
  readonly kind: 'responses' | 'messages';
  /** Whether the model must be callable (contract 4.4). Otherwise it only selects the tokenizer (contract 4.7). */
  readonly requiresModel: boolean;
  /** Validates the request and returns its model. @throws GatewayError `invalidRequest` with the invalid field */
  inspect(fields: BodyFields): string | null;
  toResponse(inputTokens: number): object;
}
