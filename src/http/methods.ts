import type { FastifyInstance } from 'fastify';
import type { Envelope } from '../errors/envelopes.ts';
import { GatewayError } from '../errors/gateway-error.ts';

/** A method and a path that are served. */
export interface ServedAddress {
  readonly method: string;
  readonly path: string;
}

/** Responds with 405 and `Allow` to methods that a served path does not take. */
export function refuseOtherMethods(
  app: FastifyInstance,
  served: readonly ServedAddress[],
  envelopeOf: (path: string) => Envelope,
): void {
  for (const [path, addresses] of Map.groupBy(served, (address) => address.path)) {
    const allowed = addresses.map(({ method }) => method);
    app.route({
      method: app.supportedMethods.filter((method) => !allowed.includes(method)),
      url: path,
      config: { envelope: envelopeOf(path) },
      handler: () => {
        throw new GatewayError('methodNotAllowed', {
          headers: { allow: allowed.join(', ') },
          message: `This address takes ${allowed.join(' and ')} only.`,
        });
      },
    });
  }
}
