import type { CallOutcome } from '../../../accounting/calls/call-outcome.ts';
import { chargeFor } from '../../../accounting/pricing/charge.ts';
import { chargeBasis } from '../../../accounting/pricing/charge-basis.ts';
import { priceInForce } from '../../../accounting/pricing/price.ts';
import { pricedBy } from '../../../accounting/pricing/priced-by.ts';
import { stepShares } from '../../../accounting/pricing/step-shares.ts';
import type { Ids } from '../../../lib/ids.ts';
import { noUsage, type UsageFacts } from '../../../protocols/metering/usage-facts.ts';
import { operationOf } from '../../../protocols/operations/all.ts';
import type { Operation } from '../../../protocols/operations/operation.ts';
import type { Catalog, Model, Route } from '../../../providers/catalog/catalog.ts';
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

/** A call as its record would be, charged by the price of its model. */
export function makeCall(wanted: WantedCall, { catalog, randomSource, idsAt }: CallMaking): CallOutcome {
  const { kind, startedAtMs, context } = wanted;
  const model = catalog.find(kind.model);
  if (model === null) throw new Error(`the demo has no model ${kind.model}`);
  const isStream = ['chat', 'responses', 'messages'].includes(kind.operation) && randomSource.isTrue(0.7);
  const isFailed = randomSource.isTrue(FAILED);
  const isAborted = !isFailed && isStream && randomSource.isTrue(ABORTED);
  const usage = usageOf(kind.operation, isAborted, randomSource);
  const firstByteMs = randomSource.around(
    kind.operation.startsWith('images') ? 5_200 : (FIRST_BYTE_MS[kind.operation] ?? 90),
    0.5,
  );
  const ids = idsAt(startedAtMs);
  const { route, operation } = routeOf(model, kind.operation);
  const base = {
    accountId: wanted.accountId,
    callId: ids.next('call'),
    keyId: wanted.keyId,
    context,
    operation: kind.operation,
    model: model.id,
    provider: route.providerId,
    providerModel: route.providerModel,
    failedRoutes: [],
    isStream,
    requestId: ids.next('req'),
    startedAtMs,
    firstByteMs,
    price: priceInForce(model.price, startedAtMs),
    priceFactorBasisPoints: context === 'coding' ? LIST_PRICE : wanted.priceFactorBasisPoints,
  };
  if (isFailed) {
    const isTimeout = randomSource.isTrue(0.3);
    return {
      ...base,
      ...(isTimeout
        ? { httpStatus: 504, errorCode: 'upstream_timeout' }
        : { httpStatus: 502, errorCode: 'upstream_error' }),
      status: 'failed',
      isStream,
      endedAtMs: startedAtMs + (isTimeout ? 60_000 : firstByteMs),
      firstByteMs: null,
      usage: null,
      chargeNano: null,
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
    endedAtMs: startedAtMs + firstByteMs + Math.round(usage.outputTokens * MS_A_TOKEN),
    usage,
    ...(by !== null && { notes: { pricedBy: by } }),
    chargeNano: context === 'coding' ? null : chargeFor(usage, prices, basis, shares, base.priceFactorBasisPoints),
    ...(cost !== undefined && { costNano: chargeFor(usage, cost, chargeBasis(operation, cost)) }),
  };
}

const LIST_PRICE = 10_000;
const MS_A_TOKEN = 11;
const FIRST_BYTE_MS: Readonly<Record<string, number>> = { chat: 380, responses: 450, messages: 620 };

function routeOf(model: Model, name: CallKind['operation']): { readonly route: Route; readonly operation: Operation } {
  const operation = operationOf(name);
  return { route: model.routes[operation.protocol.name][0]!, operation };
}

function usageOf(operation: CallKind['operation'], isAborted: boolean, randomSource: RandomSource): UsageFacts {
  const source = isAborted ? 'estimated' : 'observed';
  switch (operation) {
    case 'embeddings':
      return { ...noUsage, inputTokens: randomSource.around(2_400, 1), source };
    case 'rerank':
      return { ...noUsage, source };
    case 'images.generate': {
      const { quality } = randomSource.choose(QUALITIES);
      return { ...noUsage, images: [{ quality, size: '1024x1024', count: 1 }], source };
    }
    default: {
      const inputTokens = randomSource.around(operation === 'messages' ? 1_500 : 1_100, 0.9);
      const hasCache = randomSource.isTrue(0.55);
      const outputTokens = randomSource.around(isAborted ? 120 : 340, 0.9);
      return {
        ...noUsage,
        inputTokens,
        cachedInputTokens: hasCache ? randomSource.around(2_200, 0.6) : 0,
        cacheWriteTokens: operation === 'messages' && randomSource.isTrue(0.2) ? randomSource.around(900, 0.5) : 0,
        outputTokens,
        reasoningTokens: operation === 'responses' ? Math.floor(outputTokens * 0.4) : 0,
        source,
      };
    }
  }
}

const QUALITIES = [
  { quality: 'low', weight: 5 },
  { quality: 'medium', weight: 4 },
  { quality: 'high', weight: 1 },
];
