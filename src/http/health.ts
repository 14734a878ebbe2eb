import type { FastifyInstance } from 'fastify';

export interface HealthSources {
  /** Whether new calls can be served: the database responds and no shutdown is under way. */
  isReady(): Promise<boolean>;
}

/** The addresses that load balancers and clients probe. */
export function registerHealth(app: FastifyInstance, { isReady }: HealthSources): void {
  const get = ['GET', 'HEAD'];
  app.route({ method: get, url: '/', handler: async () => ({ name: 'faregate', status: 'ok' }) });
  app.route({ method: get, url: '/healthz', handler: async () => ({ status: 'ok' }) });
  app.route({
    method: get,
    url: '/readyz',
    async handler(_request, reply) {
      const ready = await isReady();
      reply.code(ready ? 200 : 503);
      return { status: ready ? 'ready' : 'not ready' };
    },
  });
}
