import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ownerOf, releasedAtMsOf } from './model-origin.ts';

describe('model origin', () => {
  const route = (model: string) => ({ provider: 'acme', model, priority: 0, weight: 1 });

  it('the release date is the configured one, the date in a name, or unknown', () => {
    for (const [id, released, providerModel, date] of [
      ['acme-2025-01-01', '2026-10-01', 'x', '2026-10-01'],
      ['acme-2026-10-02', undefined, 'x-2025-01-01', '2026-10-02'],
      ['acme', undefined, 'acme-20250929', '2025-09-29'],
      ['acme', undefined, 'acme-2026-10', '2026-10-01'],
      ['acme-2507', undefined, 'acme-120261301', '1970-01-01'],
      ['acme', undefined, 'acme', '1970-01-01'],
    ] as const) {
      const ms = releasedAtMsOf(id, { released, routes: [route(providerModel)] });
      assert.equal(new Date(ms).toISOString().slice(0, 10), date, `${id} ${providerModel}`);
    }
  });

  it('the owner is the manufacturer or the beginning of the id', () => {
    assert.equal(ownerOf('deepseek-ai/DeepSeek-V3', { manufacturer: 'DeepSeek' }), 'DeepSeek');
    assert.equal(ownerOf('deepseek-ai/DeepSeek-V3', { manufacturer: '' }), 'deepseek-ai');
    assert.equal(ownerOf('acme', { manufacturer: '' }), 'unknown');
  });
});
