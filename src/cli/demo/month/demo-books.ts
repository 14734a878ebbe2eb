import { beganAtMs } from '../../../accounting/counts/counted-since.ts';
import { placeOf } from '../../../accounting/counts/counted-use.ts';
import type { HistoryRow } from '../../../accounting/history/history-store.ts';
import { compilePlans } from '../../../accounting/plans/plan.ts';
import type { Config } from '../../../config/schema.ts';
import type { NewDemo } from '../new-demo.ts';
import { AccountBooks, toInstant } from './account-books.ts';
import { addKey, callEvents, lastCallMs, type MonthScene, play, topUpsTo, yuan } from './accounts.ts';
import type { CallKind } from './made-call.ts';
import { DAY_MS, HOUR_MS } from './rhythm.ts';
import type { Vouchers } from './vouchers.ts';

/** The account of whoever has started the demo: some keys, the balance of the demo, and a plan of which a part is used. */
interface DemoBooks {
  readonly books: AccountBooks;
  readonly subscriptionRow: HistoryRow;
  readonly slotRows: readonly HistoryRow[];
}

const CHATTING: readonly CallKind[] = [
  { model: 'demo-chat', operation: 'chat', weight: 6 },
  { model: 'demo-chat', operation: 'responses', weight: 2 },
  { model: 'demo-messages', operation: 'messages', weight: 3 },
  { model: 'demo-images', operation: 'images.generate', weight: 0.15 },
];
const CODING: readonly CallKind[] = [
  { model: 'demo-messages', operation: 'messages', weight: 5 },
  { model: 'demo-chat', operation: 'chat', weight: 3 },
];
const INDEXING: readonly CallKind[] = [
  { model: 'demo-embeddings', operation: 'embeddings', weight: 5 },
  { model: 'demo-rerank', operation: 'rerank', weight: 3 },
];

/** Days since its plan began, so that a week and the period of the plan are under way. */
const PLAN_DAYS = 24.3;
const WEEK_MS = 7 * DAY_MS;
const WINDOW_MS = 5 * HOUR_MS;
/** Coding calls before the last hours, and in them, so that the five-hour window is in use whatever time it is. */
const CODING_CALLS = 300;
const RECENT_CODING_CALLS = 14;

export function makeDemoBooks(
  demo: NewDemo,
  { config, planId, vouchers }: { readonly config: Config; readonly planId: string; readonly vouchers: Vouchers },
  scene: MonthScene,
): DemoBooks {
  const { startMs, nowMs } = scene;
  const books = new AccountBooks(
    { id: demo.accountId, name: demo.name, email: null, isVerified: true, createdAtMs: startMs },
    scene.localTime,
    nowMs,
  );
  books.addKey({ id: demo.keyId, name: demo.name, text: demo.key, createdAtMs: startMs });
  const laptop = addKey(books, scene, {
    name: 'laptop',
    createdAtMs: startMs + 2 * HOUR_MS,
    scopes: ['calls', 'account'],
    limits: { dailySpendCapNano: yuan(20), monthlySpendCapNano: yuan(200), dailyCalls: 500, concurrency: 4 },
  });
  const indexer = addKey(books, scene, {
    name: 'search index',
    createdAtMs: startMs + 3 * DAY_MS,
    expiresAtMs: nowMs + 12 * DAY_MS,
    allowedModels: ['demo-embeddings', 'demo-rerank'],
  });
  const replaced = addKey(books, scene, {
    name: 'old notebook',
    createdAtMs: startMs + HOUR_MS,
    revokedAtMs: nowMs - 9 * DAY_MS,
  });
  books.post({ kind: 'top_up', amountNano: yuan(50), atMs: startMs, memo: 'first top-up' });

  const planStartMs = nowMs - Math.round(PLAN_DAYS * DAY_MS);
  const coding = { keyId: demo.keyId, context: 'coding', kinds: CODING, rhythm: 'people' } as const;
  const recentMs = lastCallMs(scene) - 4.4 * HOUR_MS;
  play([
    ...callEvents(books, scene, [
      { keyId: demo.keyId, count: 190, rhythm: 'people', kinds: CHATTING },
      { keyId: laptop, count: 420, rhythm: 'people', kinds: CHATTING },
      {
        keyId: indexer,
        count: 260,
        rhythm: 'nightly',
        kinds: INDEXING,
      },
      { keyId: replaced, count: 70, rhythm: 'people', kinds: CHATTING, span: { toMs: nowMs - 9 * DAY_MS } },
      { ...coding, count: CODING_CALLS, span: { fromMs: planStartMs, toMs: recentMs } },
      { ...coding, count: RECENT_CODING_CALLS, rhythm: 'service', span: { fromMs: recentMs } },
    ]),
    vouchers.redemption(books, startMs + 5.4 * DAY_MS, demo.name),
    ...topUpsTo(books, scene, yuan(100)),
  ]);
  return { books, ...planOf(books, { planId, planStartMs, config, scene }) };
}

interface PlanParts {
  readonly planId: string;
  readonly planStartMs: number;
  readonly config: Config;
  readonly scene: MonthScene;
}

/** The subscription with what its calls have used of it. */
function planOf(
  { account, outcomes }: AccountBooks,
  { planId, planStartMs, config, scene }: PlanParts,
): Pick<DemoBooks, 'subscriptionRow' | 'slotRows'> {
  const { nowMs } = scene;
  const { periodDays } = compilePlans(config).find(({ id }) => id === planId)!;
  const subscriptionId = scene.idsAt(planStartMs).next('sub');
  const weekBeganAtMs = beganAtMs(planStartMs, WEEK_MS, nowMs);
  // A call whose success has begun keeps its slot.
  const counted = outcomes.filter(({ context, usage }) => context === 'coding' && usage !== null);
  const ofWeek = counted.filter(({ startedAtMs }) => startedAtMs >= weekBeganAtMs);
  const slots = counted.filter(({ startedAtMs }) => startedAtMs > nowMs - WINDOW_MS);
  const tokens = counted.reduce(
    (sum, { usage }) =>
      sum + usage!.inputTokens + usage!.cachedInputTokens + usage!.cacheWriteTokens + usage!.outputTokens,
    0,
  );
  return {
    subscriptionRow: {
      account_id: account.id,
      id: subscriptionId,
      plan_id: planId,
      starts_at: toInstant(planStartMs),
      ends_at: toInstant(planStartMs + periodDays * DAY_MS),
      created_at: toInstant(planStartMs),
      slots: slots.length,
      week_began_at: toInstant(weekBeganAtMs),
      week_calls: ofWeek.length,
      period_began_at: toInstant(planStartMs),
      period_tokens: tokens,
      // Records of a history do not say what they count for.
      counted_before: {
        week: placeOf(0, weekBeganAtMs),
        weekCalls: ofWeek.length,
        period: placeOf(0, planStartMs),
        periodTokens: tokens,
      },
    },
    slotRows: slots.map(({ callId, startedAtMs }) => ({
      account_id: account.id,
      subscription_id: subscriptionId,
      call_id: callId,
      taken_at: toInstant(startedAtMs),
    })),
  };
}
