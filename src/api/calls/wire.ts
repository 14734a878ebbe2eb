import { z } from 'zod';
import { type ResolutionNote, requestIdOf, type SessionNote } from '../../accounting/calls/call-outcome.ts';
import type { CallRecord } from '../../accounting/calls/calls-store.ts';
import type { CallRefund } from '../../accounting/corrections/refund-store.ts';
import type { InnerModelNote, PricedBy, RecordedPrices } from '../../accounting/pricing/charge-notes.ts';
import type { PriceRule } from '../../accounting/pricing/price.ts';
import type { InFlightCall } from '../../accounting/reservations/in-flight-store.ts';
import { formatYuan } from '../../lib/yuan.ts';
import { signerIdOf } from '../../people/actor.ts';
import { type TermName, termNames } from '../../protocols/metering/service-terms.ts';
import {
  type ShownUnit,
  shownUnits,
  type UnitCounts,
  type UnitName,
  unitNames,
  usageUnits,
} from '../../protocols/metering/usage-units.ts';
import { at, count, listOf, signerId, yuan } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { ledgerEntryId, yuanOrNull } from '../management/wire.ts';
import { attempt, attemptToWire } from './attempt-wire.ts';
import { callerFields, callerToWire } from './caller-wire.ts';

type PricesOnWire = { [name: string]: string | PricesOnWire };

const prices: z.ZodType<PricesOnWire> = z
  .record(
    z.string(),
    z.lazy(() => z.union([yuan, prices])),
  )
  .meta({ id: 'Prices', description: 'Prices in yuan by name; tables of prices are nested.' });

const priceRule = z.enum(['base', 'peak', 'off_peak']);
export const price = z.object({ rule: priceRule }).catchall(z.union([yuan, prices]));

type Count = typeof count;
const optionalCounts = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, count.optional()])) as { [Each in Name]: z.ZodOptional<Count> };

const SHOWN_TOKENS = shownUnits.filter((unit) => usageUnits[unit].side !== 'other');
const SHOWN_OTHERS = shownUnits.filter((unit) => usageUnits[unit].side === 'other');

const shownCounts = Object.fromEntries([...SHOWN_TOKENS, 'images', ...SHOWN_OTHERS].map((name) => [name, count])) as {
  readonly [Name in ShownUnit | 'images']: Count;
};

const runStep = {
  above: z.string().optional(),
  thinking: z.literal(true).optional(),
  outputAbove: z.string().optional(),
};

const pricedBy = z
  .strictObject({
    ...(Object.fromEntries(termNames.map((name) => [name, z.string().optional()])) as {
      [Name in TermName]: z.ZodOptional<z.ZodString>;
    }),
    ...runStep,
    steps: listOf(z.strictObject({ ...optionalCounts(unitNames), ...runStep, runs: count })).optional(),
    images: listOf(z.strictObject({ count, priceYuan: yuan })).optional(),
  })
  .meta({
    id: 'PricedBy',
    description: 'The parts of the price list that determined the token prices, and the factors on them.',
  });

const innerModel = z.strictObject({
  name: z.string(),
  model: z.string(),
  inputTokens: count,
  outputTokens: count,
  chargeYuan: yuan,
  usage: z.strictObject(optionalCounts(unitNames)).nullable(),
  pricedBy: pricedBy.nullable(),
  price: price.nullable(),
});

const resolution = z.strictObject({
  action: z.enum(['charge', 'count', 'release']),
  tokens: count.optional(),
  by: z.string().nullable(),
  byId: signerId,
  via: z.enum(['admin_token', 'command_line', 'user']),
  memo: z.string().nullable(),
  at,
});

const refund = z.strictObject({ entryId: z.string(), amountYuan: yuan, memo: z.string().nullable(), at });

