import { answerReading } from '../../metering/answer.ts';
import { readChatUsage } from './usage.ts';

/** Whole answers of chat completions (wire facts 1.2). */
export const chatAnswer = answerReading(['usage'], (answer) => readChatUsage(answer.member('usage')));
