import type { FastifyRequest } from 'fastify';
import findMyWay from 'find-my-way';
import type { Envelope } from '../errors/envelopes.ts';
import { GatewayError } from '../errors/gateway-error.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Finds served paths, also for requests whose method no route accepts. */
    readonly servedAddresses: ServedAddresses;
  }
}

interface ServedAddress {
  readonly path: string;
  readonly methods: readonly string[];
  readonly envelope: Envelope;
}

/** Shared by the server's router and `ServedAddresses`, so that both match the same paths. */
export const ROUTER_OPTIONS = {
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: true,
  maxParamLength: 512,
} as const;

/** Converts a path to the router's syntax. A model id at the end may contain slashes, literal or as `%2F`. */
export function routedPath(path: string): string {
  return path.replace(/:model$/, '*');
}

/** The served paths with any method. Routes for the thirty other methods of each path would take a tenth of a second at every start. */
export class ServedAddresses {
  readonly #paths = findMyWay(ROUTER_OPTIONS);

  add(address: ServedAddress): void {
    // The router needs some method; `GET` has no meaning here.
    this.#paths.on('GET', routedPath(address.path), () => undefined, address);
  }

  /** Returns the error format of the requested path, even if its method is not allowed. */
  envelopeOf({ routeOptions, url, headers }: FastifyRequest): Envelope | undefined {
    const envelope = routeOptions?.config?.envelope ?? this.#find(url)?.envelope;
    return envelope?.forClient?.(headers) ?? envelope;
  }

  /** Returns the pattern of the path, or `null` if it is not served. */
  pathOf(url: string): string | null {
    return this.#find(url)?.path ?? null;
  }

  /** @throws GatewayError 405 with `Allow` if `url` is served with other methods. */
  refuseOtherMethod(url: string): void {
    const address = this.#find(url);
    if (address === null) return;
    throw new GatewayError('methodNotAllowed', {
      headers: { allow: address.methods.join(', ') },
      message: `This address accepts only ${address.methods.join(' and ')}.`,
    });
  }

  #find(url: string): ServedAddress | null {
    return this.#paths.find('GET', url)?.store ?? null;
  }
}

/** Merges the endpoints of a path into one entry with several methods. */
export function groupMethods(
  served: readonly { readonly method: string; readonly path: string; readonly envelope: Envelope }[],
): ServedAddress[] {
  return [...Map.groupBy(served, ({ path }) => path)].map(([path, same]) => ({
    path,
    methods: same.map(({ method }) => method),
    envelope: same[0]!.envelope,
  }));
}
