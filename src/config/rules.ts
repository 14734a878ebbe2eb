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
    ...models.flatMap(([id, model]) => routeBreaches(id, model, names(providers))),
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
