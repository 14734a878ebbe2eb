import type { Endpoint } from './endpoint.ts';

/**
 * Adds aliases: addresses with one `/v1` too many or too few, such as `/v1/v1/messages` and `/messages`. Clients request them because some
 * SDKs append `/v1/messages` to the base address and others `/messages`. An address that would be an alias of two endpoints is not added.
 */
export function endpointAliases(table: readonly Endpoint[], messagesNames: readonly string[]): Endpoint[] {
  const taken = new Set(table.map(addressOf));
  const aliases = new Map<string, Endpoint | null>();
  for (const endpoint of table) {
    for (const path of pathsOneOff(endpoint.path, messagesNames)) {
      const alias = { ...endpoint, path };
      const address = addressOf(alias);
      if (taken.has(address)) continue;
      const other = aliases.get(address);
      aliases.set(address, other === undefined || (other !== null && isSame(other, alias)) ? alias : null);
    }
  }
  return [...aliases.values()].filter((alias) => alias !== null);
}

interface PathParts {
  readonly base: readonly string[];
  readonly resource: readonly string[];
}

export function pathParts(path: string, messagesNames: readonly string[]): PathParts {
  const segments = path.split('/').filter((segment) => segment !== '');
  const length = segments.findIndex((segment) => !isOfBase(segment, messagesNames));
  return length === -1
    ? { base: segments, resource: [] }
    : { base: segments.slice(0, length), resource: segments.slice(length) };
}

function isOfBase(segment: string, messagesNames: readonly string[]): boolean {
  return segment === 'v1' || segment === 'coding' || messagesNames.includes(segment);
}

function pathsOneOff(path: string, messagesNames: readonly string[]): string[] {
  const { base, resource } = pathParts(path, messagesNames);
  const without = base.flatMap((segment, at) => (segment === 'v1' ? [base.toSpliced(at, 1)] : []));
  const withOneMore = [...base, ''].map((_, at) => base.toSpliced(at, 0, 'v1'));
  return [...without, ...withOneMore].map((segments) => `/${[...segments, ...resource].join('/')}`);
}

function addressOf({ method, path }: Endpoint): string {
  return `${method} ${path}`;
}

function isSame(one: Endpoint, other: Endpoint): boolean {
  return Object.entries(one).every(([name, value]) => name === 'path' || other[name as keyof Endpoint] === value);
}
