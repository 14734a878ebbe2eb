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
 * Usage facts of the messages protocol: `input_tokens` excludes cache reads and writes; five-minute and one-hour writes
 * are listed separately in `cache_creation`. `iterations` lists each run of a model, which vendors bill one by one; those of
 * compactions come on top of the totals. In a stream the figures are cumulative, so the greatest one of each field counts; the
 * input side is one tuple.
 */
export class MessagesUsage {
  #fields: Record<string, unknown> = {};
  readonly #input = new InputSide();

  /** Takes a usage object in; fields that it leaves out or sets to null keep what they had. */
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

  /** The facts so far; `null` where input or output is missing or unreadable. */
  total(): Usage | null {
    const outputTokens = readCount(this.#fields.output_tokens);
    return outputTokens == null ? null : this.withOutput(outputTokens);
  }

  /** The facts with another count of output tokens; `null` where the input side is missing or unreadable. */
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
        // The totals have it all the same.
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
    // Of the turns that the totals include, the first is no round of a loop.
    const turns = parts.length - sum.compactions - outside;
    return { ...sum, serverToolUses: Math.max(sum.serverToolUses, turns - 1) + outside, parts };
  }
}

/** Runs that the reported totals include. Of the others, compactions are added here, those of other models if they are charged. */
const INSIDE: readonly string[] = ['message', 'fallback_message'];

/**
 * Whether a report lists the summary of a context. Its input is then that of the messages alone, while the reports before had the
 * context that the summary read.
 */
function listsCompaction(iterations: unknown): boolean {
  return Array.isArray(iterations) && iterations.some((run) => isRecord(run) && run.type === 'compaction');
}

/**
 * Whether two lists of runs begin with the same ones. A run that is put in front, such as the summary of the context, must not
 * take over the figures of the one that stood there before.
 */
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
    // What the total has beyond the one-hour part was written for five minutes, also if the split is not given.
    cacheWriteTokens: Math.max(fiveMinutes, (written ?? 0) - oneHour),
    cacheWrite1hTokens: oneHour,
    outputTokens,
    reasoningTokens: Math.min(readCount(details.thinking_tokens) ?? 0, outputTokens),
    ...readToolUses(fields.server_tool_use),
    serverToolUses: usesShown(fields),
  };
}

/** The facts of a whole response's `usage` object. */
export function readMessagesUsage(usage: unknown): Usage | null {
  const facts = new MessagesUsage();
  facts.update(usage);
  return facts.total();
}
