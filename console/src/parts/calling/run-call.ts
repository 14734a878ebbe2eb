import { ApiError, errorOf } from '../../api/client.ts';
import { type CallTarget, chatBase, messagesBase } from './call-target.ts';
import { EndedEarly, streamedText } from './streamed-text.ts';

/** The operations that pages call. */
export type CalledOperation = 'chat' | 'messages';

export interface CallRequest {
  readonly target: CallTarget;
  readonly apiKey: string;
  readonly operation: CalledOperation;
  /** The body, which asks for a stream. */
  readonly body: object;
}

/** Identifies a call by the headers of its response. */
export interface CallIds {
  readonly requestId: string;
  /** `null`: the operator has switched off the headers of calls. */
  readonly callId: string | null;
}

/** The response to a call, as far as it has arrived. */
export interface Answer {
  /**
   * - `running`: more may arrive.
   * - `done`: the response is complete.
   * - `stopped`: the user has stopped it.
   * - `endedEarly`: the connection was lost.
   * - `failed`: the call was refused, or the response ended with an error.
   */
  readonly state: 'running' | 'done' | 'stopped' | 'endedEarly' | 'failed';
  readonly text: string;
  readonly ids: CallIds | null;
  readonly error: Error | null;
}

const BEGUN: Answer = { state: 'running', text: '', ids: null, error: null };

/** Makes a call like any client and reports each state of its response. Aborting the signal stops the call. */
export async function runCall(
  request: CallRequest,
  signal: AbortSignal,
  onAnswer: (answer: Answer) => void,
): Promise<void> {
  let answer = BEGUN;
  const report = (change: Partial<Answer>): void => {
    answer = { ...answer, ...change };
    onAnswer(answer);
  };
  report({});
  try {
    const response = await send(request, signal);
    report({ ids: callIdsOf(response) });
    if (!response.ok || response.body === null) throw await refusalOf(response);
    for await (const part of streamedText(response.body)) report({ text: answer.text + part });
    report({ state: 'done' });
  } catch (error) {
    if (signal.aborted) report({ state: 'stopped' });
    else if (error instanceof EndedEarly) report({ state: 'endedEarly' });
    else report({ state: 'failed', error: error as Error });
  }
}

function send({ target, apiKey, operation, body }: CallRequest, signal: AbortSignal): Promise<Response> {
  return fetch(addressOf(target, operation), {
    method: 'POST',
    // Excludes the session cookie: the key pays.
    credentials: 'omit',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
}

export function addressOf(target: CallTarget, operation: CalledOperation): string {
  return operation === 'chat' ? `${chatBase(target)}/chat/completions` : `${messagesBase(target)}/v1/messages`;
}

function callIdsOf({ headers }: Response): CallIds | null {
  const requestId = headers.get('x-request-id');
  return requestId === null ? null : { requestId, callId: headers.get('x-faregate-call-id') };
}

/** The error of a response. Its code is in a header, because the messages format has none. */
async function refusalOf(response: Response): Promise<ApiError> {
  const { status, code, message, requestId } = await errorOf(response);
  return new ApiError(status, response.headers.get('x-error-code') ?? code, message, { requestId });
}
