import type { IncomingHttpHeaders } from 'node:http';
import { CredentialFileError, type NamedCredential, readCredentialFile } from '../../config/provider-credentials.ts';
import { rendezvousOrder } from '../routing/rendezvous.ts';
import { type Cooldown, cooldownAfter, endsCooldown, isRemembered, type RateLimit } from './cooldown.ts';
import { noCredential } from './failure.ts';
import { type RenewedCredential, RenewedCredentials } from './renewed-credential.ts';
import { readVendorLimits, type VendorLimit, VendorLimits } from './vendor-limits.ts';

/** The operator's credentials at a provider, in rotation. Refused credentials and those in cooldown are used only if no other is left. */

/** Time for which a refused credential is skipped while others are available. */
export const REFUSED_MS = 10 * 60_000;

export interface CredentialStatus {
  readonly name: string;
  readonly file: string | null;
  /** Name of the command that prints it; `null`: none does. */
  readonly command: string | null;
  /** When it expires, if it is one of a command that said so. */
  readonly expiresAtMs: number | null;
  readonly state: 'active' | 'resting' | 'refused' | 'missing';
  readonly status: number | null;
  readonly triedAgainAtMs: number | null;
  /** When a call was last sent with it; `null`: none since the start of the process. */
  readonly usedAtMs: number | null;
  /** The remaining amounts of the vendor's limits for the model; empty: unknown, or ignored (`vendorLimits` of the provider). */
  readonly vendorLimits: readonly VendorLimit[];
}

/** Whether the limits of the credential with this name allow another call. */
export type MayUse = (credentialName: string) => boolean;

interface SkippedChoice {
  readonly isUntried: (credential: CredentialState) => boolean;
  readonly isFirst: boolean;
  readonly mayHaveCooldown: boolean;
  readonly nowMs: number;
}

export type CredentialCounts = { readonly [State in CredentialStatus['state']]: number };

interface CredentialState extends Omit<NamedCredential, 'value'> {
  value: string;
  refusal: { readonly status: number; readonly atMs: number } | null;
  cooldowns: Map<string, Cooldown>;
  /** By model; empty unless the provider follows the vendor's limits. */
  vendorLimits: Map<string, VendorLimits>;
  usedAtMs: number | null;
  /** Prints the value; `null`: it is configured. Without a valid credential, the value is empty. */
  readonly renewed: RenewedCredential | null;
  /** The value before the last renewal, which calls in flight may use. */
  formerValue: string | null;
}

export class Credentials {
  readonly #readFile: (path: string) => string;
  readonly #onCredential: (value: string) => void;
  #credentials: CredentialState[] = [];
  #nextIndex = 0;
  readonly #renewedOf: RenewedCredentials;
  /** Whether commands print some of the credentials. */
  hasCommands = false;

