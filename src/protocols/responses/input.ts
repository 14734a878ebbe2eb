import { invalidRequest } from '../../errors/gateway-error.ts';
import { isRecord } from '../../lib/json/json.ts';

/**
 * The checks of `input` and `tools` for compact and input_tokens (contract 4.3, 4.4). Declared fields keep their types
 * and values, fields that are not declared are open, null is absent. Two levels, items and their blocks, so the depth
 * of a body costs nothing.
 */

/** `objects` and `strings` are arrays of them; `blocks` and `openBlocks` are arrays of content blocks. */
type Form = 'any' | 'string' | 'boolean' | 'object' | 'strings' | 'objects' | 'blocks' | 'openBlocks';

interface Field {
  readonly forms: readonly Form[];
  /** The only values of a string; absent: any. */
  readonly values?: readonly string[];
}

const text: Field = { forms: ['string'] };
const objects: Field = { forms: ['objects'] };

/**
 * Input items, one row a field (contract 4.3). Where the vendor's own clients send more forms of a field than the
 * contract lists, depending on the type of the item, those pass too: a history that the vendor produced has to be
 * accepted. Such a row says which items.
 */
const itemFields: ReadonlyMap<string, Field> = new Map<string, Field>([
  ['type', text],
  ['id', text],
  ['role', text],
  ['name', text],
  ['namespace', text],
  ['call_id', text],
  // A model wrote this text, so it need not be JSON. `tool_search_call` has the value itself.
  ['arguments', { forms: ['any'] }],
  ['encrypted_content', text],
  [
    'status',
    {
      forms: ['string'],
      // Behind the contract's three: those of `*_call` items and of `apply_patch_call_output`.
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
  // Functions and custom tools return a string or content blocks, shells return objects that have no type.
  ['output', { forms: ['object', 'string', 'openBlocks'] }],
  ['queries', { forms: ['strings'] }],
  ['results', objects],
  ['summary', objects],
  ['tools', objects],
  ['acknowledged_safety_checks', objects],
  ['pending_safety_checks', objects],
]);

/** Content blocks, one row a field (contract 4.3). `file_id` is refused before the table is asked. */
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

/**
 * The blocks that the table describes. Clients send back what assistants wrote as well: `output_text`, `refusal`,
 * `summary_text`, `reasoning_text` and whatever the vendor adds. Their fields are the vendor's.
 */
const blockTypes: readonly unknown[] = ['input_text', 'input_image', 'input_file'];

/**
 * Checks the `input` of a request: a text, items, or nothing.
 *
 * @throws GatewayError `invalidRequest` that blames the first wrong field, such as `input[3].content[0].file_id`.
 */
export function checkInput(input: unknown, param = 'input'): void {
  if (isAbsent(input) || typeof input === 'string') return;
  if (!Array.isArray(input)) throw wrongForm(param, 'a string or an array of objects', input);
  input.forEach((item: unknown, index) => {
    const path = `${param}[${index}]`;
    if (!isRecord(item)) throw wrongForm(path, 'an object', item);
    // A block may stand among the items without a message around it.
    refuseFile(item, path);
    checkFields(item, itemFields, path);
  });
}

/**
 * Checks the `input` of a request whose tokens are to be estimated. An item that stands for another one, which only the
 * provider has, cannot be estimated (contract 4.4): an `item_reference`, or an id without a type.
 *
 * @throws GatewayError `invalidRequest`
 */
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

/** What makes an `mcp` tool fetch its schemas from elsewhere: a server, a connector or a tunnel. */
const REMOTE_FIELDS = ['server_url', 'connector_id', 'tunnel_id', 'connector', 'tunnel'];

/**
 * Checks the `tools` of a request whose tokens are to be estimated. Schemas that a tool discovers elsewhere are not
 * fetched, so they cannot be counted (contract 4.4).
 *
 * @throws GatewayError `invalidRequest`
 */
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
      `The tokens of an mcp tool that discovers its schemas through "${remote}" cannot be estimated.`,
      `${path}.${remote}`,
    );
  });
}

function reference(param: string): Error {
  return invalidRequest(
    'An item that refers to an earlier one cannot be estimated; send the item itself, with its type.',
    param,
  );
}

/** Checks the fields of an item or a block that are declared; the others are open. */
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

/** Checks what a value of the right form is made of. */
function checkParts(value: unknown, form: Form, param: string): void {
  if (!Array.isArray(value)) {
    // A screenshot stands in `output` without an array around it.
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
  throw invalidRequest('Files are not implemented; send the content itself or a URL.', `${path}.file_id`);
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

/** How much of a value an error repeats. */
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
