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

/** Turns as providers require them: results stand right behind their calls, in the order of the calls. */
export type OrderedTurn =
  | { readonly role: 'user' | 'system'; readonly blocks: readonly (TextBlock | MediaBlock)[]; readonly path: string }
  | AssistantTurn;

export interface AssistantTurn {
  readonly role: 'assistant';
  readonly blocks: readonly (TextBlock | MediaBlock | ReasoningBlock | RefusalBlock)[];
  readonly calls: readonly CallBlock[];
  /** One for each call. */
  readonly results: readonly ResultBlock[];
  readonly path: string;
}

const INTERRUPTED = 'The call was interrupted; its outcome is unknown.';

interface OpenTurn {
  readonly turn: { role: 'assistant'; path: string };
  readonly blocks: (TextBlock | MediaBlock | ReasoningBlock | RefusalBlock)[];
  readonly calls: CallBlock[];
  readonly results: ResultBlock[];
  /** True if something follows, so that a later turn of the assistant is a new one. */
  isClosed: boolean;
}

/**
 * Joins adjacent turns of the assistant, and moves results behind their calls. A call without a result gets one that says so. Each turn
 * depends only on what stands before the next turn of the assistant, so a longer conversation begins like a shorter one.
 * @throws GatewayError `invalidRequest` if a result has no call
 */
export function orderTurns(turns: readonly Turn[], notes: TranslationNotes): readonly OrderedTurn[] {
  const ordered: (OrderedTurn | OpenTurn)[] = [];
  let last: OpenTurn | null = null;
  for (const { role, blocks, path } of turns) {
    if (role === 'assistant') {
      if (last === null || last.isClosed) {
        last = { turn: { role, path }, blocks: [], calls: [], results: [], isClosed: false };
        ordered.push(last);
      }
      for (const block of blocks) {
        if (block.kind === 'call') last.calls.push(block);
        else if (block.kind === 'result')
          notes.refuse(block.path, 'is the result of a call in a turn of the assistant');
        else last.blocks.push(block);
      }
      continue;
    }
    if (last !== null) last.isClosed = true;
    const others: (TextBlock | MediaBlock)[] = [];
    for (const block of blocks) {
      if (block.kind === 'result') takeResult(block, last, notes);
      else if (block.kind === 'text' || block.kind === 'media') others.push(block);
      else notes.refuse(path, `has a block of the kind "${block.kind}", which only the assistant writes`);
    }
    if (others.length > 0) ordered.push({ role, blocks: others, path });
  }
  return ordered.map((each) => ('turn' in each ? finished(each, notes) : each));
}

function takeResult(result: ResultBlock, last: OpenTurn | null, notes: TranslationNotes): void {
  const calls = last?.calls.filter(({ id }) => id === result.callId).length ?? 0;
  const results = last?.results.filter(({ callId }) => callId === result.callId).length ?? 0;
  if (results >= calls) notes.refuse(result.path, 'is a result without a call before it');
  last!.results.push(result);
}

function finished({ turn, blocks, calls, results }: OpenTurn, notes: TranslationNotes): AssistantTurn {
  const left = [...results];
  const inOrder = calls.map(({ id, path }): ResultBlock => {
    const place = left.findIndex(({ callId }) => callId === id);
    if (place !== -1) return left.splice(place, 1)[0]!;
    notes.add('tool_result');
    const content = [{ kind: 'text', text: INTERRUPTED, cache: null }] as const;
    return { kind: 'result', callId: id, isError: true, content, cache: null, path };
  });
  return { ...turn, blocks, calls, results: inOrder };
}
