import type { RenderStreamError } from '../../errors/envelopes.ts';
import { renderChat } from '../chat/errors.ts';

/**
 * An event named `error` whose data are the error itself, with `error` as their `type`, as in the streams of responses
 * and of images (contract, section 6).
 */
export const typedStreamError: RenderStreamError = (error) => {
  const { error: body } = renderChat(error);
  const { code, message, param } = body;
  return `event: error\ndata: ${JSON.stringify({ type: 'error', code, message, param, error: body })}\n\n`;
};
