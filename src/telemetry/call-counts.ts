import type { TranslationNote } from '../accounting/calls/call-outcome.ts';
import { errorCatalogue } from '../errors/catalogue.ts';
import { type UnitCounts, type UnitName, unitNames } from '../protocols/metering/usage-units.ts';
import { memberLabel } from '../protocols/translation/member-labels.ts';
import type { RequestEnd, RequestReport } from '../requests/request-report.ts';

interface TranslatedMember {
  readonly labels: readonly [from: string, to: string, effect: 'left_out' | 'added', member: string];
  calls: number;
}

export type CountedReport = Pick<
  RequestReport,
  'kind' | 'status' | 'end' | 'errorCode' | 'model' | 'modelAsked' | 'durationMs' | 'chunks' | 'outcome'
>;

interface CallTimes {
  readonly duration: { observe(seconds: number): void };
  readonly firstByte: { observe(seconds: number): void };
}

const unitIndex: ReadonlyMap<string, number> = new Map(unitNames.map((name, index) => [name, index]));

export class RouteCounts {
  readonly model: string;
  readonly provider: string;
  /** Counts by end and error code. */
  readonly ends = new Map<RequestEnd, Map<string, number>>();
  /** Counts in the order of `unitNames`. */
  readonly units = new Float64Array(unitNames.length);
  chargedNano = 0n;
  chunks = 0;
  estimated = 0;
  streamsWithoutUsage = 0;
  excess = 0;
  unpriced = 0;
  /** Translated calls by the operations of client and provider. */
  readonly translated = new Map<string, Map<string, number>>();
  times: CallTimes | null = null;

  constructor(model: string, provider: string) {
    this.model = model;
    this.provider = provider;
  }

  addUnits(usage: UnitCounts): void {
    // Faster than iterating over `unitNames`, because most units are zero.
    for (const name in usage) {
      const count = usage[name as UnitName];
      if (count === 0) continue;
      const index = unitIndex.get(name);
      if (index !== undefined) this.units[index]! += count;
    }
  }
}

/** Maximum number of pairs of model and provider, which reloads can add without limit. Further pairs are counted together. */
const PAIRS_MAX = 2_000;

/** Labels: `NONE` if there is nothing to name, `OTHER` for names that could be anything. */
const NONE = 'none';
const OTHER = 'other';

const CODES: ReadonlySet<string> = new Set(Object.values(errorCatalogue).map(({ code }) => code));

const codeLabel = (code: string | null): string => (code === null ? NONE : CODES.has(code) ? code : OTHER);

/**
 * Counts calls for metrics. A call counts when its end is durable, so that the sums agree with the call records and ledger entries that
 * this node has written since its start.
 */
export class CallCounts {
  /** Requests by kind and status. */
  readonly requests = new Map<string, Map<string, number>>();
  /** Failures by provider and code. */
  readonly providerFailures = new Map<string, Map<string, number>>();
  /** Calls whose translation left out or added a member, by the operations of client and provider, effect and member. */
  readonly translatedMembers = new Map<string, TranslatedMember>();
  readonly #routes = new Map<string, Map<string, RouteCounts>>();
  readonly #timesOf: (model: string, provider: string) => CallTimes;
  #pairs = 0;

  constructor(timesOf: (model: string, provider: string) => CallTimes) {
    this.#timesOf = timesOf;
  }

  /** Adds routes with zero calls: otherwise Prometheus would not see the first call of a route as an increase. */
  addRoutes(routes: readonly { readonly model: string; readonly provider: string }[]): void {
    for (const { model, provider } of routes) add(this.#routeOf(model, provider).ends, 'succeeded', NONE, 0);
  }

  *routes(): Iterable<RouteCounts> {
    for (const ofModel of this.#routes.values()) yield* ofModel.values();
  }

  observe(report: CountedReport): void {
    add(this.requests, report.kind, report.status === null ? NONE : String(report.status));
    if (report.kind !== 'call') return;
    const { outcome, model } = report;
    const modelLabel = model ?? (report.modelAsked === null ? NONE : OTHER);
    const route = this.#routeOf(modelLabel, outcome?.provider ?? NONE);
    add(route.ends, report.end, codeLabel(report.errorCode));
    if (outcome === null) return;

    route.times ??= this.#timesOf(route.model, route.provider);
    route.times.duration.observe(report.durationMs / 1_000);
    if (outcome.firstByteMs !== null) route.times.firstByte.observe(outcome.firstByteMs / 1_000);
    route.chunks += report.chunks;
    const { usage, notes, chargeNano } = outcome;
    if (chargeNano !== null) route.chargedNano += chargeNano;
    if (usage !== null) route.addUnits(usage);
    if (usage?.source === 'estimated') {
      route.estimated++;
      if (outcome.isStream && outcome.status === 'succeeded') route.streamsWithoutUsage++;
    }
    if (notes?.excess !== undefined) route.excess++;
    if (notes?.unpriced !== undefined) route.unpriced++;
    if (notes?.translation !== undefined) this.#translated(route, outcome.operation, notes.translation);
    for (const { provider, error } of outcome.failedRoutes) add(this.providerFailures, provider, codeLabel(error));
    if (outcome.errorCode !== null) add(this.providerFailures, route.provider, codeLabel(outcome.errorCode));
  }

  #translated(route: RouteCounts, from: string, { to, leftOut, added }: TranslationNote): void {
    add(route.translated, from, to);
    for (const [effect, names] of [
      ['left_out', leftOut],
      ['added', added],
    ] as const) {
      // Names of several members can have one label, which counts once per call.
      for (const member of new Set(names.map(memberLabel))) {
        const labels = [from, to, effect, member] as const;
        const key = labels.join();
        const counted = this.translatedMembers.get(key);
        if (counted === undefined) this.translatedMembers.set(key, { labels, calls: 1 });
        else counted.calls++;
      }
    }
  }

  #routeOf(model: string, provider: string): RouteCounts {
    let ofModel = this.#routes.get(model);
    const found = ofModel?.get(provider);
    if (found !== undefined) return found;
    if (this.#pairs >= PAIRS_MAX && model !== OTHER) return this.#routeOf(OTHER, OTHER);
    if (ofModel === undefined) {
      ofModel = new Map();
      this.#routes.set(model, ofModel);
    }
    const route = new RouteCounts(model, provider);
    ofModel.set(provider, route);
    this.#pairs++;
    return route;
  }
}

function add<Outer>(counts: Map<Outer, Map<string, number>>, outer: Outer, inner: string, count = 1): void {
  let ofOuter = counts.get(outer);
  if (ofOuter === undefined) {
    ofOuter = new Map();
    counts.set(outer, ofOuter);
  }
  ofOuter.set(inner, (ofOuter.get(inner) ?? 0) + count);
}
