/** Requests to and responses of the scripted model, independent of the protocol. */
export const GREETING = 'Hello from behind the gate. 你好，世界！ 👋\n';
export const FILE = 'greeting.txt';

export type Step =
  | { readonly kind: 'write' }
  | { readonly kind: 'read'; readonly file: string }
  | { readonly kind: 'say'; readonly text: string };

/** Reported token counts, with the names in call records: `input` excludes cached tokens. */
export interface ReportedUsage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

export type Part =
  | { readonly kind: 'text'; readonly text: string }
  /** The result of a tool. `id` ends in the number of the call that requested it. */
  | { readonly kind: 'result'; readonly id: string; readonly text: string };

/** The parts of an agent's request that the model uses. */
export interface Conversation {
  /** Claude Code sends thinking back only to the model that it requested. */
  readonly model: string;
  /** Texts and results of tools, in order. */
  readonly parts: readonly Part[];
  readonly toolNames: readonly string[];
  readonly isStream: boolean;
}

/** The model's response to a call. */
export interface Said {
  /** The number of the call, from 0. */
  readonly call: number;
  readonly step: Step;
  readonly usage: ReportedUsage;
  /** The agent's working directory. */
  readonly directory: string;
  readonly toolNames: readonly string[];
  readonly model: string;
  /** The signature of the thinking before the step; null without thinking. */
  readonly signature: string | null;
}

export interface Events {
  readonly all: readonly string[];
  /** Up to the middle of the model's text. */
  readonly inside: readonly string[];
  /** Everything except the end of the stream. */
  readonly behind: readonly string[];
}

/** Reads requests and writes responses of a protocol. */
export interface Wire {
  read(body: unknown): Conversation;
  events(said: Said): Events;
  /** The response of a non-streaming call. */
  whole(said: Said): object;
}

export const fileOf = (step: Step): string => (step.kind === 'read' ? step.file : FILE);

/** The text of `content`: a string, or blocks with texts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((block: { readonly text?: string }) => block.text ?? '').join('');
}

/** A text in two chunks, like the output of a model. */
export function pieces(text: string): readonly [string, string] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}
