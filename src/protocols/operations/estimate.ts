import type { BodyFields } from './fields.ts';

/** An operation that estimates input tokens. It needs no provider and is free of charge. */
export interface Estimate {
  readonly name: string;
  readonly kind: 'responses' | 'messages';
  /** Whether the model must be callable (contract 4.4). If not, the model only selects the tokenizer (contract 4.7). */
  readonly requiresModel: boolean;
  /** Checks the request and returns its model. @throws GatewayError `invalidRequest` with the invalid field */
  inspect(fields: BodyFields): string | null;
  toResponse(inputTokens: number): object;
}
