import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from './load.ts';
import { secretWarnings } from './secret-warnings.ts';

const keysOf = (text: string): string[] => secretWarnings(parseConfig(text, 'test.yaml', {})).map(({ key }) => key);

describe('warnings of secrets', () => {
  it('name each placeholder by its place in the configuration', () => {
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

  it('are none where secrets are random, or none', () => {
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
