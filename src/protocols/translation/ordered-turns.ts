import type {
  CallBlock,
  MediaBlock,
  ReasoningBlock,
  RefusalBlock,
  ResultBlock,
  TextBlock,
  Turn,
} from './conversation.ts';
import type { TranslationNotes } from './notes.ts';
import { isBlank } from './raw-text.ts';

/**
 * Turns as providers require them: results stand right behind their calls, in the order of the calls. Texts that are empty or white space are
 * dropped, and turns without anything else.
 */
export type OrderedTurn =
  | { readonly role: 'user' | 'system'; readonly blocks: readonly Content[]; readonly path: string }
  | AssistantTurn;

export interface AssistantTurn {
  readonly role: 'assistant';
  /** All blocks in their order, calls included. */
  readonly blocks: readonly AssistantBlock[];
  readonly calls: readonly CallBlock[];
  /** One for each call. */
  readonly results: readonly ResultBlock[];
  readonly path: string;
}

export type Content = TextBlock | MediaBlock;
export type AssistantBlock = Content | ReasoningBlock | RefusalBlock | CallBlock;

const INTERRUPTED = 'The call was interrupted; its outcome is unknown.';

interface OpenTurn {
  readonly role: 'assistant';
  readonly path: string;
  readonly blocks: AssistantBlock[];
  /** Calls without a result, by id. */
  readonly pending: Map<string, number>;
  /** Results by the ids of their calls. */
  readonly results: Map<string, ResultBlock[]>;
  /** True if something follows, so that a later turn of the assistant is a new one. */
  isClosed: boolean;
}

/**
 * Joins adjacent turns of the assistant, and moves results behind their calls. A call without a result gets one that says so. Each turn
 * depends only on what stands before the next turn of the assistant, so a longer conversation begins like a shorter one.
 * @throws GatewayError `invalidRequest` if a result has no call
 */
export function orderTurns(turns: readonly Turn[], notes: TranslationNotes): readonly OrderedTurn[] {
  const ordered: (Exclude<OrderedTurn, AssistantTurn> | OpenTurn)[] = [];
  let last: OpenTurn | null = null;
  for (const { role, blocks, path } of turns) {
    if (role === 'assistant') {
      if (last === null || last.isClosed) {
        last = { role, path, blocks: [], pending: new Map(), results: new Map(), isClosed: false };
        ordered.push(last);
      }
      for (const block of blocks) {
        if (block.kind === 'result') notes.refuse(block.path, 'is the result of a call in a turn of the assistant');
        if (block.kind === 'call') last.pending.set(block.id, (last.pending.get(block.id) ?? 0) + 1);
        if (!isEmpty(block, notes)) last.blocks.push(block);
      }
      continue;
    }
    const others: Content[] = [];
    for (const block of blocks) {
      if (block.kind === 'result') takeResult(block, last, notes);
      else if (block.kind !== 'text' && block.kind !== 'media') {
        notes.refuse(path, `has a block of the kind "${block.kind}", which only the assistant writes`);
      } else if (!isEmpty(block, notes)) others.push(block);
    }
    if (others.length === 0) continue;
    if (last !== null) last.isClosed = true;
    ordered.push({ role, blocks: others, path });
  }
  return ordered.flatMap((turn): readonly OrderedTurn[] =>
    turn.role === 'assistant' ? finished(turn, notes) : [turn],
  );
}

/** Instructions without texts that are empty or white space. */
export function filledTexts(blocks: readonly TextBlock[], notes: TranslationNotes): readonly TextBlock[] {
  return blocks.filter((block) => !isEmpty(block, notes));
}

function isEmpty(block: AssistantBlock, notes: TranslationNotes): boolean {
  if ((block.kind !== 'text' && block.kind !== 'refusal') || !isBlank(block.text)) return false;
  if (block.kind === 'text' && block.cache !== null) notes.leaveOut('cache_control');
  return true;
}

function takeResult(result: ResultBlock, last: OpenTurn | null, notes: TranslationNotes): void {
  const { callId, path } = result;
  const pending = last?.pending.get(callId) ?? 0;
  if (last === null || pending === 0) notes.refuse(path, 'is a result without a call before it');
  last.isClosed = true;
  last.pending.set(callId, pending - 1);
  const content = result.content.filter((block) => !isEmpty(block, notes));
  const results = last.results.get(callId) ?? [];
  results.push({ ...result, content });
  last.results.set(callId, results);
}

function finished({ role, path, blocks, results }: OpenTurn, notes: TranslationNotes): readonly AssistantTurn[] {
  const calls = blocks.filter((block) => block.kind === 'call');
  const inOrder = calls.map(({ id, path: ofCall }): ResultBlock => {
    const result = results.get(id)?.shift();
    if (result !== undefined) return result;
    notes.add('tool_result');
    const content = [{ kind: 'text', text: INTERRUPTED, cache: null }] as const;
    return { kind: 'result', callId: id, isError: true, content, cache: null, path: ofCall };
  });
  if (blocks.some(({ kind }) => kind !== 'reasoning')) return [{ role, path, blocks, calls, results: inOrder }];
  // Vendors refuse a message that is only reasoning, or nothing at all.
  if (blocks.length > 0) notes.leaveOut('reasoning');
  return [];
}
