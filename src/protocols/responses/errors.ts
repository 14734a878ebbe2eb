import type { Envelope, RenderStreamError } from '../../errors/envelopes.ts';
import { type ChatErrorBody, renderChat } from '../chat/errors.ts';
import { unixSeconds } from '../plan-windows.ts';

/**
 * An event named `error` whose data are the error itself, with `error` as their `type`, as in the streams of responses
 * and of images (contract, section 6).
 */
export const typedStreamError: RenderStreamError = (error) => {
  const { error: body } = renderChat(error);
  const { code, message, param } = body;
  return `event: error\ndata: ${JSON.stringify({ type: 'error', code, message, param, error: body })}\n\n`;
};

/**
 * The two events with which the vendor ends a responses stream that has failed. SDKs throw at the first one; Codex reads only the
 * second one.
 */
export const responsesStreamError: RenderStreamError = (error, requestId) => {
  const { code, message } = error;
  const response = { id: requestId, object: 'response', status: 'failed', error: { code, message }, output: [] };
  const failed = JSON.stringify({ type: 'response.failed', response });
  return `${typedStreamError(error, requestId)}event: response.failed\ndata: ${failed}\n\n`;
};

interface ResponsesErrorBody {
  readonly error: ChatErrorBody['error'] & {
    /** Unix seconds. */
    readonly resets_at?: number;
  };
}

/**
 * The chat envelope; a limit that frees by itself has the type by which Codex knows one, and the instant. Codex shows such a
 * 429 with the time and ends, if any other is words of its own.
 */
export const responsesEnvelope: Envelope<ResponsesErrorBody> = {
  name: 'chat',
  status: ({ status }) => status,
  render(error) {
    const body = renderChat(error);
    if (!error.isMoney || error.resetAtMs === null) return body;
    return { error: { ...body.error, type: 'usage_limit_reached', resets_at: unixSeconds(error.resetAtMs) } };
  },
};
