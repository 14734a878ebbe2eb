import type { UnitPrices } from '../../accounting/pricing/charge.ts';
import { createLocalTime, type LocalTime } from '../../accounting/pricing/local-time.ts';
import type { ModelPrice, PriceLists } from '../../accounting/pricing/price.ts';
import type {
  Config,
  CostConfig,
  ModelConfig,
  PricesOfDayConfig,
  ProviderConfig,
  RunPricesConfig,
  UnitPricesConfig,
} from '../../config/schema.ts';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { isPlainText } from '../../lib/plain-text.ts';
import { byProtocol, type ProtocolName } from '../../protocols/all.ts';
import { termPriceKeys } from '../../protocols/metering/service-terms.ts';
import { type PricedUnit, pricedUnits, type UnitPriceFields } from '../../protocols/metering/usage-units.ts';
import { operationOf } from '../../protocols/operations/all.ts';
import type { Operation } from '../../protocols/operations/operation.ts';
import { compileParameters, type MemberParameters } from '../../protocols/parameters/parameters.ts';
import { type AccountGroup, compileGroup, missingGroup } from './account-group.ts';
import { type AttemptTerms, compileAttemptTerms, type FallbackTerms } from './attempt-terms.ts';
import { compileRoutesByOperation, type RouteTranslation } from './translated-routes.ts';

export interface Route {
  /** Identifies the route across configuration reloads, so that its health is kept. */
  readonly id: string;
  readonly providerId: string;
  readonly providerModel: string;
  readonly priority: number;
  readonly weight: number;
  readonly cost?: ModelPrice;
  /** How requests are translated for the provider; absent: they are sent as they are. */
  readonly translation?: RouteTranslation;
  /** Changes of request bodies in the protocol of the provider; absent: there are none. */
  readonly parameters?: readonly MemberParameters[];
  /** Whether responses name the model as the client asked for it; absent: as the provider does. */
  readonly showsAskedModel?: true;
}

export interface Model extends AttemptTerms {
  readonly id: string;
  /** Other names of the model, including former ids. */
  readonly aliases: readonly string[];
  readonly operations: ReadonlySet<Operation>;
  readonly price: ModelPrice;
  /** Token limits; `null` if the configuration has none, or a value that is not a number. */
  readonly contextTokensMax: number | null;
  readonly outputTokensMax: number | null;
  /** Tokens of this model per token of the gateway's estimator; `null`: the factor of the model family applies. */
  readonly tokenFactor: number | null;
  /** Other models that the provider can run for a call: canonical ids by the vendor's names. */
  readonly innerModels: ReadonlyMap<string, string>;
  /** Whether the model hides its reasoning; `null`: the gateway learns this from the usage of calls. */
  readonly hiddenReasoning: boolean | null;
  readonly hasAffinity: boolean;
  /** Whether a route changes request bodies by parameters. */
  readonly hasParameters: boolean;
  /** What happens to a stream after a client abort; `null`: the general setting applies. */
  readonly onClientAbort: 'cancel' | 'drain' | null;
  /** Routes by the protocol of their providers. `routesOf` has those of an operation. */
  readonly routes: Readonly<Record<ProtocolName, readonly Route[]>>;
  /** Routes of operations that not all providers of their protocol serve, or that are translated for some; `null`: there are none. */
  readonly routesByOperation: ReadonlyMap<Operation, readonly Route[]> | null;
}

/** The routes that serve an operation. */
export function routesOf({ routes, routesByOperation }: Model, operation: Operation): readonly Route[] {
  return routesByOperation?.get(operation) ?? routes[operation.protocol.name];
}

/** The models as they are offered to the accounts of one group, or to accounts without a group. */
export interface Catalog {
  /** @throws GatewayError `modelAbsent`, `protocolUnsupported` or `modelLacksOperation` (contract, section 7) */
  resolve(name: string, operation: Operation): Model;
  find(name: string): Model | null;
  readonly models: readonly Model[];
  /** Whether any route translates requests, so that any request may contain reasoning of a translated call. */
  readonly isTranslated: boolean;
  /** The group for which this is the catalog; `null`: accounts without a group. */
  readonly group: AccountGroup | null;
  /** All groups of the configuration. */
  readonly groups: readonly AccountGroup[];
  /** Returns the catalog of a group; with `null`, that of accounts without a group. */
  of(groupId: string | null): Catalog;
}

export function modelAbsence(name: string): GatewayError {
  if (!isPlainText(name)) {
    return invalidRequest('The model name contains a control character or a text direction mark.', 'model');
  }
  const shown = name.length > 100 ? `${name.slice(0, 100)}…` : name;
  const message = `The model ${JSON.stringify(shown)} does not exist, or you do not have access to it.`;
  return new GatewayError('modelAbsent', { param: 'model', message });
}

export function allRoutes({ models }: Catalog): { readonly model: Model; readonly route: Route }[] {
  return models.flatMap((model) =>
    Object.values(model.routes).flatMap((routes) => routes.map((route) => ({ model, route }))),
  );
}

