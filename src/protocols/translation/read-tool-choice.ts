import type { Conversation, Tool } from './conversation.ts';
import { ReadMembers } from './members.ts';
import type { TranslationNotes } from './notes.ts';

/**
 * Reads `tool_choice` of chat and responses clients: a word, one tool, or `allowed_tools`, which reduces the list of tools.
 * @returns the choice, and the tools that the model may use
 */
export function readToolChoice(
  top: ReadMembers,
  tools: readonly Tool[],
  notes: TranslationNotes,
): Pick<Conversation, 'toolChoice' | 'tools'> {
  const choice = top.take('tool_choice');
  if (choice === null) return { toolChoice: null, tools };
  if (choice.kind === 'string') {
    const word = WORDS.find((known) => known === choice.text);
    return { toolChoice: { type: word ?? top.refuse('tool_choice', 'is no known choice') }, tools };
  }
  const members = new ReadMembers(choice, 'tool_choice', notes);
  const type = members.requiredText('type');
  // Chat clients wrap the choice in a member with the name of its type.
  const inside = members.object(type) ?? members;
  if (type === 'function' || type === 'custom') {
    return { toolChoice: { type: 'tool', name: inside.requiredText('name') }, tools };
  }
  if (type !== 'allowed_tools') {
    const name = inside.text('name') ?? type;
    return { toolChoice: { type: 'tool', name }, tools };
  }
  const mode = inside.text('mode') === 'required' ? 'required' : 'auto';
  const names = inside.items('tools').map((item, index) => {
    const tool = new ReadMembers(item, `${inside.pathOf('tools')}[${index}]`, notes);
    const kind = tool.text('type') ?? '';
    return (tool.object(kind) ?? tool).text('name') ?? kind;
  });
  return { toolChoice: { type: mode }, tools: tools.filter(({ name }) => names.includes(name)) };
}

const WORDS = ['auto', 'none', 'required'] as const;
