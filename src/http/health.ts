import type { FastifyInstance } from 'fastify';

/** Whether new calls can be served, and what an operator should know, a sentence each. */
export interface Readiness {
  /** The database responds and no shutdown is under way: of this node, or of each worker. */
  readonly isReady: boolean;
  /** Why not, or what is wrong although calls are served. */
  readonly detail: readonly string[];
}

export type ReadReadiness = () => Promise<Readiness>;

/** The addresses that load balancers and clients probe. */
export function registerHealth(app: FastifyInstance, readReadiness: ReadReadiness): void {
  const get = ['GET', 'HEAD'];
  const config = { kind: 'health' } as const;
  app.route({ method: get, url: '/', config, handler: async () => ({ name: 'faregate', status: 'ok' }) });
  app.route({ method: get, url: '/healthz', config, handler: async () => ({ status: 'ok' }) });
  app.route({
    method: get,
    url: '/readyz',
    config,
    async handler(_request, reply) {
      const { isReady, detail } = await readReadiness();
      reply.code(isReady ? 200 : 503);
      return { status: isReady ? 'ready' : 'not ready', ...(detail.length > 0 && { detail }) };
    },
  });
}
