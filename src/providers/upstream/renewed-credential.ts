import { execFile } from 'node:child_process';
import type { CredentialCommand } from '../../config/credential-commands.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { CredentialCommandError, type PrintedCredential, readCredentialOutput } from './credential-output.ts';

/** Runs a command and returns what it printed. Rejects with `CredentialCommandError`. */
export type RunCommand = (command: CredentialCommand) => Promise<string>;

const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 60_000;
/** A credential that is refused so soon is not renewed again: the refusal is about the account. */
const REFUSED_EARLY_MS = 60_000;
const DELAY_MS_MAX = 2 ** 31 - 1;
const OUTPUT_BYTES_MAX = 64 * 1024;

/** When to renew a credential: some time before its expiry, or half of its life before it if that is shorter. */
export function renewalDelayMs(
  expiresAtMs: number | null,
  { every, renewBefore }: Pick<CredentialCommand, 'every' | 'renewBefore'>,
  nowMs: number,
): number {
  if (expiresAtMs === null) return every;
  const leftMs = expiresAtMs - nowMs;
  return Math.min(Math.max(leftMs - renewBefore, leftMs / 2), DELAY_MS_MAX);
}

/** How long to wait after a number of failures in a row. */
export function retryDelayMs(failures: number): number {
  return Math.min(RETRY_MS_MIN * 2 ** (failures - 1), RETRY_MS_MAX);
}

/**
 * A credential that a command prints, renewed in time. States:
 * - no credential, or an expired one: calls wait for the command, or fail while it is not tried again
 * - a valid one: calls use it, also while the command runs or has failed
 */
export class RenewedCredential {
  readonly #command: CredentialCommand;
  readonly #clock: Clock;
  readonly #run: RunCommand;
  #printed: (PrintedCredential & { readonly atMs: number }) | null = null;
  #renewing: Promise<void> | null = null;
  #failure: CredentialCommandError | null = null;
  #failures = 0;
  #retryAtMs = 0;
  #rejected: string | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(command: CredentialCommand, clock: Clock = systemClock, run: RunCommand = runCommand) {
    this.#command = command;
    this.#clock = clock;
    this.#run = run;
  }

  /** The valid credential; `null` if there is none. Its expiry is compared with this machine's clock. */
  get value(): string | null {
    const nowMs = this.#clock.nowMs();
    const { value, expiresAtMs } = this.#printed ?? { value: null, expiresAtMs: null };
    return value !== this.#rejected && (expiresAtMs === null || nowMs < expiresAtMs) ? value : null;
  }

  /** When the credential expires; `null`: unknown, or there is none. */
  get expiresAtMs(): number | null {
    return this.#printed?.expiresAtMs ?? null;
  }

  /** When the command is tried again after a failure; `null` if it has not failed. */
  get triedAgainAtMs(): number | null {
    return this.#failure === null ? null : this.#retryAtMs;
  }

  /** Resolves when there is a valid credential. @throws CredentialCommandError, by rejection, if the command gave none */
  available(): Promise<void> {
    if (this.value !== null) return Promise.resolve();
    if (this.#renewing === null && this.#failure !== null && this.#clock.nowMs() < this.#retryAtMs)
      return Promise.reject(this.#failure);
    return this.renew();
  }

  /** Runs the command, unless it runs already. @throws CredentialCommandError, by rejection */
  renew(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  /** Begins to renew the credential in time. */
  start(): void {
    if (this.#printed === null) this.renew().catch(() => undefined);
  }

  /** Called when the provider refuses the credential, which may have been withdrawn before its expiry. */
  refused(value: string): void {
    const printed = this.#printed;
    if (printed?.value !== value || this.#clock.nowMs() < printed.atMs + REFUSED_EARLY_MS) return;
    this.#rejected = value;
    this.renew().catch(() => undefined);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #renew(): Promise<void> {
    try {
      const output = await this.#run(this.#command);
      const atMs = this.#clock.nowMs();
      const printed = readCredentialOutput(output, atMs);
      if (printed.value === this.#rejected) {
        throw new CredentialCommandError('The command printed the credential that the provider has refused.');
      }
      this.#printed = { ...printed, atMs };
      this.#rejected = null;
      this.#failure = null;
      this.#failures = 0;
      this.#renewIn(renewalDelayMs(printed.expiresAtMs, this.#command, atMs));
    } catch (error) {
      this.#failure = error instanceof CredentialCommandError ? error : new CredentialCommandError(String(error));
      const delayMs = retryDelayMs(++this.#failures);
      this.#retryAtMs = this.#clock.nowMs() + delayMs;
      this.#renewIn(delayMs);
      throw this.#failure;
    }
  }

  #renewIn(delayMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => this.renew().catch(() => undefined), delayMs).unref();
  }
}

/** Variables that commands do not get: settings and secrets of the gateway itself. */
const OWN_VARIABLE = /^(FAREGATE_|DATABASE_URL$|PG)/;

/** Runs a program without a shell. Errors name neither arguments nor output, which may contain secrets. */
export function runCommand({ run, timeout }: CredentialCommand): Promise<string> {
  const [program, ...args] = run;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OWN_VARIABLE.test(name)));
  const options = { env, timeout, maxBuffer: OUTPUT_BYTES_MAX, killSignal: 'SIGKILL', windowsHide: true } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(program!, args, options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(new CredentialCommandError(problemOf(error)));
    });
    child.stdin?.end();
  });
}

function problemOf({ code, killed }: Error & { readonly code?: unknown; readonly killed?: boolean }): string {
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'The output of the command exceeds 64 KiB.';
  if (killed === true) return 'The command took too long.';
  return typeof code === 'number'
    ? `The command ended with exit code ${code}.`
    : `The command could not be run (${String(code)}).`;
}

/** The credentials of commands in use. Providers with the same command share one, so that it runs once. */
export class RenewedCredentials {
  readonly #byCommand = new Map<string, RenewedCredential>();

  of(command: CredentialCommand): RenewedCredential {
    const key = JSON.stringify(command);
    let found = this.#byCommand.get(key);
    if (found === undefined) {
      found = new RenewedCredential(command);
      this.#byCommand.set(key, found);
    }
    return found;
  }

  /** Stops those of commands that are not in use any more. */
  keepOnly(commands: readonly CredentialCommand[]): void {
    const keys = new Set(commands.map((command) => JSON.stringify(command)));
    for (const [key, credential] of this.#byCommand) {
      if (keys.has(key)) continue;
      credential.stop();
      this.#byCommand.delete(key);
    }
  }
}
