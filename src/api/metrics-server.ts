import { adminEnvelope } from '../errors/envelopes.ts';
import { type ReadReadiness, registerHealth } from '../http/health.ts';
import { addressOf, closeServer } from '../http/listening.ts';
import { createHttpServer } from '../http/server.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { type MetricsPage, registerMetrics } from './metrics.ts';

export interface MetricsServerOptions {
  readonly address: { readonly host: string; readonly port: number };
  readonly scrape: () => Promise<MetricsPage>;
  readonly readReadiness: ReadReadiness;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

/** A separate HTTP server for metrics and health, without authentication. */
export interface MetricsServer {
  /** Starts to listen. Returns an address such as `http://127.0.0.1:9464`. */
  listen(): Promise<string>;
  close(): Promise<void>;
}

/** Limits that suffice for a few scrapers and people. */
const LIMITS = { connections: 64, connectionsPerAddress: 64, headerTimeout: 10_000, clientStallTimeout: 30_000 };
const CLOSE_MS = 1_000;

export function createMetricsServer(options: MetricsServerOptions): MetricsServer {
  const { address, scrape, readReadiness, clock, ids, logger } = options;
  const app = createHttpServer({
    clock,
    ids,
    logger,
    // Requests are never refused: while the gateway closes, its last metrics can be read.
    isClosing: () => false,
    unknownAddresses: { envelopeOf: () => adminEnvelope, messageFor: () => 'There is nothing at this address.' },
    limits: LIMITS,
  });
  registerHealth(app, readReadiness);
  registerMetrics(app, scrape, null);
  return {
    async listen() {
      // A copy: Fastify changes its options, and this object belongs to the configuration.
      await app.listen({ ...address });
      return addressOf(app, address.host);
    },
    close: () => closeServer(app, CLOSE_MS),
  };
}
