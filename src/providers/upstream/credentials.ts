import { CredentialFileError, type NamedCredential, readCredentialFile } from '../../config/provider-credentials.ts';
import { rendezvousOrder } from '../routing/rendezvous.ts';
import { endsRest, isRemembered, type RateLimit, type Rest, restAfter } from './rest.ts';

/**
 * The credentials of the operator's account at a provider. They are used by turns. One that the provider refuses is left
 * out for a while; one that has had too many calls of a model rests for that model. A credential that is refused or rests
 * is used all the same if there is no other one.
 */

/** How long a credential that the provider has refused is left out while there are others. */
export const REFUSED_MS = 10 * 60_000;

/** A credential as an operator sees it: without its value. */
export interface CredentialStatus {
  readonly name: string;
  readonly file: string | null;
  readonly state: 'active' | 'resting' | 'refused';
  /** The status with which the provider refused it. */
  readonly status: number | null;
  readonly triedAgainAtMs: number | null;
}

/** How many credentials are in which state; one that rests for any model counts as resting. */
export type CredentialCounts = { readonly [State in CredentialStatus['state']]: number };

interface CredentialState extends NamedCredential {
  refusal: { readonly status: number; readonly atMs: number } | null;
  /** By the provider's name of the model. */
  rests: Map<string, Rest>;
}

export class Credentials {
  readonly #readFile: (path: string) => string;
  readonly #onCredential: (value: string) => void;
  #credentials: CredentialState[] = [];
  #turn = 0;

  /** `onCredential` gets the value of each credential before it is used, so that it can be kept out of messages. */
  constructor(
    credentials: readonly NamedCredential[],
    onCredential: (value: string) => void,
    readFile = readCredentialFile,
  ) {
    this.#onCredential = onCredential;
    this.#readFile = readFile;
    this.replace(credentials);
  }

  /** Takes over the credentials of a configuration. Those that were refused are tried again; rests go on. */
  replace(credentials: readonly NamedCredential[]): void {
    const before = this.#credentials;
    this.#credentials = [];
    for (const credential of credentials) {
      // Two files may hold the same credential while they are exchanged one after the other.
      if (this.#find(credential.value) !== undefined) continue;
      this.#onCredential(credential.value);
      const rests = before.find(({ value }) => value === credential.value)?.rests ?? new Map<string, Rest>();
      this.#credentials.push({ ...credential, refusal: null, rests });
    }
  }

  /**
   * The value of the credential to be used next for a call of the model, which has tried some already; `null` if no other
   * one is left. `mayRest`: also one that rests. `session`: the calls of a session take the first one of an order of their own, since
   * prompts are cached by account of the vendor; without one they go around.
   */
  next(
    model: string,
    tried: readonly string[],
    mayRest: boolean,
    nowMs: number,
    session: string | null = null,
  ): string | null {
    const isUsable = (credential: CredentialState): boolean =>
      !tried.includes(credential.value) && !isLeftOut(credential, nowMs) && restsUntilMs(credential, model) <= nowMs;
    const next =
      session === null || !this.isChoice ? this.#nextAround(isUsable) : this.#orderOf(session).find(isUsable);
    if (next !== undefined) return next.value;
    const untried = this.#credentials.filter(({ value }) => !tried.includes(value));
    const resting = untried.filter((credential) => !isLeftOut(credential, nowMs));
    if (resting.length > 0) {
      return mayRest ? firstBy(resting, (credential) => restsUntilMs(credential, model)).value : null;
    }
    // All are refused: the call tries the one for which that is known longest, and no other.
    return tried.length > 0 ? null : firstBy(untried, ({ refusal }) => refusal!.atMs).value;
  }

  #nextAround(isUsable: (credential: CredentialState) => boolean): CredentialState | undefined {
    const count = this.#credentials.length;
    for (let i = 0; i < count; i++) {
      const at = (this.#turn + i) % count;
      const credential = this.#credentials[at]!;
      if (!isUsable(credential)) continue;
      this.#turn = (at + 1) % count;
      return credential;
    }
    return undefined;
  }

  #orderOf(session: string): CredentialState[] {
    return rendezvousOrder(session, this.#credentials, ({ name }) => ({ name, weight: 1 }));
  }

  /** Whether there are several. */
  get isChoice(): boolean {
    return this.#credentials.length > 1;
  }

  /** When the first credential that is not left out has rested for the model; 0 if all are left out. */
  restsUntilMs(model: string, nowMs: number): number {
    let untilMs = Number.POSITIVE_INFINITY;
    for (const credential of this.#credentials) {
      if (!isLeftOut(credential, nowMs)) untilMs = Math.min(untilMs, restsUntilMs(credential, model));
    }
    return untilMs === Number.POSITIVE_INFINITY ? 0 : untilMs;
  }

  /**
   * The provider has refused a credential. One from a file is read again: if it has been exchanged, the new one is used
   * at once, also before the configuration is reloaded.
   */
  refused(value: string, status: number, nowMs: number): void {
    const credential = this.#find(value);
    // It has been exchanged since the call began.
    if (credential === undefined) return;
    const inFile = this.#readAgain(credential);
    if (inFile === value || this.#find(inFile) !== undefined) {
      credential.refusal = { status, atMs: nowMs };
      return;
    }
    this.#onCredential(inFile);
    this.#credentials[this.#credentials.indexOf(credential)] = {
      ...credential,
      value: inFile,
      refusal: null,
      rests: new Map(),
    };
  }

