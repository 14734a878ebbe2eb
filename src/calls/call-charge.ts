import type { CallNotes } from '../accounting/ledger/call-outcome.ts';
import { boundUsage, type UsageExcess, usageBounds } from '../accounting/pricing/bounds.ts';
import { chargeFor, type UnitPrices } from '../accounting/pricing/charge.ts';
import { type InnerUsage, splitUsage } from '../accounting/pricing/model-usage.ts';
import { pricedBy, unpricedUses } from '../accounting/pricing/priced-by.ts';
import { termsInForce } from '../accounting/pricing/token-rates.ts';
import {
  addUsage,
  type ChargeBasis,
  inputTokensOf,
  type Usage,
  type UsageFacts,
} from '../protocols/metering/usage-facts.ts';
import type { CallInput } from '../protocols/operations/operation.ts';
import type { Model } from '../providers/catalog/catalog.ts';
import { type AllowedModel, ownerOf } from './inner-models.ts';

export interface ChargeTerms {
  readonly model: Model;
  readonly prices: UnitPrices;
  readonly basis: ChargeBasis;
  /** The inner models that the request names. */
  readonly inner: readonly AllowedModel[];
  /** The names that the provider may report for the call's own model. */
  readonly ownNames: readonly string[];
  readonly input: Pick<CallInput, 'choices' | 'demand'>;
  /** Whether the call pays for what it used; on a plan nothing needs a price. */
  readonly isPaid: boolean;
}

export interface CallCharge {
  /** The usage of all models together, within their bounds. */
  readonly usage: UsageFacts;
  readonly chargeNano: bigint;
  readonly notes: CallNotes | undefined;
}

/** Charges a call: each model's usage at its own price, as far as that model can have used it. */
export function chargeCall({ parts = [], ...reported }: UsageFacts, terms: ChargeTerms): CallCharge {
  const { inner, ownNames, prices, basis, input, isPaid } = terms;
  const servedOn = termsInForce(prices, input.demand.terms, reported.servedOn);
  const totals = Object.keys(servedOn).length === 0 ? reported : { ...reported, servedOn };
  const split = splitUsage(totals, parts, (name) => ownerOf(name, ownNames, inner));
  const own = boundOwn(split.own, terms);
  const others = split.inner.map(chargeInner);
  const excess = sumExcess([own.excess, ...others.map((other) => other.excess)]);
  const by = isPaid ? pricedBy(own.usage, prices, basis) : null;
  const unpriced = isPaid ? unpricedUses(own.usage, prices, basis) : [];
  const notes: CallNotes = {
    ...(excess !== null && { excess }),
    ...(others.length > 0 && { innerModels: others.map(({ note }) => note) }),
    ...(by !== null && { pricedBy: by }),
    ...(unpriced.length > 0 && { unpriced }),
  };
  return {
    usage: { ...others.reduce((sum, { usage }) => addUsage(sum, usage), own.usage), source: totals.source },
    chargeNano: others.reduce((sum, { chargeNano }) => sum + chargeNano, chargeFor(own.usage, prices, basis)),
    notes: Object.keys(notes).length === 0 ? undefined : notes,
  };
}

function boundOwn(usage: Usage, { model, input: { choices, demand } }: ChargeTerms) {
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

/** The most runs of an inner model that are charged; each run may read its context and write its output. */
const RUNS_MAX = 100;

function chargeInner({ inner, usage: reported, runs }: InnerUsage<AllowedModel>) {
  const { contextTokensMax, outputTokensMax } = inner.model;
  const times = Math.min(runs, RUNS_MAX);
  const facts = {
    contextTokensMax,
    outputTokensMax,
    choices: times,
    inputs: times,
    moreOutputTokens: 0,
    searchUnitsMax: 0,
  };
  const { usage, excess } = boundUsage(reported, usageBounds(facts, reported));
  // Each run has an input of its own, and only their sum is known.
  const chargeNano = chargeFor(usage, inner.price.prices, 'tokens', Math.ceil(inputTokensOf(usage) / times));
  const note = {
    name: inner.name,
    model: inner.model.id,
    inputTokens: inputTokensOf(usage),
    outputTokens: usage.outputTokens,
    chargeNano: chargeNano.toString(),
  };
  return { usage, excess, chargeNano, note };
}

function sumExcess(all: readonly (UsageExcess | null)[]): UsageExcess | null {
  const sum: Record<string, number> = {};
  for (const excess of all) {
    for (const [name, count] of Object.entries(excess ?? {})) sum[name] = (sum[name] ?? 0) + (count as number);
  }
  return Object.keys(sum).length === 0 ? null : sum;
}
