import { isRecord } from '../lib/json/json.ts';
import { isPlainText } from '../lib/plain-text.ts';
import { withoutTrailing } from '../lib/trailing.ts';
import { findProtocol, protocolNames } from '../protocols/all.ts';
import { attemptBreaches, groupFallbackBreaches } from './attempt-rules.ts';
import type { Path } from './document.ts';
import { headerBreaches } from './header-rules.ts';
import { oidcBreaches } from './oidc.ts';
import { parameterBreaches } from './parameter-rules.ts';
import { costBreaches, priceBreaches, priceListBreaches } from './price-rules.ts';
import { entries, field, items, names, type RuleBreach, texts } from './rule-values.ts';
import { closestName } from './suggest.ts';
import { translationBreaches } from './translation-rules.ts';
import { parseSizeBytes } from './units.ts';
import { useLimitBreaches } from './use-limit-rules.ts';

/** Path prefixes of Faregate itself, which no protocol can have as its name. */
const RESERVED_NAMES = ['account', 'admin', 'v1'];

/** Checks rules between values. The schema has not validated the values, so that all problems are reported together. */
export function findRuleBreaches(value: unknown): RuleBreach[] {
  const providers = entries(value, 'providers');
  const models = entries(value, 'models');
  return [
    ...protocolNameBreaches(value),
    ...budgetBreaches(field(value, 'server')),
    ...oidcBreaches(field(value, 'oidc'), field(field(value, 'server'), 'publicUrl')),
    ...['providers', 'models', 'plans', 'groups'].flatMap((section) =>
      plainNameBreaches(section, entries(value, section)),
    ),
    ...providers.flatMap(([id, provider]) => [
      ...keyBreaches(id, provider),
      ...baseUrlBreaches(id, provider),
      ...headerBreaches(['providers', id], provider),
      ...parameterBreaches(['providers', id, 'parameters'], field(provider, 'parameters')),
      ...tlsBreaches(id, provider),
    ]),
    ...modelNameBreaches(models),
    ...models.flatMap(([id, model]) => [
      ...priceBreaches(id, model),
      ...costBreaches(id, model, providers),
      ...routeBreaches(id, model, names(providers)),
      ...items(model, 'routes').flatMap(([route, index]) =>
        parameterBreaches(['models', id, 'routes', index, 'parameters'], field(route, 'parameters')),
      ),
      ...translationBreaches(translationFacts(id, model, providers)),
      ...innerModelBreaches(id, model, models),
      ...fallbackBreaches(id, model, models),
    ]),
    ...useLimitBreaches(
      providers,
      models.flatMap(([model, config]) =>
        items(config, 'routes').map(([route, index]) => ({
          ...{ model, index, provider: field(route, 'provider'), limits: field(route, 'limits') },
          hasCost: field(route, 'cost') !== undefined,
        })),
      ),
    ),
    ...entries(value, 'plans').flatMap(([id, plan]) => planBreaches(id, plan, models)),
    ...entries(value, 'groups').flatMap(([id, group]) => groupBreaches(id, group, models, names(providers))),
    ...priceSourceBreaches(field(value, 'priceSource'), models),
    ...entries(field(value, 'limits'), 'models').flatMap(([name]) =>
      canonicalBreaches(name, ['limits', 'models', name], models),
    ),
  ];
}

/** Checks names, which tables, messages and logs show. */
function plainNameBreaches(section: string, named: readonly (readonly [id: string, value: unknown])[]): RuleBreach[] {
  return named
    .filter(([id]) => !isPlainText(id))
    .map(([id]) => ({
      path: [section, id],
      message: 'The name contains a control character or a bidirectional mark.',
    }));
}

function protocolNameBreaches(value: unknown): RuleBreach[] {
  const server = field(value, 'server');
  const given = field(server, 'protocolNames');
  return protocolNames.flatMap((protocol) => {
    const list = field(given, protocol);
    const served = Array.isArray(list) ? list : [list];
    return served.flatMap((name: unknown, index): RuleBreach[] => {
      const path = ['server', 'protocolNames', protocol, index];
      if (typeof name !== 'string') return [];
      if (RESERVED_NAMES.includes(name)) return [{ path, message: `The path prefix /${name} is reserved.` }];
      if (served.indexOf(name) < index) return [{ path, message: `"${name}" is already in this list.` }];
      return [];
    });
  });
}

/** Budgets into which a body of the maximum size must fit, even if its length is not known before. */
const BUDGETS = [
  { budget: 'bodyMemory', limit: 'bodyLimit', defaultBytes: 64 * 2 ** 20, factor: 4 },
  { budget: 'uploadDisk', limit: 'editBodyLimit', defaultBytes: 805 * 2 ** 20, factor: 2 },
] as const;

