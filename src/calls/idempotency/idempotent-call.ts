import { createHash, hash } from 'node:crypto';
import type { CallKey, StoredFailure, StoredResponse } from '../../accounting/repeats/stored-response.ts';
import type { StoredResponseBudget, Taken } from '../../accounting/repeats/stored-response-budget.ts';
import type { StoredResponses } from '../../accounting/repeats/stored-responses.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { CallRequest } from '../call-request.ts';
import type { CallRunner } from '../call-runner.ts';
import { REPEATED_HEADER } from '../relay/call-headers.ts';
import type { Client } from '../relay/client.ts';
import { SOON } from '../retry-after.ts';
import type { Settings } from '../settings.ts';

interface RepeatableCall {
  readonly idempotencyKey: string;
  readonly fingerprint: string;
}

interface IdempotentCallDependencies {
  readonly storedResponses: StoredResponses;
  readonly budget: Pick<StoredResponseBudget, 'takeMemory'>;
  readonly settings: () => Settings;
}

export class IdempotentCalls {
  readonly #dependencies: IdempotentCallDependencies;

  constructor(dependencies: IdempotentCallDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Whether the request repeats a call, which still runs or has a stored response. Repeats are served even if the account has reached a
   * limit.
   * @throws GatewayError `databaseDown`
   */
  async isRepeat(
    { accountId, keyId }: Pick<CallKey, 'accountId' | 'keyId'>,
    idempotencyKey: string | null,
  ): Promise<boolean> {
    const { storedResponses, settings } = this.#dependencies;
    if (idempotencyKey === null || settings().config.idempotency.keepFor === 0) return false;
    return storedResponses.isKnown({ accountId, keyId, idempotencyKey: storedKey(idempotencyKey) });
  }

  /**
   * The first call with a key runs, and repeats get its response.
   * @throws GatewayError `conflict` if the key was used for a different request, the response was too large to store, or too many repeats
   * wait; and the errors of the call
   */
  async run(
    calls: Pick<CallRunner, 'run'>,
    request: CallRequest,
    { idempotencyKey, fingerprint }: RepeatableCall,
  ): Promise<void> {
    const { storedResponses, budget } = this.#dependencies;
    const { client, principal, settings } = request;
    const { accountId, keyId } = principal;
    const keyed = { accountId, keyId, idempotencyKey: storedKey(idempotencyKey), fingerprint };
    const gone = Promise.withResolvers<void>();
    client.onGone(gone.resolve);
    const waiter = {
      gone: gone.promise,
      get isGone() {
        return client.isGone;
      },
    };
    const result = await storedResponses.claim(keyed, waiter, principal);
    switch (result.state) {
      case 'claimed':
        request.claim = result.claim;
        try {
          await calls.run(request);
        } finally {
          result.claim.close();
        }
        return;
      case 'answered':
        request.report.isRepeat = true;
        sendAgain(client, result.response, settings.config.server.callHeaders, (bodyBytes) =>
          budget.takeMemory(principal, bodyBytes),
        );
        return;
      case 'other_request':
        throw new GatewayError('conflict', {
          message: 'This Idempotency-Key was used for another request. Use a new key for a new request.',
          param: 'Idempotency-Key',
        });
      case 'crowded':
        throw new GatewayError('conflict', {
          message: 'Too many repeats of the call with this Idempotency-Key wait for its response. Try again shortly.',
          param: 'Idempotency-Key',
          retry: 'yes',
          headers: SOON,
        });
      case 'given_up':
        throw new GatewayError('shuttingDown', { headers: { connection: 'close' } });
      default:
        result satisfies never;
    }
  }
}

const storedKey = (idempotencyKey: string): string => hash('sha256', idempotencyKey, 'base64url');

/**
 * Sends a stored response again.
 * @throws GatewayError the stored failure; `conflict` without a stored response; `overloaded` if there is no memory to send it
 */
function sendAgain(
  client: Client,
  { head, body }: StoredResponse,
  showsCallHeaders: boolean,
  takeMemory: (bodyBytes: number) => Taken | null,
): void {
  if (showsCallHeaders) client.setHeaders({ headers: { ...head.callHeaders, ...REPEATED_HEADER }, rateHeaders: null });
  if ('error' in head) throw restoreFailure(head);
  if (body === null) {
    const reason = head.hasNoRoom
      ? 'there was no capacity left to store its response'
      : 'its response is too large to be stored for repeats';
    throw new GatewayError('conflict', {
      message:
        `The call with this Idempotency-Key was carried out and charged, but ${reason}. ` +
        'Use a new key to call, and pay, again.',
      param: 'Idempotency-Key',
    });
  }
  if (client.isGone) return;
  // The client may read slowly, so memory is reserved for the response.
  const memory = takeMemory(body.length);
  if (memory === null) throw new GatewayError('overloaded', { headers: SOON });
  client.onClosed(() => memory.release());
  client.begin(head.status, { ...head.headers, 'content-length': body.length });
  client.end(body);
}

function restoreFailure({ error }: StoredFailure): GatewayError {
  const { kind, param, type, ...rest } = error;
  return new GatewayError(kind, {
    ...rest,
    ...(param === null ? {} : { param }),
    ...(type === null ? {} : { type }),
  });
}

export class Fingerprint {
  readonly #hash;

  constructor(path: string) {
    this.#hash = createHash('sha256').update(path).update('\n');
  }

  add(bytes: Buffer | string): this {
    this.#hash.update(bytes);
    return this;
  }

  digest(): string {
    return this.#hash.digest('base64url');
  }
}
