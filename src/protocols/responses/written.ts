import { compilePaths, pathsUnder, type Verdict, type WrittenRules } from '../metering/written-paths.ts';

const ITEM_DONE = 'response.output_item.done';
const DELTA = '.delta';
/**
 * How the types of events end that bring a piece of what the model writes: `response.output_text.delta`,
 * `response.mcp_call_arguments.delta`. Others bring sounds, or what a tool gave.
 */
const WRITTEN = ['text', 'refusal', 'arguments', '_input', '_code', '_command', '_diff', 'transcript'];
const REASONING = ['reasoning', 'thinking'];
const TOOL_OUTPUT = '_call_output';

const TEXT = ['content[].text', 'content[].refusal', 'input', 'code', 'action.commands[]', 'operation.diff'];
const SUMMARY = ['summary[].text'];

/** Items of these types have what a tool gave: `function_call_output`, `tool_search_output`. */
const OUTPUT = '_output';

function verdictOfItem(type: string | null): Verdict {
  if (type?.endsWith(OUTPUT)) return 'none';
  return type === 'reasoning' ? 'reasoning' : 'written';
}

/** Where the model writes in an item, on which an event says that it is complete. */
const ITEM = 'item';

const EVENT_PATHS = compilePaths({
  text: ['delta', ...pathsUnder(ITEM, TEXT)],
  json: [`${ITEM}.arguments`],
  reasoning: [pathsUnder(ITEM, SUMMARY)],
  encrypted: [`${ITEM}.encrypted_content`],
  tells: ['type', 'output_index', `${ITEM}.type`],
  isNamedByEvent: true,
});

/**
 * Where the model writes in the events of a stream. The event that completes an item repeats its deltas; some servers send it alone,
 * such as for calls of functions.
 */
export function streamedResponseText(): WrittenRules {
  /** Nearly all events have the type and the item of the one before. */
  let lastType: string | null = null;
  let verdict: Verdict = 'none';
  let lastIndex: string | null | undefined;
  /** The items that had deltas; `null`: some item, which has no index. */
  const streamed = new Set<string | null>();
  return {
    paths: EVENT_PATHS,
    judge([type = null, index = null, item = null]) {
      if (type === ITEM_DONE) return streamed.has(index) || streamed.has(null) ? 'encrypted' : verdictOfItem(item);
      if (type !== lastType) {
        lastType = type;
        verdict = verdictOfEvent(type);
      }
      if (verdict !== 'none' && index !== lastIndex) {
        lastIndex = index;
        streamed.add(streamed.size < ITEMS_MAX ? index : null);
      }
      return verdict;
    },
  };
}

/** Of further items nothing counts but their deltas. */
const ITEMS_MAX = 1_000;

function verdictOfEvent(type: string | null): Verdict {
  if (type === null || !type.endsWith(DELTA) || type.includes(TOOL_OUTPUT)) return 'none';
  const what = type.slice(0, -DELTA.length);
  if (REASONING.some((name) => what.includes(name))) return 'reasoning';
  return WRITTEN.some((name) => what.endsWith(name)) ? 'written' : 'none';
}

function outputUnder(output: string): WrittenRules {
  const paths = compilePaths({
    text: pathsUnder(output, TEXT),
    json: [`${output}.arguments`],
    reasoning: [pathsUnder(output, SUMMARY)],
    encrypted: [`${output}.encrypted_content`],
    judged: output,
    tells: [`${output}.type`],
  });
  return { paths, judge: ([type = null]) => verdictOfItem(type) };
}

/** Where the model writes in a whole response. */
export const RESPONSE_TEXT = outputUnder('output[]');
/** ... in the last event of a stream, which repeats all of it. */
export const LAST_EVENT_TEXT = outputUnder('response.output[]');
