import { type CompiledPaths, compilePaths, pathsUnder, type WrittenRules } from '../metering/written-paths.ts';

const TEXT = ['content', 'content[].text', 'refusal', 'tool_calls[].custom.input', 'audio.transcript'];
const JSON_TEXT = ['tool_calls[].function.arguments', 'function_call.arguments'];
/** Names of members with reasoning. Some providers send two of them at once. */
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

/** Roles of messages that the model has not written, such as tool results. */
const OTHERS: readonly (string | null)[] = ['tool', 'function', 'user', 'system', 'developer'];

const NO_ROLE: readonly (string | null)[] = [null, '', 'null'];

function pathsIn(message: string): CompiledPaths {
  return compilePaths({
    text: [...pathsUnder(message, TEXT), 'choices[].text'],
    json: pathsUnder(message, JSON_TEXT),
    reasoning: REASONING.map((names) => pathsUnder(message, names)),
    encrypted: pathsUnder(message, ENCRYPTED),
    classified: 'choices[]',
    selectors: [`${message}.role`],
  });
}

const CHUNK_PATHS = pathsIn('choices[].delta');

/** Rules that select what the model wrote. A chunk without a role has the role of the chunk before it. */
export function streamedChatText(): WrittenRules {
  let last: string | null = null;
  return {
    paths: CHUNK_PATHS,
    classify([role = null]) {
      if (!NO_ROLE.includes(role)) last = role;
      return OTHERS.includes(last) ? 'none' : 'written';
    },
  };
}

export const COMPLETION_TEXT: WrittenRules = {
  paths: pathsIn('choices[].message'),
  classify: ([role = null]) => (OTHERS.includes(role) ? 'none' : 'written'),
};
