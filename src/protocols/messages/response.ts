import { isRecord } from '../../lib/json/json.ts';
import type { ReadResponse, ResponseEstimate, ResponseReading } from '../metering/response.ts';
import type { Usage } from '../metering/usage-facts.ts';
import { stateKey } from '../state-references.ts';
import { isOfProvider, PROVIDER_BLOCKS, shownTools, withShown } from './shown-tools.ts';
import { readMessagesUsage } from './usage.ts';
import { MESSAGE_TEXT } from './written.ts';

const ESTIMATE: ResponseEstimate = {
  keep: [],
  count: ['content'],
  isSuccess: (response) => response.count('content') !== null,
  members: ({ inputTokens, outputTokens }) => ({
    usage: { input_tokens: inputTokens, output_tokens: outputTokens },
  }),
};

/**
 * Whole responses of messages creation; `namesContainer`: the request goes on in a container that was made before;
 * `offersTools`: it offers tools that the provider runs, some of which are called by blocks that look like those of the client.
 */
export const messagesResponse = (namesContainer = false, offersTools = false): ResponseReading => ({
  keep: ['usage', 'container', ...(offersTools ? ['content'] : [])],
  ...(!offersTools && { keepSmall: ['content'] }),
  count: [],
  usage(response) {
    const reported = response.member('usage');
    const shown = shownTools();
    const content = offersTools || mayShowTools(response) ? response.member('content') : null;
    const blocks = Array.isArray(content) ? content : [];
    for (const block of blocks) if (offersTools || isOfProvider(block)) shown.add(block);
    const isCounted = isRecord(reported) && isRecord(reported.server_tool_use);
    const usage = withShown(readMessagesUsage(reported), isCounted, shown);
    return withContainer(usage, response.member('container'), namesContainer);
  },
  continuationKeys: (response) => containerKeys(response.member('container')),
  written: MESSAGE_TEXT,
  estimate: ESTIMATE,
});

/** A byte test: whether the blocks may show what a provider ran. */
function mayShowTools(response: ReadResponse): boolean {
  const content = response.bytes('content');
  return content !== undefined && PROVIDER_MARKS.some((mark) => content.includes(mark));
}

const PROVIDER_MARKS = PROVIDER_BLOCKS.map((end) => Buffer.from(`${end}"`));

/**
 * Adds the container that was made for a call. One in which searches and fetched pages are filtered is free of charge.
 */
export function withContainer(usage: Usage | null, container: unknown, namesContainer: boolean): Usage | null {
  if (usage === null || namesContainer || containerKeys(container).length === 0) return usage;
  return usage.webSearches > 0 || usage.webFetches > 0 ? usage : { ...usage, containers: 1 };
}

/** The container in which tools of the response ran; a later call may go on in it. */
export function containerKeys(container: unknown): readonly string[] {
  const id = isRecord(container) ? container.id : null;
  return typeof id === 'string' && id !== '' ? [stateKey({ kind: 'container', id })] : [];
}
