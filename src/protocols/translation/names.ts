import { hash } from 'node:crypto';
import type { CallBlock, Tool } from './conversation.ts';

/** Names that every provider accepts for a tool. */
const ACCEPTED_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const PREFIX_LENGTH = 40;
const HASH_LENGTH = 22;

type Named = Pick<Tool | CallBlock, 'name' | 'namespace'>;
type NamedTool = Pick<Tool, 'form' | 'name' | 'namespace'>;

/**
 * The name of a tool at the provider: its own if the provider accepts it, else a prefix and a hash. It depends on the name alone, so that it
 * is the same in every call of a conversation.
 */
export function providerToolName({ name, namespace }: Named): string {
  const whole = namespace === null ? name : `${namespace}__${name}`;
  if (ACCEPTED_NAME.test(whole)) return whole;
  const prefix = whole.replace(OTHERS, '_').slice(0, PREFIX_LENGTH);
  return `${prefix}_${hashOf(whole)}`;
}

const OTHERS = /[^a-zA-Z0-9_-]/g;

/** Finds the tools of a request by their names at the provider. */
export class ToolNames {
  readonly #tools = new Map<string, NamedTool>();

  constructor(tools: readonly NamedTool[]) {
    for (const tool of tools) this.#tools.set(providerToolName(tool), tool);
  }

  /** Returns the tool that a provider calls; `null` if the request has none with this name. */
  find(providerName: string): NamedTool | null {
    return this.#tools.get(providerName) ?? null;
  }

  /** Whether two tools have the same name at the provider. */
  static areDistinct(tools: readonly NamedTool[]): boolean {
    return new Set(tools.map(providerToolName)).size === tools.length;
  }
}

const ACCEPTED_ID = /^[a-zA-Z0-9_-]{1,64}$/;
const ENCODED = 'fgid_';

/**
 * The id of a call at a messages provider, which accepts only letters, digits, `_` and `-`: the id itself, or its encoding. Different ids never
 * have the same one.
 */
export function messagesCallId(id: string): string {
  if (ACCEPTED_ID.test(id) && !id.startsWith(ENCODED)) return id;
  const encoded = Buffer.from(id).toString('base64url');
  return encoded.length <= 59 && encoded !== '' && id.isWellFormed() ? `${ENCODED}${encoded}` : hashedId(id);
}

/** The id of a call to which the provider gave none. */
export function madeCallId(answerId: string | null, place: number): string {
  return `call_${answerId ?? ''}_${place}`.replace(OTHERS, '_');
}

/** Longest id that OpenAI accepts. */
const CHAT_ID_LENGTH_MAX = 40;

/** The id of a call at a chat provider: the id itself, because some providers read their own, unless it is empty or too long. */
export function chatCallId(id: string): string {
  return id.length <= CHAT_ID_LENGTH_MAX && id.trim() !== '' && id.isWellFormed() ? id : hashedId(id);
}

function hashedId(id: string): string {
  return `${ENCODED}h_${hashOf(id)}`;
}

/** As JSON, because UTF-8 has one form for all halves of characters. */
function hashOf(text: string): string {
  return hash('sha256', JSON.stringify(text), 'base64url').slice(0, HASH_LENGTH);
}

/**
 * Gives each call of a conversation an id of its own at the provider. Some models repeat ids, and messages providers refuse that. An id depends
 * only on the calls before it, so that it is the same in every longer conversation.
 */
export class CallIds {
  readonly #encode: (id: string) => string;
  readonly #used = new Set<string>();
  readonly #repeats = new Map<string, number>();

  /** @param given ids that calls have already */
  constructor(encode: (id: string) => string, given: readonly string[] = []) {
    this.#encode = encode;
    for (const id of given) this.next(id);
  }

  next(id: string): string {
    let repeat = this.#repeats.get(id) ?? 0;
    let given = this.#encode(repeat === 0 ? id : `${id}_${repeat}`);
    for (; this.#used.has(given); repeat++) given = this.#encode(`${id}_${repeat + 1}`);
    this.#repeats.set(id, repeat + 1);
    this.#used.add(given);
    return given;
  }
}
