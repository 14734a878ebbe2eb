import { BytePatterns } from '../../lib/byte-patterns.ts';
import { isRecord, parseJson } from '../../lib/json/json.ts';
import { eventFields } from '../../lib/sse/event-fields.ts';
import { OutputReports } from '../metering/plausible-usage.ts';
import type { EventMeaning, StreamReading } from '../metering/stream-reading.ts';
import { readCount, type Usage } from '../metering/usage-facts.ts';
import { containerKeys, withContainer } from './response.ts';
import { isOfProvider, PROVIDER_BLOCKS, shownTools, withShown } from './shown-tools.ts';
import { MessagesUsage } from './usage.ts';
import { streamedMessageText } from './written.ts';

/**
 * A messages stream has `message_start` with provisional usage, content blocks, `message_delta` with cumulative usage, and `message_stop`.
 * Clients recognize errors by the event name, so the name counts as well as `type`.
 */
const BLOCK_END = '"content_block_stop"';
const BLOCK_START = '"content_block_start"';
const MARKERS = [
  ...['"usage"', '"message_delta"', '"message_stop"', '"error"', 'event: error', 'event:error'],
  ...[BLOCK_END, BLOCK_START],
  ...PROVIDER_BLOCKS.map((end) => `${end}"`),
];
const MARKER_PATTERNS = new BytePatterns(MARKERS.map((marker) => Buffer.from(marker)));

/** @param offersTools whether the request offers provider tools, some of which appear in blocks like those of client tools */
export function readMessagesStream(namesContainer = false, offersTools = false): StreamReading {
  const facts = new MessagesUsage();
  const reports = new OutputReports();
  /** Whether a `message_delta` has arrived. Before it, usage is provisional. */
  let hasFinalUsage = false;
  let hasOutputEnd = false;
  let hasEnded = false;
  let container: unknown = null;
  const shown = shownTools();
  let countsTools = false;

  function read(event: Buffer): EventMeaning {
    const { name, data } = eventFields(event);
    if (data === null) return 'pass';
    if (name === 'error') return 'error';
    const body = parseJson(data.toString('utf8'));
    if (!isRecord(body)) return 'pass';
    switch (body.type) {
      case 'message_start':
        if (isRecord(body.message)) {
          facts.update(body.message.usage);
          reports.note(body.message.usage);
          container = body.message.container ?? container;
        }
        return 'pass';
      case 'content_block_start':
        // This event may be parsed only because of another one in its chunk, so its block is checked here.
        if (!hasEnded && (offersTools || isOfProvider(body.content_block))) shown.add(body.content_block);
        return 'pass';
      case 'content_block_stop':
        hasOutputEnd = true;
        return 'pass';
      case 'message_delta':
        hasOutputEnd = true;
        if (isRecord(body.delta)) container = body.delta.container ?? container;
        takeFinalUsage(body.usage);
        return 'pass';
      case 'message_stop':
        hasEnded = true;
        takeFinalUsage(body.usage ?? (isRecord(body.message) ? body.message.usage : null));
        return 'done';
      case 'error':
        return 'error';
      default:
        return 'pass';
    }
  }

  function takeFinalUsage(usage: unknown): void {
    if (!isRecord(usage)) return;
    facts.update(usage);
    reports.note(usage);
    countsTools ||= isRecord(usage.server_tool_use);
    hasFinalUsage ||= readCount(usage.output_tokens) != null;
  }

  function isRelevant(marker: string): boolean {
    if (marker === BLOCK_END) return !hasOutputEnd;
    return marker !== BLOCK_START || offersTools;
  }

  const withTools = (usage: Usage | null): Usage | null => withShown(usage, countsTools, shown);

  return {
    matters: (run) => MARKER_PATTERNS.some(run, (marker) => isRelevant(MARKERS[marker]!)),
    written: streamedMessageText(),
    outputReports: reports,
    read,
    usage: () => (hasFinalUsage ? withContainer(withTools(facts.total()), container, namesContainer) : null),
    partialUsage: () => withTools(facts.total() ?? facts.withOutput(0)),
    get hasOutputEnd() {
      return hasOutputEnd;
    },
    canEndHere: false,
    continuationKeys: () => containerKeys(container),
  };
}
