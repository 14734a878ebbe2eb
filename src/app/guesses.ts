import { GuessLimit, type VoucherGuesses } from '../accounting/vouchers/guess-limit.ts';
import { type ChangeCounts, ChangeRates, type CountedChange } from '../changes/change-rates.ts';
import type { Handlers, ProcessLink } from '../lib/process-link.ts';
import type { HashAsker } from '../people/hash-queue.ts';
import { type HashCost, Passwords, PasswordsBusyError } from '../people/passwords.ts';
import { type AttemptCounts, SignInLimits } from '../people/sign-in-limits.ts';

/**
 * Rate limits of guesses (passwords, links, vouchers) and of changes, and the hashing of passwords. With several workers, the primary
 * counts and hashes for all of them: a worker's share of these small limits would lock out people who mistype a password.
 */
export interface Guesses {
  readonly attempts: AttemptCounts;
  readonly passwords: Pick<Passwords, 'hash' | 'verify'>;
  readonly vouchers: VoucherGuesses;
  readonly changes: ChangeCounts;
}

export function createGuesses(monotonicMs: () => number, hashCost?: HashCost): Guesses {
  return {
    attempts: new SignInLimits(monotonicMs),
    passwords: new Passwords(hashCost === undefined ? {} : { cost: hashCost }),
    vouchers: new GuessLimit(monotonicMs),
    changes: new ChangeRates(monotonicMs),
  };
}

/** A result of hashing; `null` if the queue of hashes is full. */
type Hashed<Result> = { readonly result: Result } | null;

/** Handlers with which the primary serves its workers. */
export function guessHandlers({ attempts, passwords, vouchers, changes }: Guesses): Handlers {
  return {
    'attempts.begin': (person: string | null, network: string) => attempts.begin(person, network),
    'attempts.succeeded': (person: string | null, network: string) => attempts.succeeded(person, network),
    'attempts.isKnown': (person: string, network: string) => attempts.isKnown(person, network),
    'attempts.beginTry': (network: string) => attempts.beginTry(network),
    'attempts.tryWorked': (network: string) => attempts.tryWorked(network),
    'passwords.hash': (password: string, asker: HashAsker) => unlessBusy(passwords.hash(password, asker)),
    'passwords.verify': (password: string, stored: string | null, asker: HashAsker) =>
      unlessBusy(passwords.verify(password, stored, asker)),
    'vouchers.take': (accountId: string) => vouchers.take(accountId),
    'vouchers.giveBack': (accountId: string) => vouchers.giveBack(accountId),
    'changes.take': (change: CountedChange) => changes.take(change),
  };
}

export function guessesAt(primary: ProcessLink): Guesses {
  return {
    attempts: {
      begin: (person, network) => primary.ask('attempts.begin', person, network),
      succeeded: (person, network) => primary.tell('attempts.succeeded', person, network),
      isKnown: (person, network) => primary.ask('attempts.isKnown', person, network),
      beginTry: (network) => primary.ask('attempts.beginTry', network),
      tryWorked: (network) => primary.tell('attempts.tryWorked', network),
    },
    passwords: {
      async hash(password, asker) {
        return orBusy(await primary.ask<Hashed<string>>('passwords.hash', password, asker));
      },
      async verify(password, stored, asker) {
        return orBusy(await primary.ask<Hashed<boolean>>('passwords.verify', password, stored, asker));
      },
    },
    vouchers: {
      take: (accountId) => primary.ask('vouchers.take', accountId),
      giveBack: (accountId) => primary.tell('vouchers.giveBack', accountId),
    },
    changes: { take: (change) => primary.ask('changes.take', change) },
  };
}

async function unlessBusy<Result>(work: Promise<Result>): Promise<Hashed<Result>> {
  try {
    return { result: await work };
  } catch (error) {
    if (error instanceof PasswordsBusyError) return null;
    throw error;
  }
}

function orBusy<Result>(hashed: Hashed<Result>): Result {
  if (hashed === null) throw new PasswordsBusyError();
  return hashed.result;
}
