import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { valueText } from '../../../test/support/json-text.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { checkEstimateInput, checkEstimateTools, checkInput } from './input.ts';

/** The error of a check, which must be a refusal with a message of limited length. */
function refusalOf(check: () => void): GatewayError {
  try {
    check();
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    assert.equal(error.kind, 'invalidRequest');
    assert.equal(error.status, 400);
    assert.ok(error.message.length < 300, error.message);
    return error;
  }
  return assert.fail('it was accepted');
}

const paramOf = (input: unknown): string | null => refusalOf(() => checkInput(input)).param;

/** One item of each kind that the vendor's client may send, in the forms of its types. */
const clientItems: readonly ResponseInputItem[] = [
  { role: 'user', content: 'hi' },
  { role: 'assistant', content: 'hi', phase: 'commentary' },
  {
    type: 'message',
    role: 'user',
    status: 'completed',
    content: [
      { type: 'input_text', text: 'hi', prompt_cache_breakpoint: { mode: 'explicit' } },
      { type: 'input_image', detail: 'original', image_url: 'data:image/png;base64,AAAA', file_id: null },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
      { type: 'input_file', file_url: 'https://example.com/a.pdf' },
    ],
  },
  {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [
      {
        type: 'output_text',
        text: 'hi',
        annotations: [{ type: 'file_citation', file_id: 'file_1', filename: 'a', index: 0 }],
      },
      { type: 'refusal', refusal: 'no' },
    ],
  },
  {
    type: 'file_search_call',
    id: 'fs_1',
    queries: ['a'],
    status: 'searching',
    results: [{ file_id: 'file_1', score: 0.5, text: 'x' }],
  },
  { type: 'file_search_call', id: 'fs_1', queries: [], status: 'failed', results: null },
  {
    type: 'computer_call',
    id: 'cu_1',
    call_id: 'call_1',
    status: 'completed',
    action: { type: 'screenshot' },
    pending_safety_checks: [{ id: 'sc_1' }],
  },
  {
    type: 'computer_call_output',
    id: null,
    call_id: 'call_1',
    acknowledged_safety_checks: null,
    output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,AAAA' },
  },
  { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', queries: ['a'] } },
  { type: 'function_call', call_id: 'call_1', name: 'f', namespace: 'n', arguments: '{', caller: { type: 'direct' } },
  { type: 'function_call_output', call_id: 'call_1', output: 'done', status: null },
  {
    type: 'function_call_output',
    call_id: 'call_1',
    output: [
      { type: 'input_text', text: 'done' },
      { type: 'input_image', image_url: 'data:,', detail: null },
      { type: 'input_file', file_data: 'data:,', filename: null },
    ],
  },
  { type: 'tool_search_call', arguments: { query: 'a' }, call_id: null, execution: 'client' },
  { type: 'tool_search_output', call_id: null, tools: [{ type: 'local_shell' }] },
  { type: 'additional_tools', role: 'developer', tools: [{ type: 'local_shell' }] },
  { type: 'configuration_update', reasoning: { effort: 'low' } },
  {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'x' }],
    content: [{ type: 'reasoning_text', text: 'y' }],
    encrypted_content: null,
  },
  { type: 'compaction', encrypted_content: 'gAAA', id: null },
  { type: 'image_generation_call', id: 'ig_1', result: null, status: 'generating', action: 'edit' },
  {
    type: 'code_interpreter_call',
    id: 'ci_1',
    code: 'x',
    container_id: 'c_1',
    outputs: [{ type: 'logs', logs: 'x' }],
    status: 'interpreting',
  },
  {
    type: 'local_shell_call',
    id: 'ls_1',
    call_id: 'call_1',
    status: 'completed',
    action: { type: 'exec', command: ['ls'], env: {} },
  },
  { type: 'local_shell_call_output', id: 'ls_1', output: '{}' },
  { type: 'shell_call', call_id: 'call_1', action: { commands: ['ls'] } },
  {
    type: 'shell_call_output',
    call_id: 'call_1',
    output: [{ outcome: { type: 'exit', exit_code: 0 }, stderr: '', stdout: 'a' }],
  },
  {
    type: 'apply_patch_call',
    call_id: 'call_1',
    status: 'completed',
    operation: { type: 'delete_file', path: 'a' },
  },
  { type: 'apply_patch_call_output', call_id: 'call_1', status: 'failed', output: null },
  { type: 'mcp_list_tools', id: 'ml_1', server_label: 's', tools: [{ name: 'f', input_schema: {} }] },
  { type: 'mcp_approval_request', id: 'mr_1', arguments: '{}', name: 'f', server_label: 's' },
  { type: 'mcp_approval_response', approval_request_id: 'mr_1', approve: true },
  { type: 'mcp_call', id: 'mc_1', arguments: '{}', name: 'f', server_label: 's', output: 'x', status: 'calling' },
  { type: 'custom_tool_call', call_id: 'call_1', name: 'f', input: 'x' },
  { type: 'custom_tool_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'x' }] },
  { type: 'compaction_trigger' },
  { type: 'item_reference', id: 'msg_1' },
  { id: 'msg_1' },
  { type: 'program', id: 'p_1', call_id: 'call_1', code: 'x', fingerprint: 'y' },
  { type: 'program_output', id: 'p_1', call_id: 'call_1', result: 'x', status: 'completed' },
];

