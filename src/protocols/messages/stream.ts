import { isRecord, parseJson } from '../../lib/json.ts';
import { eventData, eventName } from '../../lib/sse.ts';
import { textKeys } from '../../metering/estimate.ts';
import type { EventMeaning, StreamReading } from '../../metering/tap.ts';
import { MessagesUsage } from './usage.ts';

/**
 * Streams of the messages protocol (wire facts 5.3): `message_start` with provisional usage, content blocks, one or more
 * `message_delta` with cumulative usage, `message_stop`; `error` may come anywhere. Clients know an error by the name of
 * its event, whatever the data are, so its name counts as well as its `type`.
 */
const MARKS = ['"usage"', '"message_delta"', '"message_stop"', '"error"', 'event: error', 'event:error'].map((mark) =>
  Buffer.from(mark),
);
const STREAMED_TEXT = textKeys('text', 'partial_json', 'thinking');

export function readMessagesStream(): StreamReading {
  const facts = new MessagesUsage();
  /** The figures of `message_start` are provisional; only a `message_delta` says what the output came to. */
  let hasFinalUsage = false;

  function read(event: Buffer): EventMeaning {
    const data = eventData(event);
    if (data === null) return 'pass';
    if (eventName(event) === 'error') return 'error';
    const body = parseJson(data);
    if (!isRecord(body)) return 'pass';
    switch (body.type) {
      case 'message_start':
        if (isRecord(body.message)) facts.update(body.message.usage);
        return 'pass';
      case 'message_delta':
        if (isRecord(body.usage)) {
          facts.update(body.usage);
          hasFinalUsage ||= body.usage.output_tokens != null;
        }
        return 'pass';
      case 'message_stop':
        return 'terminal';
      case 'error':
        return 'error';
      default:
        return 'pass';
    }
  }

  return {
    matters: (run) => MARKS.some((mark) => run.includes(mark)),
    textKeys: STREAMED_TEXT,
    read,
    usage: () => (hasFinalUsage ? facts.total() : null),
    partialUsage: () => facts.total() ?? facts.withOutput(0),
    canEndHere: false,
  };
}
