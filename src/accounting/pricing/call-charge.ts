import { hasTerms, type ServiceTerms } from '../../protocols/metering/service-terms.ts';
import {
  addUsage,
  type ChargeBasis,
  inputTokensOf,
  totalTokens,
  type Usage,
  type UsageFacts,
} from '../../protocols/metering/usage-facts.ts';
import { withTokens } from '../../protocols/metering/usage-units.ts';
import type { CallInput } from '../../protocols/operations/operation.ts';
import { boundUsage, type UsageExcess, usageBounds } from './bounds.ts';
import { chargeFor, type UnitPrices } from './charge.ts';
import type { ChargeNotes, InnerModelNote } from './charge-notes.ts';
import { type InnerUsage, type OwnedUsage, splitUsage } from './model-usage.ts';
import { nonzero, pricedBy, recordedPrices, unpricedUses } from './priced-by.ts';
import { type PricedInnerModel, type PricedModel, reportedModel } from './priced-models.ts';
import { type StepShare, stepShares } from './step-shares.ts';
import { cheaperTerms, stepOf, termsInForce } from './token-rates.ts';

export interface ChargeTerms<Inner extends PricedInnerModel = PricedInnerModel> {
  readonly model: PricedModel;
  readonly prices: UnitPrices;
  readonly basis: ChargeBasis;
  /** Other models that the request names. */
  readonly inner: readonly Inner[];
  /** Names under which the provider may report the call's own model. */
  readonly ownNames: readonly string[];
  readonly input: Pick<CallInput, 'choices' | 'demand'>;
  /** Prices that the operator pays to the provider; `null`: unknown. */
  readonly cost: CostTerms<Inner> | null;
  /** Whether the call is paid from a balance. Records of calls on a plan have no notes about prices. */
  readonly isPaid: boolean;
  /** The account's price factor at admission. */
  readonly priceFactorBasisPoints: number;
}

/** What the operator pays to the provider of the route, at the prices in force at admission. */
export interface CostTerms<Inner extends PricedInnerModel = PricedInnerModel> {
  readonly prices: UnitPrices;
  readonly basis: ChargeBasis;
  /** Returns the provider's prices of an inner model; `null`: unknown. */
  ofInner(inner: Inner): UnitPrices | null;
}

export interface CallCharge {
  /** Usage of all models together, within their bounds. */
  readonly usage: UsageFacts;
  readonly chargeNano: bigint;
  /** Cost of all reported usage, even beyond the bounds; `null`: unknown. */
  readonly costNano: bigint | null;
  readonly notes: ChargeNotes | undefined;
}

/** The token count of each run of a model selects its price step. The cost covers all reported usage, because the vendor bills it. */
export function chargeCall<Inner extends PricedInnerModel>(facts: UsageFacts, terms: ChargeTerms<Inner>): CallCharge {
  const { inner, ownNames, prices, basis, input, isPaid, priceFactorBasisPoints } = terms;
  const reported = facts.parts === undefined ? facts : withoutParts(facts);
  const totals = hasTerms(input.demand.terms)
    ? withTerms(reported, termsInForce(prices, input.demand.terms, reported.servedOn))
    : reported;
  const split = splitUsage(totals, facts.parts ?? [], (name) => reportedModel(name, ownNames, inner));
  const own = boundOwn(split.own.usage, terms);
  // After an estimate or a cut, the runs no longer add up to the usage, so the usage counts as one run.
  const reportedRuns = totals.source === 'observed' ? split.own.runs : [split.own.usage];
  const shares = stepShares(own.excess === null ? reportedRuns : [own.usage], prices);
  const ownNano = chargeFor(own.usage, prices, basis, shares, priceFactorBasisPoints);
  const by = isPaid ? pricedBy(own.usage, prices, basis, shares) : null;
  const unpriced = isPaid ? unpricedUses(own.usage, prices, basis) : [];
  const costNano = costOf({ usage: split.own.usage, runs: reportedRuns }, reported.servedOn, split.inner, terms);
  // Fast path: nearly all calls need no notes.
  if (split.inner.length === 0 && own.excess === null && by === null && unpriced.length === 0) {
    const usage = own.usage === totals ? totals : { ...own.usage, source: totals.source };
    return { usage, chargeNano: ownNano, costNano, notes: undefined };
  }
  const termsOfCall = { ...input.demand.terms, ...reported.servedOn };
  const others = split.inner.map((each) => chargeInner(each, termsOfCall, priceFactorBasisPoints));
  const excess = sumExcess([own.excess, ...others.map((other) => other.excess)]);
  const notes: ChargeNotes = {
    ...(excess !== null && { excess }),
    ...(others.length > 0 && { innerModels: others.map(({ note }) => note) }),
    ...(by !== null && { pricedBy: by }),
    ...(unpriced.length > 0 && { unpriced }),
  };
  return {
    usage: { ...others.reduce((sum, { usage }) => addUsage(sum, usage), own.usage), source: totals.source },
    chargeNano: others.reduce((sum, { chargeNano }) => sum + chargeNano, ownNano),
    costNano,
    notes: Object.keys(notes).length === 0 ? undefined : notes,
  };
}

