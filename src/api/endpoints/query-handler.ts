import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors/gateway-error.ts';
import { sendText } from '../../http/sent-text.ts';
import type { QueryString } from '../queries/paging.ts';
import { BALANCE_QUERY, type QueryRequest, type QueryResponse } from '../queries/query.ts';
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
    const { refusals, listShares, bodyBudgets } = this.dependencies;
    const { routed, reply } = served;
    const principal = credential === 'none' ? null : await refusals.identify(subject, path, credential, report);
    const modelId = (routed.params as { '*'?: string })['*'] ?? '';
    const asked = { principal, modelId, headers: routed.headers, search: routed.query as QueryString };
    const tenant = principal ?? { accountId: subject.name, isOnlyAccount: false };
    const answer = (): Promise<Answer> => {
      // Only the connections of a tenant limit how many of its requests wait, so nothing is done for those that have left.
      if (reply.raw.closed) throw new GatewayError('malformedHttp');
      return this.#answer(asked);
    };
    const isList = query.name !== BALANCE_QUERY;
    const { text, etag, headers } = await (isList ? listShares.goOn(tenant.accountId, answer) : answer());
    reply.headers({ ...headers, etag }).type('application/json');
    if (isKnown(routed.headers, etag)) return reply.code(304).send();
    return sendText(reply, text, bodyBudgets, tenant);
  }

  async #answer(asked: QueryRequest): Promise<Answer> {
    const { body, headers } = await this.endpoint.query.response(asked, this.dependencies.querySources);
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return { text, etag: etagOf(text), headers };
  }
}

interface Answer {
  readonly text: string;
  readonly headers: QueryResponse['headers'] | undefined;
  readonly etag: string;
}