export function createCatalog(config: Config): Catalog {
  const byName = new Map<string, Model>();
  const localTime = createLocalTime(config.billing.timezone);
  for (const [id, modelConfig] of Object.entries(config.models)) {
    if (!modelConfig.listed) continue;
    const model = compileModel(id, modelConfig, config, localTime);
    for (const name of [id, ...modelConfig.aliases]) byName.set(name, model);
  }
  const groups = Object.entries(config.groups).map(([id, group]) => {
    const prices = Object.entries(group.prices).map(
      ([model, price]) => [model, compilePrice(price, localTime)] as const,
    );
    return compileGroup(id, group, new Map(prices));
  });
  const ofGroup = new Map<string, Catalog>();
  const catalog: Catalog = {
    ...modelsByName(byName),
    isTranslated: [...byName.values()].some(({ routesByOperation }) =>
      [...(routesByOperation?.values() ?? [])].some((routes) =>
        routes.some(({ translation }) => translation !== undefined),
      ),
    ),
    group: null,
    groups,
    of: (groupId) => (groupId === null ? catalog : (ofGroup.get(groupId) ?? catalogOf(missingGroup(groupId)))),
  };

  function catalogOf(group: AccountGroup): Catalog {
    const models = modelsByName(namesOfGroup(byName, group));
    const found = { ...catalog, ...models, group: withModelsServed(group, catalog.models) };
    ofGroup.set(group.id, found);
    return found;
  }

  for (const group of groups) catalogOf(group);
  return catalog;
}

function modelsByName(byName: ReadonlyMap<string, Model>): Pick<Catalog, 'resolve' | 'find' | 'models'> {
  return {
    resolve(name, operation) {
      const model = byName.get(name);
      if (model === undefined) throw modelAbsence(name);
      if (model.operations.has(operation)) return model;
      const isProtocolOpen = [...model.operations].some(({ protocol }) => protocol === operation.protocol);
      throw new GatewayError(isProtocolOpen ? 'modelLacksOperation' : 'protocolUnsupported', { param: 'model' });
    },
    find: (name) => byName.get(name) ?? null,
    models: [...new Set(byName.values())],
  };
}

/** Maps all names of a model to the same object, as the catalog of all accounts does. */
function namesOfGroup(byName: ReadonlyMap<string, Model>, group: AccountGroup): ReadonlyMap<string, Model> {
  const models = new Map([...new Set(byName.values())].map((model) => [model, modelOfGroup(model, group, byName)]));
  return new Map([...byName].map(([name, model]) => [name, models.get(model)!]));
}

/** The model as it is offered to a group: with the group's price and fallbacks, and only routes to the group's providers. */
function modelOfGroup(model: Model, group: AccountGroup, byName: ReadonlyMap<string, Model>): Model {
  const { providers } = group;
  const price = group.prices.get(model.id) ?? model.price;
  const fallbacks = model.takesFallbacksOfGroup ? fallbacksOfGroup(model, group, byName) : model.fallbacks;
  if (providers === null) {
    return price === model.price && fallbacks === model.fallbacks ? model : { ...model, price, fallbacks };
  }
  const isAllowed = ({ providerId }: Route): boolean => providers.has(providerId);
  const routes = byProtocol(({ name }) => model.routes[name].filter(isAllowed));
  const { routesByOperation } = model;
  const byOperation =
    routesByOperation && new Map([...routesByOperation].map(([name, of]) => [name, of.filter(isAllowed)]));
  return { ...model, price, fallbacks, routes, routesByOperation: byOperation };
}

/** The fallbacks of a group that serve operations of a model; `null`: none. */
function fallbacksOfGroup(
  model: Model,
  { fallbacks }: AccountGroup,
  byName: ReadonlyMap<string, Model>,
): FallbackTerms | null {
  const models = (fallbacks?.models ?? []).filter((id) => {
    const other = byName.get(id);
    return other !== undefined && other !== model && [...other.operations].some((each) => model.operations.has(each));
  });
  return fallbacks === null || models.length === 0 ? null : { ...fallbacks, models };
}

/** Whether accounts of a group may use a model. A model without a route to one of the group's providers is not offered. */
function isOfGroup({ id, routes }: Model, { models, providers }: AccountGroup): boolean {
  if (models !== null && !models.has(id)) return false;
  return (
    providers === null || Object.values(routes).some((some) => some.some((each) => providers.has(each.providerId)))
  );
}

/** The group with its allowed models reduced to those that one of its providers serves. */
function withModelsServed(group: AccountGroup, models: readonly Model[]): AccountGroup {
  if (group.providers === null) return group;
  return { ...group, models: new Set(models.filter((model) => isOfGroup(model, group)).map(({ id }) => id)) };
}

