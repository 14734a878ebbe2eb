import type { FastifyRequest } from 'fastify';
import findMyWay from 'find-my-way';
import type { Envelope } from '../errors/envelopes.ts';
import { GatewayError } from '../errors/gateway-error.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** What is served, for requests with a method that no route takes. */
    readonly servedAddresses: ServedAddresses;
  }
}

/** A path that is served, with every method that it takes. */
interface ServedAddress {
  readonly path: string;
  readonly methods: readonly string[];
  /** The envelope of its errors. */
  readonly envelope: Envelope;
}

/** How the server finds a route, and this table an address. */
export const ROUTER_OPTIONS = {
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: true,
  maxParamLength: 512,
} as const;

/** The path as the router takes it. A model at the end may have slashes in its id, written as they are or as `%2F`. */
export function routedPath(path: string): string {
  return path.replace(/:model$/, '*');
}

/**
 * The paths that are served, whatever the method. A route for each of the thirty other methods of each path would do too,
 * but takes a tenth of a second of every start.
 */
export class ServedAddresses {
  readonly #paths = findMyWay(ROUTER_OPTIONS);

  add(address: ServedAddress): void {
    // The table has one method of its own, which says nothing of those that are served.
    this.#paths.on('GET', routedPath(address.path), () => undefined, address);
  }

  /** The envelope of the address that the request is for, whatever its method. */
  envelopeOf({ routeOptions, url, headers }: FastifyRequest): Envelope | undefined {
    const envelope = routeOptions?.config?.envelope ?? this.#find(url)?.envelope;
    return envelope?.forClient?.(headers) ?? envelope;
  }

  /** The pattern of the address that is served at a target; `null` if none is. */
  pathOf(url: string): string | null {
    return this.#find(url)?.path ?? null;
  }

  /** @throws GatewayError 405 with `Allow` where `url` is served, though not with the method of the request. */
  refuseOtherMethod(url: string): void {
    const address = this.#find(url);
    if (address === null) return;
    throw new GatewayError('methodNotAllowed', {
      headers: { allow: address.methods.join(', ') },
      message: `This address takes ${address.methods.join(' and ')} only.`,
    });
  }

  #find(url: string): ServedAddress | null {
    return this.#paths.find('GET', url)?.store ?? null;
  }
}

/** Addresses by their paths: each method of a path is registered alone, with its own handler. */
export function groupMethods(
  served: readonly { readonly method: string; readonly path: string; readonly envelope: Envelope }[],
): ServedAddress[] {
  return [...Map.groupBy(served, ({ path }) => path)].map(([path, same]) => ({
    path,
    methods: same.map(({ method }) => method),
    envelope: same[0]!.envelope,
  }));
}
