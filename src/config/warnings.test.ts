import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from './load.ts';
import { priceWarnings, secretWarnings } from './warnings.ts';

const warningsOf = (operations: string, price: string, limit = '1000') =>
  priceWarnings(
    parseConfig(
      `
providers: { acme: { protocol: chat, baseUrl: https://acme.example/v1, apiKey: key } }
models: { m: { operations: [${operations}], price: ${price}, ${limit === '' ? '' : `maxOutputTokens: ${limit}, `}routes: [{ provider: acme, model: m-1 }] } }
`,
      'test.yaml',
      {},
    ),
  ).map(({ key, message }) => `${key}: ${key.endsWith('maxOutputTokens') ? message : message.replace(/.*: /, '')}`);

describe('priceWarnings', () => {
  it('warn of tools without a price', () => {
    assert.deepEqual(warningsOf('chat', '{ input: "1", output: "1" }'), ['models.m.price: perWebSearch, perToolUse.']);
    assert.deepEqual(warningsOf('chat, responses', '{ input: "1", output: "1", perWebSearch: "0" }'), [
      'models.m.price: perToolUse, perFileSearch, perCodeExecution, perContainer.',
    ]);
  });

  it('do not warn if every tool has a price, including zero, or the model has no tools', () => {
    assert.deepEqual(warningsOf('chat', '{ input: "1", output: "1", perWebSearch: "0.07", perToolUse: "0" }'), []);
    assert.deepEqual(warningsOf('embeddings, rerank', '{ input: "1" }'), []);
  });

  it('warn of models without an output limit', () => {
    const free =
      '{ input: "1", output: "1", perWebSearch: "0", perToolUse: "0", perWebFetch: "0", perFileSearch: "0", perCodeExecution: "0", perContainer: "0" }';
    for (const operation of ['chat', 'messages', 'responses']) {
      const [warning, ...others] = warningsOf(operation, free, '');
      assert.match(warning!, /^models\.m\.maxOutputTokens: .*reserve 4096 tokens/);
      assert.deepEqual(others, []);
    }
    assert.deepEqual(warningsOf('embeddings, rerank', '{ input: "1" }', ''), []);
  });

  it('check the price lists in force', () => {
    const list = '{ input: "1", output: "1" }';
    const day = `{ id: d, timezone: UTC, peak: { hours: ["09:00-21:00"], input: "1", output: "1", perWebSearch: "0", perToolUse: "0" }, offPeak: ${list} }`;
    assert.deepEqual(warningsOf('chat', `{ input: "1", output: "1", timeOfDay: ${day} }`), [
      'models.m.price.timeOfDay.offPeak: perWebSearch, perToolUse.',
    ]);
  });
});

const keysOf = (text: string): string[] => secretWarnings(parseConfig(text, 'test.yaml', {})).map(({ key }) => key);

describe('secretWarnings', () => {
  it('report each placeholder with its path', () => {
    const keys = keysOf(`
server: { publicUrl: "https://gateway.example" }
database: { url: "postgres://faregate:replace-me@db.example/faregate" }
mail: { smtp: { host: mail.example, user: u, password: "<password>" }, from: "Faregate <a@example.com>" }
oidc:
  company: { issuer: "https://id.example", clientId: c, clientSecret: your-client-secret }
providers:
  acme: { protocol: chat, baseUrl: "https://acme.example/v1", apiKey: changeme }
  other: { protocol: chat, baseUrl: "https://other.example/v1", apiKeys: [k8Zq27Lm0aPw, sk-xxxxxxxxxxxx] }
`);
    const expected = ['database.url', 'mail.smtp.password', 'oidc.company.clientSecret', 'providers.acme.apiKey'];
    assert.deepEqual(keys, [...expected, 'providers.other.apiKeys.1']);
  });

  it('do not warn of random secrets, or without secrets', () => {
    assert.deepEqual(
      keysOf(`
database: { url: "postgres://faregate:k8Zq27Lm0aPw@db.example/faregate" }
providers:
  acme: { protocol: chat, baseUrl: "https://acme.example/v1", apiKey: 2c5d0b7e91f3 }
`),
      [],
    );
    assert.deepEqual(keysOf('database: { url: "postgres:///faregate?host=/run/postgresql" }'), []);
  });
});
