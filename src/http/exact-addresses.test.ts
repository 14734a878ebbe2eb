import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { sendRaw } from '../../test/support/raw.ts';
import { recordLogs } from '../../test/support/recorded-logger.ts';
import { until } from '../../test/support/until.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { systemClock } from '../lib/clock.ts';
import { createIds } from '../lib/ids.ts';
import { chatEnvelope } from '../protocols/chat/errors.ts';
import type { Exchange } from './exchange.ts';
import { createHttpServer } from './server.ts';

/** The exact paths, which are served without the framework, and spellings that the framework serves. */
const PATHS = ['/exact', '/exact?query', '//exact', '/exact/', '/%65xact'];

describe('an exact address', () => {
  const logs = recordLogs();
  let app: FastifyInstance;
  let url: string;
  let isClosing: boolean;
  let handle: (exchange: Exchange) => Promise<void>;

  before(async () => {
    app = createHttpServer({
      clock: systemClock,
      ids: createIds(systemClock),
      logger: logs.logger,
      isClosing: () => isClosing,
      unknownAddresses: { envelopeOf: () => chatEnvelope, messageFor: () => 'Nothing is here.' },
      limits: { headerTimeout: 60_000, clientStallTimeout: 300_000, connections: 1000 },
    });
    const address = { path: '/exact', envelope: chatEnvelope, kind: 'call', operation: 'chat' } as const;
    app.exactAddresses.add(app, { ...address, handler: { handle: (exchange) => handle(exchange) } });
    url = await app.listen({ host: '127.0.0.1', port: 0 });
  });
  after(() => app.close());
  beforeEach(() => {
    isClosing = false;
    handle = async (exchange) => exchange.sendJson(200, '{}', { 'x-more': 'yes' });
    logs.lines.length = 0;
  });

  for (const path of PATHS) {
    describe(path, () => {
      const ask = () => sendRaw(url, { path, body: 'x' });

      it('sends the request id with its response', async () => {
        const { status, headers, body } = await ask();
        assert.deepEqual([status, headers['x-more'], body.toString()], [200, 'yes', '{}']);
        assert.match(headers['request-id']!, /^req_/);
        assert.equal(headers['x-request-id'], headers['request-id']);
      });

      it('sends errors of its handler in its envelope, with the headers that were set before', async () => {
        handle = async (exchange) => {
          exchange.headers = { 'x-before': 'yes', 'request-id': 'none' };
          throw new GatewayError('modelAbsent', { requestId: 'theirs' });
        };
        const { status, headers, body } = await ask();
        assert.deepEqual([status, headers['x-before'], headers['request-id']], [404, 'yes', 'theirs']);
        assert.equal(JSON.parse(body.toString()).error.code, 'model_not_found');
      });

      it('logs an unexpected error, and does not show it to the client', async () => {
        handle = () => Promise.reject(new Error('private'));
        const { status, body } = await ask();
        assert.equal(status, 500);
        assert.doesNotMatch(body.toString(), /private/);
        assert.deepEqual(
          logs.lines.map(({ message }) => message),
          ['a request failed unexpectedly'],
        );
      });

      it('logs an unexpected error even if the client has disconnected', async () => {
        const client = new AbortController();
        const failed = Promise.withResolvers<void>();
        handle = async ({ response }) => {
          client.abort();
          await once(response, 'close');
          failed.resolve();
          throw new Error('private');
        };
        await assert.rejects(fetch(url + path, { method: 'POST', body: 'x', signal: client.signal }));
        await failed.promise;
        await until(() => logs.lines.length > 0);
        assert.deepEqual(
          logs.lines.map(({ message }) => message),
          ['a request failed unexpectedly'],
        );
      });

      it('closes the connection if the response of an error cannot be written, and logs why', async () => {
        handle = () => Promise.reject(new GatewayError('modelAbsent', { headers: { 'x-wrong': 'a\nb' } }));
        await assert.rejects(ask(), /the connection ended/);
        assert.deepEqual(
          logs.lines.map(({ message }) => message),
          ['failed to send an error response'],
        );
      });

      it('closes the connection after the response to a long body that its handler has not read', async () => {
        const { headers } = await sendRaw(url, { path, headers: [['content-length', '100000']] });
        assert.equal(headers.connection, 'close');
      });

      it('refuses requests during a shutdown, before its handler is called', async () => {
        isClosing = true;
        handle = async () => assert.fail('the handler was called');
        const { status, headers } = await ask();
        assert.deepEqual([status, headers.connection], [503, 'close']);
      });
    });
  }
});
