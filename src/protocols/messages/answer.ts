import { answerReading } from '../../metering/answer.ts';
import { readMessagesUsage } from './usage.ts';

/** Whole answers of messages creation (wire facts 5.1). */
export const messagesAnswer = answerReading(['usage'], (answer) => readMessagesUsage(answer.member('usage')));