function budgetBreaches(server: unknown): RuleBreach[] {
  return BUDGETS.flatMap(({ budget, limit, defaultBytes, factor }): RuleBreach[] => {
    const budgetBytes = sizeOf(field(server, budget));
    const limitBytes = field(server, limit) === undefined ? defaultBytes : sizeOf(field(server, limit));
    if (budgetBytes === null || limitBytes === null || budgetBytes >= factor * limitBytes) return [];
    return [{ path: ['server', budget], message: `This must be at least ${factor} times "${limit}".` }];
  });
}

function sizeOf(value: unknown): number | null {
  return typeof value === 'number' ? value : typeof value === 'string' ? parseSizeBytes(value) : null;
}

function keyBreaches(id: string, provider: unknown): RuleBreach[] {
  if (!isRecord(provider)) return [];
  const has = (name: string): boolean => provider[name] !== undefined && provider[name] !== null;
  if (has('apiKey') && has('apiKeys')) {
    const message = 'Set either "apiKey" or "apiKeys", not both. Put all credentials into "apiKeys".';
    return [{ path: ['providers', id, 'apiKeys'], message }];
  }
  if (has('apiKey') || has('apiKeys')) return [];
  const message = 'This key is required. Expected a credential, or { file: … } with the path of a credential file.';
  return [{ path: ['providers', id, 'apiKey'], message }];
}

/** Checks a base URL: it must be the one of the vendor's SDK, to which the gateway appends the same paths. */
function baseUrlBreaches(id: string, provider: unknown): RuleBreach[] {
  const address = field(provider, 'baseUrl');
  if (typeof address !== 'string') return [];
  const appended = findProtocol(field(provider, 'protocol'))?.appendedPath;
  const end = appended?.repeated.exec(address.split('?')[0]!);
  if (!appended || !end) return [];
  const part = withoutTrailing(end[0], '/');
  const message = `Remove ${part} from the end: ${appended.path} is appended automatically.`;
  return [{ path: ['providers', id, 'baseUrl'], message }];
}

function tlsBreaches(id: string, provider: unknown): RuleBreach[] {
  const address = field(provider, 'baseUrl');
  if (typeof address !== 'string' || !/^http:/i.test(address)) return [];
  const breaches: RuleBreach[] = [];
  const http2 = field(provider, 'http2');
  if (http2 === true || http2 === 'true') {
    const message = 'HTTP/2 requires TLS, but "baseUrl" is http://. Use https://, or remove "http2".';
    breaches.push({ path: ['providers', id, 'http2'], message });
  }
  if (field(provider, 'ca') !== undefined) {
    const message = 'Certificates require TLS, but "baseUrl" is http://. Use https://, or remove "ca".';
    breaches.push({ path: ['providers', id, 'ca'], message });
  }
  return breaches;
}

/** Checks that ids and aliases of models are unique, because calls name a model by either. */
function modelNameBreaches(models: readonly (readonly [string, unknown])[]): RuleBreach[] {
  const owners = new Map<string, string>(models.map(([id]) => [id, id]));
  return models.flatMap(([id, model]) =>
    items(model, 'aliases').flatMap(([alias, index]): RuleBreach[] => {
      if (typeof alias !== 'string') return [];
      const owner = owners.get(alias);
      if (owner === undefined) {
        owners.set(alias, id);
        return [];
      }
      return [{ path: ['models', id, 'aliases', index], message: `"${alias}" already names the model ${owner}.` }];
    }),
  );
}

function routeBreaches(id: string, model: unknown, providers: readonly string[]): RuleBreach[] {
  return items(model, 'routes').flatMap(([route, index]): RuleBreach[] => {
    const name = field(route, 'provider');
    if (typeof name !== 'string' || providers.includes(name)) return [];
    return [{ path: ['models', id, 'routes', index, 'provider'], message: unknownName('provider', name, providers) }];
  });
}

/** Reads what the rules of translation need. Values that the schema refuses are left out. */
function translationFacts(id: string, model: unknown, providers: readonly (readonly [string, unknown])[]) {
  const routes = items(model, 'routes').flatMap(([route]) => {
    const provider = providers.find(([name]) => name === field(route, 'provider'))?.[1];
    const protocol = field(provider, 'protocol');
    if (typeof protocol !== 'string') return [];
    const serves = field(provider, 'serves') === undefined ? null : texts(provider, 'serves');
    return [{ protocol, serves, translate: texts(route, 'translate') }];
  });
  const hasOutputLimit = /^[1-9]\d*$/.test(String(field(model, 'maxOutputTokens')));
  return { id, operations: texts(model, 'operations'), hasOutputLimit, routes };
}