function withoutParts({ parts: _parts, ...facts }: UsageFacts): UsageFacts {
  return facts;
}

function withTerms(facts: UsageFacts, servedOn: ServiceTerms): UsageFacts {
  return hasTerms(servedOn) ? { ...facts, servedOn } : facts;
}

/** Computes the cost like a charge; `null` if the cost of any model's usage is unknown. */
function costOf<Inner extends PricedInnerModel>(
  own: OwnedUsage,
  servedOn: ServiceTerms | undefined,
  inner: readonly InnerUsage<Inner>[],
  { cost, input }: ChargeTerms<Inner>,
): bigint | null {
  if (cost === null || !isCountedBy(cost.basis, own.usage)) return null;
  const { prices, basis } = cost;
  const inForce = termsInForce(prices, input.demand.terms, servedOn);
  const isPlain = own.usage.servedOn === undefined && !hasTerms(inForce);
  const usage = isPlain ? own.usage : { ...own.usage, servedOn: inForce };
  let sum = chargeFor(usage, prices, basis, stepShares(own.runs, prices));
  for (const each of inner) {
    const pricesOfInner = cost.ofInner(each.inner);
    if (pricesOfInner === null) return null;
    const terms = cheaperTerms(pricesOfInner, { ...input.demand.terms, ...servedOn });
    const shares = stepShares(each.runs, pricesOfInner);
    sum += chargeFor({ ...each.usage, servedOn: terms }, pricesOfInner, 'tokens', shares);
  }
  return sum < COST_NANO_MAX ? sum : COST_NANO_MAX;
}

/** The maximum of the database column for costs. */
const COST_NANO_MAX = 1_000_000_000_000_000n;

/** Whether the usage has counts of this basis. A model that is charged per image may cost the operator per token. */
function isCountedBy(basis: ChargeBasis, usage: Usage): boolean {
  switch (basis) {
    case 'tokens':
      return usage.images.length === 0 || totalTokens(usage) > 0;
    case 'images':
      // A response whose images all failed reports nothing and costs nothing.
      return usage.images.length > 0 || totalTokens(usage) === 0;
    case 'searchUnits':
      return usage.searchUnits > 0;
    case 'calls':
      return true;
  }
}

function boundOwn(usage: Usage, { model, input: { choices, demand } }: Pick<ChargeTerms, 'model' | 'input'>) {
  const facts = {
    contextTokensMax: model.contextTokensMax,
    outputTokensMax: model.outputTokensMax,
    choices,
    inputs: demand.inputs,
    moreOutputTokens: demand.thinkingTokens + demand.moreOutputTokens,
    searchUnitsMax: demand.searchUnitsMax,
  };
  return boundUsage(usage, usageBounds(facts, usage));
}

/** Maximum number of runs of an inner model that are charged. Each can read a full context and write the longest output. */
const RUNS_MAX = 100;

/** Charges an inner model. Vendors report no service terms for it, so they apply only if they make the price lower. */
function chargeInner(
  { inner, usage: reported, runs }: InnerUsage<PricedInnerModel>,
  termsOfCall: ServiceTerms,
  priceFactorBasisPoints: number,
) {
  const { contextTokensMax, outputTokensMax } = inner.model;
  const { rule, prices } = inner.price;
  const times = Math.min(runs.length, RUNS_MAX);
  const facts = {
    contextTokensMax,
    outputTokensMax,
    choices: times,
    inputs: times,
    moreOutputTokens: 0,
    searchUnitsMax: 0,
  };
  const { usage: bounded, excess } = boundUsage(reported, usageBounds(facts, reported));
  const servedOn = cheaperTerms(prices, termsOfCall);
  const usage = Object.keys(servedOn).length === 0 ? bounded : { ...bounded, servedOn };
  const shares = excess === null ? stepShares(runs, prices) : [averageShare(usage, times, prices)];
  const chargeNano = chargeFor(usage, prices, 'tokens', shares, priceFactorBasisPoints);
  const by = pricedBy(usage, prices, 'tokens', shares);
  const note: InnerModelNote = {
    name: inner.name,
    model: inner.model.id,
    inputTokens: inputTokensOf(usage),
    outputTokens: usage.outputTokens,
    chargeNano: chargeNano.toString(),
    used: nonzero(usage),
    ...(by !== null && { pricedBy: by }),
    price: { rule, prices: recordedPrices(prices) },
  };
  return { usage, excess, chargeNano, note };
}

/** After a cut, only the sum of the runs is known, so their average selects the price step. */
function averageShare(usage: Usage, runs: number, prices: UnitPrices): StepShare {
  const run = withTokens(usage, (name) => Math.ceil(usage[name] / runs));
  return { step: stepOf(prices, run), runs, counts: usage };
}

function sumExcess(all: readonly (UsageExcess | null)[]): UsageExcess | null {
  const sum: Record<string, number> = {};
  for (const excess of all) {
    for (const [name, count] of Object.entries(excess ?? {})) sum[name] = (sum[name] ?? 0) + (count as number);
  }
  return Object.keys(sum).length === 0 ? null : sum;
}
