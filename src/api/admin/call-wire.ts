import type { InnerModelNote, PricedBy, RecordedPrices } from '../../accounting/ledger/call-outcome.ts';
import type { CallRecord } from '../../accounting/ledger/calls-store.ts';
import type { InFlightCall } from '../../accounting/reservations/in-flight-store.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { shownUnits, type UnitName, usageUnits } from '../../protocols/metering/usage-units.ts';
import { instantToWire, yuanOrNull } from './wire.ts';

/** Calls on the wire of the admin API: those that have ended, and those in flight. */

/** `refundedNano`: the sum of the refunds of the call. */
export function callToWire(call: CallRecord, refundedNano = 0n) {
  return {
    id: call.id,
    accountId: call.accountId,
    keyId: call.keyId,
    context: call.context,
    operation: call.operation,
    model: call.model,
    route: { provider: call.provider, model: call.providerModel },
    failedRoutes: call.failedRoutes ?? [],
    isStream: call.isStream,
    status: call.status,
    httpStatus: call.httpStatus,
    errorCode: call.errorCode,
    requestId: call.requestId,
    clientRequestId: call.clientRequestId,
    usage: call.usageSource === null ? null : { source: call.usageSource, ...usageToWire(call) },
    excessUsage: call.notes?.excess ?? null,
    innerModels: (call.notes?.innerModels ?? []).map(innerModelToWire),
    pricedBy: pricedByToWire(call.notes?.pricedBy),
    unpriced: call.notes?.unpriced ?? [],
    price: { rule: call.priceRule, ...(call.prices === null ? {} : pricesToWire(call.prices)) },
    priceFactorBasisPoints: call.priceFactorBasisPoints,
    chargeYuan: yuanOrNull(call.chargeNano),
    refundedYuan: call.chargeNano === null ? null : formatYuan(refundedNano),
    costYuan: yuanOrNull(call.costNano),
    heldYuan: yuanOrNull(call.reservedNano),
    heldTokens: call.notes?.reservedTokens?.tokens ?? null,
    resolution: call.notes?.resolution ?? null,
    startedAt: call.startedAt.toISOString(),
    endedAt: call.endedAt.toISOString(),
    durationMs: call.endedAt.getTime() - call.startedAt.getTime(),
    firstByteMs: call.firstByteMs,
  };
}

/** A call that has not ended: its route is the first one that it may go over. */
export function inFlightToWire({ facts, ...call }: InFlightCall) {
  return {
    id: call.id,
    accountId: call.accountId,
    accountName: call.accountName,
    keyId: call.keyId,
    keyName: call.keyName,
    context: facts.context ?? (call.subscriptionId === null ? 'balance' : 'coding'),
    operation: facts.operation ?? null,
    model: call.model,
    route: { provider: facts.provider ?? null, model: facts.providerModel ?? null },
    isStream: facts.isStream ?? null,
    status: 'in_flight',
    requestId: facts.requestId ?? null,
    nodeId: call.nodeId,
    heldYuan: yuanOrNull(call.reservedNano),
    heldTokens: call.reservedTokens,
    startedAt: instantToWire(facts.startedAtMs ?? call.reservedAt.getTime()),
    reservedAt: call.reservedAt.toISOString(),
  };
}

const SHOWN_TOKENS = shownUnits.filter((unit) => usageUnits[unit].side !== 'other');
const SHOWN_OTHERS = shownUnits.filter((unit) => usageUnits[unit].side === 'other');

/** Counts by unit: tokens, images and the other units. */
function usageToWire({ units, images }: CallRecord): Record<string, number> {
  const counts = (names: readonly UnitName[]) => Object.fromEntries(names.map((unit) => [unit, units[unit]]));
  return { ...counts(SHOWN_TOKENS), images, ...counts(SHOWN_OTHERS) };
}

function innerModelToWire({ chargeNano, used, pricedBy, price, ...inner }: InnerModelNote) {
  return {
    ...inner,
    chargeYuan: formatYuan(BigInt(chargeNano)),
    usage: used ?? null,
    pricedBy: pricedByToWire(pricedBy),
    price: price === undefined ? null : { rule: price.rule, ...pricesToWire(price.prices) },
  };
}

function pricedByToWire(pricedBy: PricedBy | undefined) {
  if (pricedBy?.images === undefined) return pricedBy ?? null;
  const images = pricedBy.images.map(({ count, priceNano }) => ({ count, priceYuan: formatYuan(BigInt(priceNano)) }));
  return { ...pricedBy, images };
}

type PricesOnWire = { [name: string]: string | PricesOnWire };

/** `inputNanoPerMillion: "4000000000"` as `inputYuanPerMillion: "4"`; what the model is not charged by is absent. */
function pricesToWire(prices: RecordedPrices): PricesOnWire {
  const shown: PricesOnWire = {};
  for (const [name, price] of Object.entries(prices)) {
    if (price === null) continue;
    shown[name.replace('Nano', 'Yuan')] = typeof price === 'string' ? formatYuan(BigInt(price)) : pricesToWire(price);
  }
  return shown;
}
