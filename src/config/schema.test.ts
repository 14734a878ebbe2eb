import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from './load.ts';
import type { Config } from './schema.ts';

/** A complete example, with every kind of value. */
const EXAMPLE = `
server:
  host: 127.0.0.1
  port: 8080
  bodyLimit: 64MiB                 # JSON bodies
  editBodyLimit: 805MiB            # multipart image edits
  protocolNames: { chat: compat, messages: altproto }
database: { url: "\${DATABASE_URL:-}", dataDir: ./data }   # no url: a local server
billing: { dailySpendCapYuan: "500", timezone: Asia/Shanghai }
providers:
  acme:
    protocol: chat                 # chat | messages
    baseUrl: https://api.acme.example/v1   # what one gives the vendor's own SDK: chat paths are appended to it
                                            # (/chat/completions), messages providers end before /v1 (/v1/messages is appended)
    apiKey: \${ACME_API_KEY}
    timeouts: { connect: 10s, firstByte: 600s, idle: 300s }
  other:
    protocol: messages
    vendor: anthropic              # header prefix that this provider expects: anthropic-version, anthropic-beta
    auth: x-api-key                # or bearer; by default what the protocol's vendor uses
    baseUrl: https://api.other.example
    apiKey: \${OTHER_API_KEY}
models:
  acme-large:
    aliases: [acme-large-latest]
    displayName: Acme Large
    manufacturer: Acme
    capability: chat
    contextLength: "200000"        # the other catalog fields likewise; absent = null
    listed: true
    operations: [chat, responses, compact]
    price:                         # yuan per million tokens, decimal strings
      input: "4"
      cachedInput: "0.4"           # absent: as input
      cacheWrite: "5"              # absent: as input; cacheWrite1h likewise
      output: "16"
      # images: imageInput, imageOutput per million image tokens, or perImage: "0.30" or a table by quality and size
      # rerank: perCall, or input
      official: { input: "5", cachedInput: "0.5", output: "20", discountBasisPoints: 8000 }
      # timeOfDay: { id: cn-day, timezone: Asia/Shanghai, peak: { hours: ["09:00-21:00"], input: ..., output: ... }, offPeak: { ... } }
    routes:
      - { provider: acme, model: acme-large-2026-10, priority: 0, weight: 1 }
plans:
  coding-pro:
    name: Coding Pro
    fiveHourCalls: 600
    weeklyCalls: 5000
    concurrency: 4
    quotaTokens: 200000000
    periodDays: 30
    models: [acme-large]
    inputByteLimit: 4MiB
    outputTokenLimit: 32000
limits:
  requestsPerMinute: 600
  models:
    acme-large: { tokensPerMinute: 200000 }
`;

const KEYS = { ACME_API_KEY: 'acme-key', OTHER_API_KEY: 'other-key' };

/** Defaults of a provider. */
const PROVIDER_DEFAULTS = {
  timeouts: { connect: 10_000, firstByte: 600_000, idle: 300_000 },
  connections: 1024,
  queue: { length: 1024, wait: 10_000 },
  headers: {},
  forwardHeaders: [],
  vendorLimits: 'ignore',
  proxy: '',
  http2: false,
  sharedState: 'own',
  allows: [],
  unknownTools: 'refuse',
  missingUsage: 'refuse',
  cacheTokens: 'auto',
  traceContext: 'off',
};

const parse = (text: string, environment: Record<string, string> = KEYS): Config =>
  parseConfig(text, 'faregate.yaml', environment);

describe('retention', () => {
  const retention = (text: string): Config['retention'] => parse(`retention: ${text}`, {}).retention;
  const DAY_MS = 86_400_000;

  it('keeps calls forever by default, and may record no refusals', () => {
    assert.deepEqual(retention('{ calls: 400d, refusals: 0, changes: 36h, notices: 7d, latency: 1d }'), {
      calls: 400 * DAY_MS,
      refusals: 0,
      changes: 36 * 3_600_000,
      notices: 7 * DAY_MS,
      latency: DAY_MS,
    });
    assert.equal(retention('{}').calls, undefined);
    assert.equal(retention('{ refusals: 0d }').refusals, 0);
    assert.equal(retention('{ calls: 36500d }').calls, 36_500 * DAY_MS);
  });

  it('keeps calls and changes for a day at least, and notices as long as deliveries are retried', () => {
    for (const text of [
      '{ calls: 23h }',
      '{ calls: 0 }',
      '{ calls: 400 }',
      '{ changes: 0 }',
      '{ notices: 6d }',
      '{ calls: 36501d }',
    ]) {
      assert.throws(() => retention(text), /a duration such as/, text);
    }
  });
});

