import type { FastifyInstance } from 'fastify';

export interface HealthSources {
  /** Whether new calls can be served: the database responds and no shutdown is under way. */
  isReady(): Promise<boolean>;
  /** What an operator should know of this node although it serves calls, a sentence each. */
  warnings(): readonly string[];
}

/** The addresses that load balancers and clients probe. */
export function registerHealth(app: FastifyInstance, { isReady, warnings }: HealthSources): void {
  const get = ['GET', 'HEAD'];
  const config = { kind: 'health' } as const;
  app.route({ method: get, url: '/', config, handler: async () => ({ name: 'faregate', status: 'ok' }) });
  app.route({ method: get, url: '/healthz', config, handler: async () => ({ status: 'ok' }) });
  app.route({
    method: get,
    url: '/readyz',
    config,
    async handler(_request, reply) {
      const ready = await isReady();
      reply.code(ready ? 200 : 503);
      const detail = warnings();
      return { status: ready ? 'ready' : 'not ready', ...(detail.length > 0 && { detail }) };
    },
  });
}
