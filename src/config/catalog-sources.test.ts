import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, type Environment, parseConfigText } from './load.ts';

const ENVIRONMENT: Environment = {
  ACME_API_KEY: 'sk-acme',
  HTTPS_PROXY: 'http://proxy.example:3128',
  FAREGATE_SECRETS_KEY: 'the-key-of-the-gateway',
  AWS_SECRET_ACCESS_KEY: 'the-key-of-the-machine',
  SMTP_PASSWORD: 'the-password-of-the-gateway',
};

/** The problems of a catalog of the database on a node whose file is in `/etc/faregate`. */
function problemsOf(provider: string, model = ''): string[] {
  const text = `
providers:
  acme: { protocol: chat, baseUrl: "http://127.0.0.1:9/v1", ${provider} }
models:
  large:
    operations: [chat]
    price: { input: "1", output: "2" }
    routes: [{ provider: acme, model: large }]
    ${model}
`;
  try {
    const options = { catalog: { name: 'revision 1', text }, withoutCredentialFiles: true };
    parseConfigText('catalog: database', '/etc/faregate/faregate.yaml', ENVIRONMENT, options);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ key, message }) => `${key}: ${message}`);
  }
}

describe('a catalog of the database', () => {
  it('uses variables as credentials and headers of providers, and as their proxy', () => {
    assert.deepEqual(problemsOf('apiKey: "${ACME_API_KEY}"'), []);
    assert.deepEqual(problemsOf('apiKeys: ["${ACME_API_KEY}", b], headers: { X-Key: "${ACME_API_KEY}" }'), []);
    assert.deepEqual(problemsOf('apiKey: a, proxy: "${HTTPS_PROXY}"'), []);
  });

  it('cannot show a variable', () => {
    const shown = [
      problemsOf('apiKey: a', 'displayName: "${ACME_API_KEY}"'),
      problemsOf('apiKey: a, vendor: "${ACME_API_KEY}"'),
      problemsOf('apiKey: { file: "/run/secrets/${ACME_API_KEY}" }'),
    ];
    for (const problems of shown) assert.match(problems.join(), /can use variables only in "apiKey"/);
    assert.match(problemsOf('apiKey: &key "${ACME_API_KEY}"', 'displayName: *key').join(), /An alias cannot repeat/);
    const nested = problemsOf('apiKey: a, headers: &all { X-Key: "${ACME_API_KEY}" }', 'innerModels: *all');
    assert.match(nested.join(), /An alias cannot repeat/);
    assert.doesNotMatch([...shown.flat(), ...nested].join(), /sk-acme/);
  });

  it('cannot send secrets of the gateway or the machine to a provider', () => {
    for (const name of ['FAREGATE_SECRETS_KEY', 'AWS_SECRET_ACCESS_KEY', 'SMTP_PASSWORD']) {
      assert.match(problemsOf(`apiKey: "\${${name}}"`).join(), /whose names end with _KEY, _TOKEN or _PROXY/);
    }
  });

  it('reads files next to the configuration file and mounted secrets only', () => {
    const inside = ['/etc/faregate/keys/acme', '/run/secrets/acme'];
    for (const file of inside) assert.deepEqual(problemsOf(`apiKey: { file: ${file} }`), []);
    for (const file of [
      '/etc/shadow',
      '/etc/faregate/../shadow',
      '/etc/faregate',
      '/run/secretsX/a',
      'faregate.yaml',
    ]) {
      assert.match(
        problemsOf(`apiKeys: [{ file: ${file} }]`).join(),
        /apiKeys\.0\.file: A catalog in the database can use only files in/,
      );
    }
    assert.match(problemsOf('apiKey: a, ca: /etc/shadow').join(), /providers\.acme\.ca: /);
  });
});
