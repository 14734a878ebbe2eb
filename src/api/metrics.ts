import type { FastifyInstance } from 'fastify';
import { adminEnvelope } from '../errors/envelopes.ts';
import type { Guard } from './management/guard.ts';

export interface MetricsPage {
  readonly contentType: string;
  readonly text: string;
}

const PATH = '/metrics';
const METHODS = ['GET', 'HEAD'];

/** Serves metrics. `guard` authenticates readers; `null`: everybody who can connect may read them. */
export function registerMetrics(app: FastifyInstance, scrape: () => Promise<MetricsPage>, guard: Guard | null): void {
  app.route({
    method: METHODS,
    url: PATH,
    config: { envelope: adminEnvelope, kind: 'admin' },
    async handler(request, reply) {
      await guard?.enterAdmin(request, reply, 'read');
      const { contentType, text } = await scrape();
      return reply.header('cache-control', 'no-store').header('content-type', contentType).send(text);
    },
  });
  app.servedAddresses.add({ path: PATH, methods: METHODS, envelope: adminEnvelope });
}
