/** What the scripted model is asked and says, in words that both protocols share. */
export const GREETING = 'Hello from behind the gate. 你好，世界！ 👋\n';
export const FILE = 'greeting.txt';

export type Step =
  | { readonly kind: 'write' }
  | { readonly kind: 'read'; readonly file: string }
  | { readonly kind: 'say'; readonly text: string };

/** Tokens that the provider reports, in the terms of call records: `input` without what was cached. */
export interface ReportedUsage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

export type Part =
  | { readonly kind: 'text'; readonly text: string }
  /** The result of a tool; `id` ends in the number of the call that asked for it. */
  | { readonly kind: 'result'; readonly id: string; readonly text: string };

/** What an agent sent, as far as the model looks at it. */
export interface Conversation {
  /** The name of the model. Claude Code sends thinking back only if it comes from the model that it asked for. */
  readonly model: string;
  /** Texts and results of tools, in order. */
  readonly parts: readonly Part[];
  readonly toolNames: readonly string[];
  readonly isStream: boolean;
}

/** What the model says in a call. */
export interface Said {
  /** The number of the call, from 0. */
  readonly call: number;
  readonly step: Step;
  readonly usage: ReportedUsage;
  /** The directory that the agent works in. */
  readonly directory: string;
  readonly toolNames: readonly string[];
  readonly model: string;
  /** The signature of what the model thinks before the step; null: it does not think. */
  readonly signature: string | null;
}

export interface Events {
  readonly all: readonly string[];
  /** Up to the middle of what the model says. */
  readonly inside: readonly string[];
  /** All but the end of the stream. */
  readonly behind: readonly string[];
}

/** How a protocol asks and responds. */
export interface Wire {
  read(body: unknown): Conversation;
  events(said: Said): Events;
  /** The response of a call that does not stream. */
  whole(said: Said): object;
}

export const fileOf = (step: Step): string => (step.kind === 'read' ? step.file : FILE);

/** The text of a content: a string, or blocks with texts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((block: { readonly text?: string }) => block.text ?? '').join('');
}

/** A text in two pieces, as a model does not say everything at once. */
export function pieces(text: string): readonly [string, string] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}
