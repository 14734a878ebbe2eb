import type { FastifyRequest } from 'fastify';
import findMyWay from 'find-my-way';
import type { Envelope } from '../errors/envelopes.ts';
import { GatewayError } from '../errors/gateway-error.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Finds served paths, also for a request whose method no route accepts. */
    readonly servedAddresses: ServedAddresses;
  }
}

interface ServedAddress {
  readonly path: string;
  readonly methods: readonly string[];
  readonly envelope: Envelope;
}

/** Options of the server's router and of `ServedAddresses`, so that both match the same paths. */
export const ROUTER_OPTIONS = {
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: true,
  maxParamLength: 512,
} as const;

/** Converts a path to the syntax of the router. A model id at its end may contain slashes, as `/` or as `%2F`. */
export function routedPath(path: string): string {
  return path.replace(/:model$/, '*');
}

/** Finds served paths for any method. With routes for all thirty other methods, every start would take a tenth of a second longer. */
export class ServedAddresses {
  readonly #paths = findMyWay(ROUTER_OPTIONS);

  add(address: ServedAddress): void {
    // The router requires a method; `GET` has no meaning here.
    this.#paths.on('GET', routedPath(address.path), () => undefined, address);
  }

  /** Returns the error format of the requested path, even if the method is not allowed. */
  envelopeOf({ routeOptions, url, headers }: FastifyRequest): Envelope | undefined {
    const envelope = routeOptions?.config?.envelope ?? this.#find(url)?.envelope;
    return envelope?.forClient?.(headers) ?? envelope;
  }

  /** Returns the pattern of a path; `null`: it is not served. */
  pathOf(url: string): string | null {
    return this.#find(url)?.path ?? null;
  }

  /** Checks a URL without a route. @throws GatewayError 405 with `Allow` if it is served with other methods */
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

/** Merges endpoints with the same path to one entry with several methods. */
export function groupMethods(
  served: readonly { readonly method: string; readonly path: string; readonly envelope: Envelope }[],
): ServedAddress[] {
  return [...Map.groupBy(served, ({ path }) => path)].map(([path, same]) => ({
    path,
    methods: same.map(({ method }) => method),
    envelope: same[0]!.envelope,
  }));
}
