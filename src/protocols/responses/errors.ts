import type { Envelope, RenderStreamError } from '../../errors/envelopes.ts';
import { type ChatErrorBody, renderChat } from '../chat/errors.ts';
import { unixSeconds } from '../plan-windows.ts';

/** Formats an error as an event named `error`, for streams of responses and images (contract, section 6). */
export const typedStreamError: RenderStreamError = (error) => {
  const { error: body } = renderChat(error);
  const { code, message, param } = body;
  return `event: error\ndata: ${JSON.stringify({ type: 'error', code, message, param, error: body })}\n\n`;
};

/** Formats an error as the two events with which the vendor ends a failed stream. SDKs read only the first one, Codex only the second. */
export const responsesStreamError: RenderStreamError = (error, requestId) => {
  const { code, message } = error;
  const response = { id: requestId, object: 'response', status: 'failed', error: { code, message }, output: [] };
  const failed = JSON.stringify({ type: 'response.failed', response });
  return `${typedStreamError(error, requestId)}event: response.failed\ndata: ${failed}\n\n`;
};

interface ResponsesErrorBody {
  readonly error: ChatErrorBody['error'] & {
    /** When the limit is reset, in Unix seconds. */
    readonly resets_at?: number;
  };
}

/** Errors in the chat format. If a limit is reset later, they also have the type and the time by which Codex knows that it must stop. */
export const responsesEnvelope: Envelope<ResponsesErrorBody> = {
  name: 'chat',
  status: ({ status }) => status,
  render(error) {
    const body = renderChat(error);
    if (!error.isMoney || error.resetAtMs === null) return body;
    return { error: { ...body.error, type: 'usage_limit_reached', resets_at: unixSeconds(error.resetAtMs) } };
  },
};
