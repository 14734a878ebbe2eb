import { type AnswerReading, answerReading } from '../metering/answer.ts';
import { audioKeys } from './audio.ts';
import { readChatUsage } from './usage.ts';

/** What the request asks for that its response has to be read by. */
export interface ChatAnswerOptions {
  readonly hasAudio?: boolean;
  readonly asksForSearch?: boolean;
}

/** Whole responses of chat completions. A later call may refer to the audio of one that asks for audio. */
export function chatAnswer({ hasAudio, asksForSearch }: ChatAnswerOptions = {}): AnswerReading {
  const answer = answerReading(['usage', 'service_tier'], (response) =>
    readChatUsage(response.member('usage'), {
      serviceTier: response.member('service_tier'),
      asksForSearch: asksForSearch ?? false,
    }),
  );
  if (!hasAudio) return answer;
  return {
    ...answer,
    keep: [...answer.keep, 'choices'],
    continuationKeys: (response) => audioKeys(response.member('choices')),
  };
}
