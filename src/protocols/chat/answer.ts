import { type AnswerEstimate, type AnswerReading, answerReading } from '../metering/answer.ts';
import { type AnswerText, answerTextTokens } from '../metering/answer-text.ts';
import { audioKeys } from './audio.ts';
import { readChatUsage } from './usage.ts';

/** What the request asks for that its response has to be read by. */
export interface ChatAnswerOptions {
  readonly hasAudio?: boolean;
  readonly asksForSearch?: boolean;
}

const TEXT: AnswerText = {
  text: ['content', 'refusal', 'arguments', 'input', 'transcript', 'text'],
  reasoning: ['reasoning_content', 'reasoning'],
  through: ['message', 'content', 'tool_calls', 'function', 'custom', 'function_call', 'audio'],
};

const ESTIMATE: AnswerEstimate = {
  keep: ['choices'],
  count: [],
  outputTokens(response) {
    const choices = response.member('choices');
    return Array.isArray(choices) && choices.length > 0 ? answerTextTokens(choices, TEXT) : null;
  },
  members: ({ inputTokens, outputTokens }) => ({
    usage: { prompt_tokens: inputTokens, completion_tokens: outputTokens },
  }),
};

/** Whole responses of chat completions. A later call may refer to the audio of one that asks for audio. */
export function chatAnswer({ hasAudio, asksForSearch }: ChatAnswerOptions = {}): AnswerReading {
  const reading = answerReading(['usage', 'service_tier'], (response) =>
    readChatUsage(response.member('usage'), {
      serviceTier: response.member('service_tier'),
      asksForSearch: asksForSearch ?? false,
    }),
  );
  const answer = { ...reading, estimate: ESTIMATE };
  if (!hasAudio) return answer;
  return {
    ...answer,
    keep: [...answer.keep, 'choices'],
    continuationKeys: (response) => audioKeys(response.member('choices')),
  };
}
