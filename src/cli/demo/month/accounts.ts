import type { HistoryRow } from '../../../accounting/history/history-store.ts';
import type { NewDemo } from '../new-demo.ts';
import { Books, instant, type MonthScene, SETTLED_MS, yuan } from './books.ts';
import type { CallKind } from './made-call.ts';
import { DAY_MS, HOUR_MS } from './rhythm.ts';
import { type Person, refusalRow, type Vouchers } from './rows.ts';

const kind = (model: string, operation: CallKind['operation'], weight: number): CallKind => ({
  model: `demo-${model}`,
  operation,
  weight,
});
const CHATTING = [
  kind('chat', 'chat', 6),
  kind('chat', 'responses', 2),
  kind('messages', 'messages', 3),
  kind('images', 'images.generate', 0.15),
];
const CODING = [kind('messages', 'messages', 5), kind('chat', 'chat', 3)];
const AGENTS = [kind('chat', 'responses', 5), kind('messages', 'messages', 3)];
const SEARCH = [kind('chat', 'chat', 3), kind('embeddings', 'embeddings', 6), kind('rerank', 'rerank', 4)];
const INDEXING = [kind('embeddings', 'embeddings', 5), kind('rerank', 'rerank', 3)];
const EVALUATION = [kind('chat', 'chat', 1)];
const DESIGN = [kind('images', 'images.generate', 1), kind('chat', 'chat', 2)];

/** Days since the demo's plan began, so that a week and the period of the plan are under way. */
const PLAN_DAYS = 24.3;

export const planStartMs = ({ nowMs }: MonthScene): number => nowMs - Math.round(PLAN_DAYS * DAY_MS);

export function openDemo({ accountId, name }: NewDemo, scene: MonthScene): Books {
  return new Books(scene, scene.startMs, { id: accountId, name });
}

/** The account of whoever has started the demo: some keys, a balance of ¥100, and a plan of which a part is used. */
export function ownAccount(demo: NewDemo, vouchers: Vouchers, scene: MonthScene): Books {
  const { startMs, nowMs } = scene;
  const own = openDemo(demo, scene);
  // Some coding calls lie in the last hours, so that the five-hour window is in use whatever time it is.
  const recentMs = nowMs - SETTLED_MS - 4.4 * HOUR_MS;
  const ofDemo = { rhythm: 'people', kinds: CHATTING } as const;
  const coding = { context: 'coding', kinds: CODING } as const;
  const uses = [
    { ...ofDemo, count: 190 },
    { ...coding, rhythm: 'people', count: 300, fromMs: planStartMs(scene), toMs: recentMs },
    { ...coding, rhythm: 'service', count: 14, fromMs: recentMs },
  ] as const;
  own.addKey(startMs, { id: demo.keyId, name: demo.name }, uses, { text: demo.key });
  const caps = { daily_spend_cap_nano: String(yuan(20)), monthly_spend_cap_nano: String(yuan(200)) };
  own.addKey(startMs + 2 * HOUR_MS, { name: 'laptop', scopes: ['calls', 'account'] }, [{ ...ofDemo, count: 420 }], {
    limits: { ...caps, daily_calls_max: 500, concurrency_max: 4 },
  });
  const indexed = { allowed_models: ['demo-embeddings', 'demo-rerank'], expires_at: instant(nowMs + 12 * DAY_MS) };
  own.addKey(startMs + 3 * DAY_MS, { name: 'search index', ...indexed }, [
    { count: 260, rhythm: 'nightly', kinds: INDEXING },
  ]);
  const replacedMs = nowMs - 9 * DAY_MS;
  own.addKey(startMs + HOUR_MS, { name: 'old notebook', revoked_at: instant(replacedMs) }, [
    { ...ofDemo, count: 70, toMs: replacedMs },
  ]);
  own.at(startMs, () => own.post('top_up', yuan(50), startMs, { memo: 'first top-up' }));
  vouchers.redeem(own, startMs + 5.4 * DAY_MS, demo.name);
  for (const atMs of [...[7, 14, 21, 28].map((days) => startMs + days * DAY_MS), nowMs - SETTLED_MS / 2]) {
    own.at(atMs, () => {
      const missing = yuan(100) - own.balanceNano;
      if (missing > 0n) own.post('top_up', missing, atMs, { memo: 'topped up to ¥100' });
    });
  }
  return own;
}

