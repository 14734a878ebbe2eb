import type { FastifyRequest } from 'fastify';
import findMyWay from 'find-my-way';
import type { Envelope } from '../errors/envelopes.ts';
import { GatewayError } from '../errors/gateway-error.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** All served paths, for requests whose method no route accepts. */
    readonly servedAddresses: ServedAddresses;
  }
}

/** A served path with all its methods. */
interface ServedAddress {
  readonly path: string;
  readonly methods: readonly string[];
  /** The format of error responses at this address. */
  readonly envelope: Envelope;
}

/** Options of the server's router, also used by the table in this file, so that both match the same paths. */
export const ROUTER_OPTIONS = {
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: true,
  maxParamLength: 512,
} as const;

/** The path in the router's syntax. A model id at the end may contain slashes, either literal or as `%2F`. */
export function routedPath(path: string): string {
  return path.replace(/:model$/, '*');
}

/**
 * The served paths, independent of the method. Registering a route for each of the thirty other methods of each path would take a tenth of
 * a second at every start.
 */
export class ServedAddresses {
  readonly #paths = findMyWay(ROUTER_OPTIONS);

  add(address: ServedAddress): void {
    // The table needs some method; it is unrelated to the methods of the address.
    this.#paths.on('GET', routedPath(address.path), () => undefined, address);
  }

  /** Returns the error format of the requested address, even if its method is not allowed. */
  envelopeOf({ routeOptions, url, headers }: FastifyRequest): Envelope | undefined {
    const envelope = routeOptions?.config?.envelope ?? this.#find(url)?.envelope;
    return envelope?.forClient?.(headers) ?? envelope;
  }

  /** The pattern of the address that serves this target; `null` if there is none. */
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

/** Groups endpoints by path, because each method of a path is registered separately. */
export function groupMethods(
  served: readonly { readonly method: string; readonly path: string; readonly envelope: Envelope }[],
): ServedAddress[] {
  return [...Map.groupBy(served, ({ path }) => path)].map(([path, same]) => ({
    path,
    methods: same.map(({ method }) => method),
    envelope: same[0]!.envelope,
  }));
}
