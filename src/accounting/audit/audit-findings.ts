interface Breach {
  readonly accountId: string;
  readonly detail: string;
}

export interface InvariantResult {
  readonly invariant: string;
  readonly breaches: readonly Breach[];
}

export interface FoundBreach {
  readonly invariant: string;
  readonly account_id: string;
  readonly detail: string;
}

interface FoundIn {
  readonly partition: number;
  readonly breaches: readonly FoundBreach[];
}

/** Maximum number of listed violations per invariant. */
export const BREACHES_MAX = 100;

/** Invariants by the ids that SQL statements use, in the order in which results list them. */
const INVARIANTS = {
  'account-balances': 'every account has a balance, and every balance has an account',
  'balance-sum': 'the balance is the sum of the ledger entries',
  'reserved-sum': 'reserved money is the sum of the open reservations',
  'entry-chain': 'ledger entries are numbered without gaps, and each continues from the balance of the entry before it',
  'last-entry': 'the last entry number of every balance matches the ledger',
  'settled-calls': 'every settled call has a ledger entry with its charge',
  'charge-calls': 'every charge belongs to a call',
  'dropped-calls': 'for months whose call records were dropped, the stored sums equal the charges in the ledger',
  'unresolved-charges':
    'unresolved calls have no charge, resolved calls are charged at most their reserved amount, and all other records have no reserved amount',
  refunds: 'every refund belongs to a charged call of the same account, and refunds never exceed its charge',
  'recorded-prices': 'the price list of every call record is stored',
  'plan-in-flight': 'subscriptions correctly count their coding calls in flight',
  'plan-reserved-tokens':
    'subscriptions correctly count the tokens that calls in flight have reserved in the current period',
  'plan-slots': 'subscriptions correctly count the slots of their five-hour windows',
  'key-in-flight': 'keys with limits correctly count their calls in flight and the amounts reserved by these calls',
  'account-spending': 'accounts correctly count their charges of the current day',
  'plan-week': 'subscriptions correctly count the calls of the current week',
  'plan-period': 'subscriptions correctly count the tokens of the current period',
  'key-calls': 'keys with limits correctly count the calls of the current day',
  'key-spending': 'keys with limits correctly count their charges by day, week and month, and in total',
  'use-numbers': 'the call records agree with the counters of subscriptions and keys with limits',
  'coding-charges': 'a coding call has no charge',
  'ended-reservations': 'an ended call has no reservation',
  vouchers:
    'every redeemed voucher has a matching ledger entry or subscription, and every entry or subscription from a voucher has a matching redemption',
  'usage-sums': 'usage sums match the charges and refunds of the ledger',
} as const;

export type InvariantId = keyof typeof INVARIANTS;

export class Findings {
  readonly #breaches = new Map(Object.keys(INVARIANTS).map((id) => [id, [] as Breach[]]));
  readonly #partitions: number;

  /** @param partitions if there are several, the detail of each violation names its partition */
  constructor(partitions: number) {
    this.#partitions = partitions;
  }

  add({ partition, breaches: found }: FoundIn): void {
    const place = this.#partitions === 1 ? '' : `partition ${partition}: `;
    for (const { invariant, account_id: accountId, detail } of found) {
      const breaches = this.#breaches.get(invariant)!;
      if (breaches.length < BREACHES_MAX) breaches.push({ accountId, detail: `${place}${detail}` });
    }
  }

  results(): InvariantResult[] {
    return Object.entries(INVARIANTS).map(([id, invariant]) => ({ invariant, breaches: this.#breaches.get(id)! }));
  }
}
