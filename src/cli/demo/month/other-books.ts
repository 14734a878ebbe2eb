import type { HistoryRow } from '../../../accounting/history/history-store.ts';
import { type AccountBooks, toInstant } from './account-books.ts';
import { addKey, automaticTopUps, callEvents, lastCallMs, type MonthScene, openBooks, play, yuan } from './accounts.ts';
import type { CallKind } from './made-call.ts';
import type { TeamPeople } from './people.ts';
import { refusalRow } from './refusal-rows.ts';
import { DAY_MS, HOUR_MS } from './rhythm.ts';
import type { Vouchers } from './vouchers.ts';

/** Accounts of others, so that an operator of the demo has something to look after. */
export interface OtherBooks {
  readonly books: AccountBooks;
  readonly refusalRows: readonly HistoryRow[];
  /** Calls whose node died. */
  readonly unresolvedRows: readonly HistoryRow[];
}

const AGENTS: readonly CallKind[] = [
  { model: 'demo-messages', operation: 'messages', weight: 3 },
  { model: 'demo-chat', operation: 'responses', weight: 5 },
];
const SEARCH: readonly CallKind[] = [
  { model: 'demo-embeddings', operation: 'embeddings', weight: 6 },
  { model: 'demo-rerank', operation: 'rerank', weight: 4 },
  { model: 'demo-chat', operation: 'chat', weight: 3 },
];
const EVALUATION: readonly CallKind[] = [{ model: 'demo-chat', operation: 'chat', weight: 1 }];
const DESIGN: readonly CallKind[] = [
  { model: 'demo-images', operation: 'images.generate', weight: 1 },
  { model: 'demo-chat', operation: 'chat', weight: 2 },
];

/** A team that calls much, with a price of its own, a refund and two calls that nobody knows the end of. */
export function makeTeam(
  scene: MonthScene,
  { ownerId, memberId }: Pick<TeamPeople, 'ownerId' | 'memberId'>,
  vouchers: Vouchers,
): OtherBooks {
  const { startMs, nowMs } = scene;
  const books = openBooks(scene, {
    name: 'Northwind Research',
    email: 'billing@northwind.example',
    isVerified: true,
    createdAtMs: startMs + HOUR_MS,
    ownDailyCapNano: yuan(80),
    lowBalanceNano: yuan(30),
    priceFactorBasisPoints: 9_000,
  });
  const createdAtMs = startMs + 2 * HOUR_MS;
  const search = addKey(books, scene, { name: 'search service', createdAtMs });
  const evaluation = addKey(books, scene, { name: 'nightly evaluation', createdAtMs, allowedModels: ['demo-chat'] });
  const lin = addKey(books, scene, { name: "Lin's agents", createdAtMs, userId: ownerId });
  const sam = addKey(books, scene, {
    name: "Sam's agents",
    createdAtMs: startMs + 6 * DAY_MS,
    userId: memberId,
    limits: { dailySpendCapNano: yuan(15), concurrency: 2 },
  });
  books.post({ kind: 'top_up', amountNano: yuan(150), atMs: startMs + HOUR_MS, memo: 'invoice 2041' });
  play([
    ...callEvents(books, scene, [
      { keyId: search, count: 900, rhythm: 'service', kinds: SEARCH },
      { keyId: evaluation, count: 520, rhythm: 'nightly', kinds: EVALUATION },
      { keyId: lin, count: 620, rhythm: 'people', kinds: AGENTS },
      { keyId: sam, count: 340, rhythm: 'people', kinds: AGENTS },
    ]),
    ...automaticTopUps(books, scene, { belowNano: yuan(25), amountNano: yuan(100) }),
    {
      atMs: nowMs - 11 * DAY_MS,
      happen: () =>
        books.post({
          kind: 'adjustment',
          amountNano: yuan(12.5),
          atMs: nowMs - 11 * DAY_MS,
          memo: 'credit for the outage of last week',
        }),
    },
    vouchers.redemption(books, startMs + 16.6 * DAY_MS, 'Lin Wei'),
    { atMs: nowMs - 6 * DAY_MS, happen: () => refundAborted(books, nowMs - 6 * DAY_MS) },
  ]);
  const unresolvedRows = [nowMs - 12 * DAY_MS, nowMs - 3 * DAY_MS].map((atMs) =>
    unresolvedRow(books, lin, atMs, scene),
  );
  return { books, refusalRows: [], unresolvedRows };
}

