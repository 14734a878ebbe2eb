import { compilePaths, pathsUnder, type WrittenRules } from '../metering/written-paths.ts';

/** Members of a block with text that the model wrote. `content` is the summary of a compaction. */
const TEXT = ['text', 'content'];
const JSON_TEXT = ['input'];
const THINKING = ['thinking'];
/** Members of a thinking block whose text is omitted. */
const ENCRYPTED = ['signature', 'data'];

/** Ending of the types of tool results, such as `mcp_tool_result`. */
const RESULT = '_result';

const STREAM_PATHS = compilePaths({
  text: [...pathsUnder('content_block', TEXT), ...pathsUnder('delta', TEXT), 'delta.partial_json'],
  json: pathsUnder('content_block', JSON_TEXT),
  reasoning: [[...pathsUnder('content_block', THINKING), ...pathsUnder('delta', THINKING)]],
  encrypted: [...pathsUnder('content_block', ENCRYPTED), ...pathsUnder('delta', ENCRYPTED)],
  selectors: ['index', 'content_block.type'],
});

/** Rules that select what the model wrote. A result block, which is recognized by its index, has no such text. */
export function streamedMessageText(): WrittenRules {
  const results = new Set<string | null>();
  return {
    paths: STREAM_PATHS,
    classify([index = null, type = null]) {
      if (type?.endsWith(RESULT)) results.add(index);
      else if (type !== null) results.delete(index);
      return results.has(index) ? 'none' : 'written';
    },
  };
}

export const MESSAGE_TEXT: WrittenRules = {
  paths: compilePaths({
    // Some relays send a single string instead of blocks.
    text: ['content', ...pathsUnder('content[]', TEXT)],
    json: pathsUnder('content[]', JSON_TEXT),
    reasoning: [pathsUnder('content[]', THINKING)],
    encrypted: pathsUnder('content[]', ENCRYPTED),
    classified: 'content[]',
    selectors: ['content[].type'],
  }),
  classify: ([type]) => (type?.endsWith(RESULT) ? 'none' : 'written'),
};
