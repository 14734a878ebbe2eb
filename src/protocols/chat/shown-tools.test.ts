import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shownTools } from './shown-tools.ts';

const usesOf = (...events: readonly object[]) => {
  const shown = shownTools();
  for (const event of events) shown.add({ ...event });
  return shown.uses();
};
const message = (of: object) => ({ choices: [{ index: 0, message: of }] });
const delta = (of: object, index = 0) => ({ choices: [{ index, delta: of }] });
const called = (call: object) => message({ tool_calls: [call] });

describe('tool uses that a chat response shows', () => {
  it('include calls that the provider runs, identified by type or name', () => {
    assert.deepEqual(usesOf(called({ type: 'builtin_function', function: { name: '$web_search' } })), {
      webSearches: 1,
    });
    assert.deepEqual(usesOf(called({ type: 'function', function: { name: '$web_search' } })), { webSearches: 1 });
    assert.deepEqual(usesOf(called({ type: 'function', function: { name: 'plugin_web_search' } })), { webSearches: 1 });
    assert.deepEqual(usesOf(called({ type: 'web_search' })), { webSearches: 1 });
    assert.deepEqual(usesOf(called({ type: 'retrieval' })), { fileSearches: 1 });
    assert.deepEqual(usesOf(called({ type: 'code_interpreter' })), { codeExecutions: 1 });
    assert.deepEqual(usesOf(called({ type: 'drawing_tool' })), { otherToolUses: 1 });
  });

  it("exclude calls of the caller's functions, whatever their names", () => {
    for (const name of ['web_search', 'search', 'plugin_web_search_2', 'plugin_search']) {
      for (const type of ['function', 'custom', undefined, null]) {
        assert.deepEqual(usesOf(called({ type, function: { name } })), {}, `${type} ${name}`);
      }
    }
  });

  it('are counted once in a stream, whose chunks repeat the index', () => {
    const call = { index: 0, type: 'builtin_function', function: { name: '$web_search', arguments: '' } };
    const more = { index: 0, function: { arguments: '{}' } };
    const second = { index: 1, id: 'b', type: 'builtin_function', function: { name: '$web_search' } };
    const events = [[call], [more], [call], [second]].map((tool_calls) => delta({ tool_calls }));
    assert.deepEqual(usesOf(...events, delta({ tool_calls: [call] }, 1)), { webSearches: 3 });
  });

  it('include one search for lists of results, together with its call', () => {
    const results = [{ title: 'x' }];
    const found = [
      { web_search: results },
      { search_info: { search_results: results } },
      { search_results: results },
      message({ annotations: [{ type: 'url_citation' }] }),
      delta({ search_results: results }),
      { choices: [{ index: 0, search_info: { search_results: results } }] },
    ];
    for (const each of found) assert.deepEqual(usesOf(each), { webSearches: 1 }, JSON.stringify(each));
    assert.deepEqual(usesOf(...found, called({ type: 'web_search' })), { webSearches: 1 });
  });

  it('are limited to the number that can be charged', () => {
    const executed_tools = Array.from({ length: 2_000 }, (_, index) => ({ index, type: 'search' }));
    assert.deepEqual(usesOf(message({ executed_tools })), { webSearches: 1_000 });
    const calls = ['a', 'a'].map((end) => ({ id: `${'x'.repeat(10_000)}${end}`, type: 'web_search' }));
    assert.deepEqual(usesOf(...calls.map((call) => delta({ tool_calls: [call] }))), { webSearches: 1 });
  });

  it("include executed tools under the vendor's names", () => {
    const ran = (...types: readonly string[]) =>
      usesOf(message({ executed_tools: types.map((type, index) => ({ index, type, arguments: '{}' })) }));
    assert.deepEqual(ran('search', 'browser_search', 'browser.search'), { webSearches: 3 });
    assert.deepEqual(ran('visit', 'visit_website', 'browser.open'), { webFetches: 3 });
    assert.deepEqual(ran('python', 'code_interpreter', 'wolfram'), { codeExecutions: 2, otherToolUses: 1 });
    assert.deepEqual(usesOf(message({ executed_tools: null }), message({ executed_tools: [null, {}] })), {});
  });

  it('exclude empty results', () => {
    for (const none of [
      { web_search: [] },
      { search_info: { search_results: [] } },
      { search_info: {} },
      { search_results: null },
      { citations: 'none' },
      message({ annotations: [{ type: 'file_citation' }], tool_calls: 'x' }),
      { choices: [null, {}] },
    ]) {
      assert.deepEqual(usesOf(none), {}, JSON.stringify(none));
    }
  });
});
