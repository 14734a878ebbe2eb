import { isRecord } from '../lib/json/json.ts';
import { isPlainText } from '../lib/plain-text.ts';
import { withoutTrailing } from '../lib/trailing.ts';
import { findProtocol, protocolNames } from '../protocols/all.ts';
import { pricedUnits } from '../protocols/metering/usage-units.ts';
import { findOperation } from '../protocols/operations/all.ts';
import type { Path } from './document.ts';
import { oidcBreaches } from './oidc.ts';
import { closestName } from './suggest.ts';
import { translationBreaches } from './translation-rules.ts';
import { parseSizeBytes } from './units.ts';

interface RuleBreach {
  readonly path: Path;
  readonly message: string;
}

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
      ...headerBreaches(id, provider),
      ...tlsBreaches(id, provider),
    ]),
    ...modelNameBreaches(models),
    ...models.flatMap(([id, model]) => [
      ...priceBreaches(id, model),
      ...costBreaches(id, model, providers),
      ...routeBreaches(id, model, names(providers)),
      ...translationBreaches(translationFacts(id, model, providers)),
      ...innerModelBreaches(id, model, models),
    ]),
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
  const end = appended?.repeated.exec(address);
  if (!appended || !end) return [];
  const part = withoutTrailing(end[0], '/');
  const message = `Remove ${part} from the end: ${appended.path} is appended automatically.`;
  return [{ path: ['providers', id, 'baseUrl'], message }];
}

/** Headers that an operator cannot set, with the reasons. */
const takenHeaders: Readonly<Record<string, string>> = {
  ...because('It describes the body, so the gateway sets it.', [
    'content-type',
    'content-length',
    'content-encoding',
    'transfer-encoding',
    'trailer',
    'expect',
  ]),
  ...because('It belongs to the connection, which the gateway manages.', [
    'host',
    'connection',
    'proxy-connection',
    'keep-alive',
    'upgrade',
    'te',
    'http2-settings',
  ]),
  ...because('The gateway sets it to the formats that it can read.', ['accept', 'accept-encoding']),
  ...because('It is for the proxy: put the credential into "proxy".', ['proxy-authorization']),
  ...because('Each call needs a different value; with a fixed one, every call would get the response of the first.', [
    'idempotency-key',
  ]),
};

function because(reason: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, reason]));
}

/** A `token` of RFC 9110, section 5.6.2. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;

function headerBreaches(id: string, provider: unknown): RuleBreach[] {
  const auth = field(provider, 'auth') ?? findProtocol(field(provider, 'protocol'))?.providerAuth ?? 'bearer';
  const credential = auth === 'bearer' ? 'authorization' : 'x-api-key';
  const seen = new Map<string, string>();
  return entries(provider, 'headers').flatMap(([name]): RuleBreach[] => {
    const breach = (message: string): RuleBreach[] => [{ path: ['providers', id, 'headers', name], message }];
    if (!HEADER_NAME.test(name))
      return breach('A header name consists of letters, digits and hyphens, without spaces.');
    const lowerCase = name.toLowerCase();
    const first = seen.get(lowerCase);
    if (first !== undefined) return breach(`This header is a duplicate of "${first}".`);
    seen.set(lowerCase, name);
    if (lowerCase === credential) return breach('This header carries the credential: set "apiKey" and "auth" instead.');
    const reason = Object.hasOwn(takenHeaders, lowerCase) ? takenHeaders[lowerCase] : undefined;
    return reason === undefined ? [] : breach(`This header cannot be set. ${reason}`);
  });
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

/** Returns the alternative lists of prices for an operation. One of them must be complete. */
function neededPrices(operation: unknown): readonly (readonly string[])[] {
  return findOperation(String(operation))?.charge.flatMap(({ prices }) => prices) ?? [];
}

function priceBreaches(id: string, model: unknown): RuleBreach[] {
  const operations = items(model, 'operations').map(([operation]) => operation);
  return priceListBreaches(['models', id, 'price'], field(model, 'price'), operations);
}

/** Checks that a cost has the prices for the operations that its provider serves. */
function costBreaches(id: string, model: unknown, providers: readonly (readonly [string, unknown])[]): RuleBreach[] {
  const operations = items(model, 'operations').map(([operation]) => operation);
  return items(model, 'routes').flatMap(([route, index]): RuleBreach[] => {
    const provider = providers.find(([name]) => name === field(route, 'provider'))?.[1];
    const served = operations.filter(
      (operation) => findOperation(String(operation))?.protocol.name === field(provider, 'protocol'),
    );
    return priceListBreaches(['models', id, 'routes', index, 'cost'], field(route, 'cost'), served);
  });
}

