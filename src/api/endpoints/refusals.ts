import type { IncomingMessage, ServerResponse } from 'node:http';
import { isApiKey } from '../../accounting/accounts/key-format.ts';
import { type Principal, type Principals, principalHash } from '../../accounting/accounts/principals.ts';
import type { CallReport } from '../../calls/call-request.ts';
import type { IdempotentCalls } from '../../calls/idempotency/idempotent-call.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { ClientAddresses } from '../../http/client-address.ts';
import { type CredentialForms, readCredential } from '../../http/credentials.ts';
import { usableIdempotencyKey } from '../../http/idempotency-key.ts';
import type { RefusalThrottle } from '../../http/refusal-throttle.ts';
import type { Soon } from '../../lib/soon.ts';

/** Cost of a refusal for the refusal throttle if the credential was wrong or the database was queried. The next one is for all others. */
const DATABASE_COST = 1;
const REQUEST_COST = 0.25;

interface RefusalDependencies {
  readonly principals: Principals;
  readonly addresses: ClientAddresses;
  readonly throttle: RefusalThrottle;
  readonly idempotentCalls: Pick<IdempotentCalls, 'isRepeat'>;
}

/** By whom a refusal counts: by client address or, once the request is authenticated, by account. */
export interface RefusalSubject {
  readonly request: IncomingMessage;
  /** The account, or `address …`. */
  name: string;
  /** Key under which the refusal is remembered; empty: it is not remembered. */
  place: string;
}

export class Refusals {
  readonly #dependencies: RefusalDependencies;

  constructor(dependencies: RefusalDependencies) {
    this.#dependencies = dependencies;
  }

  subjectOf(request: IncomingMessage): RefusalSubject {
    return { request, name: `address ${this.#dependencies.addresses.ofRequest(request)}`, place: '' };
  }

  /** Authenticates a request. @throws GatewayError if the key may not be used here, or if the same request was refused a moment ago */
  identify(
    subject: RefusalSubject,
    path: string,
    forms: CredentialForms,
    report: Pick<CallReport, 'principal'>,
  ): Soon<Principal> {
    const { principals, throttle } = this.#dependencies;
    const { request, name: address } = subject;
    const key = readCredential(request, forms, isApiKey);
    const place = principalHash(key);
    subject.place = place;
    const known = throttle.recall(address, place);
    if (known !== null) {
      report.principal = principals.tenantOf(place);
      throw known;
    }
    if (throttle.isSaturated(address) && !principals.isCached(place)) {
      throw new GatewayError('overloaded', { headers: { 'retry-after': '1' } });
    }
    const principal = principals.authenticate(key, place, report);
    return principal instanceof Promise
      ? principal.then((found) => this.#accept(subject, path, found))
      : this.#accept(subject, path, principal);
  }

  served({ name, place }: RefusalSubject): void {
    // The call has released its reservation, so what was refused during the call may be admitted now.
    if (place !== '') this.#dependencies.throttle.forget(name);
  }

  /**
   * Delays the error response of a throttled subject. If too many responses are delayed already, the connection is closed after this one.
   */
  async slowDown({ name, place }: RefusalSubject, error: unknown, response: ServerResponse): Promise<void> {
    const { throttle } = this.#dependencies;
    const cost = error instanceof GatewayError ? costOf(error) : 0;
    if (cost === 0) {
      throttle.forget(name);
      return;
    }
    const isSlowed = throttle.hold(name, cost);
    const { kind, isMoney } = error as GatewayError;
    // A refusal because of the account's state is remembered: it applies to every next request, whatever that contains.
    if (isMoney || (kind === 'invalidApiKey' && place !== '')) throttle.remember(name, place, error as GatewayError);
    if (!(await isSlowed)) response.shouldKeepAlive = false;
  }

  #accept(subject: RefusalSubject, path: string, principal: Principal): Soon<Principal> {
    const { addresses, throttle } = this.#dependencies;
    const { request } = subject;
    // Networks are checked first: a client that may not use the key must not learn about the account, and must not count for it.
    const { allowedNetworks } = principal;
    if (allowedNetworks !== null && !allowedNetworks.has(addresses.exactOf(request))) {
      throw new GatewayError('networkNotAllowed');
    }
    if (!principal.mayCall) throw new GatewayError('scopeNotAllowed');
    subject.name = `account ${principal.accountId}`;
    subject.place = `${principal.keyId} ${path}`;
    const refusal = throttle.recall(subject.name, subject.place);
    if (refusal === null) return principal;
    if (request.headers['idempotency-key'] === undefined) throw refusal;
    return this.#unlessRepeat(request, principal, refusal);
  }

  async #unlessRepeat(request: IncomingMessage, principal: Principal, refusal: GatewayError): Promise<Principal> {
    if (await this.#dependencies.idempotentCalls.isRepeat(principal, usableIdempotencyKey(request))) return principal;
    throw refusal;
  }
}

/** Returns the cost of an error for the refusal throttle. Failures of the gateway and errors of the provider cost nothing. */
function costOf({ kind, status }: GatewayError): number {
  if (kind === 'upstreamRefused' || kind === 'requestTimeout' || kind === 'malformedHttp') return 0;
  if (kind === 'noHealthyRoute' || kind === 'overloaded') return REQUEST_COST;
  if (status >= 500) return 0;
  // These three cost the same. Otherwise stolen keys could be tried faster than guessed ones.
  const isOfCredential = kind === 'invalidApiKey' || kind === 'networkNotAllowed' || kind === 'scopeNotAllowed';
  const asksDatabase = isOfCredential || status === 402 || status === 429;
  return asksDatabase ? DATABASE_COST : REQUEST_COST;
}
