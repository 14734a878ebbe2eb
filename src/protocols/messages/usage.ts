import { isRecord } from '../../lib/json/json.ts';
import { readCacheCounts } from '../metering/cache-counts.ts';
import { greatestFigures } from '../metering/greatest-figures.ts';
import { usesShown } from '../metering/rounds.ts';
import { readTerms } from '../metering/service-terms.ts';
import { readToolUses } from '../metering/tool-uses.ts';
import { unreadCounts } from '../metering/unread-counts.ts';
import { addUsage, type ModelUsage, noUsage, readCount, type Usage } from '../metering/usage-facts.ts';
import { INPUT_SIDE, InputSide } from './input-side.ts';

/**
 * Usage of the messages protocol. `input_tokens` excludes cache reads and writes. `iterations` lists the model runs, which vendors bill
 * separately; the totals exclude compactions. Counts in a stream are cumulative, so the maximum of each applies, except for the input.
 */
export class MessagesUsage {
  #fields: Record<string, unknown> = {};
  readonly #input = new InputSide();

  update(usage: unknown): void {
    if (!isRecord(usage)) return;
    const before = this.#fields.iterations;
    const { iterations } = usage;
    this.#fields = greatestFigures(this.#fields, usage) as Record<string, unknown>;
    if (Array.isArray(before) && Array.isArray(iterations) && !areSameRuns(before, iterations)) {
      this.#fields.iterations = iterations.length < before.length ? before : iterations;
    }
    if (listsCompaction(iterations)) this.#input.replace(usage);
    else this.#input.update(usage);
    for (const name of INPUT_SIDE) this.#fields[name] = this.#input.fields[name];
  }

  /** Returns the usage; `null` if input or output is missing or unreadable. */
  total(): Usage | null {
    const outputTokens = readCount(this.#fields.output_tokens);
    return outputTokens == null ? null : this.withOutput(outputTokens);
  }

  /** Returns the usage with another output; `null` if the input is missing or unreadable. */
  withOutput(outputTokens: number): Usage | null {
    const tokens = readTokens(this.#fields, outputTokens);
    if (tokens === null) return null;
    const servedOn = readTerms(this.#fields);
    const [ofCache, others] = [readCacheCounts(this.#fields, 'messages').unexplained, unreadCounts(this.#fields)];
    const own = {
      ...tokens,
      ...(ofCache.length + others.length > 0 && { unexplained: [...ofCache, ...others] }),
      ...(servedOn && { servedOn }),
    };
    const iterations = this.#fields.iterations;
    if (!Array.isArray(iterations)) return own;
    let sum = own;
    let outside = 0;
    const parts: ModelUsage[] = [];
    for (const iteration of iterations) {
      if (!isRecord(iteration) || typeof iteration.type !== 'string') continue;
      const { type } = iteration;
      const model = typeof iteration.model === 'string' ? iteration.model : null;
      const run = readTokens({ input_tokens: 0, output_tokens: 0, ...iteration });
      if (run === null) {
        // An unreadable run is skipped if the totals include it.
        if (type === 'message' && model === null) continue;
        return null;
      }
      if (type === 'compaction') {
        const usage = { ...run, compactions: 1 };
        sum = addUsage(sum, usage);
        parts.push({ model: null, isInside: true, usage });
      } else {
        const isInside = INSIDE.includes(type);
        if (!isInside) outside++;
        parts.push({ model, isInside, usage: run });
      }
    }
    if (parts.length === 0) return sum;
    // Each run after the first one is an extra round.
    const turns = parts.length - sum.compactions - outside;
    return { ...sum, serverToolUses: Math.max(sum.serverToolUses, turns - 1) + outside, parts };
  }
}

/** Types of model runs that the totals include. */
const INSIDE: readonly string[] = ['message', 'fallback_message'];

/** Whether a report lists a compaction. Its input then lacks the summarized context, which earlier reports include. */
function listsCompaction(iterations: unknown): boolean {
  return Array.isArray(iterations) && iterations.some((run) => isRecord(run) && run.type === 'compaction');
}

function areSameRuns(before: readonly unknown[], reported: readonly unknown[]): boolean {
  const kindOf = (run: unknown): string => (isRecord(run) ? JSON.stringify([run.type, run.model ?? null]) : '');
  return before.slice(0, reported.length).every((run, place) => kindOf(run) === kindOf(reported[place]));
}

function readTokens(
  fields: Readonly<Record<string, unknown>>,
  outputTokens = readCount(fields.output_tokens),
): Usage | null {
  const inputTokens = readCount(fields.input_tokens);
  const cachedInputTokens = readCount(fields.cache_read_input_tokens);
  const written = readCount(fields.cache_creation_input_tokens);
  if (inputTokens == null || outputTokens == null || cachedInputTokens === undefined || written === undefined) {
    return null;
  }
  const byLifetime = isRecord(fields.cache_creation) ? fields.cache_creation : {};
  const fiveMinutes = readCount(byLifetime.ephemeral_5m_input_tokens) ?? 0;
  const oneHour = readCount(byLifetime.ephemeral_1h_input_tokens) ?? 0;
  const details = isRecord(fields.output_tokens_details) ? fields.output_tokens_details : {};
  return {
    ...noUsage,
    inputTokens,
    cachedInputTokens: cachedInputTokens ?? 0,
    // What exceeds the count of one-hour writes was written for five minutes.
    cacheWriteTokens: Math.max(fiveMinutes, (written ?? 0) - oneHour),
    cacheWrite1hTokens: oneHour,
    outputTokens,
    reasoningTokens: Math.min(readCount(details.thinking_tokens) ?? 0, outputTokens),
    ...readToolUses(fields.server_tool_use),
    serverToolUses: usesShown(fields),
  };
}

export function readMessagesUsage(usage: unknown): Usage | null {
  const facts = new MessagesUsage();
  facts.update(usage);
  return facts.total();
}
