import { JsonSyntaxError, scanJson } from '../../lib/json/json-scan.ts';
import { eventFields } from '../../lib/sse/event-fields.ts';

const DONE = Buffer.from('[DONE]');

export function isDone(event: Buffer): boolean {
  return event.includes(DONE) && (eventFields(event).data?.equals(DONE) ?? false);
}

/** Whether an event is complete except for its empty line at the end. One with only a name is not: some clients would process it. */
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
