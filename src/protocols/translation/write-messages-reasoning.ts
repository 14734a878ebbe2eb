import type { ReasoningSettings } from './conversation.ts';
import { type Effort, type MessagesDialect, nearestEffort } from './dialect.ts';
import type { TranslationNotes } from './notes.ts';
import type { WrittenObject } from './written-object.ts';

/** Least budget that vendors accept. */
const BUDGET_TOKENS_MIN = 1_024;

const BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
  max: 65_536,
};

interface Thinking {
  readonly dialect: MessagesDialect;
  /** Output limit, which includes the budget. */
  readonly limit: number;
  /** Whether the provider accepts thinking in this conversation. */
  readonly canThink: boolean;
}

/** Writes whether and how much the model thinks. `effort`: for `output_config`; `null`: none. */
export function writeMessagesReasoning(
  body: WrittenObject,
  { effort, isOn, budgetTokens }: ReasoningSettings,
  { dialect, limit, canThink }: Thinking,
  notes: TranslationNotes,
): { readonly thinks: boolean; readonly effort: Effort | null } {
  if (effort === null && isOn === null && budgetTokens === null) return SILENT;
  const isWanted = isOn ?? effort !== 'none';
  if (dialect.thinking === 'none') {
    notes.leaveOut('reasoning');
    return SILENT;
  }
  if (!isWanted) {
    body.add('thinking', '{"type":"disabled"}');
    return SILENT;
  }
  if (!canThink) {
    notes.leaveOut('reasoning');
    return SILENT;
  }
  if (dialect.thinking === 'adaptive') {
    body.add('thinking', '{"type":"adaptive"}');
    const known = effort === null ? null : nearestEffort(effort, dialect.efforts);
    if (effort !== null && known === null) notes.leaveOut('reasoning.effort');
    return { thinks: true, effort: known };
  }
  const asked = budgetTokens ?? BUDGETS[nearestEffort(effort ?? 'medium', ALL) ?? 'medium'];
  const budget = Math.min(Math.max(asked, BUDGET_TOKENS_MIN), limit - 1);
  if (budget < BUDGET_TOKENS_MIN) {
    notes.leaveOut('reasoning');
    return SILENT;
  }
  body.add('thinking', `{"type":"enabled","budget_tokens":${budget}}`);
  return { thinks: true, effort: null };
}

const SILENT = { thinks: false, effort: null } as const;

const ALL = Object.keys(BUDGETS) as Effort[];
