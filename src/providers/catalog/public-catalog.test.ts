import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from '../../config/load.ts';
import { chat } from '../../protocols/operations/chat.ts';
import { imageGeneration } from '../../protocols/operations/image-generation.ts';
import { messages } from '../../protocols/operations/messages.ts';
import { createPublicCatalog, describeCatalog, type PublishedOperation } from './public-catalog.ts';

const published: readonly PublishedOperation[] = [
  { operation: chat, method: 'POST', path: '/v1/chat/completions' },
  { operation: messages, method: 'POST', path: '/v1/messages' },
];

function configOf(models: string, server = ''): ReturnType<typeof parseConfig> {
  const text = `
server: { ${server} }
providers:
  c: { protocol: chat, baseUrl: "https://c.example/v1", apiKey: k }
  m: { protocol: messages, baseUrl: "https://m.example", apiKey: k }
models:
${models}`;
  return parseConfig(text, 'test.yaml', {});
}

const PLAIN = `  plain:
    manufacturer: Acme
    operations: [chat, messages, embeddings]
    price: { input: "4", cachedInput: "0.4", output: "16", official: { input: "5", output: "20", discountBasisPoints: 8000 } }
    routes: [{ provider: c, model: x }, { provider: m, model: y }]
`;
const TIMED = `  timed:
    operations: [chat]
    price:
      input: "4"
      output: "16"
      timeOfDay:
        { id: day, timezone: America/New_York, peak: { hours: ["09:00-21:00"], input: "8", output: "32" }, offPeak: { input: "2", output: "8", cachedInput: "1" } }
    routes: [{ provider: c, model: x }]
`;
const NOON = Date.UTC(2026, 10, 20, 17, 0, 0);

