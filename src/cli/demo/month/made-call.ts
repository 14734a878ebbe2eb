import type { CallOutcome } from '../../../accounting/calls/call-outcome.ts';
import { chargeFor } from '../../../accounting/pricing/charge.ts';
import { chargeBasis } from '../../../accounting/pricing/charge-basis.ts';
import { priceInForce } from '../../../accounting/pricing/price.ts';
import { LIST_PRICE_BASIS_POINTS } from '../../../accounting/pricing/price-factor.ts';
import { pricedBy } from '../../../accounting/pricing/priced-by.ts';
import { stepShares } from '../../../accounting/pricing/step-shares.ts';
import type { Ids } from '../../../lib/ids.ts';
import { noUsage, type UsageFacts } from '../../../protocols/metering/usage-facts.ts';
import { operationOf } from '../../../protocols/operations/all.ts';
import type { Catalog } from '../../../providers/catalog/catalog.ts';
import type { RandomSource } from './chance.ts';

/** One kind of calls of a key, and how often it occurs beside the others. */
export interface CallKind {
  readonly model: string;
  readonly operation: 'chat' | 'responses' | 'messages' | 'embeddings' | 'rerank' | 'images.generate';
  readonly weight: number;
}

export interface CallMaking {
  readonly catalog: Catalog;
  readonly randomSource: RandomSource;
  /** Ids as of an instant. */
  readonly idsAt: (atMs: number) => Ids;
}

interface WantedCall {
  readonly accountId: string;
  readonly keyId: string;
  readonly context: 'balance' | 'coding';
  readonly kind: CallKind;
  readonly startedAtMs: number;
  readonly priceFactorBasisPoints: number;
}

/** In how many calls the provider fails, and how many streams the client ends. */
const FAILED = 0.018;
const ABORTED = 0.02;
const MS_A_TOKEN = 11;
const FIRST_BYTE_MS: Readonly<Record<string, number>> = {
  chat: 380,
  responses: 450,
  messages: 620,
  'images.generate': 5_200,
};
const QUALITIES = [
  { quality: 'low', weight: 5 },
  { quality: 'medium', weight: 4 },
  { quality: 'high', weight: 1 },
];

/** A call as its record would be, charged by the price of its model. */
export function makeCall(wanted: WantedCall, { catalog, randomSource, idsAt }: CallMaking): CallOutcome {
  const { kind, startedAtMs, context, accountId, keyId } = wanted;
  const model = catalog.find(kind.model)!;
  const operation = operationOf(kind.operation);
  const route = model.routes[operation.protocol.name][0]!;
  const isStream = ['chat', 'responses', 'messages'].includes(kind.operation) && randomSource.isTrue(0.7);
  const isFailed = randomSource.isTrue(FAILED);
  const isAborted = !isFailed && isStream && randomSource.isTrue(ABORTED);
  const usage = usageOf(kind.operation, isAborted, randomSource);
  const firstByteMs = randomSource.around(FIRST_BYTE_MS[kind.operation] ?? 90, 0.5);
  const ids = idsAt(startedAtMs);
  const base = {
    accountId,
    callId: ids.next('call'),
    keyId,
    context,
    operation: kind.operation,
    model: model.id,
    provider: route.providerId,
    providerModel: route.providerModel,
    failedRoutes: [],
    isStream,
    requestId: ids.next('req'),
    clientRequestId: null,
    startedAtMs,
    price: priceInForce(model.price, startedAtMs),
    priceFactorBasisPoints: context === 'coding' ? LIST_PRICE_BASIS_POINTS : wanted.priceFactorBasisPoints,
  };
  if (isFailed) {
    const failure = { status: 'failed', httpStatus: 502, errorCode: 'upstream_error' } as const;
    return {
      ...base,
      ...failure,
      endedAtMs: startedAtMs + firstByteMs,
      firstByteMs: null,
      usage: null,
      chargeNano: null,
      costNano: null,
    };
  }
  const { prices } = base.price;
  const basis = chargeBasis(operation, prices);
  const shares = stepShares([usage], prices.above);
  const by = pricedBy(usage, prices, basis, shares);
  const cost = route.cost?.base;
  return {
    ...base,
    status: isAborted ? 'aborted' : 'succeeded',
    httpStatus: 200,
    errorCode: null,
    firstByteMs,
    endedAtMs: startedAtMs + firstByteMs + Math.round(usage.outputTokens * MS_A_TOKEN),
    usage,
    ...(by !== null && { notes: { pricedBy: by } }),
    chargeNano: context === 'coding' ? null : chargeFor(usage, prices, basis, shares, base.priceFactorBasisPoints),
    costNano: cost === undefined ? null : chargeFor(usage, cost, chargeBasis(operation, cost)),
  };
}

function usageOf(
  operation: CallKind['operation'],
  isAborted: boolean,
  { around, choose, isTrue }: RandomSource,
): UsageFacts {
  const facts = { ...noUsage, source: isAborted ? 'estimated' : 'observed' } as const;
  if (operation === 'rerank') return facts;
  if (operation === 'embeddings') return { ...facts, inputTokens: around(2_400, 1) };
  if (operation === 'images.generate') {
    return { ...facts, images: [{ quality: choose(QUALITIES).quality, size: '1024x1024', count: 1 }] };
  }
  const outputTokens = around(isAborted ? 120 : 340, 0.9);
  return {
    ...facts,
    inputTokens: around(1_200, 0.9),
    cachedInputTokens: isTrue(0.55) ? around(2_200, 0.6) : 0,
    cacheWriteTokens: operation === 'messages' && isTrue(0.2) ? around(900, 0.5) : 0,
    outputTokens,
    reasoningTokens: operation === 'responses' ? Math.floor(outputTokens * 0.4) : 0,
  };
}
