import type { ErrorKind, RetryAdvice } from '../../errors/catalogue.ts';

/** The result of a call with an Idempotency-Key, stored for its repeats. */
export interface StoredResponse {
  readonly head: StoredHead;
  /** The body as it was sent; `null` for an error, and for a response that is too large or exceeds the capacity. */
  readonly body: Buffer | null;
}

export type StoredHead = StoredSuccess | StoredFailure;

/** Stored as JSON. */
interface StoredSuccess {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly callHeaders: Readonly<Record<string, string>>;
  /** There was no capacity left to store the body: in the database, in memory or in the journal. */
  readonly hasNoRoom?: true;
}

export interface StoredFailure {
  readonly error: {
    readonly kind: ErrorKind;
    readonly status: number;
    readonly code: string;
    readonly message: string;
    readonly param: string | null;
    readonly type: string | null;
    readonly retry: RetryAdvice;
    readonly headers: Readonly<Record<string, string>>;
    readonly requestId: string;
  };
  readonly callHeaders: Readonly<Record<string, string>>;
}

/** An Idempotency-Key, which belongs to one API key. */
export interface CallKey {
  readonly accountId: string;
  readonly keyId: string;
  /** SHA-256 of the client's key, which may be long or contain data that should not be stored. */
  readonly idempotencyKey: string;
}

export interface KeyedCall extends CallKey {
  /** Hash of the address and the body of the request: a repeat has the same fingerprint. */
  readonly fingerprint: string;
}
