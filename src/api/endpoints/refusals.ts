import type { IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';
import { isApiKey } from '../../accounting/accounts/key-format.ts';
import { type Principal, type Principals, principalHash } from '../../accounting/accounts/principals.ts';
import type { CallReport } from '../../calls/call-request.ts';
import type { IdempotentCalls } from '../../calls/idempotency/idempotent-call.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { ClientAddresses } from '../../http/client-address.ts';
import { type CredentialForms, readCredential } from '../../http/credentials.ts';
import { usableIdempotencyKey } from '../../http/idempotency-key.ts';
import type { RefusalBrake } from '../../http/refusal-brake.ts';
import type { Soon } from '../../lib/soon.ts';

/** Costs against the rate of refusals: 1 for a refusal that needed the database or guesses, a quarter for any other. */
const DATABASE_COST = 1;
const REQUEST_COST = 0.25;

interface RefusalParts {
  readonly principals: Principals;
  readonly addresses: ClientAddresses;
  readonly brake: RefusalBrake;
  readonly idempotentCalls: Pick<IdempotentCalls, 'isRepeat'>;
}

/** What refusals of a request count against: the address that sends it, and once that is known its account. */
export interface RefusalSubject {
  readonly request: IncomingMessage;
  /** The account or address that a refusal of the request counts against. */
  name: string;
  /** The request for which a refusal is remembered; empty: for none. */
  place: string;
}

export type Refusals = ReturnType<typeof createRefusals>;

/** Authenticates requests, and delays the refusals of accounts and addresses that are refused too often. */
export function createRefusals({ principals, addresses, brake, idempotentCalls }: RefusalParts) {
  /** Judges a request of a key that is valid. */
  function accept(subject: RefusalSubject, path: string, principal: Principal): Soon<Principal> {
    const { request } = subject;
    // Before anything of the account: who may not use the key learns nothing of it, and does not count against it.
    const { allowedNetworks } = principal;
    if (allowedNetworks !== null && !allowedNetworks.has(addresses.exactOf(request))) {
      throw new GatewayError('networkNotAllowed');
    }
    if (!principal.mayCall) throw new GatewayError('scopeNotAllowed');
    subject.name = `account ${principal.accountId}`;
    subject.place = `${principal.keyId} ${path}`;
    const refusal = brake.recall(subject.name, subject.place);
    if (refusal === null) return principal;
    if (request.headers['idempotency-key'] === undefined) throw refusal;
    return unlessRepeat(request, principal, refusal).then(() => principal);
  }

  async function unlessRepeat(request: IncomingMessage, principal: Principal, refusal: GatewayError): Promise<void> {
    if (!(await idempotentCalls.isRepeat(principal, usableIdempotencyKey(request)))) throw refusal;
  }

  return {
    /** The subject of a request of which nothing is known but the address. */
    subjectOf: (request: IncomingMessage): RefusalSubject => ({
      request,
      name: `address ${addresses.ofRequest(request)}`,
      place: '',
    }),

    /**
     * @throws GatewayError, or rejects with it, if the key is not valid, or not from the client's network, or if the account was refused the same
     * request a moment ago.
     */
    identify(
      subject: RefusalSubject,
      path: string,
      forms: CredentialForms,
      report: Pick<CallReport, 'principal'>,
    ): Soon<Principal> {
      const { request, name: address } = subject;
      const key = readCredential(request, forms, isApiKey);
      const place = principalHash(key);
      subject.place = place;
      const known = brake.recall(address, place);
      if (known !== null) {
        report.principal = principals.holderOf(place);
        throw known;
      }
      if (brake.isSaturated(address) && !principals.isCached(place)) {
        throw new GatewayError('overloaded', { headers: { 'retry-after': '1' } });
      }
      const principal = principals.authenticate(key, place, report);
      return principal instanceof Promise
        ? principal.then((found) => accept(subject, path, found))
        : accept(subject, path, principal);
    },

    /** The request was served. */
    served({ name, place }: RefusalSubject): void {
      // The end of a call releases its reservation, so what was refused before may be admitted now.
      if (place !== '') brake.forget(name);
    },

    /** Delays the error of a request, if it is a refusal and its account or address is refused too often. */
    async slowDown({ name, place }: RefusalSubject, error: unknown, reply: FastifyReply): Promise<void> {
      const cost = error instanceof GatewayError ? costOf(error) : 0;
      if (cost === 0) {
        brake.forget(name);
        return;
      }
      const isSlowed = brake.hold(name, cost);
      const { kind, isMoney } = error as GatewayError;
      // What follows from the state of the account alone, whatever the request asks for, comes again.
      if (isMoney || (kind === 'invalidApiKey' && place !== '')) brake.remember(name, place, error as GatewayError);
      if (!(await isSlowed)) reply.header('connection', 'close');
    },
  };
}

/** The cost of a refusal; 0 for a failure of the gateway, and for a provider's own error. */
function costOf({ kind, status }: GatewayError): number {
  if (kind === 'upstreamRefused' || kind === 'requestTimeout' || kind === 'malformedHttp') return 0;
  if (kind === 'noHealthyRoute' || kind === 'overloaded') return REQUEST_COST;
  if (status >= 500) return 0;
  // A key from a wrong network costs its address as much as a wrong key, so that stolen keys are not tried any faster.
  const isOfCredential = kind === 'invalidApiKey' || kind === 'networkNotAllowed' || kind === 'scopeNotAllowed';
  const asksDatabase = isOfCredential || status === 402 || status === 429;
  return asksDatabase ? DATABASE_COST : REQUEST_COST;
}
