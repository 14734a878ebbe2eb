import { isRecord } from '../../lib/json/json.ts';
import type { MarkedMember } from '../../lib/json/json-captured-members.ts';
import { MemberNames } from '../../lib/json/member-names.ts';
import { ShownUses, type ToolUses, toolUnit } from '../metering/tool-uses.ts';

/**
 * The uses of a provider's tools that chat responses show and their usage does not count: vendors bill these searches, and all
 * that says of one is the call of the tool, or a list of what was found.
 */
interface ShownTools {
  /** Takes a response in, or one event of it. */
  add(response: Readonly<Record<string, unknown>>): void;
  /** A byte test: whether an event that has a mark may show a use that was not seen yet. */
  isSign(event: Buffer, mark: Buffer): boolean;
  uses(): ToolUses;
}

/** Members that list what a search found: in the response, in a choice, or in its message. */
export const RESULT_MEMBERS: readonly string[] = [
  // Zhipu.
  'web_search',
  // DashScope and Hunyuan, around a list.
  'search_info',
  // Baidu Qianfan, Perplexity.
  'search_results',
  'citations',
  // Volcengine Ark, of bots that search.
  'references',
];
/** OpenAI, OpenRouter: what in the text is from a page that was found. */
const CITATION = 'url_citation';
/** Groq: the tools that ran, with what they found. */
const EXECUTED = 'executed_tools';
const CALLS = Buffer.from('"tool_calls"');
const RUNS = Buffer.from(`"${EXECUTED}"`);
const NAME = Buffer.from('"name"');

/** What an event has that shows uses of tools. */
export const TOOL_MARKS: readonly Buffer[] = [
  ...[...RESULT_MEMBERS, CITATION].map((name) => Buffer.from(`"${name}"`)),
  CALLS,
  RUNS,
];

/** The members in the choices of a whole response that show a use, if they are not empty. */
const SHOWN_IN_CHOICES = [...RESULT_MEMBERS, 'annotations', EXECUTED];
export const MARKED_CHOICES: MarkedMember = { name: 'choices', marks: new MemberNames(...SHOWN_IN_CHOICES) };
/** ... of a request that offers tools which the provider runs. */
export const MARKED_CHOICES_WITH_CALLS: MarkedMember = {
  name: 'choices',
  marks: new MemberNames(...SHOWN_IN_CHOICES, 'tool_calls'),
};

/** Calls of these types are run by the caller, unless their name says that the provider does. */
const CLIENT_TYPES: readonly unknown[] = [undefined, null, '', 'function', 'custom'];
/** No function of a caller may have such a name: Moonshot, MiniMax. */
const PROVIDER_NAME = /^(?:\$|plugin_(?=web_search$))(.+)$/;

/** `readsCalls`: the request offers tools that the provider runs. What ran, and what was found, counts whatever it offers. */
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

  function isSign(event: Buffer, mark: Buffer): boolean {
    // The pieces of a call that follow its beginning have no name.
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
    isSign,
    uses() {
      const counts = calls.counts();
      // What was found says of one search, which its call may say as well.
      return hasResults ? { ...counts, webSearches: Math.max(counts.webSearches ?? 0, 1) } : counts;
    },
  };
}

/** The tool of a call that the provider runs; `null`: the caller runs it. */
function toolOf(call: Readonly<Record<string, unknown>>): string | null {
  const { type } = call;
  const named = isRecord(call.function) ? call.function.name : null;
  const own = typeof named === 'string' ? PROVIDER_NAME.exec(named)?.[1] : undefined;
  if (own !== undefined) return own;
  return CLIENT_TYPES.includes(type) || type === BUILT_IN ? null : String(type);
}

/** Moonshot's type of tools that have a name with a dollar. */
const BUILT_IN = 'builtin_function';

function listsResults(holder: Readonly<Record<string, unknown>>): boolean {
  for (const name of RESULT_MEMBERS) {
    const value = holder[name];
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
