/** Which addresses of the gateway are called. */
export interface CallTarget {
  /** Such as `https://gate.example`. */
  readonly origin: string;
  readonly context: 'balance' | 'coding';
  /** The first path segment of the Coding Plan's messages endpoints (`server.protocolNames`). */
  readonly messagesName: string;
}

/** Base URL for clients of the chat protocol. */
export function chatBase({ origin, context }: Pick<CallTarget, 'origin' | 'context'>): string {
  return `${origin}/v1${context === 'coding' ? '/coding' : ''}`;
}

/** Base URL for clients of the messages protocol, which append `/v1/messages`. */
export function messagesBase({ origin, context, messagesName }: CallTarget): string {
  return context === 'coding' ? `${origin}/${messagesName}/coding` : origin;
}

/** A string literal for JSON, TOML, YAML, JavaScript and Python. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}
