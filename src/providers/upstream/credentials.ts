import { CredentialFileError, type NamedCredential, readCredentialFile } from '../../config/provider-credentials.ts';
import { rendezvousOrder } from '../routing/rendezvous.ts';
import { type Cooldown, cooldownAfter, endsCooldown, isRemembered, type RateLimit } from './cooldown.ts';

/** The operator's credentials at a provider, in rotation. Refused credentials and those in cooldown are used only if no other is left. */

/** Time for which a refused credential is skipped while others are available. */
export const REFUSED_MS = 10 * 60_000;

export interface CredentialStatus {
  readonly name: string;
  readonly file: string | null;
  readonly state: 'active' | 'resting' | 'refused';
  readonly status: number | null;
  readonly triedAgainAtMs: number | null;
  /** When a call was last sent with it; `null`: none since the start of the process. */
  readonly usedAtMs: number | null;
}

export type CredentialCounts = { readonly [State in CredentialStatus['state']]: number };

interface CredentialState extends NamedCredential {
  refusal: { readonly status: number; readonly atMs: number } | null;
  cooldowns: Map<string, Cooldown>;
  usedAtMs: number | null;
}

export class Credentials {
  readonly #readFile: (path: string) => string;
  readonly #onCredential: (value: string) => void;
  #credentials: CredentialState[] = [];
  #nextIndex = 0;

  /** @param onCredential receives each credential before its first use, so that it can be removed from messages */
  constructor(
    credentials: readonly NamedCredential[],
    onCredential: (value: string) => void,
    readFile = readCredentialFile,
  ) {
    this.#onCredential = onCredential;
    this.#readFile = readFile;
    this.replace(credentials);
  }

  /** Applies the credentials of a new configuration. Refused ones are tried again; cooldowns continue. */
  replace(credentials: readonly NamedCredential[]): void {
    const before = this.#credentials;
    this.#credentials = [];
    for (const credential of credentials) {
      // While credential files are being replaced, two files can briefly have the same content.
      if (this.#find(credential.value) !== undefined) continue;
      this.#onCredential(credential.value);
      const former = before.find(({ value }) => value === credential.value);
      const cooldowns = former?.cooldowns ?? new Map<string, Cooldown>();
      this.#credentials.push({ ...credential, refusal: null, cooldowns, usedAtMs: former?.usedAtMs ?? null });
    }
  }

  /** Chooses the next credential. Calls of a session prefer the same one, because vendors cache prompts by account; other calls rotate. */
  next(
    model: string,
    tried: readonly string[],
    mayHaveCooldown: boolean,
    nowMs: number,
    session: string | null = null,
  ): string | null {
    const isUsable = (credential: CredentialState): boolean =>
      !tried.includes(credential.value) && !isSkipped(credential, nowMs) && cooldownUntilMs(credential, model) <= nowMs;
    let next = session === null || !this.isChoice ? this.#nextAround(isUsable) : this.#orderOf(session).find(isUsable);
    next ??= this.#nextOfSkipped(model, tried, mayHaveCooldown, nowMs);
    if (next === undefined) return null;
    next.usedAtMs = nowMs;
    return next.value;
  }

  /** A credential with a cooldown, or if all are refused, the one that was refused the longest time ago: it alone is tried. */
  #nextOfSkipped(
    model: string,
    tried: readonly string[],
    mayHaveCooldown: boolean,
    nowMs: number,
  ): CredentialState | undefined {
    const untried = this.#credentials.filter(({ value }) => !tried.includes(value));
    const accepted = untried.filter((credential) => !isSkipped(credential, nowMs));
    if (accepted.length > 0) {
      return mayHaveCooldown ? firstBy(accepted, (credential) => cooldownUntilMs(credential, model)) : undefined;
    }
    // If all credentials are refused, only the one with the oldest refusal is tried.
    return tried.length > 0 ? undefined : firstBy(untried, ({ refusal }) => refusal!.atMs);
  }

