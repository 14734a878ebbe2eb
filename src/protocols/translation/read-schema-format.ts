import type { OutputFormat } from './conversation.ts';
import type { ReadMembers } from './members.ts';

/**
 * Reads the output format of chat and responses clients.
 * @param format the member with `type`
 * @param schemaIn where the schema and its name are: in `format` itself, or in one of its members
 * @returns `null`: plain text
 */
export function readOutputFormat(
  format: ReadMembers,
  schemaIn: (format: ReadMembers) => ReadMembers | null,
): OutputFormat | null {
  const type = format.requiredText('type');
  const { path } = format;
  if (type === 'text') return null;
  if (type === 'json_object') return { type: 'object', path };
  const schema = type === 'json_schema' ? schemaIn(format) : null;
  if (schema === null) return format.refuse('type', 'is no known output format');
  const read: OutputFormat = {
    type: 'schema',
    name: schema.rawText('name') ?? 'output',
    schema: schema.raw('schema') ?? schema.refuse('schema', 'is missing'),
    description: schema.rawText('description'),
    strict: schema.boolean('strict'),
    path,
  };
  schema.leaveOutRest();
  return read;
}