describe('input of a responses request', () => {
  it('may be a string, a list of items, or absent', () => {
    for (const input of [undefined, null, '', 'hi', [], [{}]]) checkInput(input);
    for (const input of [7, true, {}, { role: 'user', content: 'hi' }]) assert.equal(paramOf(input), 'input');
    for (const item of [null, 'hi', 7, []]) assert.equal(paramOf([{}, item]), 'input[1]');
  });

  it("accepts what the vendor's client may send", () => {
    for (const item of clientItems) assert.doesNotThrow(() => checkInput([item]), JSON.stringify(item));
  });

  /** Valid and invalid values of each field. */
  const declared: Readonly<Record<string, readonly [taken: unknown, ...refused: unknown[]]>> = {
    type: ['message', 7, {}, []],
    id: ['a', 7],
    role: ['user', 7, ['user']],
    name: ['b', 7],
    namespace: ['c', 7],
    call_id: ['d', 7],
    encrypted_content: ['e', 7, {}],
    status: ['incomplete', 7, '', 'done', 'COMPLETED', 'x'.repeat(10_000)],
    content: ['f', 7, {}, true],
    action: [{}, 7, []],
    approval_request_id: ['g', 7],
    approve: [false, 'true', 1],
    authorization: ['h', 7, {}],
    caller: [{}, 'direct', []],
    command: [{}, 'ls', ['ls']],
    commands: [['i'], 'ls', {}],
    connector_id: ['j', 7],
    server_label: ['k', 7],
    server_url: ['l', 7],
    shell_id: ['m', 7],
    output: [{}, 7, true],
    queries: [['n'], 'a', {}],
    results: [[{}], 'a', {}],
    summary: [[{}], 'a', {}],
    tools: [[{}], 'a', {}],
    acknowledged_safety_checks: [[{}], 'a', {}],
    pending_safety_checks: [[{}], 'a', {}],
  };
  for (const [name, [taken, ...refused]] of Object.entries(declared)) {
    it(`refuses an item with an invalid ${name}, and blames that field`, () => {
      for (const value of refused) {
        assert.equal(paramOf([{}, { [name]: value }]), `input[1].${name}`, JSON.stringify(value).slice(0, 50));
      }
      checkInput([{ [name]: null }, { [name]: taken, arguments: '{}' }]);
    });
  }

  it('refuses a list with an invalid element, and blames that element', () => {
    for (const name of ['commands', 'queries']) {
      assert.equal(paramOf([{ [name]: ['a', 7] }]), `input[0].${name}[1]`);
      assert.equal(paramOf([{ [name]: [null] }]), `input[0].${name}[0]`);
    }
    for (const name of [
      'content',
      'output',
      'results',
      'summary',
      'tools',
      'acknowledged_safety_checks',
      'pending_safety_checks',
    ]) {
      assert.equal(paramOf([{ [name]: [{ type: 'x' }, 'a'] }]), `input[0].${name}[1]`);
      assert.equal(paramOf([{ [name]: [null] }]), `input[0].${name}[0]`);
    }
  });

  it('requires the type of a content block', () => {
    for (const block of [{}, { text: 'hi' }, { type: null, text: 'hi' }, { image_url: 'data:,' }]) {
      assert.equal(paramOf([{ content: [block] }]), 'input[0].content[0].type');
    }
    assert.equal(paramOf([{ content: [{ type: 7 }] }]), 'input[0].content[0].type');
    assert.equal(paramOf([{ output: [{ type: 7 }] }]), 'input[0].output[0].type');
  });

  const blockFields: Readonly<Record<string, readonly unknown[]>> = {
    text: [7, {}],
    detail: [7, 'medium', ''],
    image_url: [7, { url: 'data:,' }],
    file_data: [7],
    file_url: [7],
    filename: [7],
    prompt_cache_breakpoint: ['explicit', []],
  };
  for (const [name, values] of Object.entries(blockFields)) {
    it(`refuses an input block with an invalid ${name}, and blames that field`, () => {
      for (const type of ['input_text', 'input_image', 'input_file']) {
        for (const value of values) {
          const block = { type, [name]: value };
          assert.equal(paramOf([{ content: [{ type: 'refusal' }, block] }]), `input[0].content[1].${name}`);
          assert.equal(paramOf([{ output: [block] }]), `input[0].output[0].${name}`);
          checkInput([{ content: [{ ...block, type: 'tomorrow' }] }]);
        }
        checkInput([{ content: [{ type, [name]: null }] }]);
      }
    });
  }

  it('refuses a file id in any block, since files are not supported', () => {
    for (const type of ['input_file', 'input_image', 'tomorrow', null, 7]) {
      const block = { type, file_id: 'file_1' };
      assert.equal(paramOf([{}, {}, {}, { content: [block] }]), 'input[3].content[0].file_id');
      assert.equal(paramOf([{ output: [{ type: 'input_text' }, block] }]), 'input[0].output[1].file_id');
    }
    assert.equal(paramOf([{ output: { type: 'computer_screenshot', file_id: 'file_1' } }]), 'input[0].output.file_id');
    assert.equal(paramOf([{}, { type: 'input_file', file_id: 'file_1' }]), 'input[1].file_id');
    checkInput([{ content: [{ type: 'input_file', file_id: null, file_url: 'x' }] }]);
  });

  it('allows undeclared fields', () => {
    checkInput([{ type: 'tomorrow', input: 7, result: [], environment: 'x', __proto__: { status: 7 } }]);
    checkInput(JSON.parse('[{"__proto__":7,"constructor":1,"content":[{"type":"input_text","toString":1}]}]'));
  });

  it('names the field and the problem concisely', () => {
    const messageOf = (input: unknown): string => refusalOf(() => checkInput(input)).message;
    assert.equal(
      messageOf([{ content: 7 }]),
      'The field "input[0].content" must be a string or an array of objects, not 7.',
    );
    assert.equal(messageOf([{ approve: null }, null]), 'The field "input[1]" must be an object, not null.');
    assert.equal(messageOf([{ queries: {} }]), 'The field "input[0].queries" must be an array of strings, not object.');
    assert.equal(messageOf([{ id: [] }]), 'The field "input[0].id" must be a string, not array.');
    assert.match(messageOf([{ status: 'a"b' }]), /must be one of in_progress, completed, .*, not "a\\"b"\.$/);
  });

  it('uses the given name in errors', () => {
    assert.equal(refusalOf(() => checkInput([7], 'body.input')).param, 'body.input[0]');
  });

  it('is accepted or refused, and never fails in another way', () => {
    const names = [...Object.keys(declared), 'arguments', 'file_id'];
    const item = fc.array(fc.tuple(fc.constantFrom(...names), valueText), { maxLength: 4 });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 3 }), (items) => {
        const input = items.map((fields) => `{${fields.map(([name, value]) => `"${name}":${value}`).join(',')}}`);
        try {
          checkEstimateInput(JSON.parse(`[${input.join(',')}]`));
        } catch (error) {
          assert.ok(error instanceof GatewayError, String(error));
          assert.match(error.param ?? '', /^input\[\d+\]/);
        }
      }),
      { numRuns: propertyRuns(300) },
    );
  });
});

