/** The choices from which client settings are generated. */
export interface Wanted {
  /** Such as `https://gate.example`. */
  readonly origin: string;
  readonly context: 'balance' | 'coding';
  readonly model: string;
  /** The key, or a placeholder. */
  readonly key: string;
  readonly system: System;
  /** The first path segment of the Coding Plan's messages endpoints (`server.protocolNames`). */
  readonly messagesName: string;
  readonly contextTokens: number | null;
  readonly outputTokens: number | null;
}

export const SYSTEMS = ['unix', 'powershell', 'cmd'] as const;
export type System = (typeof SYSTEMS)[number];

/** Content of a file, or a command if there is no file; or values for the fields of a form. */
export type Setting =
  | { readonly file: string | null; readonly code: string }
  | { readonly form: string; readonly fields: readonly (readonly [label: string, value: string])[] };

export type Operation = 'chat' | 'responses' | 'messages';

export interface Client {
  readonly name: string;
  /** The protocol that the model must support. */
  readonly operation: Operation;
  /** Whether the settings are stored permanently, which a one-hour key does not suit. */
  readonly isLasting: boolean;
  /** The date and source of the last comparison with the vendor's documentation; `null` if tests run the settings. */
  readonly checked: { readonly on: string; readonly against: string } | null;
  readonly settings: (wanted: Wanted) => readonly Setting[];
}

/** Base URL for clients of the chat protocol. */
export function chatBase({ origin, context }: Pick<Wanted, 'origin' | 'context'>): string {
  return `${origin}/v1${context === 'coding' ? '/coding' : ''}`;
}

/** Base URL for clients of the messages protocol, which append `/v1/messages`. */
export function messagesBase({
  origin,
  context,
  messagesName,
}: Pick<Wanted, 'origin' | 'context' | 'messagesName'>): string {
  return context === 'coding' ? `${origin}/${messagesName}/coding` : origin;
}

/** A string literal for JSON, TOML, YAML, JavaScript and Python. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

export function written(settings: object): string {
  return JSON.stringify(settings, null, 2);
}
