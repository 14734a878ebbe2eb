import type { DialectConfig } from '../../config/dialect-schema.ts';
import type { Config, ModelConfig } from '../../config/schema.ts';
import type { ProtocolName } from '../../protocols/all.ts';
import { jsonOperationOf, operationOf } from '../../protocols/operations/all.ts';
import type { JsonOperation, Operation } from '../../protocols/operations/operation.ts';
import { type MemberParameters, removedNames } from '../../protocols/parameters/parameters.ts';
import { makerOf } from '../../protocols/translation/carriers.ts';
import { PLAIN_CHAT, PLAIN_MESSAGES } from '../../protocols/translation/dialect.ts';
import { type ClientFormName, type ProviderFormName, providerFormOf } from '../../protocols/translation/pairs.ts';
import type { TranslationTarget } from '../../protocols/translation/translated-request.ts';

/** How requests of one operation are translated for a route. */
export interface RouteTranslation {
  readonly client: ClientFormName;
  /** The operation of the provider. */
  readonly operation: JsonOperation;
  readonly target: TranslationTarget;
}

/** The protocol of the provider that will serve an operation; `null`: a provider may speak the client's. */
export function translatedFormOf(
  {
    routesByOperation,
  }: { readonly routesByOperation: ReadonlyMap<Operation, readonly WithTranslation<object>[]> | null },
  operation: Operation,
): TranslationTarget['form'] | null {
  // Native routes come first.
  return routesByOperation?.get(operation)?.[0]?.translation?.target.form ?? null;
}

interface NamedRoute {
  readonly providerId: string;
  readonly providerModel: string;
  readonly parameters?: readonly MemberParameters[];
}

type WithTranslation<Route> = Route & { readonly translation?: RouteTranslation };

/**
 * Finds the routes of the operations of a model whose providers do not serve all operations of their protocol, or for which requests are
 * translated. A route that translates an operation does so even if its provider could serve it.
 * @param routes all routes by the protocol of their providers
 */
export function compileRoutesByOperation<Route extends NamedRoute>(
  { model, outputTokensMax }: { readonly model: ModelConfig; readonly outputTokensMax: number | null },
  config: Config,
  routes: Readonly<Record<ProtocolName, readonly Route[]>>,
): ReadonlyMap<Operation, readonly WithTranslation<Route>[]> | null {
  const isPlain = model.routes.every(
    ({ provider, translate }) => translate === undefined && config.providers[provider]!.serves === undefined,
  );
  if (isPlain) return null;
  const byOperation = new Map<Operation, readonly WithTranslation<Route>[]>();
  for (const name of model.operations) {
    const operation = operationOf(name);
    const native: Route[] = [];
    const translated: WithTranslation<Route>[] = [];
    for (const route of model.routes) {
      const { protocol, serves, dialect } = config.providers[route.provider]!;
      const own = routes[protocol].find((each) => isOf(each, route))!;
      const form = route.translate?.some((each) => each === name) ? providerFormOf(name, protocol) : null;
      if (form !== null) {
        const { parameters } = own;
        const about = { maker: makerOf(route.provider), outputTokensMax, ...(parameters && { parameters }) };
        const target = targetOf(form, about, [dialect, route.dialect]);
        const translation = { client: name as ClientFormName, operation: jsonOperationOf(form), target };
        translated.push({ ...own, translation });
      } else if (operation.protocol.name === protocol && (serves?.includes(name) ?? true)) {
        native.push(own);
      }
    }
    byOperation.set(operation, [...native, ...translated]);
  }
  return byOperation;
}

function isOf({ providerId, providerModel }: NamedRoute, route: ModelConfig['routes'][number]): boolean {
  return providerId === route.provider && providerModel === route.model;
}

/**
 * Where a request is translated to, with the dialect of a route: its own keys, then those of the provider, then the defaults. It also drops
 * what parameters remove.
 */
export function targetOf(
  form: ProviderFormName,
  about: Pick<TranslationTarget, 'maker' | 'outputTokensMax' | 'parameters'>,
  [ofProvider, ofRoute]: readonly [DialectConfig | undefined, DialectConfig | undefined],
): TranslationTarget {
  const { takes, drops, ...keys } = { ...ofProvider, ...ofRoute };
  const given = Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== undefined));
  const lists = { takes: new Set(takes), drops: new Set([...(drops ?? []), ...removedNames(about.parameters ?? [])]) };
  return form === 'chat'
    ? { ...about, form, dialect: { ...PLAIN_CHAT, ...given, ...lists } }
    : { ...about, form, dialect: { ...PLAIN_MESSAGES, ...given, ...lists } };
}
