/** What somebody wants to call with which client; the settings of clients are written for it. */
export interface Wanted {
  /** The address of this gateway, such as `https://gate.example`. */
  readonly origin: string;
  readonly context: 'balance' | 'coding';
  readonly model: string;
  /** The key, or what stands for it. */
  readonly key: string;
  /** Where commands are typed and files are. */
  readonly system: System;
  /** The first part of the messages addresses of the Coding Plan (`server.protocolNames`). */
  readonly messagesName: string;
  readonly contextTokens: number | null;
  readonly outputTokens: number | null;
}

export const SYSTEMS = ['unix', 'powershell', 'cmd'] as const;
export type System = (typeof SYSTEMS)[number];

/** Text for a file, or to be run if there is none; or what is entered in the fields of a form. */
export type Setting =
  | { readonly file: string | null; readonly code: string }
  | { readonly form: string; readonly fields: readonly (readonly [label: string, value: string])[] };

export type Operation = 'chat' | 'responses' | 'messages';

export interface Client {
  readonly name: string;
  /** What the model has to offer. */
  readonly operation: Operation;
  /** Whether its settings stay when the page is closed: a key that ends in an hour has no place in them. */
  readonly isLasting: boolean;
  /** When its settings were compared with what its makers publish, and with what of it; `null`: tests run them. */
  readonly checked: { readonly on: string; readonly against: string } | null;
  readonly settings: (wanted: Wanted) => readonly Setting[];
}

/** What a chat-style client takes as its base address. */
export function chatBase({ origin, context }: Pick<Wanted, 'origin' | 'context'>): string {
  return `${origin}/v1${context === 'coding' ? '/coding' : ''}`;
}

/** What a messages-style client takes as its base address; it adds `/v1/messages`. */
export function messagesBase({
  origin,
  context,
  messagesName,
}: Pick<Wanted, 'origin' | 'context' | 'messagesName'>): string {
  return context === 'coding' ? `${origin}/${messagesName}/coding` : origin;
}

/** A text as JSON, TOML, YAML, JavaScript and Python write it. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

export function written(settings: object): string {
  return JSON.stringify(settings, null, 2);
}
