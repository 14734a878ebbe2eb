import type { TextBlock, Turn } from './conversation.ts';
import type { TranslationNotes } from './notes.ts';

/** Takes the instructions before the first other turn; later ones stay in their place. */
export function leadingSystem(
  turns: readonly Turn[],
  notes: TranslationNotes,
): { readonly system: readonly TextBlock[]; readonly turns: readonly Turn[] } {
  const first = turns.findIndex(({ role }) => role !== 'system');
  const count = first === -1 ? turns.length : first;
  const system = turns
    .slice(0, count)
    .flatMap(({ blocks, path }) =>
      blocks.map((block) => (block.kind === 'text' ? block : notes.refuse(path, 'has instructions that are no text'))),
    );
  return { system, turns: turns.slice(count) };
}
