import { type ResponseEstimate, type ResponseReading, responseReading } from '../metering/response.ts';
import { type ResponseText, responseTextTokens } from '../metering/response-text.ts';
import { audioKeys } from './audio.ts';
import { chatMedia } from './media.ts';
import { RESULT_MEMBERS, shownTools } from './shown-tools.ts';
import { readChatUsage } from './usage.ts';

/** What the request asks for that its response has to be read by. */
interface ChatResponseOptions {
  readonly hasAudio?: boolean;
  readonly audioFormat?: string | null;
  readonly asksForSearch?: boolean;
  /** The request offers tools that the provider runs, of which the choices may show calls. */
  readonly offersTools?: boolean;
}

const TEXT: ResponseText = {
  text: ['content', 'refusal', 'arguments', 'input', 'transcript', 'text'],
  reasoning: ['reasoning_content', 'reasoning'],
  through: ['message', 'content', 'tool_calls', 'function', 'custom', 'function_call', 'audio'],
};

const estimateOf = (audioFormat: string | null): ResponseEstimate => ({
  keep: ['choices', 'model'],
  count: [],
  outputTokens(response) {
    const choices = response.member('choices');
    return Array.isArray(choices) && choices.length > 0 ? responseTextTokens(choices, TEXT) : null;
  },
  mediaTokens(response) {
    const media = chatMedia(audioFormat);
    media.add(response.member('choices'));
    const model = response.member('model');
    return media.tokens(typeof model === 'string' ? model : null);
  },
  members: ({ inputTokens, outputTokens, audioOutputTokens, imageOutputTokens }) => ({
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens + audioOutputTokens + imageOutputTokens,
      completion_tokens_details: { audio_tokens: audioOutputTokens, image_tokens: imageOutputTokens },
    },
  }),
});

/** Members of a response by which it is charged. */
const BILLED = ['usage', 'service_tier', ...RESULT_MEMBERS];

/** Whole responses of chat completions. A later call may refer to the audio of one that asks for audio. */
export function chatResponse({
  hasAudio = false,
  audioFormat = null,
  asksForSearch = false,
  offersTools = false,
}: ChatResponseOptions = {}): ResponseReading {
  const keep = hasAudio || offersTools ? [...BILLED, 'choices'] : BILLED;
  const showing = offersTools ? [...RESULT_MEMBERS, 'choices'] : RESULT_MEMBERS;
  const reading = responseReading(keep, (response) => {
    const shown = shownTools();
    shown.add(Object.fromEntries(showing.map((name) => [name, response.member(name)])));
    return readChatUsage(response.member('usage'), {
      serviceTier: response.member('service_tier'),
      asksForSearch,
      shown: shown.uses(),
    });
  });
  const response = { ...reading, estimate: estimateOf(audioFormat) };
  return hasAudio ? { ...response, continuationKeys: (response) => audioKeys(response.member('choices')) } : response;
}
