import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { PLAIN_TABLE } from '../plain-references.ts';
import { BUDGETS } from '../token-estimate/budgets.ts';
import { DemandReader } from './demand.ts';
import { BodyFields } from './fields.ts';
import { type Demand, plainDemand } from './operation.ts';

const IMAGE = BUDGETS.image.tokens;
const FILE = BUDGETS.fileUnknown.tokens;

function demandOf(...members: readonly string[]): Demand & { readonly choices: number } {
  const fields = BodyFields.read(Buffer.from(`{${['"model":"m"', ...members].join(',')}}`));
  const asked = new DemandReader(fields, IMAGE);
  asked.named(PLAIN_TABLE);
  return { ...asked.demand('nothing'), choices: asked.choices };
}

const content = (...parts: readonly string[]): string => `"messages":[{"role":"user","content":[${parts.join(',')}]}]`;

describe('the demand of a request', () => {
  it('is the default for a request without special features', () => {
    const plain = { ...plainDemand, choices: 1 };
    assert.deepEqual(demandOf(), plain);
    for (const member of [
      '"messages":[{"role":"user","content":"Read https://example.org/a.png"}]',
      content('{"type":"text","text":"https://example.org/a.png"}'),
      content('{"type":"tool_use","id":"t","name":"f","input":{"image_url":"https://e.org","model":"x"}}'),
      '"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}]',
      '"metadata":{"model":"x","max_tokens":"9"}',
      '"response_format":{"type":"json_schema","json_schema":{"schema":{"properties":{"model":{"enum":["x"]},"n":{}}}}}',
      '"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"model":"x"}}}}]',
      '"tools":[{"name":"f","input_schema":{"type":"object","properties":{"model":{"default":"x"}}}}]',
      '"tools":[{"type":"custom","name":"f"},{"type":"bash_20250124"},{"type":"local_shell"},{"type":"apply_patch"},{"type":"computer_20250124"},{"type":"browser_toolset"}]',
      '"tools":[{"type":"namespace","tools":[{"type":"function","name":"f"}]}]',
      '"tools":[{"type":"function","name":"f","parameters":{"type":"object","cache_control":{},"$defs":{"models":["x"]}}}]',
      '"guided_json":{"properties":{"n":{}},"models":["x"],"cache_control":{}}',
      '"modalities":["text"],"audio":null,"service_tier":null,"speed":1.5,"metadata":{"service_tier":"flex"}',
      '"web_search_options":null,"enable_search":false,"enable_thinking":false,"thinking":{"type":"disabled"}',
    ]) {
      assert.deepEqual(demandOf(member), plain, member);
    }
  });

  const limits: readonly [member: string, limit: number | null, thinking: number][] = [
    ['"max_tokens":0,"max_completion_tokens":0,"max_output_tokens":0', null, 0],
    ['"max_tokens":7,"max_completion_tokens":5', 7, 0],
    ['"max_new_tokens":7', 7, 0],
    ['"max_new_tokens":"7"', 7, 0],
    ['"max_new_tokens":6.2', 7, 0],
    ['"max_new_tokens":"many"', null, 0],
    ['"max_new_tokens":-1', null, 0],
    ['"num_predict":1e400', Number.MAX_SAFE_INTEGER, 0],
    ['"extra_body":{"max_tokens":7}', 7, 0],
    ['"parameters":{"max_tokens":7}', 7, 0],
    ['"generationConfig":{"maxOutputTokens":7}', 7, 0],
    ['"reasoning":{"max_tokens":7}', 7, 0],
    ['"thinking":{"type":"enabled","budget_tokens":7}', 7, 0],
    ['"fallbacks":[{"max_tokens":7}]', 7, 0],
    ['"tools":[{"type":"x","max_tokens":7}]', null, 0],
    ['"thinking_budget":7', null, 7],
    ['"max_tokens":5,"thinking_budget":7', 5, 7],
    ['"thinking_budget":0', null, 0],
    ['"chat_template_kwargs":{"thinking_budget":7}', null, 7],
    ['"extra_body":{"google":{"thinking_config":{"thinking_budget":7}}}', null, 7],
    ['"extra_body":{"Thinking_Budget":7,"thinking_budget":3}', null, 7],
    ['"extra_body":{"th\\u0069nking_budget":7}', null, 7],
  ];
  for (const [member, limit, thinking] of limits) {
    it(`has output limit ${limit} and thinking ${thinking} with ${member}`, () => {
      const { outputTokensLimit, thinkingTokens } = demandOf(member);
      assert.deepEqual([outputTokensLimit, thinkingTokens], [limit, thinking]);
    });
  }

  it('uses the greatest number of choices', () => {
    assert.equal(demandOf('"n":3,"best_of":7').choices, 7);
    assert.equal(demandOf('"n":9,"best_of":7').choices, 9);
    assert.equal(demandOf('"extra_body":{"n":4}').choices, 4);
    assert.equal(demandOf('"generation_config":{"candidate_count":4}').choices, 4);
    assert.equal(demandOf('"a":{"b":{"n":4}}').choices, 1);
    assert.equal(demandOf('"best_of":0').choices, 1);
  });

  const addressed: readonly [part: string, tokens: number][] = [
    ['{"type":"image_url","image_url":{"url":"https://e.org/a.png"}}', IMAGE],
    [
      '{"type":"image_url","image_url":{"detail":"original","url":"https://e.org/a.png"}}',
      BUDGETS.imageOriginal.tokens,
    ],
    ['{"type":"image_url","image_url":"https://e.org/a.png"}', IMAGE],
    ['{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}', 0],
    ['{"type":"image_url","image_url":{"url":"DATA:image/png;base64,AAAA"}}', 0],
    ['{"type":"image_url","imag\\u0065_url":{"\\u0075rl":"https://e.org/a.png"}}', IMAGE],
    ['{"type":"input_image","file_id":"file-1"}', IMAGE],
    ['{"type":"input_image","image_url":"https://e.org/a.png","detail":"original"}', BUDGETS.imageOriginal.tokens],
    ['{"type":"input_file","file_id":"file-1"}', FILE],
    ['{"type":"input_file","file_url":"https://e.org/a.pdf"}', FILE],
    ['{"type":"file","file":{"file_id":"file-1"}}', FILE],
    ['{"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA"}}', 0],
    ['{"type":"image","source":{"type":"url","url":"https://e.org/a.png"}}', IMAGE],
    ['{"source":{"type":"file","file_id":"file-1"},"type":"image"}', IMAGE],
    ['{"type":"document","source":{"type":"url","url":"https://e.org/a.pdf"}}', FILE],
    ['{"type":"document","source":{"type":"base64","data":"AAAA"}}', 0],
    [
      '{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"https://e.org"}}]}}',
      IMAGE,
    ],
    ['{"type":"tool_result","content":[{"type":"image","source":{"type":"url","url":"https://e.org/a.png"}}]}', IMAGE],
    ['{"type":"container_upload","file_id":"file-1"}', FILE],
    ['{"type":"video_url","video_url":{"url":"https://e.org/a.mp4"}}', FILE],
    ['{"type":"video","video":["https://e.org/1.png","https://e.org/2.png"]}', 2 * FILE],
    ['{"image":"https://e.org/a.png"}', IMAGE],
    ['{"type":"item_reference","id":"msg_1"}', 4_096],
    ['{"id":"msg_1"}', 4_096],
    ['{"type":"message","id":"msg_1","content":"x"}', 0],
  ];
  for (const [part, tokens] of addressed) {
    it(`has ${tokens} additional input tokens with ${part}`, () => {
      assert.equal(demandOf(content(part)).addressedTokens, tokens);
      assert.equal(demandOf(`"input":[${part},${part}]`).addressedTokens, 2 * tokens);
    });
  }

  const tools: readonly [member: string, count: number][] = [
    ['"tools":[{"type":"web_search"},{"type":"file_search"},{"type":"code_interpreter"},{"type":"function"}]', 3],
    ['"tools":[{"name":"web_search","type":"web_search_20250305"},{"type":"web_fetch_20250910"}]', 2],
    ['"tools":[{"t\\u0079pe":"web_search"}]', 1],
    ['"tools":[{"type":"namespace","tools":[{"type":"mcp"}]}]', 1],
    ['"input":[{"type":"tool_search_output","tools":[{"type":"web_search"},{"type":"function"}]}]', 1],
    ['"messages":[{"content":[{"tool":{"definition":{"type":"web_search_20250305"}}}]}]', 1],
    ['"messages":[{"content":[{"tool":{"definition":{"type":"custom","name":"f"}}}]}]', 0],
    ['"mcp_servers":[{"type":"url","url":"https://e.org"},{"name":"b"}]', 2],
    ['"plugins":[{"id":"web"}]', 1],
    ['"web_search_options":{}', 1],
    ['"enable_search":true', 1],
    ['"extra_body":{"enable_search":true}', 1],
    ['"web_search":{"enable":true}', 1],
    ['"extra_body":{"web_search":{"enable":true}}', 1],
    ['"enable_enhancement":true', 1],
    ['"tools":[{"type":"web_search","web_search":{"enable":true}}]', 1],
    ['"extra_body":{"tools":[{"type":"web_search"},{"type":"function"}]}', 1],
    ['"extra_body":{"input":[{"tools":[{"type":"web_search"}]}],"plugins":[{"id":"web"}]}', 2],
    ['"fallbacks":[{"model":"x","tools":[{"type":"web_search"}]}]', 1],
    ['"tools":[{"type":"web_search"}],"tool_choice":{"type":"allowed_tools","tools":[{"type":"web_search"}]}', 1],
    ['"tools":[{"type":"function","parameters":{"tools":[{"type":"web_search"}]}}]', 0],
    ['"tools":[{"type":"builtin_function","function":{"name":"$web_search"}}]', 1],
  ];
  for (const [member, count] of tools) {
    it(`has ${count} uses of provider tools with ${member}`, () => {
      assert.equal(demandOf(member).serverToolUses, 2 * count);
    });
  }

  const compactions: readonly [member: string, aboveTokens: number | null][] = [
    [
      '"context_management":{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":60000}}]}',
      60_000,
    ],
    [
      '"context_management":{"edits":[{"type":"clear_tool_uses_20250919","trigger":{"value":5}},{"type":"compact_x"}]}',
      0,
    ],
    [
      '"context_management":[{"compact_threshold":1e3,"type":"compaction"},{"type":"compaction","compact_threshold":9}]',
      9,
    ],
    ['"extra_body":{"context_management":[{"type":"compaction"}]}', 0],
    ['"x":{"context_management":{"context_management":[{"type":"compaction","compact_threshold":7}]}}', 7],
    [
      '"context_management":{"edits":[{"trigger":{"value":5,"type":"compact"},"type":"clear_thinking_20251015"}]}',
      null,
    ],
    [
      '"context_management":{"edits":[{"type":"clear_x","keep":{"value":5}},{"type":"compact_x","keep":{"value":5}}]}',
      0,
    ],
    [
      `"context_management":[{"type":"${'compaction'.replace(/./g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)}"}]`,
      0,
    ],
    ['"context_management":{"edits":[{"type":"clear_thinking_20251015"}]}', null],
    ['"context_management":null', null],
    ['"context_management":"compaction"', null],
  ];
  for (const [member, aboveTokens] of compactions) {
    it(`has ${aboveTokens === null ? 'no summary' : `a summary above ${aboveTokens} tokens`} with ${member}`, () => {
      assert.equal(demandOf(member).compactsAboveTokens, aboveTokens);
    });
  }

  it('includes the most expensive input if it is written to a cache', () => {
    assert.equal(
      demandOf(content('{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}')).writesCache,
      true,
    );
    assert.equal(demandOf('"cache_control":{"type":"ephemeral"}').writesCache, true);
    assert.equal(demandOf('"tools":[{"name":"f","cache_control":{"type":"ephemeral"}}]').writesCache, true);
  });

  it('assumes much thinking if it is unlimited', () => {
    for (const member of ['"enable_thinking":true', '"thinking_budget":-1', '"reasoning_budget":-1']) {
      assert.equal(demandOf(member).moreOutputTokens, 38_912, member);
    }
    assert.equal(demandOf('"enable_thinking":true,"thinking_budget":500').moreOutputTokens, 0);
  });

  it('contains the service terms requested at the top level and in relay extensions', () => {
    const asked = (...members: string[]) => demandOf(...members).terms;
    assert.deepEqual(asked('"service_tier":"flex"', '"speed":"fast"', '"inference_geo":"us"'), {
      serviceTier: 'flex',
      speed: 'fast',
      inferenceGeo: 'us',
    });
    assert.deepEqual(asked('"extra_body":{"Service_Tier":"auto","serviceTier":"priority"}'), {
      serviceTier: 'priority',
    });
    assert.deepEqual(asked(`"service_tier":"${'x'.repeat(100)}"`), { serviceTier: '…' });
    assert.deepEqual(asked('"extra":{"service_tier":"flex"}', '"service_tier":5', '"speed":2'), {});
    assert.deepEqual(asked('"extra_body":{"service_tier":"priority","max_tokens":7}'), { serviceTier: 'priority' });
    assert.deepEqual(asked('"extra_body":{"extra_body":{"service_tier":"priority"}}'), {});
    assert.equal(demandOf('"extra_body":{"modalities":["audio"]}').audioOutput, 'modalities');
  });

  it('names the members that send or request audio', () => {
    const audio = (...members: string[]) => {
      const { audioInput, audioOutput } = demandOf(...members);
      return [audioInput, audioOutput];
    };
    assert.deepEqual(audio('"modalities":["text","audio"]', '"audio":{"voice":"a"}'), [null, 'modalities']);
    assert.deepEqual(audio('"audio":{"voice":"a"}'), [null, 'audio']);
    for (const part of [
      '{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}',
      '{"type":"audio_url","audio_url":{"url":"https://e.org/a.wav"}}',
      '{"input_audio":{"data":"AAAA"}}',
      '{"type":"audio","source":{"url":"https://e.org/a.wav"}}',
    ]) {
      assert.deepEqual(audio(content('{"type":"text","text":"x"}', part)), ['messages', null], part);
    }
    assert.deepEqual(audio('"input":[{"content":[{"type":"input_audio"}]}]'), ['input', null]);
    assert.deepEqual(audio(content('{"type":"text","text":"input_audio"}'), '"modalities":["text"]'), [null, null]);
  });

  it('can be read from any JSON without failing', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (body) => {
        const { addressedTokens, serverToolUses, choices } = demandOf(`"x":${JSON.stringify(body)}`);
        for (const count of [addressedTokens, serverToolUses, choices]) assert.ok(Number.isSafeInteger(count));
      }),
    );
  });
});
