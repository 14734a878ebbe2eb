import type { BodyFields } from './fields.ts';

/** A request whose input tokens are estimated where it stands: no provider is called and nothing is charged. */
export interface Estimate {
  /** Whose wire format the request is in. */
  readonly kind: 'responses' | 'messages';
  /** Whether the model has to be one that may be called (contract 4.4), or only says how text is counted (4.7). */
  readonly requiresModel: boolean;
  /**
   * Checks the request and answers the model that it names; `null` where it names none.
   *
   * @throws GatewayError `invalidRequest` with the field to blame.
   */
  inspect(fields: BodyFields): string | null;
  /** The body of the answer. */
  toAnswer(inputTokens: number): object;
}
