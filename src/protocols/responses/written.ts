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

const EVENT_PATHS = compilePaths({
  text: ['delta'],
  encrypted: ['item.encrypted_content'],
  tells: ['type'],
  isNamedByEvent: true,
});

/** Where the model writes in the events of a stream; those behind the deltas repeat it under other names. */
export function streamedResponseText(): WrittenRules {
  /** Nearly all events have the type of the one before. */
  let lastType: string | null = null;
  let verdict: Verdict = 'none';
  return {
    paths: EVENT_PATHS,
    judge([type = null]) {
      if (type !== lastType) {
        lastType = type;
        verdict = verdictOfEvent(type);
      }
      return verdict;
    },
  };
}

function verdictOfEvent(type: string | null): Verdict {
  if (type === ITEM_DONE) return 'written';
  if (type === null || !type.endsWith(DELTA) || type.includes(TOOL_OUTPUT)) return 'none';
  const what = type.slice(0, -DELTA.length);
  if (REASONING.some((name) => what.includes(name))) return 'reasoning';
  return WRITTEN.some((name) => what.endsWith(name)) ? 'written' : 'none';
}

const TEXT = ['content[].text', 'content[].refusal', 'input', 'code', 'action.commands[]', 'operation.diff'];
const SUMMARY = ['summary[].text'];

/** Items of these types have what a tool gave: `function_call_output`, `tool_search_output`. */
const OUTPUT = '_output';

function verdictOfItem(type: string | null): Verdict {
  if (type?.endsWith(OUTPUT)) return 'none';
  return type === 'reasoning' ? 'reasoning' : 'written';
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
