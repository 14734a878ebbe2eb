import { credentialProblem } from '../../config/provider-credentials.ts';
import { isRecord, parseJson } from '../../lib/json/json.ts';
import { NamedError } from '../../lib/named-error.ts';

/** Thrown if a command gives no credential. The message shows nothing of its output. */
export class CredentialCommandError extends NamedError {}

export interface PrintedCredential {
  /** Secret. */
  readonly value: string;
  /** `null`: the output does not say it. */
  readonly expiresAtMs: number | null;
}

/** Names of the credential, in the order of preference: OAuth, Azure CLI, and Kubernetes' `ExecCredential`. */
const VALUE_NAMES = ['access_token', 'accessToken', 'token'];
/** Instants as ISO 8601, or as seconds since 1970. The Azure CLI's `expiresOn` has no time zone, so it is not read. */
const EXPIRY_NAMES = ['expires_on', 'expires_at', 'expiresAt', 'expiration', 'expiry', 'expirationTimestamp'];
const HAS_ZONE = /(Z|[+-]\d\d:?\d\d)$/;
/** The last instant that ISO 8601 writes with four digits of the year. A later expiry means "never", or is in another unit. */
const EXPIRY_MS_MAX = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * Reads what a command printed: a credential, or a JSON object with a credential and its expiry.
 * @throws CredentialCommandError
 */
export function readCredentialOutput(output: string, nowMs: number): PrintedCredential {
  const text = output.trim();
  const parsed = text.startsWith('{') ? parseJson(text) : undefined;
  const printed = isRecord(parsed) ? readObject(isRecord(parsed.status) ? parsed.status : parsed, nowMs) : null;
  const { value, expiresAtMs } = printed ?? { value: text, expiresAtMs: null };
  if (value === '') throw new CredentialCommandError('The command printed no credential.');
  const problem = credentialProblem(value, 'The command must print');
  if (problem !== null) throw new CredentialCommandError(problem);
  if (expiresAtMs !== null && expiresAtMs <= nowMs) {
    throw new CredentialCommandError('The command printed a credential that has expired.');
  }
  return { value, expiresAtMs };
}

function readObject(object: Readonly<Record<string, unknown>>, nowMs: number): PrintedCredential {
  const value = VALUE_NAMES.map((name) => object[name]).find((each) => typeof each === 'string') ?? '';
  const seconds = Number(object.expires_in ?? Number.NaN);
  const stated = EXPIRY_NAMES.map((name) => instantMs(object[name])).find((each) => each !== null) ?? null;
  const expiresAtMs = stated ?? (seconds > 0 ? nowMs + seconds * 1_000 : null);
  return {
    value: String(value),
    expiresAtMs: expiresAtMs !== null && expiresAtMs > EXPIRY_MS_MAX ? null : expiresAtMs,
  };
}

function instantMs(value: unknown): number | null {
  if (typeof value === 'number' || (typeof value === 'string' && /^\d{9,11}$/.test(value)))
    return Number(value) * 1_000;
  const ms = typeof value === 'string' && HAS_ZONE.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}
