import { JsonSlice } from '../../lib/json/json-slice.ts';
import type { RawJson, RawText, Tool, ToolChoice } from './conversation.ts';
import { ToolNames } from './names.ts';
import type { TranslationNotes } from './notes.ts';
import { toRawText } from './raw-text.ts';

const NO_SCHEMA = '{"type":"object","properties":{}}';
/** Arguments of a custom tool, which takes any text. */
const TEXT_SCHEMA =
  '{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}';

/** The schema of a tool's arguments at a provider, which knows every tool as a function. */
export function schemaOf({ form, schema }: Tool): RawJson {
  return form === 'custom' ? TEXT_SCHEMA : schema === null ? NO_SCHEMA : ofObject(schema);
}

/** A schema with the members that vendors require. What the client wrote stays as it is. */
function ofObject(schema: RawJson): RawJson {
  const read = JsonSlice.at(Buffer.from(schema));
  const members = read.members();
  if (read.kind !== 'object' || (members.get('type')?.text ?? 'object') !== 'object') return schema;
  const missing = [
    ...(members.has('type') ? [] : ['"type":"object"']),
    ...(members.has('properties') ? [] : ['"properties":{}']),
  ];
  if (missing.length === 0) return schema;
  return `{${missing.join(',')}${members.size === 0 ? '' : ','}${schema.trimStart().slice(1)}`;
}

/** The description of a tool; that of a custom tool includes its grammar, because its arguments are one string. */
export function descriptionOf({ form, description, format }: Tool): RawText | null {
  if (form !== 'custom' || format === null) return description;
  const words = toRawText(`The input must follow this format: ${format}`);
  return description === null || description === '' ? words : `${description}\\n\\n${words}`;
}

/** @throws GatewayError `invalidRequest` if two tools have the same name at the provider */
export function requireDistinct(tools: readonly Tool[], notes: TranslationNotes): void {
  if (!ToolNames.areDistinct(tools)) notes.refuse('tools', 'has two tools with the same name');
}

/** Finds the tool that a request forces. @throws GatewayError `invalidRequest` if the request does not offer it */
export function forcedTool(
  { name }: Extract<ToolChoice, { type: 'tool' }>,
  tools: readonly Tool[],
  notes: TranslationNotes,
): Tool {
  const tool = tools.find((each) => each.name === name);
  return tool ?? notes.refuse('tool_choice', `names the tool "${name}", which the request does not offer`);
}
