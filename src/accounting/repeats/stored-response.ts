import type { ErrorKind, RetryAdvice } from '../../errors/catalogue.ts';

export interface StoredResponse {
  readonly head: StoredHead;
  /** Body as it was sent; `null` for an error, and for a body that was too large or exceeded the capacity. */
  readonly body: Buffer | null;
}

export type StoredHead = StoredSuccess | StoredFailure;

interface StoredSuccess {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly callHeaders: Readonly<Record<string, string>>;
  /** Present if the database, the memory or the journal had no capacity for the body. */
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

/** An idempotency key, which belongs to one API key. */
export interface CallKey {
  readonly accountId: string;
  readonly keyId: string;
  /** SHA-256 of the client's idempotency key, which may be long or contain personal data. */
  readonly idempotencyKey: string;
}

export interface KeyedCall extends CallKey {
  /** Hash of the address and the body. Repeated requests have the same one. */
  readonly fingerprint: string;
}
