import type { ErrorKind, RetryAdvice } from '../../errors/catalogue.ts';

/** The result of a call that carries an Idempotency-Key, stored for its repeats. */
export interface StoredResponse {
  readonly head: StoredHead;
  /** The body as it was sent; `null` for an error, and for a response that is too large or has no room to be stored. */
  readonly body: Buffer | null;
}

export type StoredHead = StoredSuccess | StoredFailure;

/** Stored as JSON. */
interface StoredSuccess {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The gateway's own headers of the call. */
  readonly callHeaders: Readonly<Record<string, string>>;
  /** The stored responses of the account took all of their room. */
  readonly hasNoRoom?: true;
}

/** Stored as JSON. */
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
  /** The SHA-256 of what the client sent: keys may be long, or contain what should not be stored. */
  readonly idempotencyKey: string;
}

/** A call by its Idempotency-Key. */
export interface KeyedCall extends CallKey {
  /** Of address and body: a repeat is the same request. */
  readonly fingerprint: string;
}
