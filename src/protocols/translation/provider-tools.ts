import type { Conversation } from './conversation.ts';
import type { TranslationNotes } from './notes.ts';

export interface ProviderTool {
  readonly path: string;
  /** Kind of the tool, such as `web_search`; empty if the path says it. */
  readonly kind: string;
  readonly name: string;
}

/**
 * Leaves out tools that the client's vendor would run, such as `web_search`, as long as the request has others. Agents offer them in every
 * request.
 * @throws GatewayError `invalidRequest` if such a tool is forced, or the request offers no other
 */
export function providerRuns(
  tools: readonly ProviderTool[],
  { tools: others, toolChoice }: Pick<Conversation, 'tools' | 'toolChoice'>,
  notes: TranslationNotes,
): void {
  const [first] = tools;
  if (first === undefined) return;
  const isForced = toolChoice?.type === 'tool' && tools.some(({ name }) => name === toolChoice.name);
  if (isForced) notes.refuse('tool_choice', `forces the tool "${toolChoice.name}", which only some providers run`);
  if (others.length === 0) {
    notes.refuse(first.path, `offers the tool "${first.name}", which only some providers run`);
  }
  for (const { path, kind } of tools) notes.leaveOut(kind === '' ? path : `${path}(${kind})`);
}
