import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal, Principals } from '../../accounting/accounts/principals.ts';
import type { ErrorKind } from '../../errors/catalogue.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { ClientAddresses } from '../../http/client-address.ts';
import { type CredentialForms, readCredential } from '../../http/credentials.ts';
import type { RefusalBrake } from '../../http/refusal-brake.ts';

/** Refusals that follow from the state of an account alone, whatever the request asks for: the same one comes again. */
const STATE_REFUSALS: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  'insufficientBalance',
  'balanceDailyLimitExceeded',
  'insufficientPackage',
  'packageExpired',
  'packageFiveHourQuotaExhausted',
  'packageWeeklyQuotaExhausted',
  'packageTokensExhausted',
  'keySpendLimitReached',
  'keyCallsLimitReached',
]);

/** What asks the database costs a whole refusal of the rate, what a look at the request shows a quarter of one. */
const DATABASE_COST = 1;
const REQUEST_COST = 0.25;

export interface RefusalParts {
  readonly principals: Principals;
  readonly addresses: ClientAddresses;
  readonly brake: RefusalBrake;
}

/** Finds out who sends a request, and slows down those who are refused again and again. */
export interface Refusals {
  /** @throws GatewayError where nobody can be found, or where the account was refused the same a moment ago. */
  identify(request: IncomingMessage, path: string, forms: CredentialForms): Promise<Principal>;
  /** Serves a request; a refusal of one who is refused too often leaves later. */
  slowDown(request: FastifyRequest, reply: FastifyReply, served: Promise<void>): Promise<void>;
}

export function createRefusals({ principals, addresses, brake }: RefusalParts): Refusals {
  /** Whom the refusal of a request is counted against, and what it may be remembered for. */
  const subjects = new WeakMap<IncomingMessage, { readonly name: string; readonly place: string }>();

  return {
    async identify(request, path, forms) {
      const key = readCredential(request, forms);
      const address = `address ${addresses.ofRequest(request)}`;
      const place = hash('sha256', key, 'base64');
      const known = brake.recall(address, place);
      subjects.set(request, { name: address, place });
      if (known !== null) throw known;
      if (brake.isSaturated(address) && !principals.isCached(key)) {
        throw new GatewayError('overloaded', { headers: { 'retry-after': '1' } });
      }
      const principal = await principals.authenticate(key);
      const account = { name: `account ${principal.accountId}`, place: `${principal.keyId} ${path}` };
      subjects.set(request, account);
      // A repeat may have an answer that is kept.
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
          const { kind } = error as GatewayError;
          if (STATE_REFUSALS.has(kind) || (kind === 'invalidApiKey' && subject.place !== '')) {
            brake.remember(subject.name, subject.place, error as GatewayError);
          }
          if (!(await isSlowed)) reply.header('connection', 'close');
          throw error;
        }
        brake.forget(subject.name);
        throw error;
      }
      const subject = subjects.get(request.raw);
      // The end of a call gives back what it held.
      if (subject !== undefined) brake.forget(subject.name);
    },
  };
}

/** 0 where the gateway did not refuse: a failure of its own, or what a provider answered. */
function costOf({ kind, status }: GatewayError): number {
  if (kind === 'upstreamRefused' || kind === 'requestTimeout' || kind === 'malformedHttp') return 0;
  if (kind === 'noHealthyRoute' || kind === 'overloaded') return REQUEST_COST;
  if (status >= 500) return 0;
  const asksDatabase = kind === 'invalidApiKey' || status === 402 || status === 429;
  return asksDatabase ? DATABASE_COST : REQUEST_COST;
}
