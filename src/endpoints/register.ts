import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Principals } from '../accounts/principals.ts';
import type { CallRequest } from '../call/call.ts';
import { Client } from '../call/client.ts';
import type { Settings } from '../call/settings.ts';
import { readBody, requireJson } from '../http/body.ts';
import { readCredential } from '../http/credentials.ts';
import { refuseOtherMethods } from '../http/methods.ts';
import type { QuerySources } from '../queries/query.ts';
import type { CallEndpoint, Endpoint, QueryEndpoint } from './endpoint.ts';

export interface EndpointParts {
  readonly principals: Principals;
  readonly runCall: (request: CallRequest) => Promise<void>;
  readonly settings: () => Settings;
  readonly querySources: QuerySources;
}

/** Serves a request with the settings in force when it arrived. */
type Handler = (request: FastifyRequest, reply: FastifyReply, settings: Settings) => Promise<void>;

/** Serves every row of the table, and answers 405 with `Allow` for the methods that a path does not take. */
export function registerEndpoints(app: FastifyInstance, table: readonly Endpoint[], parts: EndpointParts): void {
  for (const endpoint of table) {
    const { method, path, envelope } = endpoint;
    const handle = 'operation' in endpoint ? createCallHandler(endpoint, parts) : createQueryHandler(endpoint, parts);
    app.route({
      method,
      url: path,
      config: { envelope },
      handler(request, reply) {
        const settings = parts.settings();
        return settings.inFlight.track(handle(request, reply, settings));
      },
    });
  }
  const envelopes = new Map(table.map(({ path, envelope }) => [path, envelope]));
  refuseOtherMethods(app, table, (path) => envelopes.get(path)!);
}

function createCallHandler(endpoint: CallEndpoint, { principals, runCall }: EndpointParts): Handler {
  return async (request, reply, settings) => {
    const client = new Client(reply.raw, endpoint.envelope, () => reply.hijack());
    const principal = await principals.authenticate(readCredential(request.raw, endpoint.credential));
    requireJson(request.raw);
    const body = await readBody(request.raw, reply.raw, {
      sizeBytesMax: endpoint.bodyLimitBytes,
      idleTimeoutMs: settings.config.server.uploadIdleTimeout,
    });
    await runCall({
      terms: endpoint,
      principal,
      headers: request.headers,
      body,
      requestId: request.id,
      client,
      settings,
    });
  };
}

function createQueryHandler(endpoint: QueryEndpoint, { principals, querySources }: EndpointParts): Handler {
  const { credential, query } = endpoint;
  return async (request, reply) => {
    const accountId =
      credential === 'none' ? null : (await principals.authenticate(readCredential(request.raw, credential))).accountId;
    const modelId = (request.params as { model?: string }).model ?? '';
    const { body, headers } = await query.answer({ accountId, modelId }, querySources);
    const text = JSON.stringify(body);
    const etag = `"${hash('sha256', text, 'base64url').slice(0, 27)}"`;
    reply.headers({ ...headers, etag }).type('application/json');
    if (request.headers['if-none-match'] === etag) await reply.code(304).send();
    else await reply.send(text);
  };
}
