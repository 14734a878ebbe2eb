import type { FastifyInstance } from 'fastify';
import { catalogEnvelope } from '../../errors/envelopes.ts';
import { groupMethods, routedPath } from '../../http/served-addresses.ts';
import { CallHandler } from './call-handler.ts';
import type { CallEndpoint, Endpoint, EstimateEndpoint, QueryEndpoint } from './endpoint.ts';
import type { EndpointDependencies } from './endpoint-handler.ts';
import { EstimateHandler } from './estimate-handler.ts';
import { QueryHandler } from './query-handler.ts';

/** Registers the endpoints. Other methods get 405 with `Allow`. */
export function registerEndpoints(
  app: FastifyInstance,
  table: readonly Endpoint[],
  dependencies: EndpointDependencies,
): void {
  for (const endpoint of table) {
    if ('query' in endpoint) registerQuery(app, endpoint, dependencies);
    else registerPost(app, endpoint, dependencies);
  }
  const served = table.flatMap((endpoint) => methodsOf(endpoint).map((method) => ({ ...endpoint, method })));
  for (const address of groupMethods(served)) app.servedAddresses.add(address);
}

function registerPost(
  app: FastifyInstance,
  endpoint: CallEndpoint | EstimateEndpoint,
  dependencies: EndpointDependencies,
): void {
  const { path, envelope } = endpoint;
  const isCall = 'operation' in endpoint;
  const handler = isCall ? new CallHandler(endpoint, dependencies) : new EstimateHandler(endpoint, dependencies);
  const operation = isCall ? endpoint.operation.name : endpoint.estimate.name;
  app.exactAddresses.add(app, { path, envelope, kind: isCall ? 'call' : 'estimate', operation, handler });
}

function registerQuery(app: FastifyInstance, endpoint: QueryEndpoint, dependencies: EndpointDependencies): void {
  const { path, envelope } = endpoint;
  const handler = new QueryHandler(endpoint, dependencies);
  app.route({
    method: methodsOf(endpoint),
    url: routedPath(path),
    config: { envelope, kind: 'query', operation: endpoint.query.name, path },
    handler: (routed, reply) =>
      handler.handle({ request: routed.raw, response: reply.raw, report: routed.report, routed, reply }),
  });
}

/** Returns the methods of an endpoint. HEAD is allowed with GET, except at the public catalog (contract 7). */
function methodsOf({ method, envelope }: Endpoint): string[] {
  return method === 'GET' && envelope !== catalogEnvelope ? ['GET', 'HEAD'] : [method];
}
