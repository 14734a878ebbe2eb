import { NamedError } from '../../lib/named-error.ts';
import type { RawText } from './conversation.ts';

/** Why a model ended its answer. `calls`: it called tools. `filter`: the provider or the model refused. `pause`: the turn is to go on. */
export type EndReason = 'stop' | 'length' | 'calls' | 'filter' | 'pause';

/** The reason that a client is told. Calls that came decide, because some providers end answers with calls by `stop`, or others by `tool_calls`. */
export function reasonShown(said: EndReason, hasCalls: boolean): EndReason {
  if (said === 'calls' && !hasCalls) return 'stop';
  return said === 'stop' && hasCalls ? 'calls' : said;
}

export interface AnswerHead {
  /** The provider's id of the answer; `null`: it has none. */
  readonly id: string | null;
}

/** Parts of an answer that must come back with the next call, though no client can read them. */
export interface OpaqueReasoning {
  readonly signature?: string;
  readonly data?: string;
  /** Items of `reasoning_details` as JSON texts. */
  readonly details?: readonly string[];
}

/**
 * Receives an answer as blocks: one is open at a time, and each one that begins ends. Streams and whole answers come the same way, so they
 * cannot differ.
 */
export interface AnswerBlocks {
  begin(head: AnswerHead): void;
  startText(): void;
  startReasoning(): void;
  startRefusal(): void;
  /** @param name the tool's name at the provider */
  startCall(id: string, name: string): void;
  /** A part of the open block: of its text, or of the JSON text of a call's arguments. */
  delta(text: RawText): void;
  /** @param opaque only at the end of reasoning */
  stop(opaque: OpaqueReasoning | null): void;
  end(reason: EndReason, stopSequence: RawText | null): void;
}

/** The provider's answer cannot be expressed in the client's protocol, or breaks the rules of its own. */
export class AnswerError extends NamedError {}
