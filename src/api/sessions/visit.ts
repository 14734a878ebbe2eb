import { randomFillSync } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { ClientAddresses } from '../../http/client-address.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Actor, UserActor } from '../../people/actor.ts';
import { createSecretToken, hashSecretToken } from '../../people/secret-token.ts';
import type { SessionStore, SessionTimes } from '../../people/session-store.ts';
import type { CredentialReader } from '../management/guard.ts';
import { flowCookie, isSecureRequest, sessionCookie } from './session-cookie.ts';

export interface VisitDependencies {
  readonly sessions: SessionStore;
  readonly sessionTimes: () => SessionTimes;
  readonly sessionReader: CredentialReader;
  readonly publicUrl: () => string | null;
  readonly addresses: ClientAddresses;
  readonly clock: Clock;
  readonly ids: Ids;
}

const USER_AGENT_LENGTH_MAX = 200;

export class Visit {
  /** Who makes the request. A visitor who uses a link becomes a user. */
  actor: Actor;
  /** Whether something has changed. A link is used up even if its user may no longer sign in. */
  hasChanged = false;
  readonly #dependencies: VisitDependencies;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;

  constructor(dependencies: VisitDependencies, request: FastifyRequest, reply: FastifyReply, actor: Actor) {
    this.#dependencies = dependencies;
    this.#request = request;
    this.#reply = reply;
    this.actor = actor;
  }

  /** The signed-in user. Only endpoints that require one may read it. */
  get user(): UserActor {
    if (this.actor.kind !== 'user') throw new Error('this endpoint does not require a signed-in user');
    return this.actor;
  }

  /** Network by which attempts to sign in are counted. */
  get network(): string {
    return this.#dependencies.addresses.ofRequest(this.#request.raw);
  }

  /** Where the request comes from, for the audit log. */
  get source(): { readonly clientAddress: string | null; readonly requestId: string } {
    const clientAddress = this.#dependencies.addresses.exactOf(this.#request.raw);
    return { clientAddress: clientAddress === '' ? null : clientAddress, requestId: this.#request.id };
  }

  async findUser(): Promise<UserActor | null> {
    const actor = await this.#dependencies.sessionReader({ request: this.#request, bearer: null });
    return actor?.kind === 'user' ? actor : null;
  }

  /**
   * Begins a session. Returns its id; `null` if the user may no longer sign in. `checkedHash`: the hash that the password matched; `null`
   * if a link has just set the password. `authenticatedAtMs`: when the user proved the identity; `null`: unknown.
   */
  async beginSession(
    userId: string,
    checkedHash: string | null,
    authenticatedAtMs: number | null = this.#dependencies.clock.nowMs(),
  ): Promise<string | null> {
    const { sessions, sessionTimes, clock, ids, addresses } = this.#dependencies;
    const token = createSecretToken(randomFillSync);
    const id = ids.next('ses');
    const session = {
      id,
      userId,
      tokenHash: hashSecretToken(token),
      clientAddress: addresses.exactOf(this.#request.raw),
      userAgent: userAgentOf(this.#request),
      atMs: clock.nowMs(),
      authenticatedAtMs,
    };
    if (!(await sessions.begin(session, checkedHash))) return null;
    this.#setCookie(sessionCookie.set(token, this.#isSecure, sessionTimes().maxMs));
    return id;
  }

  forgetSession(): void {
    this.#setCookie(sessionCookie.end(this.#isSecure));
  }

  /** Identifies the pending OpenID sign-in of this browser; `null`: there is none. */
  get flowHandle(): string | null {
    return flowCookie.read(this.#request.raw, this.#isSecure);
  }

  keepFlow(handle: string, maxMs: number): void {
    this.#setCookie(flowCookie.set(handle, this.#isSecure, maxMs));
  }

  forgetFlow(): void {
    this.#setCookie(flowCookie.end(this.#isSecure));
  }

  #setCookie(cookie: string): void {
    this.#reply.header('set-cookie', cookie);
  }

  get #isSecure(): boolean {
    return isSecureRequest(this.#request.raw, this.#dependencies.publicUrl(), this.#dependencies.addresses);
  }
}

/** Returns the user agent. Header values can contain control characters for terminals, so all characters but plain ones are removed. */
function userAgentOf({ headers }: FastifyRequest): string | null {
  const text = (headers['user-agent'] ?? '').replace(/[^\x20-\x7e]/g, '').slice(0, USER_AGENT_LENGTH_MAX);
  return text === '' ? null : text;
}

export function requirePerson(actor: Actor): Actor {
  if (actor.kind === 'user') return actor;
  throw new GatewayError('roleNotAllowed', { message: 'Only a signed-in person may use this address.' });
}
