import { invalidRequest } from '../../errors/gateway-error.ts';
import { isRecord } from '../../lib/json/json.ts';

/** This file checks `input` and `tools` for compact and input_tokens (contract 4.3, 4.4): the declared fields of items and their blocks. */

/** Types of a field. `objects`, `strings`, `blocks`, `openBlocks`: arrays of objects, strings or content blocks. */
type Form = 'any' | 'string' | 'boolean' | 'object' | 'strings' | 'objects' | 'blocks' | 'openBlocks';

interface Field {
  readonly forms: readonly Form[];
  readonly values?: readonly string[];
}

const text: Field = { forms: ['string'] };
const objects: Field = { forms: ['objects'] };

/** Fields of input items (contract 4.3). Some items have comments: clients of the vendor send other types for them. */
const itemFields: ReadonlyMap<string, Field> = new Map<string, Field>([
  ['type', text],
  ['id', text],
  ['role', text],
  ['name', text],
  ['namespace', text],
  ['call_id', text],
  // A model wrote the arguments, so they may be invalid JSON. In `tool_search_call`, they are JSON rather than a string.
  ['arguments', { forms: ['any'] }],
  ['encrypted_content', text],
  [
    'status',
    {
      forms: ['string'],
      // The first three are in the contract; `*_call` items and `apply_patch_call_output` have the others.
      values: [
        'in_progress',
        'completed',
        'incomplete',
        'searching',
        'interpreting',
        'generating',
        'calling',
        'failed',
      ],
    },
  ],
  ['content', { forms: ['string', 'blocks'] }],
  // `image_generation_call` has a string.
  ['action', { forms: ['object', 'string'] }],
  ['approval_request_id', text],
  ['approve', { forms: ['boolean'] }],
  ['authorization', text],
  ['caller', { forms: ['object'] }],
  ['command', { forms: ['object'] }],
  ['commands', { forms: ['strings'] }],
  ['connector_id', text],
  ['server_label', text],
  ['server_url', text],
  ['shell_id', text],
  // A string or content blocks for functions and custom tools; objects without a type for shells.
  ['output', { forms: ['object', 'string', 'openBlocks'] }],
  ['queries', { forms: ['strings'] }],
  ['results', objects],
  ['summary', objects],
  ['tools', objects],
  ['acknowledged_safety_checks', objects],
  ['pending_safety_checks', objects],
]);

/** Fields of content blocks (contract 4.3). `file_id` was refused before. */
const blockFields: ReadonlyMap<string, Field> = new Map<string, Field>([
  ['type', text],
  ['text', text],
  ['detail', { forms: ['string'], values: ['auto', 'low', 'high', 'original'] }],
  ['image_url', text],
  ['file_data', text],
  ['file_url', text],
  ['filename', text],
  ['prompt_cache_breakpoint', { forms: ['object'] }],
]);

/** Types of blocks that the table describes. Blocks of assistants may have other fields. */
const blockTypes: readonly unknown[] = ['input_text', 'input_image', 'input_file'];

/** Checks `input`. @throws GatewayError `invalidRequest` with the first invalid field, such as `input[3].content[0].file_id` */
export function checkInput(input: unknown, param = 'input'): void {
  if (isAbsent(input) || typeof input === 'string') return;
  if (!Array.isArray(input)) throw wrongForm(param, 'a string or an array of objects', input);
  input.forEach((item: unknown, index) => {
    const path = `${param}[${index}]`;
    if (!isRecord(item)) throw wrongForm(path, 'an object', item);
    // A content block can be an item.
    refuseFile(item, path);
    checkFields(item, itemFields, path);
  });
}

/** Checks `input` for an estimate. @throws GatewayError `invalidRequest` for stored items, whose tokens are unknown (contract 4.4) */
export function checkEstimateInput(input: unknown, param = 'input'): void {
  checkInput(input, param);
  if (!Array.isArray(input)) return;
  input.forEach((item: Record<string, unknown>, index) => {
    const path = `${param}[${index}]`;
    if (item.type === 'item_reference') throw reference(`${path}.type`);
    if (isAbsent(item.type) && !isAbsent(item.id)) throw reference(`${path}.id`);
    checkEstimateTools(item.tools, `${path}.tools`);
  });
}