function compileModel(id: string, model: ModelConfig, config: Config, localTime: LocalTime): Model {
  const routes = byProtocol((): Route[] => []);
  const outputTokensMax = tokenLimit(model.maxOutputTokens);
  for (const route of model.routes) {
    const provider = config.providers[route.provider]!;
    const showModel = route.showModel ?? model.showModel;
    routes[provider.protocol].push(compileRoute(id, { ...route, showModel }, provider, localTime));
  }
  return {
    id,
    aliases: model.aliases,
    operations: new Set(model.operations.map(operationOf)),
    price: compilePrice(model.price, localTime),
    contextTokensMax: tokenLimit(model.contextLength),
    outputTokensMax,
    tokenFactor: model.tokenFactor ?? null,
    innerModels: new Map(Object.entries(model.innerModels)),
    hiddenReasoning: model.hiddenReasoning ?? null,
    hasAffinity: model.affinity === 'session',
    hasParameters: Object.values(routes).some((some) => some.some(({ parameters }) => parameters !== undefined)),
    onClientAbort: model.onClientAbort ?? null,
    ...compileAttemptTerms(model),
    routes,
    routesByOperation: compileRoutesByOperation({ model, outputTokensMax }, config, routes),
  };
}

function compileRoute(
  id: string,
  route: ModelConfig['routes'][number],
  provider: ProviderConfig,
  localTime: LocalTime,
): Route {
  const parameters = compileParameters(provider.parameters ?? {}, route.parameters ?? {});
  return {
    id: `${id} ${route.provider} ${route.model}`,
    providerId: route.provider,
    providerModel: route.model,
    priority: route.priority,
    weight: route.weight,
    ...(route.cost && { cost: compilePrice(route.cost, localTime) }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.showModel === 'asked' && { showsAskedModel: true }),
  };
}

/** @param localTime the calendar of the billing time zone, in which later prices start */
export function compilePrice(price: ModelConfig['price'] | CostConfig, localTime: LocalTime): ModelPrice {
  const later = (price.later ?? []).map((lists) => ({
    ...compileLists(lists),
    fromMs: startMs(lists.from, localTime),
  }));
  return { ...compileLists(price), later: later.sort((one, other) => one.fromMs - other.fromMs) };
}

const DAY = /^\d{4}-\d\d-\d\d$/;

/** The start of a later price: midnight of a day, or an instant. */
export function startMs(from: string, localTime: LocalTime): number {
  return DAY.test(from) ? localTime.dayStartMs(from) : Date.parse(from);
}

function compileLists(price: PricesOfDayConfig): PriceLists {
  const timeOfDay = price.timeOfDay;
  return {
    base: compilePrices(price),
    timeOfDay:
      timeOfDay === undefined
        ? null
        : {
            scheduleId: timeOfDay.id,
            timezone: timeOfDay.timezone,
            localTime: createLocalTime(timeOfDay.timezone),
            peakHours: timeOfDay.peak.hours,
            peak: compilePrices(timeOfDay.peak),
            offPeak: compilePrices(timeOfDay.offPeak),
          },
  };
}

function compilePrices(prices: UnitPricesConfig): UnitPrices {
  return {
    ...compileUnits(prices, pricedUnits),
    perImageNano: prices.perImage ?? null,
    perCallNano: prices.perCall ?? null,
    ...compileVariants(prices),
    ...(prices.above && {
      above: compileSteps(prices.above, (step) => ({ ...compileUnits(step, TOKEN_UNITS), ...compileVariants(step) })),
    }),
    ...Object.fromEntries(termPriceKeys.flatMap((key) => (prices[key] === undefined ? [] : [[key, prices[key]]]))),
  };
}

/** Converts the prices that apply only to reasoning or to long output. */
function compileVariants({ thinking, outputAbove }: RunPricesConfig): Pick<UnitPrices, 'thinking' | 'outputAbove'> {
  return {
    ...(thinking && { thinking: compileUnits(thinking, TOKEN_UNITS) }),
    ...(outputAbove && { outputAbove: compileSteps(outputAbove, (step) => compileUnits(step, TOKEN_UNITS)) }),
  };
}

function compileSteps<Step, Compiled>(steps: Readonly<Record<string, Step>>, compile: (step: Step) => Compiled) {
  return Object.fromEntries(Object.entries(steps).map(([tokens, step]) => [tokens, compile(step)]));
}

const TOKEN_UNITS = pricedUnits.filter(({ price }) => price.per === 'million');

/** Converts the prices of units. A unit with `isMarked` gets one only if it is configured; all others have a default. */
function compileUnits(prices: Partial<UnitPricesConfig>, units: readonly PricedUnit[]): UnitPriceFields {
  const fields = units.flatMap(({ field, price }) => {
    const { key, standIn, per, isMarked } = price;
    if (isMarked && prices[key] === undefined) return [];
    const stated = prices[key] ?? (standIn === null ? undefined : prices[standIn]);
    return [[field, stated ?? (per === 'million' ? 0n : null)]];
  });
  return Object.fromEntries(fields) as UnitPriceFields;
}

export function tokenLimit(text: string | undefined): number | null {
  const value = Number(text);
  return text !== undefined && /^\d+$/.test(text) && Number.isSafeInteger(value) && value > 0 ? value : null;
}
