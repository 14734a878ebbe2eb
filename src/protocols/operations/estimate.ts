import type { BodyFields } from './fields.ts';

/** A request whose input tokens the gateway estimates itself: no provider is called and nothing is charged. */
export interface Estimate {
  /** For reports. */
  readonly name: string;
  /** The wire format of the request. */
  readonly kind: 'responses' | 'messages';
  /** Whether the model has to be one that may be called (contract 4.4), or only decides how text is counted (4.7). */
  readonly requiresModel: boolean;
  /**
   * Checks the request and returns the model that it names; `null` if it names none.
   *
   * @throws GatewayError `invalidRequest` with the field to blame.
   */
  inspect(fields: BodyFields): string | null;
  /** The body of the response. */
  toResponse(inputTokens: number): object;
}
