import type { Dice } from '../../src/lib/dice.ts';
import { cacheSpellings } from '../../src/protocols/metering/cache-counts.ts';
import { COUNTING_MEMBERS } from '../../src/protocols/metering/tool-uses.ts';
import type { Respond } from '../support/provider.ts';

/**
 * Responses with usage objects in all vendor formats and similar ones: totals in the names of each protocol, cache and tool members from
 * the gateway's tables, zeros, text, contradictory figures, several reports in a stream, and streams that break off.
 */
export interface ReportedUsage {
  /** Makes a provider report generated usage instead of its own. */
  readonly distort: (respond: Respond) => Respond;
  /** The sum of all reported figures since the last query. */
  readonly takeSum: () => number;
}

export function reportedUsage(dice: Dice): ReportedUsage {
  let sum = 0;

  function usageText(path: string): string {
    const usage = usageOf(path, dice);
    sum += sumOfFigures(usage);
    return JSON.stringify(usage);
  }

  return {
    distort: (respond) => (request, response) => {
      if (dice.happens(0.3)) return respond(request, response);
      const write = response.write.bind(response);
      const end = response.end.bind(response);
      const change = (piece: unknown): unknown =>
        typeof piece === 'string' ? piece.replace(USAGE, () => `"usage":${usageText(request.path)}`) : piece;
      // After this many writes the connection is closed.
      let left = dice.happens(0.1) ? dice.upTo(4) : Number.POSITIVE_INFINITY;
      Object.assign(response, {
        write(piece: unknown) {
          if (left-- > 0) return write(change(piece) as string);
          response.destroy();
          return false;
        },
        end: (piece?: unknown) => (response.destroyed ? response : end(change(piece) as string)),
      });
      return respond(request, response);
    },
    takeSum() {
      const taken = sum;
      sum = 0;
      return taken;
    },
  };
}

/** The usage in a response or event, as JSON text. */
const USAGE = /"usage":(?:\{(?:[^{}]|\{[^{}]*\})*\}|null)/g;

const TOTALS = ['prompt_tokens', 'completion_tokens', 'input_tokens', 'output_tokens', 'total_tokens', 'search_units'];
const OTHERS: readonly (readonly string[])[] = [
  ...['reasoning_tokens', 'citation_tokens', 'thinking_tokens', 'audio_seconds', 'cost', 'iterations'].map((name) => [
    name,
  ]),
  ...['completion_tokens_details', 'output_tokens_details'].map((name) => [name, 'reasoning_tokens']),
  ...['prompt_tokens_details', 'input_tokens_details'].map((name) => [name, 'audio_tokens']),
];
const TOOLS = ['web_search_requests', 'web_search', 'code_interpreter_calls', 'search', 'x', 'tool_calls_executed'];

function usageOf(path: string, dice: Dice): Record<string, unknown> {
  const usage: Record<string, unknown> = {};
  const isChat = path.endsWith('/chat/completions');
  const own = isChat ? TOTALS.slice(0, 2) : TOTALS.slice(2, 4);
  for (const name of TOTALS) if (dice.happens(own.includes(name) ? 0.9 : 0.15)) usage[name] = figure(dice);
  const family = isChat ? 'chat' : path.endsWith('/messages') ? 'messages' : 'responses';
  const places = [...cacheSpellings[family].map(({ path: place }) => place), ...OTHERS];
  for (let i = dice.some(4); i > 0; i--) put(usage, dice.one(places), figure(dice));
  for (let i = dice.some(2); i > 0; i--) {
    const name = dice.one(COUNTING_MEMBERS);
    put(usage, [name, dice.one(TOOLS)], dice.happens(0.5) ? figure(dice) : { count: figure(dice), invocation: 1 });
  }
  return usage;
}

function put(usage: Record<string, unknown>, place: readonly string[], value: unknown): void {
  let at = usage;
  for (const name of place.slice(0, -1)) {
    if (typeof at[name] !== 'object' || at[name] === null) at[name] = {};
    at = at[name] as Record<string, unknown>;
  }
  at[place.at(-1)!] = value;
}

function figure(dice: Dice): unknown {
  if (dice.happens(0.08))
    return dice.one([null, '12', '', -1, 1.5, 2 ** 31, 2 ** 53, 'x', {}, [], true, '00000000012']);
  return dice.happens(0.25) ? 0 : dice.upTo(dice.one([3, 40, 2_000]));
}

function sumOfFigures(value: unknown): number {
  if (typeof value === 'object' && value !== null) {
    return Object.values(value).reduce((sum: number, each) => sum + sumOfFigures(each), 0);
  }
  const number = Number(value);
  return Number.isFinite(number) && number > 0 && number < 2 ** 31 ? number : 0;
}
