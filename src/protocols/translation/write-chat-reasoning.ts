import type { ReasoningSettings } from './conversation.ts';
import { type ChatDialect, nearestEffort } from './dialect.ts';
import type { TranslationNotes } from './notes.ts';
import type { WrittenObject } from './written-object.ts';

/** Writes whether and how much the model reasons, in the form of the provider. What it cannot say is left out. */
export function writeChatReasoning(
  body: WrittenObject,
  { effort: asked, isOn, budgetTokens }: ReasoningSettings,
  { reasoning, efforts }: ChatDialect,
  notes: TranslationNotes,
): void {
  if (asked === null && isOn === null && budgetTokens === null) return;
  const isWanted = isOn ?? asked !== 'none';
  const effort = nearestEffort(isWanted ? (asked ?? effortOf(budgetTokens)) : 'none', efforts);
  switch (reasoning) {
    case 'effort':
      if (budgetTokens !== null && asked !== null) notes.leaveOut('reasoning.budget');
      if (effort !== null && (isWanted || effort === 'none')) body.add('reasoning_effort', JSON.stringify(effort));
      else notes.leaveOut('reasoning');
      break;
    case 'thinking':
      if (isWanted) leaveOutAmount(asked, budgetTokens, notes);
      body.add('thinking', `{"type":"${isWanted ? 'enabled' : 'disabled'}"}`);
      break;
    case 'enable_thinking':
      body.add('enable_thinking', String(isWanted));
      if (isWanted && budgetTokens !== null) body.add('thinking_budget', String(budgetTokens));
      else if (isWanted) leaveOutAmount(asked, null, notes);
      break;
    case 'openrouter':
      body.add('reasoning', openrouterReasoning(isWanted, budgetTokens, asked === null ? null : effort));
      break;
    case 'template':
      if (isWanted) leaveOutAmount(asked, budgetTokens, notes);
      body.add('chat_template_kwargs', `{"enable_thinking":${isWanted}}`);
      break;
    default:
      notes.leaveOut('reasoning');
  }
}

/** Lists how much the model is to reason, where a provider knows only whether it does. */
function leaveOutAmount(effort: string | null, budgetTokens: number | null, notes: TranslationNotes): void {
  if (effort !== null) notes.leaveOut('reasoning.effort');
  if (budgetTokens !== null) notes.leaveOut('reasoning.budget');
}

function openrouterReasoning(isWanted: boolean, budgetTokens: number | null, effort: string | null): string {
  if (!isWanted) return '{"enabled":false}';
  if (budgetTokens !== null) return `{"max_tokens":${budgetTokens}}`;
  return effort === null ? '{"enabled":true}' : `{"effort":${JSON.stringify(effort)}}`;
}

/** The effort that a budget amounts to; vendors document 1,024 tokens as the least one. */
function effortOf(budgetTokens: number | null): string {
  if (budgetTokens === null) return 'medium';
  if (budgetTokens <= 4_096) return 'low';
  return budgetTokens <= 16_384 ? 'medium' : 'high';
}
