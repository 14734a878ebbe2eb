import type { AllowLists } from '../../accounting/accounts/allow-lists.ts';
import type { KeyLimits } from '../../accounting/accounts/key-limit-tables.ts';
import type { RateMaxima } from '../../accounting/reservations/rate-defaults.ts';

/** Accounts and keys of another gateway: what an import writes, and what it leaves out. */
export interface ForeignBooks {
  /** The program, such as `one-api`, and the label of the database if it has one. */
  readonly source: string;
  /** For people. */
  readonly version: string;
  readonly accounts: readonly ForeignAccount[];
  readonly leftOut: readonly LeftOut[];
}

export interface ForeignAccount {
  /** A permanent, unique reference of the account in its database. */
  readonly ref: string;
  readonly name: string;
  readonly email: string | null;
  readonly balanceNano: bigint;
  /** Why the account is suspended; `null` if it is not. */
  readonly suspendedBecause: string | null;
  readonly keys: readonly ForeignKey[];
}

export interface ForeignKey {
  readonly ref: string;
  readonly name: string;
  /** Of the text that clients send. */
  readonly sha256: Buffer;
  /** The part of the key that lists show. */
  readonly prefix: string;
  readonly isRevoked: boolean;
  readonly expiresAt: Date | null;
  readonly limits: Partial<KeyLimits>;
  /** Per minute. */
  readonly rates?: RateMaxima;
  readonly allowed: AllowLists;
}

/** Data that an import leaves out, because it has no counterpart in Faregate or would have to be guessed. */
export interface LeftOut {
  readonly what: string;
  readonly why: string;
  readonly count: number;
}

/** A database of another program, opened read-only. */
export interface ForeignDatabase {
  /** The names of a table's columns; empty if there is no such table. */
  columnsOf(table: string): Promise<ReadonlySet<string>>;
  /** Runs a query that casts every column to text. */
  select(query: string): Promise<readonly { readonly [column: string]: string | null }[]>;
}
