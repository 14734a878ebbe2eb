/** Efforts from the lowest to the highest. A vendor knows some of them. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

/** How a chat provider differs from others, where a translated request depends on it. */
export interface ChatDialect {
  /**
   * Where the provider reads whether and how much to reason: `effort` (`reasoning_effort`), `thinking` (`thinking.type`),
   * `enable_thinking` (with `thinking_budget`), `openrouter` (`reasoning`), `template` (`chat_template_kwargs`), `none`.
   */
  readonly reasoning: 'effort' | 'thinking' | 'enable_thinking' | 'openrouter' | 'template' | 'none';
  readonly efforts: readonly Effort[];
  /** Member in which the provider wants its earlier reasoning back. */
  readonly replay: 'none' | 'reasoning_content' | 'reasoning' | 'reasoning_details';
  /** Role of instructions after the first turn. */
  readonly laterSystem: 'user' | 'system';
  /** Where media in results of tools go: into the result, or into a user message behind all results. */
  readonly toolMedia: 'user' | 'tool';
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens';
  /** Optional members that the provider accepts. */
  readonly takes: ReadonlySet<string>;
  /** Members that the model rejects. */
  readonly drops: ReadonlySet<string>;
}

/** Safe for every provider: what not all of them accept is left out. */
export const PLAIN_CHAT: ChatDialect = {
  reasoning: 'none',
  efforts: ['low', 'medium', 'high'],
  replay: 'none',
  laterSystem: 'user',
  toolMedia: 'user',
  maxTokens: 'max_tokens',
  takes: new Set(),
  drops: new Set(),
};

export interface MessagesDialect {
  /** How the provider is asked to reason: it decides itself (`adaptive`), or within a budget. */
  readonly thinking: 'adaptive' | 'budget' | 'none';
  readonly efforts: readonly Effort[];
  /** Whether to ask for a prompt cache where a conversation shows. */
  readonly promptCache: 'auto' | 'off';
  readonly laterSystem: 'user' | 'system';
  readonly takes: ReadonlySet<string>;
  readonly drops: ReadonlySet<string>;
}

export const PLAIN_MESSAGES: MessagesDialect = {
  thinking: 'none',
  efforts: ['low', 'medium', 'high'],
  promptCache: 'off',
  laterSystem: 'user',
  takes: new Set(),
  drops: new Set(),
};

/** The known effort that is nearest to another one; of two, the lower one. `null` if no effort is known, or the name is none. */
export function nearestEffort(asked: string, known: readonly Effort[]): Effort | null {
  const place = EFFORTS.indexOf(asked as Effort);
  if (place === -1 || known.length === 0) return null;
  // To reason little is nearer to not reasoning than the other way round: `none` is only chosen if it was asked for.
  const choices = asked === 'none' ? known : known.filter((effort) => effort !== 'none');
  let nearest: Effort | null = null;
  let distance = Number.POSITIVE_INFINITY;
  for (const effort of EFFORTS) {
    if (!choices.includes(effort)) continue;
    const apart = Math.abs(EFFORTS.indexOf(effort) - place);
    if (apart < distance) [nearest, distance] = [effort, apart];
  }
  return nearest;
}