export const callResponse = z
  .strictObject({
    id: z.string(),
    accountId: z.string(),
    accountName: z.string(),
    keyId: z.string(),
    keyName: z.string().nullable(),
    groupId: z.string().nullable().describe('The group of the account at admission; null: none.'),
    context: z.string().describe('`balance` or `coding`.'),
    operation: z.string(),
    model: z.string(),
    route: z.strictObject({ provider: z.string(), model: z.string() }),
    session: z
      .strictObject({ source: z.string(), route: z.strictObject({ provider: z.string(), model: z.string() }) })
      .nullable()
      .describe(
        'How the session of the call was identified, and the first-choice route of the session; null if no session determined the route.',
      ),
    translation: z
      .strictObject({ to: z.string(), leftOut: listOf(z.string()), added: listOf(z.string()) })
      .nullable()
      .describe(
        'The protocol into which the request was translated, and the names of fields that were left out and added; null if it was sent as it is.',
      ),
    fallback: z
      .strictObject({ asked: z.string(), reason: z.string() })
      .nullable()
      .describe('The requested model, and why another one served the call; null if it served the call itself.'),
    failedRoutes: listOf(z.strictObject({ provider: z.string(), model: z.string(), error: z.string() })),
    attempts: listOf(attempt).describe('The attempts in order; empty unless one of them failed.'),
    isStream: z.boolean(),
    status: z.enum(['succeeded', 'failed', 'aborted', 'unresolved', 'resolved']),
    httpStatus: z.int().nullable(),
    errorCode: z.string().nullable(),
    requestId: z.string().describe("The provider's request id; without one, the gateway's."),
    gatewayRequestId: z.string().describe("The gateway's request id."),
    clientRequestId: z.string().nullable(),
    ...callerFields,
    usage: z.strictObject({ source: z.enum(['observed', 'estimated']), ...shownCounts }).nullable(),
    excessUsage: z
      .strictObject(optionalCounts(['inputTokens', 'outputTokens', 'searchUnits', 'toolUses', 'images']))
      .nullable()
      .describe('Usage that the provider reported in excess of what the call can have used; it is not charged.'),
    doubtedUsage: listOf(z.enum(['input', 'output', 'searchUnits'])).describe(
      'Usage that the provider reported and that cannot be true; it was estimated instead.',
    ),
    innerModels: listOf(innerModel),
    pricedBy: pricedBy.nullable(),
    unpriced: listOf(z.string()),
    price,
    priceFactorBasisPoints: count.nullable(),
    chargeYuan: yuan.nullable(),
    refundedYuan: yuan.nullable().describe('The sum of the refunds.'),
    refunds: listOf(refund).describe('The refunds of the charge, in ledger order.'),
    costYuan: yuan.nullable(),
    reservedYuan: yuan
      .nullable()
      .describe(
        'The reserved amount, if the estimated usage cost more than that; otherwise null. It can cost more if the model has no `maxOutputTokens`.',
      ),
    heldYuan: yuan.nullable(),
    heldTokens: count.nullable(),
    resolution: resolution.nullable(),
    startedAt: at,
    endedAt: at,
    durationMs: z.number(),
    firstByteMs: z.number().nullable(),
  })
  .meta({ id: 'Call' });
export type CallResponse = z.infer<typeof callResponse>;

interface ShownWith {
  readonly accountName: string;
  /** `null`: the key was deleted, or has no name. */
  readonly keyName: string | null;
  readonly refunds?: readonly CallRefund[] | undefined;
}

export function callToWire(call: CallRecord, { accountName, keyName, refunds = [] }: ShownWith): CallResponse {
  const refundedNano = refunds.reduce((sum, { amountNano }) => sum + amountNano, 0n);
  return shown(callResponse, {
    ...call,
    ...callerToWire(call.caller),
    accountName,
    keyName,
    gatewayRequestId: requestIdOf(call.id),
    route: { provider: call.provider, model: call.providerModel },
    session: sessionToWire(call.notes?.session),
    translation: call.notes?.translation ?? null,
    fallback: call.notes?.fallback ?? null,
    failedRoutes: (call.failedRoutes ?? []).map(({ provider, model, error }) => ({ provider, model, error })),
    attempts: (call.notes?.attempts ?? []).map(attemptToWire),
    usage: call.usageSource === null ? null : { source: call.usageSource, ...usageToWire(call) },
    excessUsage: call.notes?.excess ?? null,
    doubtedUsage: call.notes?.doubted ?? [],
    innerModels: (call.notes?.innerModels ?? []).map(innerModelToWire),
    pricedBy: pricedByToWire(call.notes?.pricedBy),
    unpriced: call.notes?.unpriced ?? [],
    price: priceToWire(call.priceRule, call.prices),
    chargeYuan: yuanOrNull(call.chargeNano),
    refundedYuan: call.chargeNano === null ? null : formatYuan(refundedNano),
    refunds: refunds.map(({ entryNo, amountNano, ...given }) =>
      shown(refund, { ...given, entryId: ledgerEntryId(call.accountId, entryNo), amountYuan: formatYuan(amountNano) }),
    ),
    costYuan: yuanOrNull(call.costNano),
    reservedYuan: yuanOrNull(call.notes?.reservedNano === undefined ? null : BigInt(call.notes.reservedNano)),
    heldYuan: yuanOrNull(call.reservedNano),
    heldTokens: call.notes?.reservedTokens?.tokens ?? null,
    resolution: resolutionToWire(call.notes?.resolution),
    durationMs: call.endedAt.getTime() - call.startedAt.getTime(),
  });
}

