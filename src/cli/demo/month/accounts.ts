import { createApiKey } from '../../../accounting/accounts/key-format.ts';
import type { LocalTime } from '../../../accounting/pricing/local-time.ts';
import { LIST_PRICE_BASIS_POINTS } from '../../../accounting/pricing/price-factor.ts';
import type { FillRandom } from '../../../lib/ids.ts';
import { NANO_PER_YUAN } from '../../../lib/yuan.ts';
import { AccountBooks, type MadeAccount, type MadeKey } from './account-books.ts';
import { type CallKind, type CallMaking, makeCall } from './made-call.ts';
import { callTimes, DAY_MS, HOUR_MS, type Rhythm, type Span } from './rhythm.ts';

/** What all accounts of the month share. */
export interface MonthScene extends CallMaking {
  readonly nowMs: number;
  readonly startMs: number;
  readonly localTime: LocalTime;
  /** Of the system: keys that nobody knows must not follow from a seed. */
  readonly fillRandom: FillRandom;
}

/** The calls that a key has made. */
interface KeyUse {
  readonly keyId: string;
  readonly count: number;
  readonly rhythm: Rhythm;
  readonly kinds: readonly CallKind[];
  /** By default from when the key was made until now. */
  readonly span?: Partial<Span>;
  readonly context?: 'balance' | 'coding';
}

export const yuan = (amount: number): bigint => BigInt(Math.round(amount * 1_000)) * (NANO_PER_YUAN / 1_000n);

/** No call ends later: the last ones are over when the month is made. */
const SETTLED_MS = 10 * 60_000;

export const lastCallMs = ({ nowMs }: MonthScene): number => nowMs - SETTLED_MS;

/** A key of an account that is not the demo's; nobody has its text. */
export function addKey(books: AccountBooks, scene: MonthScene, key: Omit<MadeKey, 'id' | 'text'>): string {
  const id = scene.idsAt(key.createdAtMs).next('key');
  books.addKey({ ...key, id, text: createApiKey(scene.fillRandom) });
  return id;
}

export function openBooks(scene: MonthScene, account: Omit<MadeAccount, 'id'>): AccountBooks {
  return new AccountBooks(
    { ...account, id: scene.idsAt(account.createdAtMs).next('acct') },
    scene.localTime,
    scene.nowMs,
  );
}

/** What happens to an account at some instant, in the order of time. */
export interface HistoryEvent {
  readonly atMs: number;
  happen(): void;
}

/**
 * The calls of keys as events. `admits` says whether the account may make one; one that it may not is told to `onRefused`, and
 * is not recorded as a call.
 */
export function callEvents(
  books: AccountBooks,
  scene: MonthScene,
  uses: readonly KeyUse[],
  admits: () => boolean = () => true,
  onRefused: (call: { readonly keyId: string; readonly kind: CallKind; readonly atMs: number }) => void = () =>
    undefined,
): HistoryEvent[] {
  const { randomSource, localTime } = scene;
  return uses.flatMap(({ keyId, count, rhythm, kinds, span, context = 'balance' }) => {
    const within = { fromMs: span?.fromMs ?? books.keyCreatedAtMs(keyId), toMs: span?.toMs ?? lastCallMs(scene) };
    return callTimes(count, rhythm, within, localTime, randomSource).map((startedAtMs): HistoryEvent => {
      const kind = randomSource.choose(kinds);
      const outcome = makeCall(
        {
          accountId: books.account.id,
          keyId,
          context,
          kind,
          startedAtMs,
          priceFactorBasisPoints: books.account.priceFactorBasisPoints ?? LIST_PRICE_BASIS_POINTS,
        },
        scene,
      );
      return {
        atMs: outcome.endedAtMs,
        happen: () => (admits() ? books.add(outcome) : onRefused({ keyId, kind, atMs: startedAtMs })),
      };
    });
  });
}

/** A top-up of a fixed amount whenever the balance falls below a threshold, looked at every hour. */
export function automaticTopUps(
  books: AccountBooks,
  scene: MonthScene,
  { belowNano, amountNano }: { readonly belowNano: bigint; readonly amountNano: bigint },
): HistoryEvent[] {
  const hours = Math.floor((scene.nowMs - scene.startMs) / HOUR_MS);
  return Array.from({ length: hours }, (_, i): HistoryEvent => {
    const atMs = scene.startMs + (i + 1) * HOUR_MS;
    return {
      atMs,
      happen() {
        if (books.balanceNano >= belowNano) return;
        books.post({ kind: 'top_up', amountNano, atMs, memo: 'automatic top-up' });
      },
    };
  });
}

/** Once a week and at last: so much that the balance is the same again. */
export function topUpsTo(books: AccountBooks, scene: MonthScene, levelNano: bigint): HistoryEvent[] {
  const atTimes = [7, 14, 21, 28].map((days) => scene.startMs + days * DAY_MS);
  return [...atTimes, scene.nowMs - SETTLED_MS / 2].map((atMs) => ({
    atMs,
    happen() {
      const amountNano = levelNano - books.balanceNano;
      if (amountNano > 0n)
        books.post({ kind: 'top_up', amountNano, atMs, memo: `topped up to ¥${levelNano / NANO_PER_YUAN}` });
    },
  }));
}

/** Has everything happen, in the order of time. */
export function play(events: readonly HistoryEvent[]): void {
  for (const event of events.toSorted((left, right) => left.atMs - right.atMs)) event.happen();
}
