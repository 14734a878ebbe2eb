import { compilePaths, pathsUnder, type WrittenRules } from '../metering/written-paths.ts';

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

function rulesUnder(message: string): WrittenRules {
  const paths = compilePaths({
    text: [...pathsUnder(message, TEXT), 'choices[].text'],
    json: pathsUnder(message, JSON_TEXT),
    reasoning: REASONING.map((names) => pathsUnder(message, names)),
    encrypted: pathsUnder(message, ENCRYPTED),
    judged: 'choices[]',
    tells: [`${message}.role`],
  });
  return { paths, judge: ([role]) => (OTHERS.includes(role!) ? 'none' : 'written') };
}

/** Where the model writes in a chunk of a stream. A `message` next to the `delta` repeats the text of all chunks before. */
export const CHUNK_TEXT = rulesUnder('choices[].delta');

/** Where it writes in a whole response. */
export const COMPLETION_TEXT = rulesUnder('choices[].message');
