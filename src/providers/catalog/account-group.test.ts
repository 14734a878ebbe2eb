import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { priceInForce } from '../../accounting/pricing/price.ts';
import { parseConfig } from '../../config/load.ts';
import { createCatalog } from './catalog.ts';

const catalog = createCatalog(
  parseConfig(
    `
providers:
  chatty: { protocol: chat, baseUrl: https://chat.example/v1, apiKey: one-secret-key }
  spare: { protocol: chat, baseUrl: https://spare.example/v1, apiKey: two-secret-key }
  messy: { protocol: messages, baseUrl: https://messages.example, apiKey: three-secret-key }
models:
  large:
    aliases: [grand]
    operations: [chat, messages]
    price: { input: "3", output: "13" }
    routes: [{ provider: chatty, model: large }, { provider: spare, model: large }, { provider: messy, model: large }]
  small:
    operations: [chat]
    price: { input: "1", output: "2" }
    routes: [{ provider: chatty, model: small }]
    fallbacks: []
  vectors:
    operations: [embeddings]
    price: { input: "1" }
    routes: [{ provider: chatty, model: vectors }]
  strict:
    operations: [chat]
    price: { input: "1", output: "2" }
    routes: [{ provider: chatty, model: strict }]
    fallbacks: [small]
groups:
  resellers:
    name: Resellers
    models: [large]
    priceFactorBasisPoints: 8000
    prices: { large: { input: "2", output: "11", later: [{ from: "2026-12-01", input: "1", output: "7" }] } }
    limits: { requestsPerMinute: 60, dailySpendCapYuan: "5" }
  own-vendor: { name: Own vendor, providers: [spare] }
  safe: { name: Safe, fallbacks: [vectors, large, strict], fallbackOn: [context], fallbackCharge: asked }
`,
    'test.yaml',
    {},
  ),
);
const inputNano = (groupId: string | null, model: string, at = '2026-11-01T00:00:00Z') =>
  priceInForce(catalog.of(groupId).find(model)!.price, Date.parse(at)).prices.inputNanoPerMillion;

describe('the catalog of a group', () => {
  it('is the general one for accounts in no group', () => {
    assert.equal(catalog.of(null), catalog);
    assert.equal(catalog.group, null);
  });

  it('has the prices of the group, and for other models the general ones', () => {
    assert.equal(inputNano(null, 'large'), 3_000_000_000n);
    assert.equal(inputNano('resellers', 'large'), 2_000_000_000n);
    assert.equal(inputNano('resellers', 'grand'), 2_000_000_000n);
    assert.equal(inputNano('resellers', 'large', '2026-12-01T00:00:00+08:00'), 1_000_000_000n);
    assert.equal(inputNano('resellers', 'small'), 1_000_000_000n);
    assert.equal(catalog.of('own-vendor').find('small')!.price, catalog.find('small')!.price);
  });

  it('has one object per model, under all its names', () => {
    const { find, models } = catalog.of('resellers');
    assert.equal(find('grand'), find('large'));
    assert.deepEqual(
      models.map(({ id }) => id),
      ['large', 'small', 'vectors', 'strict'],
    );
    assert.ok(models.includes(find('large')!));
  });

  it('has only the routes of the providers of the group, which may use only the models that these serve', () => {
    const { find, group } = catalog.of('own-vendor');
    const { chat, messages } = find('large')!.routes;
    assert.deepEqual([chat.map(({ providerId }) => providerId), messages], [['spare'], []]);
    assert.deepEqual(group!.models, new Set(['large']));
    assert.equal(catalog.find('large')!.routes.chat.length, 2);
  });

  it('has the fallbacks of the group for models that say nothing, without themselves and without other operations', () => {
    const fallbacksOf = (model: string, group: string | null = 'safe') => catalog.of(group).find(model)!.fallbacks;
    const on = new Set(['context']);
    assert.deepEqual(fallbacksOf('grand'), { models: ['strict'], on, charge: 'asked' });
    assert.deepEqual(fallbacksOf('strict')!.models, ['small']);
    for (const none of ['small', 'vectors']) assert.equal(fallbacksOf(none), null);
    for (const other of ['resellers', null]) assert.equal(fallbacksOf('large', other), null);
  });

  it('has the limits and the price factor of the group', () => {
    const { group } = catalog.of('resellers');
    assert.deepEqual(group!.limits, { requestsMax: 60, tokensMax: null, dailyCapNano: 5_000_000_000n });
    assert.deepEqual([group!.priceFactorBasisPoints, group!.models], [8_000, new Set(['large'])]);
    assert.deepEqual([catalog.of('own-vendor').group!.limits, catalog.groups.length], [null, 3]);
  });

  it('allows no model if the configuration does not contain the group', () => {
    const { group, find } = catalog.of('gone');
    assert.deepEqual([group!.id, group!.isConfigured, group!.models], ['gone', false, new Set()]);
    assert.equal(find('large')!.id, 'large');
    assert.equal(catalog.of('gone'), catalog.of('gone'));
  });
});
