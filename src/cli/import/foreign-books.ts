import type { AllowLists } from '../../accounting/accounts/allow-lists.ts';
import type { KeyLimits } from '../../accounting/accounts/key-limit-tables.ts';
import type { RateMaxima } from '../../accounting/reservations/rate-defaults.ts';

/** Accounts and keys of another gateway: what an import writes, and what it leaves out. */
export interface ForeignBooks {
  /** The program, such as `one-api`, with the label of the database if it has one. */
  readonly source: string;
  /** Version of the program, as text for people. */
  readonly version: string;
  readonly accounts: readonly ForeignAccount[];
  readonly leftOut: readonly LeftOut[];
}

export interface ForeignAccount {
  /** Reference of the account in its database: permanent and unique. */
  readonly ref: string;
  readonly name: string;
  readonly email: string | null;
  readonly balanceNano: bigint;
  /** Why the account is suspended; `null`: it is not. */
  readonly suspendedBecause: string | null;
  readonly keys: readonly ForeignKey[];
}

export interface ForeignKey {
  readonly ref: string;
  readonly name: string;
  /** Hash of the text that clients send. */
  readonly sha256: Buffer;
  /** Part of the key that lists show. */
  readonly prefix: string;
  readonly isRevoked: boolean;
  readonly expiresAt: Date | null;
  readonly limits: Partial<KeyLimits>;
  /** Limits per minute. */
  readonly rates?: RateMaxima;
  readonly allowed: AllowLists;
}

/** Data that an import leaves out: it has no counterpart in Faregate, or would have to be guessed. */
export interface LeftOut {
  readonly what: string;
  readonly why: string;
  readonly count: number;
}

/** Database of another program, opened for reading only. */
export interface ForeignDatabase {
  /** Returns the column names of a table; none if it does not exist. */
  columnsOf(table: string): Promise<ReadonlySet<string>>;
  /** Runs a query, which casts every column to text. */
  select(query: string): Promise<readonly { readonly [column: string]: string | null }[]>;
}
