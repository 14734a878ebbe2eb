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
  return `${prefix}_${hash('sha256', whole, 'base64url').slice(0, HASH_LENGTH)}`;
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
 * The id of a call at a provider that accepts only letters, digits, `_` and `-`: the id itself, or its encoding. Different ids never have the
 * same one.
 */
export function providerCallId(id: string): string {
  if (ACCEPTED_ID.test(id) && !id.startsWith(ENCODED)) return id;
  const encoded = Buffer.from(id).toString('base64url');
  return encoded.length <= 59 && encoded !== ''
    ? `${ENCODED}${encoded}`
    : `${ENCODED}h_${hash('sha256', id, 'base64url')}`;
}
