import { compilePaths, pathsUnder, type TextClass, type WrittenRules } from '../metering/written-paths.ts';

const ITEM_DONE = 'response.output_item.done';
const DELTA = '.delta';
/** Endings of events with text that the model wrote, such as `response.output_text.delta`. Other deltas have audio or tool output. */
const WRITTEN = ['text', 'refusal', 'arguments', '_input', '_code', '_command', '_diff', 'transcript'];
const REASONING = ['reasoning', 'thinking'];
const TOOL_OUTPUT = '_call_output';

const TEXT = ['content[].text', 'content[].refusal', 'input', 'code', 'action.commands[]', 'operation.diff'];
const SUMMARY = ['summary[].text'];

/** Ending of item types with tool output, such as `function_call_output`. */
const OUTPUT = '_output';

function classInItem(type: string | null): TextClass {
  if (type?.endsWith(OUTPUT)) return 'none';
  return type === 'reasoning' ? 'reasoning' : 'written';
}

const ITEM = 'item';

const EVENT_PATHS = compilePaths({
  text: ['delta', ...pathsUnder(ITEM, TEXT)],
  json: [`${ITEM}.arguments`],
  reasoning: [pathsUnder(ITEM, SUMMARY)],
  encrypted: [`${ITEM}.encrypted_content`],
  selectors: ['type', 'output_index', `${ITEM}.type`],
  isNamedByEvent: true,
});

/** Rules that select what the model wrote. The event at the end of an item repeats its deltas; some servers send only this event. */
export function streamedResponseText(): WrittenRules {
  /** Cached, because nearly all events have the same type and item as the one before. */
  let lastType: string | null = null;
  let textClass: TextClass = 'none';
  let lastIndex: string | null | undefined;
  /** Indexes of items that had deltas; `null`: items without an index, or with one of `ITEMS_MAX` or more. */
  const streamed = new Set<string | null>();
  return {
    paths: EVENT_PATHS,
    classify([type = null, index = null, item = null]) {
      if (type === ITEM_DONE) return streamed.has(index) || streamed.has(null) ? 'encrypted' : classInItem(item);
      if (type !== lastType) {
        lastType = type;
        textClass = classInEvent(type);
      }
      if (textClass !== 'none' && index !== lastIndex) {
        lastIndex = index;
        streamed.add(streamed.size < ITEMS_MAX ? index : null);
      }
      return textClass;
    },
  };
}

const ITEMS_MAX = 1_000;

function classInEvent(type: string | null): TextClass {
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
    classified: output,
    selectors: [`${output}.type`],
  });
  return { paths, classify: ([type = null]) => classInItem(type) };
}

export const RESPONSE_TEXT = outputUnder('output[]');
/** Rules for the last event of a stream, which repeats all text. */
export const LAST_EVENT_TEXT = outputUnder('response.output[]');