/** Gives the charge of the dearest aborted call back. */
function refundAborted(books: AccountBooks, atMs: number): void {
  const [aborted] = books.outcomes
    .filter(({ status, chargeNano }) => status === 'aborted' && (chargeNano ?? 0n) > 0n)
    .sort((left, right) => (left.chargeNano! > right.chargeNano! ? -1 : 1));
  if (aborted === undefined) return;
  const { callId, chargeNano } = aborted;
  books.post({ kind: 'refund', amountNano: chargeNano!, atMs, memo: 'the stream broke off', callId });
}

function unresolvedRow(books: AccountBooks, keyId: string, atMs: number, { idsAt }: MonthScene): HistoryRow {
  const ids = idsAt(atMs);
  return {
    account_id: books.account.id,
    id: ids.next('call'),
    started_at: toInstant(atMs),
    ended_at: toInstant(atMs + 21_000),
    key_id: keyId,
    context: 'balance',
    operation: 'messages',
    model: 'demo-messages',
    provider: 'simulated-messages',
    provider_model: 'simulated-messages-1',
    is_stream: true,
    status: 'unresolved',
    error_code: 'call_unresolved',
    request_id: ids.next('req'),
    input_tokens: 0,
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    price_rule: 'base',
    reserved_nano: String(yuan(0.412)),
  };
}

/** A small account that has spent what it had: its last calls were refused. */
export function makeSpentAccount(scene: MonthScene): OtherBooks {
  const { startMs } = scene;
  const books = openBooks(scene, {
    name: 'Blue Harbor Design',
    email: 'studio@blueharbor.example',
    isVerified: true,
    createdAtMs: startMs + 5 * DAY_MS,
    lowBalanceNano: yuan(5),
  });
  const key = addKey(books, scene, { name: 'studio', createdAtMs: startMs + 5 * DAY_MS });
  books.post({ kind: 'top_up', amountNano: yuan(40), atMs: startMs + 5 * DAY_MS, memo: null });
  const refusalRows: HistoryRow[] = [];
  play(
    callEvents(
      books,
      scene,
      [{ keyId: key, count: 430, rhythm: 'people', kinds: DESIGN }],
      () => books.balanceNano > 0n,
      ({ keyId, kind, atMs }) =>
        refusalRows.push(refusalRow('insufficientBalance', { books, keyId, kind, atMs }, scene)),
    ),
  );
  return { books, refusalRows, unresolvedRows: [] };
}

/** One whose calls are refused until it pays. */
export function makeSuspendedAccount(scene: MonthScene): OtherBooks {
  const { startMs, nowMs } = scene;
  const suspendedAtMs = nowMs - 8 * DAY_MS;
  const books = openBooks(scene, {
    name: 'Tidewater Labs',
    email: 'ops@tidewater.example',
    isVerified: true,
    createdAtMs: startMs + DAY_MS,
    suspended: { atMs: suspendedAtMs, reason: 'invoice 2038 is not paid' },
  });
  const key = addKey(books, scene, { name: 'production', createdAtMs: startMs + DAY_MS });
  books.post({ kind: 'top_up', amountNano: yuan(60), atMs: startMs + DAY_MS, memo: 'invoice 2038' });
  play(
    callEvents(books, scene, [
      {
        keyId: key,
        count: 360,
        rhythm: 'service',
        kinds: SEARCH,
        span: { toMs: suspendedAtMs },
      },
    ]),
  );
  const refusalRows = [1, 5, 9, 14, 26, 49].map((hours) =>
    refusalRow('suspended', { books, keyId: key, kind: SEARCH[2]!, atMs: suspendedAtMs + hours * HOUR_MS }, scene),
  );
  return { books, refusalRows, unresolvedRows: [] };
}

/** One that nobody has looked at yet. */
export function makeUnverifiedAccount(scene: MonthScene): OtherBooks {
  const createdAtMs = scene.nowMs - 2 * DAY_MS;
  const books = openBooks(scene, {
    name: 'Fern Studio',
    email: 'hello@fern.example',
    isVerified: false,
    createdAtMs,
  });
  const key = addKey(books, scene, { name: 'first key', createdAtMs });
  const refusalRows = [lastCallMs(scene) - 30 * HOUR_MS, lastCallMs(scene) - 29 * HOUR_MS].map((atMs) =>
    refusalRow('unverified', { books, keyId: key, kind: AGENTS[1]!, atMs }, scene),
  );
  return { books, refusalRows, unresolvedRows: [] };
}
