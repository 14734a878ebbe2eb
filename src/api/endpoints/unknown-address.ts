import type { IncomingHttpHeaders } from 'node:http';
import { errorCatalogue } from '../../errors/catalogue.ts';
import { adminEnvelope } from '../../errors/envelopes.ts';
import type { UnknownAddresses } from '../../http/unknown-addresses.ts';
import { upTo } from '../../lib/trailing.ts';
import { chatEnvelope } from '../../protocols/chat/errors.ts';
import { messagesEnvelope } from '../../protocols/messages/errors.ts';
import { isMessagesClient } from '../queries/messages-client.ts';
import { endpointAliases, pathParts } from './aliases.ts';
import type { Endpoint } from './endpoint.ts';

/** Maximum length of a path for which an address is suggested. */
const PATH_LENGTH_MAX = 300;

/** Creates errors for unknown addresses. They have the format of the client's family and suggest an existing address. */
export function createUnknownAddresses(table: readonly Endpoint[], messagesNames: readonly string[]): UnknownAddresses {
  const known = table.map(({ method, path, envelope }) => {
    const { base, resource } = pathParts(path, messagesNames);
    const address = `${method} ${path.replace(/:(\w+)/, '{$1}')}`;
    return {
      address,
      resource,
      names: base.filter((name) => name !== 'v1'),
      isMessages: envelope === messagesEnvelope,
    };
  });
  const served = [...table, ...endpointAliases(table, messagesNames)];
  const envelopes = new Map(served.map(({ path, envelope }) => [path, envelope]));
  const allNames = new Set(known.flatMap(({ names }) => names));
  type Known = (typeof known)[number];

  /** Returns the endpoint that was probably meant. If several have the same ending, context and base address decide between them. */
  function findMeant(path: string, headers: IncomingHttpHeaders): Known | null {
    if (path.length > PATH_LENGTH_MAX) return null;
    const segments = path.split('/').filter((segment) => segment !== '');
    const names = new Set(segments.filter((segment) => allNames.has(segment)));
    const isMessages = isMessagesClient(headers, messagesNames);
    let best: { readonly meant: Known; readonly rank: readonly number[] } | null = null;
    for (const meant of known) {
      const same = sameAtEnd(segments, meant.resource);
      if (same === 0) continue;
      const rank = [
        same,
        -meant.resource.length,
        Number(meant.names.includes('coding') === names.has('coding')),
        2 * meant.names.filter((name) => names.has(name)).length - meant.names.length,
        Number(meant.isMessages === isMessages),
      ];
      if (best === null || isHigher(rank, best.rank)) best = { meant, rank };
    }
    return best?.meant ?? null;
  }

  function isOfMessages(path: string, headers: IncomingHttpHeaders): boolean {
    return isMessagesClient(headers, messagesNames) || isMessagesPath(path, messagesNames);
  }

  function advise(path: string, headers: IncomingHttpHeaders): string {
    if (isAdminPath(path)) return 'The admin API is below /admin/v1.';
    const meant = findMeant(upTo(path, '?#'), headers);
    if (meant !== null) return `Did you mean ${meant.address}?`;
    return isOfMessages(path, headers)
      ? `Messages-style clients take the root as their base address, and /${messagesNames[0]}/coding on the Coding Plan.`
      : 'Chat-style clients take /v1 as their base address, and /v1/coding on the Coding Plan.';
  }

  return {
    envelopeOf(path, headers) {
      if (isAdminPath(path)) return adminEnvelope;
      // A request that was malformed was not routed, so its address may exist.
      const ofEndpoint = envelopes.get(upTo(path, '?#'));
      if (ofEndpoint !== undefined) return ofEndpoint;
      return isOfMessages(path, headers) ? messagesEnvelope : chatEnvelope;
    },
    messageFor: (path, headers) => `${errorCatalogue.pathUnknown.message} ${advise(path, headers)}`,
  };
}

function isAdminPath(path: string): boolean {
  return /^\/+admin\//.test(path);
}

function isMessagesPath(path: string, messagesNames: readonly string[]): boolean {
  const clean = path.replace(/^\/+/, '/');
  return clean.startsWith('/v1/messages') || messagesNames.some((name) => clean.includes(`/${name}/`));
}

/** Counts the segments at the end that are equal, without path parameters. */
function sameAtEnd(segments: readonly string[], resource: readonly string[]): number {
  let same = 0;
  for (let back = 1; back <= resource.length; back++) {
    const name = resource.at(-back)!;
    const segment = segments.at(-back);
    if (segment === undefined) break;
    if (name.startsWith(':')) continue;
    if (name !== segment.toLowerCase()) break;
    same++;
  }
  return same;
}

function isHigher(rank: readonly number[], other: readonly number[]): boolean {
  const at = rank.findIndex((value, index) => value !== other[index]);
  return at !== -1 && rank[at]! > other[at]!;
}
