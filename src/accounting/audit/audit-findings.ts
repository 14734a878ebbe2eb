interface Breach {
  readonly accountId: string;
  readonly detail: string;
}

export interface InvariantResult {
  readonly invariant: string;
  readonly breaches: readonly Breach[];
}

/** A violation of an invariant, as a row that a statement returns. */
export interface FoundBreach {
  readonly invariant: string;
  readonly account_id: string;
  readonly detail: string;
}

/** The violations that a statement found in a partition. */
export interface FoundIn {
  readonly partition: number;
  readonly breaches: readonly FoundBreach[];
}

/** Maximum number of violations that an audit lists for each invariant. */
export const BREACHES_MAX = 100;

/** The invariants, by the ids that statements use. Results are listed in this order. */
const INVARIANTS = {
  'account-balances': 'every account has its balance, and every balance its account',
  'balance-sum': 'the balance is the sum of the ledger entries',
  'reserved-sum': 'reserved money is the sum of the open reservations',
  'entry-chain': 'entries are numbered without gaps and carry the balance forward',
  'last-entry': 'the last entry number of a balance is that of its ledger',
  'settled-calls': 'every settled call has its entry with its charge',
  'charge-calls': 'no charge without its call',
  'dropped-calls': 'the charges of dropped call records equal the sums recorded at the drop',
  'unresolved-charges':
    'an unresolved call has no charge, a resolved one none above what it had reserved, which no other record has',
  refunds: 'refunds are of a charged call of their account, and never more than its charge',
  'recorded-prices': 'the price list of every call record is there',
  'plan-in-flight': 'a subscription counts its coding calls in flight',
  'plan-reserved-tokens': 'a subscription counts the tokens that calls in flight have reserved in its period',
  'plan-slots': 'a subscription counts the slots of its five-hour window',
  'key-in-flight': 'a limited key counts its calls in flight and what they have reserved',
  'account-spending': 'an account counts what was charged on its day',
  'plan-week': 'a subscription counts the calls of its week',
  'plan-period': 'a subscription counts the tokens of its period',
  'key-calls': 'a limited key counts the calls of its day',
  'key-spending': 'a limited key counts what it was charged in its day, its week, its month, and in all',
  'use-numbers': 'subscriptions and limited keys number the records of calls that count for them',
  'coding-charges': 'a coding call has no charge',
  'ended-reservations': 'an ended call has nothing reserved',
  vouchers:
    'every redeemed voucher has its ledger entry of its value, or its subscription, and every such entry its voucher',
  'usage-sums': 'sums of usage have the charges and refunds of the ledger',
} as const;

export type InvariantId = keyof typeof INVARIANTS;

/** Collects the first violations of each invariant. */
export class Findings {
  readonly #breaches = new Map(Object.keys(INVARIANTS).map((id) => [id, [] as Breach[]]));
  readonly #partitions: number;

  /** @param partitions the number of partitions. If there are several, the detail of each violation names its partition. */
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