describe('input of a token estimate', () => {
  const estimateParamOf = (input: unknown): string | null => refusalOf(() => checkEstimateInput(input)).param;

  it('is validated like other input', () => {
    for (const input of [undefined, null, 'hi', [], [{ role: 'user', content: 'hi' }]]) checkEstimateInput(input);
    assert.equal(estimateParamOf(7), 'input');
    assert.equal(estimateParamOf([{ content: [{ type: 'input_file', file_id: 'x' }] }]), 'input[0].content[0].file_id');
  });

  it('must not have items that refer to others', () => {
    assert.equal(estimateParamOf([{}, { type: 'item_reference', id: 'msg_1' }]), 'input[1].type');
    assert.equal(estimateParamOf([{ type: 'item_reference' }]), 'input[0].type');
    assert.equal(estimateParamOf([{ id: 'msg_1' }]), 'input[0].id');
    assert.equal(estimateParamOf([{ type: null, id: 'msg_1' }]), 'input[0].id');
    assert.equal(estimateParamOf([{ id: 'msg_1', role: 'user', content: 'hi' }]), 'input[0].id');
  });

  it('accepts items with both type and id, and items with neither', () => {
    checkEstimateInput([
      { type: 'message', id: 'msg_1', role: 'user', content: 'hi' },
      { type: null, id: null, role: 'user', content: 'hi' },
    ]);
  });

  it('must not have tools within it that fetch their schemas', () => {
    const tools = [{ type: 'local_shell' }, { type: 'mcp', server_label: 's', server_url: 'https://example.com' }];
    assert.equal(estimateParamOf([{ type: 'additional_tools', tools }]), 'input[0].tools[1].server_url');
    checkInput([{ type: 'additional_tools', tools }]);
  });
});

describe('tools of a token estimate', () => {
  it('must be objects or absent', () => {
    for (const tools of [undefined, null, [], [{}], [{ type: 'function', name: 'f', parameters: {} }]]) {
      checkEstimateTools(tools);
    }
    for (const tools of ['a', 7, {}]) assert.equal(refusalOf(() => checkEstimateTools(tools)).param, 'tools');
    assert.equal(refusalOf(() => checkEstimateTools([{}, null])).param, 'tools[1]');
  });

  it('must not fetch schemas from an mcp server, connector or tunnel', () => {
    for (const name of ['server_url', 'connector_id', 'tunnel_id', 'connector', 'tunnel']) {
      const tool = { type: 'mcp', server_label: 's', [name]: 'x' };
      assert.equal(refusalOf(() => checkEstimateTools([{}, tool])).param, `tools[1].${name}`);
      checkEstimateTools([{ ...tool, [name]: null }]);
      checkEstimateTools([{ ...tool, type: 'function' }]);
    }
  });
});