  #nextAround(isUsable: (credential: CredentialState) => boolean): CredentialState | undefined {
    const count = this.#credentials.length;
    for (let i = 0; i < count; i++) {
      const at = (this.#nextIndex + i) % count;
      const credential = this.#credentials[at]!;
      if (!isUsable(credential)) continue;
      this.#nextIndex = (at + 1) % count;
      return credential;
    }
    return undefined;
  }

  #orderOf(session: string): CredentialState[] {
    return rendezvousOrder(session, this.#credentials, ({ name }) => ({ name, weight: 1 }));
  }

  get isChoice(): boolean {
    return this.#credentials.length > 1;
  }

  /** Returns when the first cooldown for the model ends, among credentials that are not refused; 0 if all are refused. */
  cooldownUntilMs(model: string, nowMs: number): number {
    let untilMs = Number.POSITIVE_INFINITY;
    for (const credential of this.#credentials) {
      if (!isSkipped(credential, nowMs)) untilMs = Math.min(untilMs, cooldownUntilMs(credential, model));
    }
    return untilMs === Number.POSITIVE_INFINITY ? 0 : untilMs;
  }

  /** Called when the provider refuses a credential. If it is from a file that now contains a new value, that value is used at once. */
  refused(value: string, status: number, nowMs: number): void {
    const credential = this.#find(value);
    // A new configuration has replaced the credential since the call began.
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
      cooldowns: new Map(),
      usedAtMs: null,
    };
  }

  accepted(value: string, model: string, sentAtMs: number): void {
    const credential = this.#find(value);
    const cooldown = credential?.cooldowns.get(model);
    if (cooldown !== undefined && endsCooldown(cooldown, sentAtMs)) credential!.cooldowns.delete(model);
    // A success counts only if its call was sent after the refusal. During a long stream, the credential may have been revoked.
    if (credential?.refusal != null && credential.refusal.atMs <= sentAtMs) credential.refusal = null;
  }

  startCooldown(value: string, model: string, limit: RateLimit): void {
    const cooldowns = this.#find(value)?.cooldowns;
    if (cooldowns === undefined) return;
    for (const [other, cooldown] of cooldowns) {
      if (!isRemembered(cooldown, limit.atMs)) cooldowns.delete(other);
    }
    cooldowns.set(model, cooldownAfter(limit, cooldowns.get(model)));
  }

  status(model: string, nowMs: number): CredentialStatus[] {
    return this.#credentials.map((credential) => {
      const { name, file, refusal, usedAtMs } = credential;
      const facts = { name, file, usedAtMs };
      if (isSkipped(credential, nowMs)) {
        const triedAgainAtMs = refusal!.atMs + REFUSED_MS;
        return { ...facts, state: 'refused', status: refusal!.status, triedAgainAtMs };
      }
      const untilMs = cooldownUntilMs(credential, model);
      if (untilMs > nowMs) return { ...facts, state: 'resting', status: 429, triedAgainAtMs: untilMs };
      return { ...facts, state: 'active', status: null, triedAgainAtMs: null };
    });
  }

  counts(nowMs: number): CredentialCounts {
    const counts = { active: 0, resting: 0, refused: 0 };
    for (const credential of this.#credentials) {
      if (isSkipped(credential, nowMs)) counts.refused++;
      else if ([...credential.cooldowns.values()].some(({ untilMs }) => untilMs > nowMs)) counts.resting++;
      else counts.active++;
    }
    return counts;
  }

  /** Returns the name for the log; `null` if the credential was replaced. */
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

function isSkipped({ refusal }: CredentialState, nowMs: number): boolean {
  return refusal !== null && nowMs < refusal.atMs + REFUSED_MS;
}

function cooldownUntilMs({ cooldowns }: CredentialState, model: string): number {
  return cooldowns.get(model)?.untilMs ?? 0;
}

function firstBy(
  credentials: readonly CredentialState[],
  order: (credential: CredentialState) => number,
): CredentialState {
  return credentials.reduce((first, credential) => (order(credential) < order(first) ? credential : first));
}