describe('the public catalog', () => {
  it('has every field of a model, null if not configured', () => {
    const [model] = describeCatalog(configOf(PLAIN), published, NOON).models;
    assert.deepEqual(model, {
      modelId: 'plain',
      displayName: 'plain',
      manufacturer: 'Acme',
      capability: 'chat',
      description: null,
      contextLength: null,
      maxOutputTokens: null,
      modelSize: null,
      inputModalities: null,
      outputModalities: null,
      docsPath: null,
      inputPriceYuan: '4',
      cachedInputPriceYuan: '0.4',
      outputPriceYuan: '16',
      officialPricing: {
        inputPriceYuan: '5',
        cachedInputPriceYuan: '5',
        outputPriceYuan: '20',
        discountBasisPoints: 8000,
      },
      timePricing: null,
      apiInterfaces: [
        {
          id: 'COMPAT_CHAT_COMPLETIONS',
          operations: [{ id: 'COMPAT_CHAT_CREATE', method: 'POST', path: '/v1/chat/completions' }],
        },
        { id: 'ALT_MESSAGES', operations: [{ id: 'ALT_MESSAGES_CREATE', method: 'POST', path: '/v1/messages' }] },
      ],
    });
  });

  it('builds its enums from the first mount name of each protocol', () => {
    const config = configOf(PLAIN, 'protocolNames: { chat: [ac-me, other], messages: foo }');
    const [model] = describeCatalog(config, published, NOON).models;
    assert.deepEqual(
      model!.apiInterfaces.map(({ id, operations }) => [id, operations[0]!.id]),
      [
        ['AC_ME_CHAT_COMPLETIONS', 'AC_ME_CHAT_CREATE'],
        ['FOO_MESSAGES', 'FOO_MESSAGES_CREATE'],
      ],
    );
  });

  it('has the operations that routes translate, without those that a provider does not serve', () => {
    const config = parseConfig(
      `providers:
  c: { protocol: chat, baseUrl: "https://c.example/v1", apiKey: k, serves: [chat] }
models:
  translated:
    operations: [messages]
    price: { input: "4", output: "16" }
    routes: [{ provider: c, model: x, translate: [messages] }]
`,
      'test.yaml',
      {},
    );
    const [model] = describeCatalog(config, published, NOON).models;
    assert.deepEqual(
      model!.apiInterfaces.map(({ id }) => id),
      ['ALT_MESSAGES'],
    );
  });

  it('omits models that are unlisted, or have no published operation with a route', () => {
    const config = configOf(`  hidden:
    listed: false
    operations: [chat]
    price: { input: "1", output: "1" }
    routes: [{ provider: c, model: x }]
  unrouted:
    operations: [chat]
    price: { input: "1", output: "1" }
    routes: [{ provider: m, model: x }]
  unserved:
    operations: [embeddings]
    price: { input: "1", output: "1" }
    routes: [{ provider: c, model: x }]
`);
    assert.deepEqual(describeCatalog(config, published, NOON), { models: [], priceUnit: 'CNY per million tokens' });
  });

  it('shows the current prices, both periods, and the time of the next change', () => {
    const describeAt = (nowMs: number) => describeCatalog(configOf(TIMED), published, nowMs).models[0]!;
    const day = describeAt(NOON);
    assert.equal(day.inputPriceYuan, '8');
    assert.equal(day.timePricing!.activePeriod, 'PEAK');
    assert.equal(day.timePricing!.nextSwitchAt, '2026-11-21T02:00:00.000Z');
    assert.deepEqual(day.timePricing!.offPeak, {
      inputPriceYuan: '2',
      cachedInputPriceYuan: '1',
      outputPriceYuan: '8',
      officialPricing: null,
    });
    const night = describeAt(Date.UTC(2026, 10, 21, 2, 0, 0));
    assert.equal(night.inputPriceYuan, '2');
    assert.equal(night.timePricing!.activePeriod, 'OFF_PEAK');
    assert.equal(night.timePricing!.nextSwitchAt, '2026-11-21T14:00:00.000Z');
  });

  it('shows only current prices for a model charged per image, and no periods', () => {
    const config = configOf(`  painter:
    operations: [chat, images.generate]
    price:
      input: "4"
      output: "16"
      timeOfDay: { id: day, timezone: UTC, peak: { hours: ["09:00-21:00"], input: "8", imageOutput: "32", output: "1" }, offPeak: { input: "2", imageOutput: "8", output: "1" } }
    routes: [{ provider: c, model: x }]
  by-image:
    operations: [images.generate]
    price:
      perImage: "0.3"
      timeOfDay: { id: day, timezone: UTC, peak: { hours: ["09:00-21:00"], perImage: "0.4", input: "8" }, offPeak: { perImage: "0.2" } }
    routes: [{ provider: c, model: x }]
`);
    const images: PublishedOperation = { operation: imageGeneration, method: 'POST', path: '/v1/images/generations' };
    const [painter, byImage] = describeCatalog(config, [...published, images], NOON).models;
    assert.equal(painter!.timePricing!.peak.outputPriceYuan, '1');
    assert.equal(byImage!.timePricing, null);
    assert.equal(byImage!.inputPriceYuan, '8');
    assert.equal(byImage!.outputPriceYuan, null);
  });

  it('uses local time, including daylight saving changes', () => {
    // In New York, clocks go back on 1 November 2026 at 06:00 UTC, and forward on 8 March at 07:00 UTC.
    const at = (nowMs: number) =>
      describeCatalog(configOf(TIMED), published, nowMs).models[0]!.timePricing!.nextSwitchAt;
    assert.equal(at(Date.UTC(2026, 10, 1, 5, 0, 0)), '2026-11-01T14:00:00.000Z');
    assert.equal(at(Date.UTC(2026, 2, 8, 5, 0, 0)), '2026-03-08T13:00:00.000Z');
  });

  it('shows the next midnight if the peak period never ends', () => {
    const config = configOf(TIMED.replace('09:00-21:00', '00:00-24:00'));
    const { timePricing } = describeCatalog(config, published, NOON).models[0]!;
    assert.equal(timePricing!.activePeriod, 'PEAK');
    assert.equal(timePricing!.nextSwitchAt, '2026-11-21T05:00:00.000Z');
  });

  it('is cached for a minute, but not beyond a price change', () => {
    let nowMs = NOON;
    const current = createPublicCatalog(configOf(TIMED), published, { nowMs: () => nowMs });
    const first = current();
    nowMs += 59_999;
    assert.equal(current(), first);
    nowMs += 1;
    assert.notEqual(current(), first);
    nowMs = Date.UTC(2026, 10, 21, 1, 59, 30);
    assert.equal(current().models[0]!.inputPriceYuan, '8');
    nowMs = Date.UTC(2026, 10, 21, 2, 0, 0);
    assert.equal(current().models[0]!.inputPriceYuan, '2');
    // If the clock is set back, the cached result may not be valid yet.
    nowMs = NOON;
    assert.equal(current().models[0]!.inputPriceYuan, '8');
  });
});
