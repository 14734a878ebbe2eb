import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendText } from '../../http/sent-text.ts';
import type { QueryString } from '../queries/paging.ts';
import { etagOf, isKnown } from '../served-file.ts';
import type { QueryEndpoint } from './endpoint.ts';
import { EndpointHandler, type ServedRequest, type Visit } from './endpoint-handler.ts';

interface ServedQuery extends ServedRequest {
  readonly routed: FastifyRequest;
  readonly reply: FastifyReply;
}

export class QueryHandler extends EndpointHandler<QueryEndpoint, ServedQuery> {
  protected override async respond({ served, report, subject }: Visit<ServedQuery>): Promise<void> {
    const { path, credential, query } = this.endpoint;
    const { refusals, querySources, bodyBudgets } = this.dependencies;
    const { routed, reply } = served;
    const principal = credential === 'none' ? null : await refusals.identify(subject, path, credential, report);
    const modelId = (routed.params as { '*'?: string })['*'] ?? '';
    const asked = { principal, modelId, headers: routed.headers, search: routed.query as QueryString };
    const { body, headers } = await query.response(asked, querySources);
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const etag = etagOf(text);
    reply.headers({ ...headers, etag }).type('application/json');
    if (isKnown(routed.headers, etag)) return reply.code(304).send();
    return sendText(reply, text, bodyBudgets, principal ?? { accountId: subject.name, isOnlyAccount: false });
  }
}
