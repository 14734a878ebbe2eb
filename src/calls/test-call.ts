import type { Clock } from '../lib/clock.ts';
import type { CallInput } from '../protocols/operations/operation.ts';
import { Exchange, type UpstreamHead } from '../providers/upstream/exchange.ts';
import { responseKind, upstreamHeaders } from '../providers/upstream/headers.ts';
import type { Provider } from '../providers/upstream/provider.ts';
import { ERROR_BODY_BYTES_MAX, refusalFailure } from '../providers/upstream/refusal.ts';
import { wordsOf } from './failure-words.ts';

interface TestCallDependencies {
  readonly provider: Provider;
  /** Header names that clients may use for the provider's protocol. */
  readonly mountedNames: readonly string[];
  readonly clock: Clock;
}

interface TestCall {
  readonly credential: string;
  /** Appended to the provider's base path. */
  readonly path: string;
  readonly input: CallInput;
  /** The provider's name of the model. */
  readonly model: string;
  readonly limitMs: number;
}

interface TestCallEnd {
  readonly head: UpstreamHead | null;
  readonly body: Buffer;
  /** Why there is no success; `null`: there is one. It can contain secrets. */
  readonly message: string | null;
  readonly durationMs: number;
  readonly firstByteMs: number | null;
}

export const TEST_BODY_BYTES_MAX = 8 * 1024 * 1024;

const TESTER = { accountId: 'provider-test', isOnlyAccount: false };

/**
 * Sends a request of an operator with the connections and timeouts of calls. Nobody is charged, and breakers and credential states stay as
 * they are.
 */
export async function sendTestCall(
  { credential, path, input, model, limitMs }: TestCall,
  { provider, mountedNames, clock }: TestCallDependencies,
): Promise<TestCallEnd> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  let head: UpstreamHead | null = null;
  let firstByteAtMs: number | null = null;
  const startedAtMs = clock.nowMs();
  const exchange = Exchange.start(
    {
      provider,
      account: TESTER,
      path,
      headers: upstreamHeaders(provider, credential, {}, mountedNames, input),
      body: input.toProvider(model),
    },
    {
      receiveHead(received) {
        head = received;
        firstByteAtMs = clock.nowMs();
      },
      receive(chunk) {
        sizeBytes += chunk.length;
        if (sizeBytes <= (head?.status === 200 ? TEST_BODY_BYTES_MAX : ERROR_BODY_BYTES_MAX)) chunks.push(chunk);
        else exchange.abort();
      },
    },
  );
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    exchange.abort();
  }, limitMs);
  let failure: unknown = null;
  try {
    await exchange.done;
    if (isLate) throw new Error(`no complete response within ${limitMs} ms`);
  } catch (error) {
    failure = error;
  } finally {
    clearTimeout(limit);
  }
  const body = Buffer.concat(chunks);
  const received = head as UpstreamHead | null;
  if (failure === null && received !== null && responseKind(received.status, received.headers) === 'refusal')
    failure = refusalFailure(received, body, provider.hidden.texts, '');
  return {
    head: received,
    body,
    message: failure === null ? null : wordsOf(failure),
    durationMs: clock.nowMs() - startedAtMs,
    firstByteMs: firstByteAtMs === null ? null : firstByteAtMs - startedAtMs,
  };
}