function priceListBreaches(root: Path, price: unknown, operations: readonly unknown[]): RuleBreach[] {
  const breaches = priceLists(price).flatMap((list) => {
    const prices = list.reduce(member, price);
    if (!isRecord(prices)) return [];
    const path = [...root, ...list];
    if (prices.perCall !== undefined && prices.perSearchUnit !== undefined) {
      return [{ path: [...path, 'perCall'], message: 'Set either "perCall" or "perSearchUnit", not both.' }];
    }
    const replacementBreaches = [
      ...runPriceBreaches(path, prices, prices),
      ...entries(prices, 'above').flatMap(([length, replacement]) => [
        ...lengthBreaches([...path, 'above', length], length),
        ...samePriceBreaches([...path, 'above', length], replacement, prices),
        ...runPriceBreaches([...path, 'above', length], replacement, prices),
      ]),
    ];
    if (replacementBreaches.length > 0) return replacementBreaches;
    return operations.flatMap((operation): RuleBreach[] => {
      const choices = neededPrices(operation);
      if (choices.length === 0 || choices.some((names) => names.every((name) => prices[name] !== undefined))) return [];
      const missing = choices[0]!.find((name) => prices[name] === undefined)!;
      const alternatives = choices.map((names) => names.join(' and ')).join(', or ');
      return [
        {
          path: [...path, missing],
          message: `This key is required: ${String(operation)} is charged by ${alternatives}.`,
        },
      ];
    });
  });
  return [...laterBreaches(root, price), ...breaches];
}

/** Returns the paths of the price lists in a price: its own, those of times of day, and those of later prices. */
function priceLists(price: unknown): Path[] {
  const own: Path[] =
    field(price, 'timeOfDay') === undefined ? [[]] : [[], ['timeOfDay', 'peak'], ['timeOfDay', 'offPeak']];
  const later = items(price, 'later').flatMap(([list, index]) =>
    priceLists(list).map((path): Path => ['later', index, ...path]),
  );
  return [...own, ...later];
}

/** Checks that later prices are in the order of their starts. A day and an instant are compared later, when prices are compiled. */
function laterBreaches(root: Path, price: unknown): RuleBreach[] {
  const starts = items(price, 'later').map(([list]) => field(list, 'from'));
  return starts.flatMap((from, index): RuleBreach[] => {
    const before = starts[index - 1];
    if (typeof from !== 'string' || typeof before !== 'string' || Date.parse(before) < Date.parse(from)) return [];
    return [{ path: [...root, 'later', index, 'from'], message: `This must be later than "${before}" before it.` }];
  });
}

const TOKEN_PRICE_KEYS = pricedUnits.flatMap(({ price }) => (price.per === 'million' ? [price.key] : []));
const TOKEN_LENGTH = /^[1-9]\d{0,8}$/;

/** Checks prices that depend on reasoning or on the length of the output. */
function runPriceBreaches(path: Path, list: unknown, prices: Record<string, unknown>): RuleBreach[] {
  const thinking = field(list, 'thinking');
  const lengths = entries(list, 'outputAbove');
  if (thinking !== undefined && lengths.length > 0) {
    const message = 'Set either "thinking" or "outputAbove" in a price list, not both.';
    return [{ path: [...path, 'thinking'], message }];
  }
  return [
    ...samePriceBreaches([...path, 'thinking'], thinking, prices),
    ...lengths.flatMap(([length, replacement]) => [
      ...lengthBreaches([...path, 'outputAbove', length], length),
      ...samePriceBreaches([...path, 'outputAbove', length], replacement, prices),
    ]),
  ];
}

function lengthBreaches(path: Path, length: string): RuleBreach[] {
  return TOKEN_LENGTH.test(length) ? [] : [{ path, message: 'Expected a number of tokens such as "200000".' }];
}

/** Checks that replacement prices have the same keys as the list: a missing one could mean "unchanged" or "as input". */
function samePriceBreaches(path: Path, replacement: unknown, prices: Record<string, unknown>): RuleBreach[] {
  if (!isRecord(replacement)) return [];
  return TOKEN_PRICE_KEYS.flatMap((key): RuleBreach[] => {
    if ((replacement[key] === undefined) === (prices[key] === undefined)) return [];
    const message =
      replacement[key] === undefined
        ? 'This key is required here, because the price list contains it.'
        : 'This key is not allowed here, because the price list does not contain it.';
    return [{ path: [...path, key], message }];
  });
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
  const texts = (of: unknown, key: string): string[] => items(of, key).map(([item]) => String(item));
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

function field(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Returns a member of an object or a list. */
function member(value: unknown, key: PropertyKey): unknown {
  return Array.isArray(value) && typeof key === 'number' ? value[key] : field(value, String(key));
}

function entries(value: unknown, key: string): [string, unknown][] {
  const section = field(value, key);
  return isRecord(section) ? Object.entries(section) : [];
}

function items(value: unknown, key: string): [unknown, number][] {
  const list = field(value, key);
  return Array.isArray(list) ? list.map((item: unknown, index) => [item, index]) : [];
}

function names(entries: readonly (readonly [string, unknown])[]): string[] {
  return entries.map(([name]) => name);
}