function innerModelBreaches(id: string, model: unknown, models: readonly (readonly [string, unknown])[]): RuleBreach[] {
  return entries(model, 'innerModels').flatMap(([name, inner]): RuleBreach[] => {
    if (typeof inner !== 'string' || names(models).includes(inner)) return [];
    return [{ path: ['models', id, 'innerModels', name], message: unknownName('model', inner, names(models)) }];
  });
}

/** Checks further attempts and fallbacks. The schema reports values that it refuses, so they are left out here. */
function fallbackBreaches(id: string, model: unknown, models: readonly (readonly [string, unknown])[]): RuleBreach[] {
  const fallbacks = texts(model, 'fallbacks');
  const retry = field(model, 'retry');
  const facts = {
    id,
    retriedOn: texts(retry, 'on'),
    hasFirstByte: field(retry, 'firstByte') !== undefined,
    fallbacks,
    operations: texts(model, 'operations'),
  };
  const operationsOf = (name: string): string[] | null => {
    const found = models.find(([other]) => other === name);
    return found === undefined ? null : texts(found[1], 'operations');
  };
  return [
    ...attemptBreaches(facts, operationsOf),
    ...fallbacks.flatMap((name, index) => canonicalBreaches(name, ['models', id, 'fallbacks', index], models)),
  ];
}

function planBreaches(id: string, plan: unknown, models: readonly (readonly [string, unknown])[]): RuleBreach[] {
  return items(plan, 'models').flatMap(([name, index]): RuleBreach[] => {
    return typeof name === 'string' ? canonicalBreaches(name, ['plans', id, 'models', index], models) : [];
  });
}

function groupBreaches(
  id: string,
  group: unknown,
  models: readonly (readonly [string, unknown])[],
  providers: readonly string[],
): RuleBreach[] {
  return [
    ...items(group, 'models').flatMap(([name, index]) =>
      typeof name === 'string' ? canonicalBreaches(name, ['groups', id, 'models', index], models) : [],
    ),
    ...items(group, 'providers').flatMap(([name, index]): RuleBreach[] => {
      if (typeof name !== 'string' || providers.includes(name)) return [];
      return [{ path: ['groups', id, 'providers', index], message: unknownName('provider', name, providers) }];
    }),
    ...items(group, 'fallbacks').flatMap(([name, index]) =>
      typeof name === 'string' ? canonicalBreaches(name, ['groups', id, 'fallbacks', index], models) : [],
    ),
    ...groupFallbackBreaches(
      id,
      texts(group, 'fallbacks'),
      field(group, 'models') === undefined ? null : texts(group, 'models'),
    ),
    ...entries(group, 'prices').flatMap(([name, price]) => {
      const path = ['groups', id, 'prices', name];
      const model = models.find(([modelId]) => modelId === name)?.[1];
      if (model === undefined) return canonicalBreaches(name, path, models);
      return priceListBreaches(
        path,
        price,
        items(model, 'operations').map(([operation]) => operation),
      );
    }),
  ];
}

function priceSourceBreaches(source: unknown, models: readonly (readonly [string, unknown])[]): RuleBreach[] {
  if (!isRecord(source)) return [];
  const [hasUrl, hasFile] = [field(source, 'url') !== undefined, field(source, 'file') !== undefined];
  const message = hasUrl ? 'Set either "url" or "file", not both.' : 'Set the "url" or the "file" of the prices.';
  return [
    ...(hasUrl === hasFile ? [{ path: ['priceSource', hasUrl ? 'file' : 'url'], message }] : []),
    ...entries(source, 'names').flatMap(([name]) => canonicalBreaches(name, ['priceSource', 'names', name], models)),
  ];
}

/** Checks that a name is the id of a model, not an alias. */
function canonicalBreaches(name: string, path: Path, models: readonly (readonly [string, unknown])[]): RuleBreach[] {
  if (names(models).includes(name)) return [];
  const owner = models.find(([, model]) => items(model, 'aliases').some(([alias]) => alias === name));
  const message =
    owner === undefined
      ? unknownName('model', name, names(models))
      : `"${name}" is an alias. Use the model id: "${owner[0]}".`;
  return [{ path, message }];
}

function unknownName(what: string, name: string, known: readonly string[]): string {
  const closest = closestName(name, known);
  if (closest !== null) return `There is no ${what} "${name}". Did you mean "${closest}"?`;
  const list = known.length === 0 ? `No ${what} is configured.` : `Known: ${known.join(', ')}.`;
  return `There is no ${what} "${name}". ${list}`;
}
