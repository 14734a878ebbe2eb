import { isRecord } from '../../lib/json.ts';
import type { AnswerReading } from '../metering/answer.ts';
import { stateKey } from '../state-references.ts';
import { readMessagesUsage } from './usage.ts';

/** Whole responses of messages creation. */
export const messagesAnswer: AnswerReading = {
  keep: ['usage', 'container'],
  count: [],
  usage: (answer) => readMessagesUsage(answer.member('usage')),
  continuationKeys: (answer) => containerKeys(answer.member('container')),
};

/** The container in which tools of the response ran; a later call may go on in it. */
export function containerKeys(container: unknown): readonly string[] {
  const id = isRecord(container) ? container.id : null;
  return typeof id === 'string' && id !== '' ? [stateKey({ kind: 'container', id })] : [];
}