/** Members with which an `mcp` tool gets its schemas from a server, connector or tunnel. */
const REMOTE_FIELDS = ['server_url', 'connector_id', 'tunnel_id', 'connector', 'tunnel'];

/** Checks tools for an estimate. @throws GatewayError `invalidRequest` if their schemas are elsewhere, so that tokens are unknown */
export function checkEstimateTools(tools: unknown, param = 'tools'): void {
  if (isAbsent(tools)) return;
  if (!Array.isArray(tools)) throw wrongForm(param, 'an array of objects', tools);
  tools.forEach((tool: unknown, index) => {
    const path = `${param}[${index}]`;
    if (!isRecord(tool)) throw wrongForm(path, 'an object', tool);
    if (tool.type !== 'mcp') return;
    const remote = REMOTE_FIELDS.find((name) => !isAbsent(tool[name]));
    if (remote === undefined) return;
    throw invalidRequest(
      `Tokens cannot be estimated for an mcp tool that fetches its schemas through "${remote}".`,
      `${path}.${remote}`,
    );
  });
}

function reference(param: string): Error {
  return invalidRequest(
    'Items that refer to earlier items cannot be estimated. Send the full item, including its type.',
    param,
  );
}

function checkFields(record: Record<string, unknown>, fields: ReadonlyMap<string, Field>, path: string): void {
  for (const name of Object.keys(record)) {
    const field = fields.get(name);
    const value = record[name];
    if (field === undefined || isAbsent(value)) continue;
    const param = `${path}.${name}`;
    const form = field.forms.find((candidate) => hasForm(value, candidate));
    if (form === undefined) throw wrongForm(param, field.forms.map((each) => formNames[each]).join(' or '), value);
    if (typeof value === 'string' && field.values?.includes(value) === false)
      throw wrongValue(param, field.values, value);
    if (form !== 'any') checkParts(value, form, param);
  }
}

function checkParts(value: unknown, form: Form, param: string): void {
  if (!Array.isArray(value)) {
    // `output` can be a screenshot: an object without an array.
    if (form === 'object' && isRecord(value)) refuseFile(value, param);
    return;
  }
  value.forEach((part: unknown, index) => {
    const path = `${param}[${index}]`;
    if (form === 'strings') {
      if (typeof part !== 'string') throw wrongForm(path, 'a string', part);
      return;
    }
    if (!isRecord(part)) throw wrongForm(path, 'an object', part);
    if (form !== 'objects') checkBlock(part, path, form === 'blocks');
  });
}

function checkBlock(block: Record<string, unknown>, path: string, needsType: boolean): void {
  refuseFile(block, path);
  const { type } = block;
  if (isAbsent(type)) {
    if (needsType) throw invalidRequest(`The field "${path}.type" is required.`, `${path}.type`);
  } else if (typeof type !== 'string') {
    throw wrongForm(`${path}.type`, 'a string', type);
  }
  if (blockTypes.includes(type)) checkFields(block, blockFields, path);
}

function refuseFile(block: Record<string, unknown>, path: string): void {
  if (isAbsent(block.file_id)) return;
  throw invalidRequest('File ids are not supported. Send the content itself or a URL.', `${path}.file_id`);
}

const formNames: Readonly<Record<Form, string>> = {
  any: 'anything',
  string: 'a string',
  boolean: 'a boolean',
  object: 'an object',
  strings: 'an array of strings',
  objects: 'an array of objects',
  blocks: 'an array of objects',
  openBlocks: 'an array of objects',
};

function hasForm(value: unknown, form: Form): boolean {
  switch (form) {
    case 'any':
      return true;
    case 'string':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'object':
      return isRecord(value);
    default:
      return Array.isArray(value);
  }
}

function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

const FOUND_CHARACTERS_MAX = 40;

function wrongForm(param: string, expected: string, value: unknown): Error {
  return invalidRequest(`The field "${param}" must be ${expected}, not ${nameOf(value)}.`, param);
}

function wrongValue(param: string, values: readonly string[], value: string): Error {
  const found = JSON.stringify(value.slice(0, FOUND_CHARACTERS_MAX));
  return invalidRequest(`The field "${param}" must be one of ${values.join(', ')}, not ${found}.`, param);
}

function nameOf(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
