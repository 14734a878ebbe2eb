import { isRecord } from '../lib/json.ts';
import type { Path } from './document.ts';
import { closestName } from './suggest.ts';

/** What is wrong between the values of a configuration, and at which of them to say so. */
export interface RuleBreach {
  readonly path: Path;
  readonly message: string;
}

/** First segments of addresses that Faregate serves itself. */
const RESERVED_NAMES = ['account', 'admin', 'v1'];

/**
 * Checks what must hold between the values of a configuration, where the schema looks at each alone: names are given
 * once, and what is referred to exists. It reads the values as they came from the file, trusting nothing, so that these
 * problems are reported together with those that the schema finds.
 */
export function findRuleBreaches(value: unknown): RuleBreach[] {
  const providers = entries(value, 'providers');
  const models = entries(value, 'models');
  return [
    ...protocolNameBreaches(value),
    ...providers.flatMap(([id, provider]) => baseUrlBreaches(id, provider)),
    ...modelNameBreaches(models),
    ...models.flatMap(([id, model]) => [...priceBreaches(id, model), ...routeBreaches(id, model, names(providers))]),
    ...entries(value, 'plans').flatMap(([id, plan]) => planBreaches(id, plan, models)),
  ];
}

function protocolNameBreaches(value: unknown): RuleBreach[] {
  const server = field(value, 'server');
  const given = field(server, 'protocolNames');
  return ['chat', 'messages'].flatMap((protocol) => {
    const list = field(given, protocol);
    const served = Array.isArray(list) ? list : [list];
    return served.flatMap((name: unknown, index): RuleBreach[] => {
      const path = ['server', 'protocolNames', protocol, index];
      if (typeof name !== 'string') return [];
      if (RESERVED_NAMES.includes(name)) return [{ path, message: `The addresses under /${name} are taken.` }];
      if (served.indexOf(name) < index) return [{ path, message: `"${name}" stands in this list already.` }];
      return [];
    });
  });
}

/** The address is what one gives the vendor's own SDK; the gateway appends to it what that SDK would append. */
function baseUrlBreaches(id: string, provider: unknown): RuleBreach[] {
  const address = field(provider, 'baseUrl');
  if (typeof address !== 'string') return [];
  const appended = { chat: '/chat/completions', messages: '/v1/messages' }[String(field(provider, 'protocol'))];
  const end = appended === '/v1/messages' ? /\/v1(\/messages)?\/*$/ : /\/chat\/completions\/*$/;
  if (appended === undefined || !end.test(address)) return [];
  const part = end.exec(address)![0].replace(/\/+$/, '');
  return [{ path: ['providers', id, 'baseUrl'], message: `Leave out ${part} at the end: ${appended} is appended.` }];
}

/** A call names a model by its id or an alias, so all of these together are given once. */
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

/** The prices without which a call of an operation could not be charged: one of these lists has to be complete. */
const neededPrices: Readonly<Record<string, readonly (readonly string[])[]>> = {
  chat: [['input', 'output']],
  messages: [['input', 'output']],
  responses: [['input', 'output']],
  compact: [['input', 'output']],
  embeddings: [['input']],
  rerank: [['input'], ['perCall'], ['perSearchUnit']],
  'images.generate': [['input', 'output'], ['input', 'imageOutput'], ['perImage']],
  'images.edit': [['input', 'output'], ['input', 'imageOutput'], ['perImage']],
};

function priceBreaches(id: string, model: unknown): RuleBreach[] {
  const operations = items(model, 'operations').map(([operation]) => operation);
  const timeOfDay = field(field(model, 'price'), 'timeOfDay');
  const lists: Path[] = [['price']];
  if (timeOfDay !== undefined) lists.push(['price', 'timeOfDay', 'peak'], ['price', 'timeOfDay', 'offPeak']);
  return lists.flatMap((list) => {
    const prices = list.reduce<unknown>((value, key) => field(value, String(key)), model);
    if (!isRecord(prices)) return [];
    const path = ['models', id, ...list];
    if (prices.perCall !== undefined && prices.perSearchUnit !== undefined) {
      return [{ path: [...path, 'perCall'], message: 'A call is charged either perCall or perSearchUnit, not both.' }];
    }
    return operations.flatMap((operation): RuleBreach[] => {
      const choices = neededPrices[String(operation)] ?? [];
      if (choices.length === 0 || choices.some((names) => names.every((name) => prices[name] !== undefined))) return [];
      const missing = choices[0]!.find((name) => prices[name] === undefined)!;
      const said = choices.map((names) => names.join(' and ')).join(', or ');
      return [
        { path: [...path, missing], message: `This key is required: ${String(operation)} is charged by ${said}.` },
      ];
    });
  });
}

function routeBreaches(id: string, model: unknown, providers: readonly string[]): RuleBreach[] {
  return items(model, 'routes').flatMap(([route, index]): RuleBreach[] => {
    const name = field(route, 'provider');
    if (typeof name !== 'string' || providers.includes(name)) return [];
    return [{ path: ['models', id, 'routes', index, 'provider'], message: unknownName('provider', name, providers) }];
  });
}

function planBreaches(id: string, plan: unknown, models: readonly (readonly [string, unknown])[]): RuleBreach[] {
  return items(plan, 'models').flatMap(([name, index]): RuleBreach[] => {
    if (typeof name !== 'string' || names(models).includes(name)) return [];
    const owner = models.find(([, model]) => items(model, 'aliases').some(([alias]) => alias === name));
    const message =
      owner === undefined
        ? unknownName('model', name, names(models))
        : `"${name}" is an alias. Write the model itself: "${owner[0]}".`;
    return [{ path: ['plans', id, 'models', index], message }];
  });
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
