import {
  type ReadResponse,
  type ResponseEstimate,
  type ResponseReading,
  responseReading,
} from '../metering/response.ts';
import type { ToolUses } from '../metering/tool-uses.ts';
import { audioKeys } from './audio.ts';
import { chatMedia } from './media.ts';
import { RESULT_MEMBERS, shownTools } from './shown-tools.ts';
import { readChatUsage } from './usage.ts';
import { COMPLETION_TEXT } from './written.ts';

/** What the request asks for that its response has to be read by. */
export interface ChatResponseOptions {
  /** Audio, which a later call may refer to. */
  readonly hasAudio?: boolean;
  readonly audioFormat?: string | null;
  /** A search of the web otherwise than by a tool. */
  readonly asksForSearch?: boolean;
  /** It offers tools that the provider runs, of which the response may show calls and results. */
  readonly offersTools?: boolean;
}

const estimateOf = (audioFormat: string | null): ResponseEstimate => ({
  keep: ['choices', 'model'],
  count: [],
  isSuccess(response) {
    const choices = response.member('choices');
    return Array.isArray(choices) && choices.length > 0;
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

/**
 * Whole responses of chat completions. A later call may refer to the audio of one that asks for audio. What most requests ask
 * for is read in one of four ways, which are made once.
 */
export function chatResponse({
  hasAudio = false,
  audioFormat = null,
  asksForSearch = false,
  offersTools = false,
}: ChatResponseOptions = {}): ResponseReading {
  if (hasAudio || audioFormat !== null) return makeReading({ hasAudio, audioFormat, asksForSearch, offersTools });
  if (asksForSearch) return offersTools ? OF_SEARCH_AND_TOOLS : OF_SEARCH;
  return offersTools ? OF_TOOLS : PLAIN;
}

function makeReading({ hasAudio, audioFormat, asksForSearch, offersTools }: Required<ChatResponseOptions>) {
  const keep = hasAudio || offersTools ? [...BILLED, 'choices'] : BILLED;
  const showing = offersTools ? [...RESULT_MEMBERS, 'choices'] : RESULT_MEMBERS;
  const reading = responseReading(keep, (response) =>
    readChatUsage(response.member('usage'), {
      serviceTier: response.member('service_tier'),
      asksForSearch,
      shown: shownIn(response, showing),
    }),
  );
  const withEstimate: ResponseReading = { ...reading, written: COMPLETION_TEXT, estimate: estimateOf(audioFormat) };
  if (!hasAudio) return withEstimate;
  return { ...withEstimate, continuationKeys: (response: ReadResponse) => audioKeys(response.member('choices')) };
}

/** The uses of tools that these members of a response show; most responses have none of them. */
function shownIn(response: ReadResponse, names: readonly string[]): ToolUses {
  let members: Record<string, unknown> | null = null;
  for (const name of names) {
    const value = response.member(name);
    if (value === undefined) continue;
    members ??= {};
    members[name] = value;
  }
  if (members === null) return NOTHING_SHOWN;
  const shown = shownTools();
  shown.add(members);
  return shown.uses();
}

const NOTHING_SHOWN: ToolUses = {};

const NO_AUDIO = { hasAudio: false, audioFormat: null };
const PLAIN = makeReading({ ...NO_AUDIO, asksForSearch: false, offersTools: false });
const OF_SEARCH = makeReading({ ...NO_AUDIO, asksForSearch: true, offersTools: false });
const OF_TOOLS = makeReading({ ...NO_AUDIO, asksForSearch: false, offersTools: true });
const OF_SEARCH_AND_TOOLS = makeReading({ ...NO_AUDIO, asksForSearch: true, offersTools: true });
