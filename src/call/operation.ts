import type { OperationName, Protocol } from '../config/schema.ts';
import type { StreamReading } from '../metering/tap.ts';
import type { TokenUsage } from '../metering/usage-facts.ts';

/**
 * What differs between one kind of call and another. The table of endpoints says where it is served, `call/` does what
 * is the same for all.
 */
export interface Operation {
  readonly name: OperationName;
  readonly protocol: Protocol;
  /** Appended to a provider's base address. */
  readonly upstreamPath: string;
  /**
   * Reads what the gateway needs of a body.
   *
   * @throws GatewayError `invalidRequest` with the field to blame.
   */
  inspect(body: Buffer): CallInput;
}

/** The few things that the gateway knows of a call's body. */
export interface CallInput {
  readonly model: string;
  readonly isStream: boolean;
  /** The most output tokens that the caller asks for, all choices together; `null` where it states no limit. */
  readonly outputTokensRequested: number | null;
  /** How many answers the caller wants; each may use the model's whole output. */
  readonly choices: number;
  /** The body as the provider gets it: the same bytes, but for its own name of the model and the request for usage. */
  toProvider(providerModel: string): Buffer;
  /** Reads the usage facts of a whole answer's `usage` value; `null` where they cannot be billed. */
  readUsage(usage: unknown): TokenUsage | null;
  /** How this call's stream is to be read. */
  readStream(): StreamReading;
}