describe('configSchema', () => {
  it('reads a complete example, with units in the types', () => {
    assert.deepEqual(parse(EXAMPLE), {
      catalog: 'file',
      groups: {},
      server: {
        host: '127.0.0.1',
        port: 8080,
        bodyLimit: 64 * 1024 * 1024,
        editBodyLimit: 805 * 1024 * 1024,
        protocolNames: { chat: ['compat'], messages: ['altproto'] },
        messagesContext: 'coding',
        cors: { origins: [] },
        callHeaders: true,
        drainDelay: 5_000,
        shutdownTimeout: 30_000,
        uploadIdleTimeout: 30_000,
        headerTimeout: 60_000,
        clientStallTimeout: 300_000,
        connections: 20_000,
        trustedProxies: [],
      },
      log: { requests: 'all' },
      recording: { clientAddress: false, program: false, endUser: false },
      retention: {
        refusals: 30 * 86_400_000,
        changes: 400 * 86_400_000,
        notices: 30 * 86_400_000,
        latency: 100 * 86_400_000,
      },
      branding: {},
      console: { pricing: false },
      oidc: {},
      credentialCommands: {},
      people: { sessionIdle: 7 * 86_400_000, sessionMax: 30 * 86_400_000 },
      notices: {
        planPercents: [80, 100],
        budgetPercents: [80, 100],
        language: 'en',
        routeDownAfter: 60_000,
        allowNetworks: [],
      },
      database: { url: '', dataDir: './data', partitions: 1 },
      limits: { requestsPerMinute: 600, models: { 'acme-large': { tokensPerMinute: 200_000 } } },
      billing: { dailySpendCapYuan: 500_000_000_000n, timezone: 'Asia/Shanghai', onClientAbort: 'cancel' },
      routing: { breaker: { failures: 5, probeAfter: 10_000 } },
      idempotency: { keepFor: 24 * 3_600_000, answerLimit: 1024 * 1024, accountLimit: 64 * 1024 * 1024 },
      providers: {
        acme: {
          protocol: 'chat',
          baseUrl: 'https://api.acme.example/v1',
          apiKey: 'acme-key',
          ...PROVIDER_DEFAULTS,
        },
        other: {
          protocol: 'messages',
          vendor: 'anthropic',
          auth: 'x-api-key',
          baseUrl: 'https://api.other.example',
          apiKey: 'other-key',
          ...PROVIDER_DEFAULTS,
        },
      },
      models: {
        'acme-large': {
          aliases: ['acme-large-latest'],
          displayName: 'Acme Large',
          affinity: 'session',
          manufacturer: 'Acme',
          capability: 'chat',
          contextLength: '200000',
          listed: true,
          innerModels: {},
          operations: ['chat', 'responses', 'compact'],
          price: {
            input: 4_000_000_000n,
            cachedInput: 400_000_000n,
            cacheWrite: 5_000_000_000n,
            output: 16_000_000_000n,
            official: {
              input: 5_000_000_000n,
              cachedInput: 500_000_000n,
              output: 20_000_000_000n,
              discountBasisPoints: 8000,
            },
          },
          routes: [{ provider: 'acme', model: 'acme-large-2026-10', priority: 0, weight: 1 }],
        },
      },
      plans: {
        'coding-pro': {
          name: 'Coding Pro',
          fiveHourCalls: 600,
          weeklyCalls: 5000,
          concurrency: 4,
          quotaTokens: 200_000_000,
          periodDays: 30,
          models: ['acme-large'],
          inputByteLimit: 4 * 1024 * 1024,
          outputTokenLimit: 32_000,
          queue: { length: 0, wait: 30_000 },
        },
      },
    });
  });

  it('takes the database URL from the environment, as in the example', () => {
    const config = parse(EXAMPLE, { ...KEYS, DATABASE_URL: 'postgres://faregate@db/faregate' });
    assert.equal(config.database.url, 'postgres://faregate@db/faregate');
  });

  it('reads prices that change by the time of day', () => {
    const { models } = parse(
      EXAMPLE.replace(
        / # timeOfDay: .*/,
        ' timeOfDay: { id: cn-day, timezone: Asia/Shanghai, peak: { hours: ["09:00-21:00", "22:00-02:00"], input: 4, output: 16 }, offPeak: { input: 2, output: 8 } }',
      ),
    );
    assert.deepEqual(models['acme-large']?.price.timeOfDay, {
      id: 'cn-day',
      timezone: 'Asia/Shanghai',
      peak: {
        hours: [
          { fromMinute: 540, toMinute: 1260 },
          { fromMinute: 1320, toMinute: 120 },
        ],
        input: 4_000_000_000n,
        output: 16_000_000_000n,
      },
      offPeak: { input: 2_000_000_000n, output: 8_000_000_000n },
    });
  });

  it('has defaults for missing and empty sections', () => {
    const defaults = parse('{}');
    assert.equal(defaults.server.port, 8080);
    assert.equal(defaults.server.bodyLimit, 64 * 1024 * 1024);
    assert.deepEqual(defaults.models, {});
    assert.deepEqual(parse(''), defaults);
    assert.deepEqual(parse('# nothing\n'), defaults);
    assert.deepEqual(parse('server:\n  # port: 1\nbilling:\nmodels: ~\n'), defaults);
  });

  it('reads several names of a protocol', () => {
    const { server } = parse('server: { protocolNames: { messages: [altproto, other] } }');
    assert.deepEqual(server.protocolNames, { chat: ['compat'], messages: ['altproto', 'other'] });
  });
});
