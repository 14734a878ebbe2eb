import { type CallOutcome, callIdOf } from '../../../accounting/calls/call-outcome.ts';
import { chargeBasis } from '../../../accounting/pricing/charge.ts';
import { priceInForce } from '../../../accounting/pricing/price.ts';
import { LIST_PRICE_BASIS_POINTS } from '../../../accounting/pricing/price-factor.ts';
import { settlementRecord } from '../../../calls/call-end.ts';
import { GatewayError } from '../../../errors/gateway-error.ts';
import type { Dice } from '../../../lib/dice.ts';
import { noUsage, type Usage } from '../../../protocols/metering/usage-facts.ts';
import { type OperationName, operationOf } from '../../../protocols/operations/all.ts';
import { plainDemand } from '../../../protocols/operations/operation.ts';
import type { KeyLife } from './lives.ts';
import { HOUR_MS, nanoOf, type Scene } from './scene.ts';

type KnownKey = KeyLife & { readonly accountId: string; readonly keyId: string };

/** Creates the calls of a key hour by hour, with a daily and weekly rhythm, and with growth over the month. */
export function callsOf(key: KnownKey, scene: Scene): CallOutcome[] {
  const { atDay, localTime, nowMs, dice } = scene;
  const { hours, weekend } = key.rhythm;
  const perShare = key.perDay / hours.reduce((sum, share) => sum + share);
  const calls: CallOutcome[] = [];
  for (let hourMs = atDay(key.day); hourMs < nowMs; hourMs += HOUR_MS) {
    const isWeekend = [0, 6].includes(new Date(localTime.day(hourMs)).getUTCDay());
    const share = hours[Math.floor(localTime.minuteOfDay(hourMs) / 60)]! * (isWeekend ? weekend : 1);
    const growth = 0.75 + (0.5 * (hourMs - atDay(0))) / (nowMs - atDay(0));
    for (let left = Math.floor(perShare * share * growth + dice.next()); left > 0; left--) {
      const endedAtMs = hourMs + Math.floor((0.1 + 0.8 * dice.next()) * HOUR_MS);
      calls.push(makeCall(key, endedAtMs, scene));
    }
  }
  return calls;
}

const MS_A_TOKEN = 11;
const PLAIN = {
  failedRoutes: [],
  attempts: [],
  translation: null,
  fallback: null,
  fallbackTerms: null,
  priceFactorBasisPoints: LIST_PRICE_BASIS_POINTS,
  isTokenLimited: false,
};

/** Creates a call. It is recorded and charged by the code that settles real calls. */
function makeCall(key: KnownKey, endedAtMs: number, { catalog, dice, idAt }: Scene): CallOutcome {
  const kind = dice.one(key.kinds);
  const operation = operationOf(kind);
  const model = catalog.models.find(({ operations }) => operations.has(operation))!;
  const isText = operation.countedAs !== null;
  const status = endOf(isText, dice);
  const isFailed = status === 'failed';
  const usage = useOf(kind, dice);
  const firstByteMs = dice.around(kind === 'images.generate' ? 5_200 : 400);
  const startedAtMs = endedAtMs - firstByteMs - usage.outputTokens * MS_A_TOKEN;
  const requestId = idAt('req', startedAtMs);
  const price = priceInForce(model.price, startedAtMs);
  const isStream = status === 'aborted' || (isText && dice.happens(0.7));
  const route = model.routes[operation.protocol.name][0]!;
  const call = {
    principal: {
      accountId: key.accountId,
      keyId: key.keyId,
      groupId: null,
      isKeyLimited: false,
      memberId: null,
      modelBudgets: null,
      callerBudgets: null,
    },
    policy: { context: key.isOnPlan ? ('coding' as const) : ('balance' as const), operation },
    input: { model: null, choices: 1, demand: plainDemand, isStream },
    report: { clientRequestId: null },
    callId: callIdOf(requestId),
    startedAtMs,
    model,
    reservedModel: model,
    pricing: {
      price,
      basis: chargeBasis(operation, price.prices),
      inner: [],
      reservation: { amountNano: nanoOf(1), tokens: 0 },
    },
    routes: [route],
    route,
    session: null,
    costedCredential: null,
    claim: null,
    caller: null,
    ...PLAIN,
  };
  const end = {
    status,
    usage: isFailed ? null : ({ ...usage, source: status === 'aborted' ? 'estimated' : 'observed' } as const),
    httpStatus: isFailed ? 502 : 200,
    error: isFailed ? new GatewayError('upstreamError') : null,
    requestId,
    counts: !isFailed,
    firstByteAtMs: isFailed ? null : startedAtMs + firstByteMs,
    continuationKeys: [],
    response: null,
  };
  return settlementRecord(call, end, endedAtMs).outcome;
}

function endOf(isText: boolean, dice: Dice): CallOutcome['status'] {
  if (dice.happens(0.02)) return 'failed';
  return isText && dice.happens(0.015) ? 'aborted' : 'succeeded';
}

function useOf(kind: OperationName, dice: Dice): Usage {
  if (kind === 'rerank') return noUsage;
  if (kind === 'embeddings') return { ...noUsage, inputTokens: dice.around(2_400) };
  if (kind === 'images.generate') {
    const quality = dice.one(['low', 'low', 'low', 'low', 'low', 'medium', 'medium', 'medium', 'medium', 'high']);
    return { ...noUsage, images: [{ quality, size: '1024x1024', count: 1 }] };
  }
  const cachedInputTokens = dice.happens(0.55) ? dice.around(2_200) : 0;
  return { ...noUsage, inputTokens: dice.around(1_200), cachedInputTokens, outputTokens: dice.around(340) };
}
