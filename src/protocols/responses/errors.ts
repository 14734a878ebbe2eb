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
