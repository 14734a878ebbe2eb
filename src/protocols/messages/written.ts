import { compilePaths, pathsUnder, type WrittenRules } from '../metering/written-paths.ts';

/** What a model writes in a block; `content` is the summary of a context. */
const TEXT = ['text', 'content'];
const JSON_TEXT = ['input'];
const THINKING = ['thinking'];
/** A model may leave its thinking out: then its signature, or its redacted data, is all that the gateway sees of it. */
const ENCRYPTED = ['signature', 'data'];

/** Blocks of these types have what a tool gave: `web_fetch_tool_result`, `mcp_tool_result`, `search_result`. */
const RESULT = '_result';

const STREAM_PATHS = compilePaths({
  text: [...pathsUnder('content_block', TEXT), ...pathsUnder('delta', TEXT), 'delta.partial_json'],
  json: pathsUnder('content_block', JSON_TEXT),
  reasoning: [[...pathsUnder('content_block', THINKING), ...pathsUnder('delta', THINKING)]],
  encrypted: [...pathsUnder('content_block', ENCRYPTED), ...pathsUnder('delta', ENCRYPTED)],
  tells: ['index', 'content_block.type'],
});

/** Where the model writes in the events of one stream: in the blocks that are no results, identified by their index. */
export function streamedMessageText(): WrittenRules {
  const results = new Set<string | null>();
  return {
    paths: STREAM_PATHS,
    judge([index = null, type = null]) {
      if (type?.endsWith(RESULT)) results.add(index);
      else if (type !== null) results.delete(index);
      return results.has(index) ? 'none' : 'written';
    },
  };
}

/** Where the model writes in a whole message. */
export const MESSAGE_TEXT: WrittenRules = {
  paths: compilePaths({
    // Some relays put a text in the place of the blocks.
    text: ['content', ...pathsUnder('content[]', TEXT)],
    json: pathsUnder('content[]', JSON_TEXT),
    reasoning: [pathsUnder('content[]', THINKING)],
    encrypted: pathsUnder('content[]', ENCRYPTED),
    judged: 'content[]',
    tells: ['content[].type'],
  }),
  judge: ([type]) => (type?.endsWith(RESULT) ? 'none' : 'written'),
};
