import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../../errors/gateway-error.ts';
import { PLAIN_TABLE } from '../plain-references.ts';
import { DemandReader } from './demand.ts';
import { BodyFields } from './fields.ts';
import type { InnerModel } from './operation.ts';

function namedBy(members: string): readonly InnerModel[] {
  const asked = new DemandReader(BodyFields.read(Buffer.from(`{"model":"m",${members}}`)), 0);
  asked.named(PLAIN_TABLE);
  return asked.demand('nothing').innerModels;
}

const escaped = (text: string): string =>
  [...text].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

const advisor = '"tools":[{"type":"openrouter:advisor","parameters":{"model":"dear"}}]';

describe('models that a request names', () => {
  /** Members of a request, and the model names by the member that contains them. */
  const named: readonly [members: string, names: Readonly<Record<string, string>>][] = [
    // Tools that the provider runs, in any position.
    ['"tools":[{"type":"function"},{"type":"advisor_20260301","model":"dear"}]', { 'tools[1].model': 'dear' }],
    ['"tools":[{"type":"x","mod\\u0065l":"dear"}]', { 'tools[0].model': 'dear' }],
    ['"tools":[{"type":"x","Model":"d\\u0065ar"}]', { 'tools[0].Model': 'dear' }],
    ['"tools":[{"type":"x","options":{"model":"dear"}}]', { 'tools[0].options.model': 'dear' }],
    ['"tools":[{"type":"namespace","tools":[{"type":"x","model":"dear"}]}]', { 'tools[0].tools[0].model': 'dear' }],
    [advisor, { 'tools[0].parameters.model': 'dear' }],
    [
      '"tools":[{"parameters":{"analysis_models":["a","b"],"model":"c"},"type":"openrouter:fusion"}]',
      {
        'tools[0].parameters.analysis_models[0]': 'a',
        'tools[0].parameters.analysis_models[1]': 'b',
        'tools[0].parameters.model': 'c',
      },
    ],
    [
      '"tools":[{"type":"openrouter:advisor","parameters":{"tools":[{"type":"function","parameters":{"model":"no"}},' +
        '{"type":"openrouter:x","parameters":{"options":{"model":"dear"}}}]}}]',
      { 'tools[0].parameters.tools[1].parameters.options.model': 'dear' },
    ],
    [
      '"tools":[{"type":"x","config":{"parameters":{"m_o_d_e_l":"dear"}}}]',
      { 'tools[0].config.parameters.m_o_d_e_l': 'dear' },
    ],
    ['"tools":[[{"type":"x","parameters":{"model":"dear"}}]]', { 'tools[0][0].parameters.model': 'dear' }],
    ['"tools":{"type":"x","parameters":{"model":"dear"}}', { 'tools.parameters.model': 'dear' }],
    ['"plugins":[{"id":"fusion","model":"dear"}]', { 'plugins[0].model': 'dear' }],
    ['"plugins":[{"id":"auto-router","allowed_models":["dear"]}]', { 'plugins[0].allowed_models[0]': 'dear' }],
    ['"plugins":[{"id":"x","parameters":{"model":"dear"}}]', { 'plugins[0].parameters.model': 'dear' }],
    [`"input":[{"type":"additional_tools",${advisor}}]`, { 'input[0].tools[0].parameters.model': 'dear' }],
    [`"input":[{"type":"tool_search_output",${advisor}}]`, { 'input[0].tools[0].parameters.model': 'dear' }],
    [`"messages":[{},{"role":"system",${advisor}}]`, { 'messages[1].tools[0].parameters.model': 'dear' }],
    [
      `"messages":[{"role":"user","content":[{"type":"x",${advisor}}]}]`,
      { 'messages[0].content[0].tools[0].parameters.model': 'dear' },
    ],
    [
      '"messages":[{"content":[{"tool":{"type":"tool_definition","definition":{"type":"advisor_20260301","model":"dear"}}}]}]',
      { 'messages[0].content[0].tool.definition.model': 'dear' },
    ],
    ['"messages":[{"content":[{"tool":{"definition":{"type":"function","parameters":{"model":"no"}}}}]}]', {}],
    [`"input":[{"additional_tools":[{"type":"x","model":"dear"}]}]`, { 'input[0].additional_tools[0].model': 'dear' }],
    ['"server_tools":[{"type":"x","parameters":{"model":"dear"}}]', { 'server_tools[0].parameters.model': 'dear' }],
    ['"tool_choice":{"type":"x","model":"dear"}', { 'tool_choice.model': 'dear' }],
    [
      `"tools":[{"type":"${escaped('openrouter:advisor')}","parameters":{"model":"dear"}}]`,
      { 'tools[0].parameters.model': 'dear' },
    ],
    [`"tools":[{"type":"${'x'.repeat(500)}","parameters":{"model":"dear"}}]`, { 'tools[0].parameters.model': 'dear' }],
    // Functions, whose schemas are content.
    ['"tools":[{"type":"function","parameters":{"model":"no","models":["no"]}}]', {}],
    ['"tools":[{"parameters":{"model":"no"},"name":"f","type":"function"}]', {}],
    ['"tools":[{"name":"f","parameters":{"model":"no"}},{"name":"g","input_schema":{"model":"no"}}]', {}],
    ['"tools":[{"type":"function","function":{"name":"f","parameters":{"model":"no"}}}]', {}],
    ['"tools":[{"type":"custom","parameters":{"tools":[{"type":"x","model":"no","parameters":{"model":"no"}}]}}]', {}],
    ['"tools":[{"type":"mcp","headers":{"x-model":"no"},"allowed_tools":["model"]}]', {}],
    ['"functions":[{"name":"f","parameters":{"model":"no"}}]', {}],
    [
      '"messages":[{"role":"assistant","content":[{"type":"tool_use","input":{"tools":[{"type":"x","model":"no"}]}}]}]',
      {},
    ],
    // Lists and maps of other models.
    [
      '"fallbacks":[{"model":"dear","max_tokens":7},"other"]',
      { 'fallbacks[0].model': 'dear', 'fallbacks[1]': 'other' },
    ],
    ['"fallbacks":"default"', { fallbacks: 'default' }],
    ['"fallbacks":[{"gpt":["other"]}]', { 'fallbacks[0].gpt': 'gpt', 'fallbacks[0].gpt[0]': 'other' }],
    ['"fallbacks":{"gpt":"other"}', { 'fallbacks.gpt': 'other' }],
    ['"fallbacks":[{"*":[{"model":"other","stop":["no"]}]}]', { 'fallbacks[0].*[0].model': 'other' }],
    ['"context_window_fallbacks":[{"gpt":["gpt"]}]', { 'context_window_fallbacks[0].gpt': 'gpt' }],
    ['"content_policy_fallbacks":[{"*":["dear"]}]', { 'content_policy_fallbacks[0].*[0]': 'dear' }],
    ['"default_fallbacks":["dear"]', { 'default_fallbacks[0]': 'dear' }],
    ['"context_window_fallback_dict":{"*":"dear"}', { 'context_window_fallback_dict.*': 'dear' }],
    ['"router":{"fallbacks":[{"*":["dear"]}]}', { 'router.fallbacks[0].*[0]': 'dear' }],
    ['"models":["dear","other"]', { 'models[0]': 'dear', 'models[1]': 'other' }],
    ['"models":{"dear":0.3,"other":{"weight":0.7}}', { 'models.dear': 'dear', 'models.other': 'other' }],
    ['"models":[{"id":"dear","weight":1}]', { 'models[0].id': 'dear' }],
    [
      '"fallbacks":[{"gpt":["dear"],"model":"m"}]',
      { 'fallbacks[0].gpt': 'gpt', 'fallbacks[0].gpt[0]': 'dear', 'fallbacks[0].model': 'm' },
    ],
    [
      '"fallbacks":[{"model":"dear","top_a":1,"stop_sequences":["no"],"messages":[{"content":"no"}],' +
        '"thinking":{"type":"enabled"},"output_config":{"effort":"low"},"speed":"fast"}]',
      { 'fallbacks[0].model': 'dear' },
    ],
    [
      `"fallbacks":[{"model":"m",${advisor}}]`,
      { 'fallbacks[0].model': 'm', 'fallbacks[0].tools[0].parameters.model': 'dear' },
    ],
    // Other settings.
    [
      '"context_management":{"edits":[{"type":"compact_x","model":"dear"}]}',
      { 'context_management.edits[0].model': 'dear' },
    ],
    ['"svg":{"model":"dear"}', { 'svg.model': 'dear' }],
    ['"svg":{"model":null}', {}],
    ['"svg":{"model":{"name":"dear","quality":"no"}}', { 'svg.model.name': 'dear' }],
    ['"moderation":{"model":"dear"}', { 'moderation.model': 'dear' }],
    ['"judge_model":"dear"', { judge_model: 'dear' }],
    ['"judge\\u004dodel":"dear"', { judgeModel: 'dear' }],
    ['"deployment_id":"dear"', { deployment_id: 'dear' }],
    ['"models_allowed":["no"],"use_model":true,"allow_fallbacks":false', {}],
    // Extensions that relays merge into the request.
    ['"extra_body":{"model":"dear"}', { 'extra_body.model': 'dear' }],
    [`"extra_body":{${advisor}}`, { 'extra_body.tools[0].parameters.model': 'dear' }],
    ['"extra_body":{"fallbacks":[{"*":["dear"]}]}', { 'extra_body.fallbacks[0].*[0]': 'dear' }],
    [
      '"extra_body":{"plugins":[{"id":"fusion","analysis_models":["dear"]}]}',
      { 'extra_body.plugins[0].analysis_models[0]': 'dear' },
    ],
    ['"extra_body":{"tools":[{"type":"function","parameters":{"model":"no"}}],"metadata":{"model":"no"}}', {}],
    ['"parameters":{"draft_model":"dear"}', { 'parameters.draft_model': 'dear' }],
    ['"extra_body":{"parameters":{"draft_model":"dear"}}', { 'extra_body.parameters.draft_model': 'dear' }],
  ];
  for (const [members, names] of named) {
    it(`are ${JSON.stringify(Object.values(names))} with ${members}`, () => {
      assert.deepEqual(Object.fromEntries(namedBy(members).map(({ name, param }) => [param, name])), names);
    });
  }

  const refusal = (param: string) => (error: unknown) =>
    error instanceof GatewayError && error.kind === 'invalidRequest' && error.param === param;

  it('are limited to 32', () => {
    const names = Array.from({ length: 33 }, (_, n) => `"m${n}"`).join(',');
    assert.throws(() => namedBy(`"models":[${names}]`), refusal('models[32]'));
    const parameters = `{"type":"x","parameters":{"models":["m0","m0",${names}]}}`;
    assert.throws(() => namedBy(`"tools":[${parameters}]`), refusal('tools[0].parameters.models[34]'));
    assert.deepEqual(namedBy(`"tools":[${parameters.replace('"x"', '"function"')}]`), []);
  });

  it('are limited to 512 bytes each', () => {
    assert.throws(() => namedBy(`"models":["${'m'.repeat(513)}"]`), refusal('models[0]'));
    assert.throws(
      () => namedBy(`"fallbacks":[{"${'m'.repeat(513)}":["x"]}]`),
      (error: unknown) => error instanceof GatewayError && error.param === 'fallbacks[0].…',
    );
  });
});
