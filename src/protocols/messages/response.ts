import { isRecord } from '../../lib/json/json.ts';
import type { MarkedMember } from '../../lib/json/json-captured-members.ts';
import { MemberNames } from '../../lib/json/member-names.ts';
import type { ResponseEstimate, ResponseReading } from '../metering/response.ts';
import type { Usage } from '../metering/usage-facts.ts';
import { stateKey } from '../state-references.ts';
import { isOfProvider, shownTools, withShown } from './shown-tools.ts';
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

/** `namesContainer`: the request names a container. `offersTools`: it offers provider tools, whose blocks can look like a client tool's. */
export const messagesResponse = (namesContainer = false, offersTools = false): ResponseReading => ({
  keep: ['usage', 'container', ...(offersTools ? ['content'] : [])],
  ...(!offersTools && { keepMarked: MARKED_CONTENT }),
  count: [],
  usage(response) {
    const reported = response.member('usage');
    const shown = shownTools();
    const content = offersTools || response.isMarked('content') ? response.member('content') : null;
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

/** Marks of blocks that only the provider generates: tool results, and calls of MCP servers. */
const MARKED_CONTENT: MarkedMember = { name: 'content', marks: new MemberNames('tool_use_id', 'server_name') };

/** Adds a container, unless the request names an existing one. It is free of charge if it only filters searches and fetched pages. */
export function withContainer(usage: Usage | null, container: unknown, namesContainer: boolean): Usage | null {
  if (usage === null || namesContainer || containerKeys(container).length === 0) return usage;
  return usage.webSearches > 0 || usage.webFetches > 0 ? usage : { ...usage, containers: 1 };
}

export function containerKeys(container: unknown): readonly string[] {
  const id = isRecord(container) ? container.id : null;
  return typeof id === 'string' && id !== '' ? [stateKey({ kind: 'container', id })] : [];
}