/** A team that calls much, with a price of its own and a refund. `agents` is one of its keys. */
export function teamAccount(
  [owner, member]: readonly [Person, Person],
  vouchers: Vouchers,
  scene: MonthScene,
): { readonly team: Books; readonly agents: string } {
  const { startMs, nowMs } = scene;
  const team = new Books(
    scene,
    startMs + HOUR_MS,
    { name: 'Northwind Research', email: 'billing@northwind.example', low_balance_nano: String(yuan(30)) },
    { own_daily_cap_nano: String(yuan(80)), price_factor_basis_points: 9_000 },
  );
  const madeMs = startMs + 2 * HOUR_MS;
  team.addKey(madeMs, { name: 'search service' }, [{ count: 900, rhythm: 'service', kinds: SEARCH }]);
  team.addKey(madeMs, { name: 'nightly evaluation', allowed_models: ['demo-chat'] }, [
    { count: 520, rhythm: 'nightly', kinds: EVALUATION },
  ]);
  const agents = team.addKey(madeMs, { name: "Lin's agents", user_id: owner.id }, [
    { count: 620, rhythm: 'people', kinds: AGENTS },
  ]);
  const sams = [{ count: 340, rhythm: 'people', kinds: AGENTS }] as const;
  team.addKey(member.atMs, { name: "Sam's agents", user_id: member.id }, sams, {
    limits: {
      daily_spend_cap_nano: String(yuan(15)),
      monthly_spend_cap_nano: null,
      daily_calls_max: null,
      concurrency_max: 2,
    },
  });
  team.at(startMs + HOUR_MS, () => team.post('top_up', yuan(150), startMs + HOUR_MS, { memo: 'invoice 2041' }));
  for (let atMs = startMs + 2 * HOUR_MS; atMs < nowMs; atMs += HOUR_MS) {
    team.at(atMs, () => {
      if (team.balanceNano < yuan(25)) team.post('top_up', yuan(100), atMs, { memo: 'automatic top-up' });
    });
  }
  const creditMs = nowMs - 11 * DAY_MS;
  team.at(creditMs, () =>
    team.post('adjustment', yuan(12.5), creditMs, { memo: 'credit for the outage of last week' }),
  );
  const refundMs = nowMs - 6 * DAY_MS;
  team.at(refundMs, () => {
    const aborted = team.outcomes.find(({ status, chargeNano }) => status === 'aborted' && (chargeNano ?? 0n) > 0n);
    if (aborted === undefined) return;
    const { callId, chargeNano } = aborted;
    team.post('refund', chargeNano!, refundMs, { memo: 'the stream broke off', call_id: callId });
  });
  vouchers.redeem(team, startMs + 16.6 * DAY_MS, owner.name);
  return { team, agents };
}

/** A small account that has spent what it had: its last calls were refused. */
export function spentAccount(refusals: HistoryRow[], scene: MonthScene): Books {
  const spentMs = scene.startMs + 5 * DAY_MS;
  const spent = new Books(scene, spentMs, {
    name: 'Blue Harbor Design',
    email: 'studio@blueharbor.example',
    low_balance_nano: String(yuan(5)),
  });
  spent.admits = ({ keyId, kind, atMs }) => {
    if (spent.balanceNano > 0n) return true;
    refusals.push(refusalRow('insufficientBalance', { accountId: spent.id, keyId, kind, atMs }, scene));
    return false;
  };
  spent.at(spentMs, () => spent.post('top_up', yuan(40), spentMs));
  spent.addKey(spentMs, { name: 'studio' }, [{ count: 430, rhythm: 'people', kinds: DESIGN }]);
  return spent;
}

/** One whose calls are refused until it pays. */
export function suspendedAccount(refusals: HistoryRow[], scene: MonthScene): Books {
  const { startMs, nowMs } = scene;
  const suspendedMs = nowMs - 8 * DAY_MS;
  const suspended = new Books(scene, startMs + DAY_MS, {
    name: 'Tidewater Labs',
    email: 'ops@tidewater.example',
    status: 'suspended',
    status_reason: 'invoice 2038 is not paid',
    status_changed_at: instant(suspendedMs),
    updated_at: instant(suspendedMs),
  });
  suspended.post('top_up', yuan(60), startMs + DAY_MS, { memo: 'invoice 2038' });
  const production = suspended.addKey(startMs + DAY_MS, { name: 'production' }, [
    { count: 360, rhythm: 'service', kinds: SEARCH, toMs: suspendedMs },
  ]);
  for (const hours of [1, 5, 9, 14, 26, 49]) {
    const call = { keyId: production, kind: SEARCH[0]!, atMs: suspendedMs + hours * HOUR_MS };
    refusals.push(refusalRow('suspended', { ...call, accountId: suspended.id }, scene));
  }
  return suspended;
}

/** One that nobody has looked at yet. */
export function unverifiedAccount(refusals: HistoryRow[], scene: MonthScene): Books {
  const { nowMs } = scene;
  const newMs = nowMs - 2 * DAY_MS;
  const unverified = new Books(scene, newMs, { name: 'Fern Studio', email: 'hello@fern.example', verified: false });
  const first = unverified.addKey(newMs, { name: 'first key' }, []);
  for (const hours of [30, 29]) {
    const call = { keyId: first, kind: AGENTS[0]!, atMs: nowMs - hours * HOUR_MS };
    refusals.push(refusalRow('unverified', { ...call, accountId: unverified.id }, scene));
  }
  return unverified;
}
