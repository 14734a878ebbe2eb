import type { AllowLists } from '../../accounting/accounts/allow-lists.ts';
import type { KeyLimits } from '../../accounting/accounts/key-limit-tables.ts';
import type { RateMaxima } from '../../accounting/reservations/rate-defaults.ts';

/** The books of another gateway as a plain value: what an import writes, and what it cannot. */

export interface ForeignBooks {
  /** The program, such as `one-api`. */
  readonly source: string;
  /** In words, by what was found in the database. */
  readonly version: string;
  readonly accounts: readonly ForeignAccount[];
  readonly leftOut: readonly LeftOut[];
}

export interface ForeignAccount {
  /** What it is called in its database, unique there and for good. */
  readonly ref: string;
  readonly name: string;
  readonly email: string | null;
  readonly balanceNano: bigint;
  /** Why its calls are refused; `null`: they are not. */
  readonly suspendedBecause: string | null;
  readonly keys: readonly ForeignKey[];
}

export interface ForeignKey {
  readonly ref: string;
  readonly name: string;
  /** Of what clients send. */
  readonly sha256: Buffer;
  /** What lists show of it. */
  readonly prefix: string;
  readonly isRevoked: boolean;
  readonly expiresAt: Date | null;
  readonly limits: Partial<KeyLimits>;
  /** Requests and tokens a minute; absent: none. */
  readonly rates?: RateMaxima;
  readonly allowed: AllowLists;
}

/** What has no counterpart here, or is not guessed. */
export interface LeftOut {
  readonly what: string;
  readonly why: string;
  readonly count: number;
}

/** A database of another program, opened so that nothing can be written. */
export interface ForeignDatabase {
  /** The names of a table's columns; none if there is no such table. */
  columnsOf(table: string): Promise<ReadonlySet<string>>;
  /** Rows of a query that casts every column to text. */
  select(query: string): Promise<readonly { readonly [column: string]: string | null }[]>;
}
