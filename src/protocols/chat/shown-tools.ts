import { isRecord } from '../../lib/json/json.ts';
import type { MarkedMember } from '../../lib/json/json-captured-members.ts';
import { MemberNames } from '../../lib/json/member-names.ts';
import { ShownUses, type ToolUses, toolUnit } from '../metering/tool-uses.ts';

/** Uses of provider tools that the content of a chat response shows. Vendors bill them, but the usage does not count them. */
interface ShownTools {
  add(response: Readonly<Record<string, unknown>>): void;
  /** Whether an event with this mark can show another tool use. */
  isRelevant(event: Buffer, mark: Buffer): boolean;
  uses(): ToolUses;
}

export const RESULT_MEMBERS: readonly string[] = [
  // Member with search results at Zhipu.
  'web_search',
  // DashScope and Hunyuan: an object that contains the list.
  'search_info',
  // Baidu Qianfan and Perplexity.
  'search_results',
  'citations',
  // Volcengine Ark, for bots that search.
  'references',
];
/** Type of an annotation that cites a web page (OpenAI, OpenRouter). */
const CITATION = 'url_citation';
/** Groq's member with the tools that ran and their results. */
const EXECUTED = 'executed_tools';
const CALLS = Buffer.from('"tool_calls"');
const RUNS = Buffer.from(`"${EXECUTED}"`);
const NAME = Buffer.from('"name"');

export const TOOL_MARKS: readonly Buffer[] = [
  ...[...RESULT_MEMBERS, CITATION].map((name) => Buffer.from(`"${name}"`)),
  CALLS,
  RUNS,
];

const SHOWN_IN_CHOICES = [...RESULT_MEMBERS, 'annotations', EXECUTED];
export const MARKED_CHOICES: MarkedMember = { name: 'choices', marks: new MemberNames(...SHOWN_IN_CHOICES) };
export const MARKED_CHOICES_WITH_CALLS: MarkedMember = {
  name: 'choices',
  marks: new MemberNames(...SHOWN_IN_CHOICES, 'tool_calls'),
};

/** Types of calls to a tool that the client runs, unless the tool has the name of a provider tool. */
const CLIENT_TYPES: readonly unknown[] = [undefined, null, '', 'function', 'custom'];
/** Names of provider tools at Moonshot and MiniMax. Functions of clients cannot have such names. */
const PROVIDER_NAME = /^(?:\$|plugin_(?=web_search$))(.+)$/;

/** @param readsCalls false if the request offers no provider tools, so that calls are not read; results always count */
export function shownTools(readsCalls = true): ShownTools {
  const calls = new ShownUses();
  let hasResults = false;

  function addCalls(list: unknown, choice: unknown): void {
    if (!Array.isArray(list)) return;
    for (const [place, call] of list.entries()) {
      const tool = isRecord(call) ? toolOf(call) : null;
      if (tool !== null) calls.note(`${choice}.${call.index ?? call.id ?? place}`, toolUnit(tool));
    }
  }

  function addRuns(list: unknown, choice: unknown): void {
    if (!Array.isArray(list)) return;
    for (const [place, run] of list.entries()) {
      if (!isRecord(run) || typeof run.type !== 'string') continue;
      calls.note(`${choice}.${EXECUTED}.${run.index ?? place}`, toolUnit(run.type));
    }
  }

  function isRelevant(event: Buffer, mark: Buffer): boolean {
    // The name of the tool is only in the first chunk of a call.
    if (mark === CALLS) return readsCalls && event.includes(NAME);
    return mark === RUNS || !hasResults;
  }

  return {
    add(response) {
      hasResults ||= listsResults(response);
      if (!Array.isArray(response.choices)) return;
      for (const [place, choice] of response.choices.entries()) {
        if (!isRecord(choice)) continue;
        hasResults ||= listsResults(choice);
        const message = choice.message ?? choice.delta;
        if (!isRecord(message)) continue;
        hasResults ||= listsResults(message) || cites(message.annotations);
        if (readsCalls) addCalls(message.tool_calls, choice.index ?? place);
        addRuns(message.executed_tools, choice.index ?? place);
      }
    },
    isRelevant,
    uses() {
      const counts = calls.counts();
      // Results prove that at least one search ran. It may be one of the counted calls, so the greater number applies.
      return hasResults ? { ...counts, webSearches: Math.max(counts.webSearches ?? 0, 1) } : counts;
    },
  };
}

/** Returns the provider tool that a call uses; `null` if the client runs the tool. */
function toolOf(call: Readonly<Record<string, unknown>>): string | null {
  const { type } = call;
  const named = isRecord(call.function) ? call.function.name : null;
  const own = typeof named === 'string' ? PROVIDER_NAME.exec(named)?.[1] : undefined;
  if (own !== undefined) return own;
  return CLIENT_TYPES.includes(type) || type === BUILT_IN ? null : String(type);
}

/** Moonshot's call type for tools whose name starts with `$`. */
const BUILT_IN = 'builtin_function';

function listsResults(container: Readonly<Record<string, unknown>>): boolean {
  for (const name of RESULT_MEMBERS) {
    const value = container[name];
    if (value === undefined) continue;
    if (isRecord(value) ? Object.values(value).some(isFilledList) : isFilledList(value)) return true;
  }
  return false;
}

function isFilledList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

function cites(annotations: unknown): boolean {
  return Array.isArray(annotations) && annotations.some((each) => isRecord(each) && each.type === CITATION);
}