  /** The provider has accepted a credential in a call of the model that was sent then. */
  accepted(value: string, model: string, sentAtMs: number): void {
    const credential = this.#find(value);
    const rest = credential?.rests.get(model);
    if (rest !== undefined && endsRest(rest, sentAtMs)) credential!.rests.delete(model);
    // A long stream may end well although its credential was withdrawn meanwhile.
    if (credential?.refusal != null && credential.refusal.atMs <= sentAtMs) credential.refusal = null;
  }

  /** A credential has had too many calls of the model, and rests for some time. */
  rest(value: string, model: string, limit: RateLimit): void {
    const rests = this.#find(value)?.rests;
    if (rests === undefined) return;
    for (const [other, rest] of rests) {
      if (!isRemembered(rest, limit.atMs)) rests.delete(other);
    }
    rests.set(model, restAfter(limit, rests.get(model)));
  }

  status(model: string, nowMs: number): CredentialStatus[] {
    return this.#credentials.map((credential) => {
      const { name, file, refusal } = credential;
      if (isLeftOut(credential, nowMs)) {
        const triedAgainAtMs = refusal!.atMs + REFUSED_MS;
        return { name, file, state: 'refused', status: refusal!.status, triedAgainAtMs };
      }
      const untilMs = restsUntilMs(credential, model);
      if (untilMs > nowMs) return { name, file, state: 'resting', status: 429, triedAgainAtMs: untilMs };
      return { name, file, state: 'active', status: null, triedAgainAtMs: null };
    });
  }

  counts(nowMs: number): CredentialCounts {
    const counts = { active: 0, resting: 0, refused: 0 };
    for (const credential of this.#credentials) {
      if (isLeftOut(credential, nowMs)) counts.refused++;
      else if ([...credential.rests.values()].some(({ untilMs }) => untilMs > nowMs)) counts.resting++;
      else counts.active++;
    }
    return counts;
  }

  /** The name of a credential, for the log; `null` if it has been exchanged. */
  nameOf(value: string): string | null {
    return this.#find(value)?.name ?? null;
  }

  #find(value: string): CredentialState | undefined {
    return this.#credentials.find((credential) => credential.value === value);
  }

  #readAgain({ file, value }: CredentialState): string {
    if (file === null) return value;
    try {
      return this.#readFile(file);
    } catch (error) {
      if (error instanceof CredentialFileError) return value;
      throw error;
    }
  }
}

function isLeftOut({ refusal }: CredentialState, nowMs: number): boolean {
  return refusal !== null && nowMs < refusal.atMs + REFUSED_MS;
}

function restsUntilMs({ rests }: CredentialState, model: string): number {
  return rests.get(model)?.untilMs ?? 0;
}

function firstBy(
  credentials: readonly CredentialState[],
  order: (credential: CredentialState) => number,
): CredentialState {
  return credentials.reduce((first, credential) => (order(credential) < order(first) ? credential : first));
}
