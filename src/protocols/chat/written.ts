import { type CompiledPaths, compilePaths, pathsUnder, type WrittenRules } from '../metering/written-paths.ts';

/** What a model writes in a message, or in a piece of one. */
const TEXT = ['content', 'content[].text', 'refusal', 'tool_calls[].custom.input', 'audio.transcript'];
const JSON_TEXT = ['tool_calls[].function.arguments', 'function_call.arguments'];
/** Providers use different names, and some send two at once. OpenRouter sends the details in addition, Mistral sends parts of the content. */
const REASONING = [
  ['reasoning_content'],
  ['reasoning'],
  ['reasoning_text'],
  ['thinking'],
  ['thinking_blocks[].thinking'],
  ['content[].thinking', 'content[].thinking[].text'],
  ['reasoning_details[].text', 'reasoning_details[].summary'],
];
const ENCRYPTED = ['reasoning_details[].data'];

/** Roles of messages that the model did not write, such as the results of a tool that some providers stream with the rest. */
const OTHERS: readonly (string | null)[] = ['tool', 'function', 'user', 'system', 'developer'];

/** ... and texts in the place of a role that say nothing. */
const NO_ROLE: readonly (string | null)[] = [null, '', 'null'];

function pathsIn(message: string): CompiledPaths {
  return compilePaths({
    text: [...pathsUnder(message, TEXT), 'choices[].text'],
    json: pathsUnder(message, JSON_TEXT),
    reasoning: REASONING.map((names) => pathsUnder(message, names)),
    encrypted: pathsUnder(message, ENCRYPTED),
    judged: 'choices[]',
    tells: [`${message}.role`],
  });
}

const CHUNK_PATHS = pathsIn('choices[].delta');

/**
 * Where the model writes in the chunks of one stream. A `message` next to the `delta` repeats the text of all chunks before. A chunk without a
 * role has the role of the chunk before.
 */
export function streamedChatText(): WrittenRules {
  let last: string | null = null;
  return {
    paths: CHUNK_PATHS,
    judge([role = null]) {
      if (!NO_ROLE.includes(role)) last = role;
      return OTHERS.includes(last) ? 'none' : 'written';
    },
  };
}

/** Where it writes in a whole response. */
export const COMPLETION_TEXT: WrittenRules = {
  paths: pathsIn('choices[].message'),
  judge: ([role = null]) => (OTHERS.includes(role) ? 'none' : 'written'),
};
