import {
  type ReadResponse,
  type ResponseEstimate,
  type ResponseReading,
  responseReading,
} from '../metering/response.ts';
import { ROUND_MEMBERS, roundsOutsideUsage } from '../metering/rounds.ts';
import type { ToolUses } from '../metering/tool-uses.ts';
import { audioKeys } from './audio.ts';
import { chatMedia } from './media.ts';
import { MARKED_CHOICES, MARKED_CHOICES_WITH_CALLS, RESULT_MEMBERS, shownTools } from './shown-tools.ts';
import { readChatUsage } from './usage.ts';
import { COMPLETION_TEXT } from './written.ts';

export interface ChatResponseOptions {
  /** Whether the response can contain audio, to which later calls can refer by id. */
  readonly hasAudio?: boolean;
  readonly audioFormat?: string | null;
  /** Whether the request asks for a web search other than by a tool. */
  readonly asksForSearch?: boolean;
  readonly offersTools?: boolean;
  readonly outputTokensMax?: number;
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

const SILENT = estimateOf(null);

const BILLED = ['usage', 'service_tier', ...RESULT_MEMBERS, ...ROUND_MEMBERS];
const BILLED_WITH_CHOICES = [...BILLED, 'choices'];

export function chatResponse({
  hasAudio = false,
  audioFormat = null,
  asksForSearch = false,
  offersTools = false,
  outputTokensMax,
}: ChatResponseOptions = {}): ResponseReading {
  const keep = hasAudio || offersTools ? BILLED_WITH_CHOICES : BILLED;
  const reading = responseReading(keep, (response) =>
    readChatUsage(response.member('usage'), {
      serviceTier: response.member('service_tier'),
      asksForSearch,
      shown: shownIn(response, offersTools),
      shownRounds: roundsOutsideUsage((name) => response.member(name)),
      outputTokensMax,
    }),
  );
  const withEstimate: ResponseReading = {
    ...reading,
    keepMarked: offersTools ? MARKED_CHOICES_WITH_CALLS : MARKED_CHOICES,
    written: COMPLETION_TEXT,
    estimate: audioFormat === null ? SILENT : estimateOf(audioFormat),
  };
  if (!hasAudio) return withEstimate;
  return { ...withEstimate, continuationKeys: (response: ReadResponse) => audioKeys(response.member('choices')) };
}

/** Returns the tool uses that a response shows. `choices` is parsed only if it has a member that can show one, which is rare. */
function shownIn(response: ReadResponse, offersTools: boolean): ToolUses {
  let members: Record<string, unknown> | null = null;
  for (const name of RESULT_MEMBERS) {
    const value = response.member(name);
    if (value === undefined) continue;
    members ??= {};
    members[name] = value;
  }
  if (response.isMarked('choices')) {
    members ??= {};
    members.choices = response.member('choices');
  }
  if (members === null) return NOTHING_SHOWN;
  const shown = shownTools(offersTools);
  shown.add(members);
  return shown.uses();
}

const NOTHING_SHOWN: ToolUses = {};