export const inFlightResponse = z
  .strictObject({
    id: z.string(),
    accountId: z.string(),
    accountName: z.string(),
    keyId: z.string(),
    keyName: z.string().nullable(),
    context: z.string(),
    operation: z.string().nullable(),
    model: z.string(),
    route: z.strictObject({ provider: z.string().nullable(), model: z.string().nullable() }),
    isStream: z.boolean().nullable(),
    status: z.literal('in_flight'),
    requestId: z.string().nullable(),
    ...callerFields,
    nodeId: z.string(),
    heldYuan: yuan.nullable(),
    heldTokens: count.nullable(),
    startedAt: at.nullable(),
    reservedAt: at,
  })
  .meta({ id: 'CallInFlight' });
export type InFlightResponse = z.infer<typeof inFlightResponse>;

/** Converts a call in flight. Its route is the first one that it may use. */
export function inFlightToWire({ facts, ...call }: InFlightCall): InFlightResponse {
  return shown(inFlightResponse, {
    ...call,
    ...callerToWire(facts.caller),
    context: facts.context ?? (call.subscriptionId === null ? 'balance' : 'coding'),
    operation: facts.operation ?? null,
    route: { provider: facts.provider ?? null, model: facts.providerModel ?? null },
    isStream: facts.isStream ?? null,
    status: 'in_flight',
    requestId: facts.requestId ?? null,
    heldYuan: yuanOrNull(call.reservedNano),
    heldTokens: call.reservedTokens,
    startedAt: facts.startedAtMs === undefined ? call.reservedAt : new Date(facts.startedAtMs),
  });
}

function usageToWire({ units, images }: CallRecord): { readonly [Name in ShownUnit | 'images']: number } {
  const counts = (names: readonly UnitName[]) =>
    Object.fromEntries(names.map((unit) => [unit, units[unit]])) as Pick<UnitCounts, ShownUnit>;
  return { ...counts(SHOWN_TOKENS), images, ...counts(SHOWN_OTHERS) };
}

function innerModelToWire({ chargeNano, used, pricedBy, price, ...inner }: InnerModelNote): z.infer<typeof innerModel> {
  return {
    ...inner,
    chargeYuan: formatYuan(BigInt(chargeNano)),
    usage: used ?? null,
    pricedBy: pricedByToWire(pricedBy),
    price: price === undefined ? null : priceToWire(price.rule, price.prices),
  };
}

function sessionToWire(note: SessionNote | undefined): CallResponse['session'] {
  return note === undefined ? null : { source: note.source, route: { provider: note.provider, model: note.model } };
}

function resolutionToWire(made: ResolutionNote | undefined): z.infer<typeof resolution> | null {
  if (made === undefined) return null;
  return { ...made, byId: made.by === null ? null : signerIdOf(made.by) };
}

function pricedByToWire(by: PricedBy | undefined): z.infer<typeof pricedBy> | null {
  if (by === undefined) return null;
  const { images: priced, ...others } = by;
  if (priced === undefined) return others;
  const images = priced.map(({ count, priceNano }) => ({ count, priceYuan: formatYuan(BigInt(priceNano)) }));
  return { ...others, images };
}

export function priceToWire(rule: PriceRule, prices: RecordedPrices | null): z.infer<typeof price> {
  return { rule, ...(prices === null ? {} : pricesToWire(prices)) };
}

/**
 * Converts recorded prices, such as `inputNanoPerMillion: "4000000000"` to `inputYuanPerMillion: "4"`. Leaves out units for which the model
 * has no price.
 */
function pricesToWire(prices: RecordedPrices): PricesOnWire {
  const shown: PricesOnWire = {};
  for (const [name, price] of Object.entries(prices)) {
    if (price === null) continue;
    shown[name.replace('Nano', 'Yuan')] = typeof price === 'string' ? formatYuan(BigInt(price)) : pricesToWire(price);
  }
  return shown;
}
