import type { IncomingMessage } from 'node:http';
import type { PrecheckRequest } from '../../calls/admission.ts';
import { callerOf } from '../../calls/caller.ts';
import { Fingerprint } from '../../calls/idempotency/idempotent-call.ts';
import { Client } from '../../calls/relay/client.ts';
import type { Settings } from '../../calls/settings.ts';
import { type BodyOwner, readBody, requireJson } from '../../http/body.ts';
import { readTags, TAGS_HEADER } from '../../http/call-tags.ts';
import type { Exchange } from '../../http/exchange.ts';
import { readIdempotencyKey, usableIdempotencyKey } from '../../http/idempotency-key.ts';
import { spoolBody } from '../../http/spool.ts';
import type { CallInput } from '../../protocols/operations/operation.ts';
import type { CallEndpoint } from './endpoint.ts';
import { EndpointHandler, type Visit } from './endpoint-handler.ts';

export class CallHandler extends EndpointHandler<CallEndpoint, Exchange> {
  protected override async respond({ served: exchange, settings, report, subject }: Visit<Exchange>): Promise<void> {
    const { endpoint } = this;
    const { refusals, calls, idempotentCalls, requestWorkers, bodyBudgets, spoolDirectory } = this.dependencies;
    const { operation } = endpoint;
    const { request, response, id: requestId } = exchange;
    const { headers } = request;
    const client = new Client(response, operation);
    // Awaited even if the result is cached: in the meantime, Node receives a body that arrived together with the headers.
    const principal = await refusals.identify(subject, endpoint.path, endpoint.credential, report);
    const tags = headers[TAGS_HEADER] === undefined ? null : readTags(headers);
    const limits = { sizeBytesMax: endpoint.bodyLimitBytes, idleTimeoutMs: settings.config.server.uploadIdleTimeout };
    const fingerprint = isRepeatable(request, settings) ? new Fingerprint(endpoint.path) : null;
    const owner: BodyOwner = {
      tenant: principal,
      budgets: bodyBudgets,
      look: () => this.#precheckUnlessRepeat(request, { ...principal, policy: endpoint, settings }),
    };

    function run(input: CallInput): Promise<void> {
      const isRecorded = (tags ?? settings.recording ?? principal.recording) !== null;
      const { clientAddress } = report;
      const sources = { clientAddress, userAgent: headers['user-agent'], tags, endUser: () => input.endUser() };
      const caller = isRecorded ? callerOf(sources, settings.recording, principal.recording) : null;
      const asked = { policy: endpoint, principal, headers, input, requestId, client };
      const call = { ...asked, settings, report, claim: null, caller };
      report.isStream = input.isStream;
      report.modelAsked = input.model;
      // A stream is not stored, so its idempotency key is ignored.
      const key = fingerprint === null || input.isStream ? null : readIdempotencyKey(request);
      if (key === null) return calls.run(call);
      return idempotentCalls.run(calls, call, { idempotencyKey: key, fingerprint: fingerprint!.digest() });
    }

    try {
      if ('read' in operation) {
        requireJson(request);
        const consume = fingerprint === null ? null : (piece: Buffer) => fingerprint.add(piece);
        const reading = readBody(request, response, limits, consume, owner);
        const sent = reading instanceof Promise ? await reading : reading;
        try {
          const soon = requestWorkers.read(operation, sent.bytes, principal);
          const { facts, body } = soon instanceof Promise ? await soon : soon;
          await run(operation.toInput(facts, body));
        } finally {
          sent.release();
        }
      } else {
        const reader = operation.receive(headers['content-type'], fingerprint);
        const spoolLimits = { ...limits, directory: spoolDirectory };
        const stored = await spoolBody(request, response, spoolLimits, (chunk) => reader.push(chunk), owner);
        try {
          await run(reader.finish(stored));
        } finally {
          await stored.remove();
        }
      }
    } catch (error) {
      exchange.headers = client.headers;
      throw error;
    } finally {
      report.chunks = client.chunks;
    }
  }

  /** Checks limits before the body is read, except for a repeated idempotent request, which gets the stored response. */
  async #precheckUnlessRepeat(request: IncomingMessage, call: PrecheckRequest): Promise<void> {
    const { admission, idempotentCalls } = this.dependencies;
    try {
      await admission.precheck(call);
    } catch (refusal) {
      if (!(await idempotentCalls.isRepeat(call, usableIdempotencyKey(request)))) throw refusal;
    }
  }
}

function isRepeatable({ headers }: IncomingMessage, { config }: Settings): boolean {
  return headers['idempotency-key'] !== undefined && config.idempotency.keepFor > 0;
}