  /**
   * @param onCredential receives each credential before its first use, so that it can be removed from messages
   * @param renewed the credentials of commands
   */
  constructor(
    credentials: readonly NamedCredential[],
    onCredential: (value: string) => void,
    readFile = readCredentialFile,
    renewed = new RenewedCredentials(),
  ) {
    this.#renewedOf = renewed;
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
      const { command } = credential;
      const renewed = command === undefined ? null : this.#renewedOf.of(command.runs);
      const isSame = (other: CredentialState): boolean =>
        renewed === null ? other.value === credential.value : other.renewed === renewed;
      if (this.#credentials.some(isSame)) continue;
      if (renewed === null) this.#onCredential(credential.value);
      const {
        cooldowns = new Map<string, Cooldown>(),
        vendorLimits = new Map<string, VendorLimits>(),
        usedAtMs = null,
        value,
      } = before.find(isSame) ?? {};
      const kept = renewed === null ? credential.value : (value ?? '');
      this.#credentials.push({
        ...credential,
        value: kept,
        ...{ refusal: null, cooldowns, vendorLimits, usedAtMs, renewed, formerValue: null },
      });
    }
    this.hasCommands = this.#credentials.some(({ renewed }) => renewed !== null);
  }

  /**
   * Waits for the credential of a command if the provider has no other. Returns `null` if a call can be sent at once.
   * @throws UpstreamFailure, by rejection, if no command gives a credential
   */
  available(): Promise<void> | null {
    if (!this.hasCommands) return null;
    this.#takeRenewed();
    if (this.#credentials.some(({ value }) => value !== '')) return null;
    return Promise.any(this.#credentials.map(({ renewed }) => renewed!.available())).then(
      () => this.#takeRenewed(),
      ({ errors: [cause] }: AggregateError) => {
        throw noCredential(cause);
      },
    );
  }

  /** Takes over the credentials that commands have printed. */
  #takeRenewed(): void {
    if (!this.hasCommands) return;
    for (const credential of this.#credentials) {
      if (credential.renewed === null) continue;
      const value = credential.renewed.value ?? '';
      if (value === credential.value) continue;
      if (value !== '') this.#onCredential(value);
      if (credential.value !== '') credential.formerValue = credential.value;
      credential.value = value;
      credential.refusal = null;
    }
  }

  /**
   * Chooses the next credential. Calls of a session prefer the same one, because vendors cache prompts by account; other calls rotate.
   * @param mayUse whether the limits of a credential, given its name, allow another call; `null`: none has limits
   */
  next(
    model: string,
    tried: readonly string[],
    mayHaveCooldown: boolean,
    nowMs: number,
    session: string | null = null,
    mayUse: MayUse | null = null,
  ): string | null {
    if (this.hasCommands) this.#takeRenewed();
    const isUntried = ({ name, value }: CredentialState): boolean =>
      value !== '' && !tried.includes(value) && (mayUse === null || mayUse(name));
    const isUsable = (credential: CredentialState): boolean =>
      isUntried(credential) && !isSkipped(credential, nowMs) && restsUntilMs(credential, model) <= nowMs;
    let next = session === null || !this.isChoice ? this.#nextAround(isUsable) : this.#orderOf(session).find(isUsable);
    next ??= this.#nextOfSkipped(model, { isUntried, isFirst: tried.length === 0, mayHaveCooldown, nowMs });
    if (next === undefined) return null;
    next.usedAtMs = nowMs;
    next.vendorLimits.get(model)?.sent();
    return next.value;
  }

  /** A credential with a cooldown, or if all are refused, the one that was refused the longest time ago: it alone is tried. */
  #nextOfSkipped(
    model: string,
    { isUntried, isFirst, mayHaveCooldown, nowMs }: SkippedChoice,
  ): CredentialState | undefined {
    const untried = this.#credentials.filter(isUntried);
    const accepted = untried.filter((credential) => !isSkipped(credential, nowMs));
    if (accepted.length > 0) {
      return mayHaveCooldown ? firstBy(accepted, (credential) => restsUntilMs(credential, model)) : undefined;
    }
    // If all credentials are refused, only the one with the oldest refusal is tried.
    return !isFirst || untried.length === 0 ? undefined : firstBy(untried, ({ refusal }) => refusal!.atMs);
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
      if (!isSkipped(credential, nowMs)) untilMs = Math.min(untilMs, restsUntilMs(credential, model));
    }
    return untilMs === Number.POSITIVE_INFINITY ? 0 : untilMs;
  }

  /** Called when the provider refuses a credential. If it is from a file that now contains a new value, that value is used at once. */
  refused(value: string, status: number, nowMs: number): void {
    const credential = this.#find(value);
    // A new configuration has replaced the credential since the call began.
    if (credential === undefined) return;
    if (status === 401) credential.renewed?.refused(value);
    const inFile = this.#readAgain(credential);
    if (inFile === value || this.#find(inFile) !== undefined) {
      credential.refusal = { status, atMs: nowMs };
      return;
    }
    this.#onCredential(inFile);
    this.#credentials[this.#credentials.indexOf(credential)] = {
      ...credential,
      ...{ value: inFile, refusal: null, cooldowns: new Map(), vendorLimits: new Map(), usedAtMs: null },
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

  /** Called with the headers of a response, if the provider follows the vendor's limits. */
  received(value: string, model: string, headers: IncomingHttpHeaders, nowMs: number): void {
    const vendorLimits = this.#find(value)?.vendorLimits;
    const limits = vendorLimits === undefined ? [] : readVendorLimits(headers, nowMs);
    if (limits.length === 0) return;
    const known = vendorLimits!.get(model);
    if (known === undefined) vendorLimits!.set(model, new VendorLimits(limits));
    else known.replace(limits);
  }

  status(model: string, nowMs: number): CredentialStatus[] {
    this.#takeRenewed();
    return this.#credentials.map((credential) => {
      const { name, file, command, refusal, usedAtMs, renewed } = credential;
      const expiresAtMs = renewed?.expiresAtMs ?? null;
      const vendorLimits = credential.vendorLimits.get(model)?.status(nowMs) ?? [];
      const facts = { name, file, command: command?.name ?? null, expiresAtMs, usedAtMs, vendorLimits };
      if (credential.value === '') {
        return { ...facts, state: 'missing', status: null, triedAgainAtMs: renewed?.triedAgainAtMs ?? null };
      }
      if (isSkipped(credential, nowMs)) {
        const triedAgainAtMs = refusal!.atMs + REFUSED_MS;
        return { ...facts, state: 'refused', status: refusal!.status, triedAgainAtMs };
      }
      const untilMs = restsUntilMs(credential, model);
      if (untilMs > nowMs) {
        const isCooldown = (credential.cooldowns.get(model)?.untilMs ?? 0) > nowMs;
        return { ...facts, state: 'resting', status: isCooldown ? 429 : null, triedAgainAtMs: untilMs };
      }
      return { ...facts, state: 'active', status: null, triedAgainAtMs: null };
    });
  }

  counts(nowMs: number): CredentialCounts {
    this.#takeRenewed();
    const counts = { active: 0, resting: 0, refused: 0, missing: 0 };
    for (const credential of this.#credentials) {
      if (credential.value === '') counts.missing++;
      else if (isSkipped(credential, nowMs)) counts.refused++;
      else if (isResting(credential, nowMs)) counts.resting++;
      else counts.active++;
    }
    return counts;
  }

  /** Returns the name for the log; `null` if the credential was replaced. */
  nameOf(value: string): string | null {
    const found = this.#find(value) ?? this.#credentials.find(({ formerValue }) => formerValue === value);
    return found?.name ?? null;
  }

  /**
   * Names of the credentials that calls would use if there were no limits. Refused ones are only among them if there is no other: a limit
   * that is reached does not make them worth a try.
   */
  usableNames(nowMs: number): readonly string[] {
    this.#takeRenewed();
    const valid = this.#credentials.filter(({ value }) => value !== '');
    const accepted = valid.filter((credential) => !isSkipped(credential, nowMs));
    return (accepted.length > 0 ? accepted : valid).map(({ name }) => name);
  }

  /** The credentials that can be sent now. Their values are secret. */
  get valid(): readonly { readonly name: string; readonly value: string }[] {
    return this.#credentials.filter(({ value }) => value !== '').map(({ name, value }) => ({ name, value }));
  }

  #find(value: string): CredentialState | undefined {
    return value === '' ? undefined : this.#credentials.find((credential) => credential.value === value);
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

/** When a credential may be used for a model again: after its cooldown, and when the vendor's limits have reset. */
function restsUntilMs({ cooldowns, vendorLimits }: CredentialState, model: string): number {
  return Math.max(cooldowns.get(model)?.untilMs ?? 0, vendorLimits.get(model)?.usedUpUntilMs ?? 0);
}

function isResting({ cooldowns, vendorLimits }: CredentialState, nowMs: number): boolean {
  return (
    [...cooldowns.values()].some(({ untilMs }) => untilMs > nowMs) ||
    [...vendorLimits.values()].some(({ usedUpUntilMs }) => usedUpUntilMs > nowMs)
  );
}

function firstBy(
  credentials: readonly CredentialState[],
  order: (credential: CredentialState) => number,
): CredentialState {
  return credentials.reduce((first, credential) => (order(credential) < order(first) ? credential : first));
}
