import type { FastifyInstance } from 'fastify';

export interface Readiness {
  /** Whether the database responds, and neither this node nor one of its workers is shutting down. */
  readonly isReady: boolean;
  /** Text for operators: why the node is not ready, or problems of a ready node. */
  readonly detail: readonly string[];
}

const NAMED = { name: 'faregate', status: 'ok' };

export type ReadReadiness = () => Promise<Readiness>;

/** @param pagePath the page to which browsers are redirected from `/` */
export function registerHealth(app: FastifyInstance, readReadiness: ReadReadiness, pagePath?: string): void {
  const get = ['GET', 'HEAD'];
  const config = { kind: 'health' } as const;
  app.route({
    method: get,
    url: '/',
    config,
    async handler(request, reply) {
      if (pagePath === undefined) return NAMED;
      reply.header('vary', 'Accept');
      return /\btext\/html\b/i.test(request.headers.accept ?? '') ? reply.redirect(pagePath) : NAMED;
    },
  });
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
