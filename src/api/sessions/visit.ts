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

export interface VisitParts {
  readonly sessions: SessionStore;
  readonly sessionTimes: () => SessionTimes;
  readonly sessionReader: CredentialReader;
  /** The configured address that people reach the gateway at; `null` if there is none. */
  readonly publicUrl: () => string | null;
  readonly addresses: ClientAddresses;
  readonly clock: Clock;
  readonly ids: Ids;
}

const USER_AGENT_LENGTH_MAX = 200;

/** A request at the addresses by which people sign in and look after themselves. */
export class Visit {
  /** Who it is from; a visitor becomes a person by a link. */
  actor: Actor;
  /** A link is used up also if its person may not sign in any more. */
  hasChanged = false;
  readonly #parts: VisitParts;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;

  constructor(parts: VisitParts, request: FastifyRequest, reply: FastifyReply, actor: Actor) {
    this.#parts = parts;
    this.#request = request;
    this.#reply = reply;
    this.actor = actor;
  }

  /** The person who has signed in, at addresses that need one. */
  get user(): UserActor {
    if (this.actor.kind !== 'user') throw new Error('the address lets others in than persons');
    return this.actor;
  }

  /** By which attempts to sign in are counted. */
  get network(): string {
    return this.#parts.addresses.ofRequest(this.#request.raw);
  }

  /** The person who has signed in, at addresses that do not need one. */
  async findUser(): Promise<UserActor | null> {
    const actor = await this.#parts.sessionReader({ request: this.#request, bearer: null });
    return actor?.kind === 'user' ? actor : null;
  }

  /**
   * Begins a session and sets its cookie. Returns its id, or `null` where the user may not sign in any more.
   *
   * @param checkedHash the stored form of the password that was checked; `null` if a link has just set it.
   * @param authenticatedAtMs when the person proved who it is; absent: just now, `null`: nobody knows.
   */
  async beginSession(
    userId: string,
    checkedHash: string | null,
    authenticatedAtMs: number | null = this.#parts.clock.nowMs(),
  ): Promise<string | null> {
    const { sessions, sessionTimes, clock, ids, addresses } = this.#parts;
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

  /** Removes the cookie from the browser. */
  forgetSession(): void {
    this.#setCookie(sessionCookie.end(this.#isSecure));
  }

  /** The handle of the sign-in at a provider that this browser has begun, if any. */
  get flowHandle(): string | null {
    return flowCookie.read(this.#request.raw, this.#isSecure);
  }

  /** Lets the browser keep the handle of such a sign-in. */
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
    return isSecureRequest(this.#request.raw, this.#parts.publicUrl(), this.#parts.addresses);
  }
}

/** Header values are Latin-1 and may have what a terminal obeys; only what is plainly shown is kept. */
function userAgentOf({ headers }: FastifyRequest): string | null {
  const text = (headers['user-agent'] ?? '').replace(/[^\x20-\x7e]/g, '').slice(0, USER_AGENT_LENGTH_MAX);
  return text === '' ? null : text;
}

/** @throws GatewayError `roleNotAllowed` if it is a program. */
export function requirePerson(actor: Actor): Actor {
  if (actor.kind === 'user') return actor;
  throw new GatewayError('roleNotAllowed', { message: 'Only a person who has signed in may use this address.' });
}
