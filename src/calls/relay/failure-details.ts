import { isRecord } from '../../lib/json/json.ts';
import type { Route } from '../../providers/catalog/catalog.ts';
import { UpstreamFailure } from '../../providers/upstream/failure.ts';

const REASON_LENGTH_MAX = 500;
/** Errors that name each other as their cause could go on for ever. */
const CAUSES_MAX = 4;

/** What is logged of a call that failed at a route: a provider's failure in one line, a fault of the gateway with its stack. */
export function failureDetails({ providerId, providerModel }: Route, error: unknown): object {
  const at = { provider: providerId, providerModel };
  if (!(error instanceof UpstreamFailure)) return { ...at, err: error };
  const { response, certainty, refusal } = error;
  return { ...at, code: response.code, certainty, status: refusal?.status, reason: reasonOf(error) };
}

/** The messages of an error and of its causes, each once. */
function reasonOf({ response, cause }: UpstreamFailure): string {
  const words = [response.message];
  for (let next: unknown = cause, i = 0; next !== undefined && i < CAUSES_MAX; i++) {
    const text = next instanceof Error ? next.message || codeOf(next) : String(next);
    if (!words.includes(text)) words.push(text);
    next = next instanceof Error ? next.cause : undefined;
  }
  return words.join(': ').slice(0, REASON_LENGTH_MAX);
}

/** An error of several connections has a code and no words. */
function codeOf(error: unknown): string {
  return isRecord(error) && typeof error.code === 'string' ? error.code : 'unknown';
}
