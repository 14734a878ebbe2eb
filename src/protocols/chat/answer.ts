import { type AnswerReading, answerReading } from '../metering/answer.ts';
import { audioKeys } from './audio.ts';
import { readChatUsage } from './usage.ts';

/** Whole responses of chat completions. */
export const chatAnswer = answerReading(['usage'], (answer) => readChatUsage(answer.member('usage')));

/** Responses of calls that ask for audio: a later call may refer to that audio. */
export const chatAudioAnswer: AnswerReading = {
  ...chatAnswer,
  keep: ['usage', 'choices'],
  continuationKeys: (answer) => audioKeys(answer.member('choices')),
};
