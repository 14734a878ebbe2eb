import { JsonSyntaxError, scanJson } from '../../lib/json/json-scan.ts';
import { eventFields } from '../../lib/sse/event-fields.ts';

const DONE = Buffer.from('[DONE]');

/** Whether an event is the mark of an end, which servers send on every address. */
export function isDone(event: Buffer): boolean {
  return event.includes(DONE) && (eventFields(event).data?.equals(DONE) ?? false);
}

/**
 * Whether an event that lacks its empty line is complete all the same. A name alone is not: its data are still to come,
 * and some clients read an event without data as well. A comment is no event.
 */
export function isWholeEvent(event: Buffer): boolean {
  const { name, data } = eventFields(event);
  if (data === null) return name === null;
  if (data.equals(DONE)) return true;
  try {
    scanJson(data);
    return true;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return false;
    throw error;
  }
}
