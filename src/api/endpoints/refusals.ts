import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isApiKey } from '../../accounting/accounts/key-format.ts';
import { type Principal, type Principals, principalHash } from '../../accounting/accounts/principals.ts';
import type { CallReport } from '../../calls/call-request.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { ClientAddresses } from '../../http/client-address.ts';
import { type CredentialForms, readCredential } from '../../http/credentials.ts';
import type { RefusalBrake } from '../../http/refusal-brake.ts';

/** Costs against the rate of refusals: 1 for a refusal that needed the database or guesses, a quarter for any other. */
const DATABASE_COST = 1;
const REQUEST_COST = 0.25;

interface RefusalParts {
  readonly principals: Principals;
  readonly addresses: ClientAddresses;
  readonly brake: RefusalBrake;
}

/** Authenticates requests, and delays the refusals of accounts and addresses that are refused too often. */
export interface Refusals {
  /**
   * @throws GatewayError if the key is not valid, or not from the client's network, or where the account was refused the same
   * request a moment ago.
   */
  identify(
    request: IncomingMessage,
    path: string,
    forms: CredentialForms,
    report: Pick<CallReport, 'principal'>,
  ): Promise<Principal>;
  /** Awaits a request that is being served; a refusal is delayed if its account or address is refused too often. */
  slowDown(request: FastifyRequest, reply: FastifyReply, served: Promise<void>): Promise<void>;
}

export function createRefusals({ principals, addresses, brake }: RefusalParts): Refusals {
  /** The account or address that a refusal counts against, and the request for which it is remembered. */
  const subjects = new WeakMap<IncomingMessage, { readonly name: string; readonly place: string }>();

  return {
    async identify(request, path, forms, report) {
      const key = readCredential(request, forms, isApiKey);
      const address = `address ${addresses.ofRequest(request)}`;
      const place = principalHash(key);
      const known = brake.recall(address, place);
      subjects.set(request, { name: address, place });
      if (known !== null) {
        report.principal = principals.holderOf(place);
        throw known;
      }
      if (brake.isSaturated(address) && !principals.isCached(place)) {
        throw new GatewayError('overloaded', { headers: { 'retry-after': '1' } });
      }
      const principal = await principals.authenticate(key, place, (holder) => {
        report.principal = holder;
      });
      // Before anything of the account: who may not use the key learns nothing of it, and does not count against it.
      const { allowedNetworks } = principal;
      if (allowedNetworks !== null && !allowedNetworks.has(addresses.exactOf(request))) {
        throw new GatewayError('networkNotAllowed');
      }
      if (!principal.mayCall) throw new GatewayError('scopeNotAllowed');
      const account = { name: `account ${principal.accountId}`, place: `${principal.keyId} ${path}` };
      subjects.set(request, account);
      // A repeat of an idempotent call may have a stored response.
      const refusal =
        request.headers['idempotency-key'] === undefined ? brake.recall(account.name, account.place) : null;
      if (refusal !== null) throw refusal;
      return principal;
    },

    async slowDown(request, reply, served) {
      try {
        await served;
      } catch (error) {
        const subject = subjects.get(request.raw) ?? { name: `address ${addresses.ofRequest(request.raw)}`, place: '' };
        const cost = error instanceof GatewayError ? costOf(error) : 0;
        if (cost > 0) {
          const isSlowed = brake.hold(subject.name, cost);
          const { kind, isMoney } = error as GatewayError;
          // What follows from the state of the account alone, whatever the request asks for, comes again.
          if (isMoney || (kind === 'invalidApiKey' && subject.place !== '')) {
            brake.remember(subject.name, subject.place, error as GatewayError);
          }
          if (!(await isSlowed)) reply.header('connection', 'close');
          throw error;
        }
        brake.forget(subject.name);
        throw error;
      }
      const subject = subjects.get(request.raw);
      // The end of a call releases its reservation, so what was refused before may be admitted now.
      if (subject !== undefined) brake.forget(subject.name);
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
