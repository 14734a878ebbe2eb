import type { CallOutcome } from '../../../accounting/calls/call-outcome.ts';
import { chargeCall } from '../../../accounting/pricing/call-charge.ts';
import { chargeBasis } from '../../../accounting/pricing/charge.ts';
import { priceInForce } from '../../../accounting/pricing/price.ts';
import { LIST_PRICE_BASIS_POINTS } from '../../../accounting/pricing/price-factor.ts';
import { noUsage, type Usage, type UsageFacts } from '../../../protocols/metering/usage-facts.ts';
import { operationOf } from '../../../protocols/operations/all.ts';
import { plainDemand } from '../../../protocols/operations/operation.ts';
import type { Scene } from './scene.ts';

export type CallKind = 'chat' | 'responses' | 'messages' | 'embeddings' | 'rerank' | 'images.generate';

const MS_A_TOKEN = 11;

/** A call as its record would be, charged as every call is. */
export function makeCall(
  kind: CallKind,
  wanted: Pick<CallOutcome, 'accountId' | 'keyId' | 'context' | 'endedAtMs'>,
  { catalog, random, idAt }: Scene,
): CallOutcome {
  const operation = operationOf(kind);
  const model = catalog.models.find(({ operations }) => operations.has(operation))!;
  const route = model.routes[operation.protocol.name][0]!;
  const isText = operation.countedAs !== null;
  const status = choose({ succeeded: 96.5, failed: 2, aborted: isText ? 1.5 : 0 }, random);
  const source = status === 'aborted' ? 'estimated' : 'observed';
  const usage: UsageFacts = { ...noUsage, ...useOf(kind, random), source };
  const firstByteMs = around(kind === 'images.generate' ? 5_200 : 400, random);
  const startedAtMs = wanted.endedAtMs - firstByteMs - usage.outputTokens * MS_A_TOKEN;
  const price = priceInForce(model.price, startedAtMs);
  const cost = route.cost!.base;
  const isPaid = wanted.context === 'balance';
  const charge = chargeCall(usage, {
    model,
    prices: price.prices,
    basis: chargeBasis(operation, price.prices),
    inner: [],
    ownNames: [model.id],
    input: { choices: 1, demand: plainDemand },
    cost: { prices: cost, basis: chargeBasis(operation, cost), ofInner: () => null },
    isPaid,
    priceFactorBasisPoints: LIST_PRICE_BASIS_POINTS,
  });
  return {
    ...wanted,
    ...charge,
    ...(!isPaid && { chargeNano: null }),
    callId: idAt('call', startedAtMs),
    requestId: idAt('req', startedAtMs),
    clientRequestId: null,
    operation: kind,
    model: model.id,
    provider: route.providerId,
    providerModel: route.providerModel,
    failedRoutes: [],
    isStream: status === 'aborted' || (isText && random() < 0.7),
    startedAtMs,
    firstByteMs,
    status,
    httpStatus: 200,
    errorCode: null,
    price,
    priceFactorBasisPoints: LIST_PRICE_BASIS_POINTS,
    ...(status === 'failed' && FAILURE),
  };
}

const FAILURE = {
  httpStatus: 502,
  errorCode: 'upstream_error',
  firstByteMs: null,
  usage: null,
  chargeNano: null,
  costNano: null,
  notes: undefined,
};

function useOf(kind: CallKind, random: Random): Partial<Usage> {
  if (kind === 'rerank') return {};
  if (kind === 'embeddings') return { inputTokens: around(2_400, random) };
  if (kind === 'images.generate') {
    return { images: [{ quality: choose({ low: 5, medium: 4, high: 1 }, random), size: '1024x1024', count: 1 }] };
  }
  const cachedInputTokens = random() < 0.55 ? around(2_200, random) : 0;
  return { inputTokens: around(1_200, random), cachedInputTokens, outputTokens: around(340, random) };
}

type Random = Scene['random'];

/** One of several, as often as their weights say. */
export function choose<Name extends string>(weights: Readonly<Partial<Record<Name, number>>>, random: Random): Name {
  const names = Object.keys(weights) as Name[];
  let rest = random() * names.reduce((sum, name) => sum + weights[name]!, 0);
  for (const name of names) {
    rest -= weights[name]!;
    if (rest < 0) return name;
  }
  return names.at(-1)!;
}

/** A whole number around a median: most are near it, a few many times as large. A sum of several numbers is nearly normal. */
function around(median: number, random: Random): number {
  return Math.ceil(median * Math.exp(0.8 * (random() + random() + random() + random() - 2)));
}
