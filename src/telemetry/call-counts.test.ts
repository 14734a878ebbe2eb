import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memberLabel } from '../protocols/translation/member-labels.ts';
import { CallCounts, type CountedReport } from './call-counts.ts';
import { unitLabel } from './call-metrics.ts';

const refused: CountedReport = {
  kind: 'call',
  status: 404,
  end: 'refused',
  errorCode: 'model_not_found',
  model: null,
  modelAsked: 'made-up-1',
  durationMs: 1,
  chunks: 0,
  outcome: null,
};

const ignored = { observe: () => undefined };
const createCounts = () => new CallCounts(() => ({ duration: ignored, firstByte: ignored }));

function counted(counts: CallCounts): [model: string, provider: string, end: string, code: string, calls: number][] {
  return [...counts.routes()].flatMap(({ model, provider, ends }) =>
    [...ends].flatMap(([end, codes]) =>
      [...codes].map(([code, calls]): [string, string, string, string, number] => [model, provider, end, code, calls]),
    ),
  );
}

describe('call counts', () => {
  it('use one label for unknown models and codes', () => {
    const counts = createCounts();
    for (let i = 0; i < 100; i++) {
      counts.observe({ ...refused, modelAsked: `made-up-${i}`, errorCode: `code_${i}` });
    }
    counts.observe({ ...refused, modelAsked: null, errorCode: 'invalid_request_error', status: 400 });
    assert.deepEqual(counted(counts), [
      ['other', 'none', 'refused', 'other', 100],
      ['none', 'none', 'refused', 'invalid_request_error', 1],
    ]);
  });

  it('have a bounded number of models and providers, however often the configuration changes', () => {
    const counts = createCounts();
    for (let i = 0; i < 3_000; i++) counts.observe({ ...refused, model: `model-${i}` });
    const routes = [...counts.routes()];
    assert.ok(routes.length <= 2_001, `${routes.length} pairs`);
    const calls = counted(counts).reduce((sum, [, , , , count]) => sum + count, 0);
    assert.equal(calls, 3_000);
  });

  it('count other requests by kind and status only', () => {
    const counts = createCounts();
    counts.observe({ ...refused, kind: 'query', status: 200, end: 'succeeded' });
    counts.observe({ ...refused, kind: 'health', status: null, end: 'aborted' });
    assert.deepEqual(counted(counts), []);
    assert.deepEqual(
      [...counts.requests].map(([kind, statuses]) => [kind, ...statuses.entries()]),
      [
        ['query', ['200', 1]],
        ['health', ['none', 1]],
      ],
    );
  });
});

describe('the label of a member', () => {
  it('is its name without the index of a tool, and "other" for names that clients choose', () => {
    assert.deepEqual(
      ['top_k', 'metadata.user_id', 'tools[8](web_search)', 'tools[0].strict', 'tools[1].my_own', 'my_own'].map(
        memberLabel,
      ),
      ['top_k', 'metadata.user_id', 'tools', 'tools[].strict', 'other', 'other'],
    );
  });
});

describe('the label of a unit', () => {
  it('is its name in words', () => {
    assert.deepEqual(
      (['inputTokens', 'cacheWrite1hTokens', 'imageOutputTokens', 'searchUnits'] as const).map(unitLabel),
      ['input', 'cache_write_1h', 'image_output', 'search_units'],
    );
  });
});
