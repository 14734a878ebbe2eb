import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, parseConfig } from './load.ts';
import { showConfig } from './shown.ts';

const PUBLIC = 'server: { publicUrl: "https://gateway.example" }\n';
const parse = (oidc: string, before = PUBLIC) => parseConfig(`${before}oidc: ${oidc}\n`, 'faregate.yaml', {});

function problems(oidc: string, before?: string): string[] {
  try {
    parse(oidc, before);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems.map(({ key, message }) => `${key}: ${message}`);
  }
}

describe('OpenID providers', () => {
  it('have defaults, and a hidden secret', () => {
    const config = parse(
      '{ company: { issuer: "https://login.example/", clientId: faregate, clientSecret: "top-secret" } }',
    );
    assert.deepEqual(config.oidc.company, {
      issuer: 'https://login.example/',
      clientId: 'faregate',
      clientSecret: 'top-secret',
      scopes: ['openid', 'email', 'profile'],
      timeout: 5000,
      allowInsecure: false,
    });
    const shown = JSON.stringify(showConfig(config));
    assert.ok(shown.includes('https://login.example/') && !shown.includes('top-secret'), shown);
  });

  it('require the public address of the gateway', () => {
    const [problem, ...others] = problems('{ company: { issuer: "https://login.example", clientId: a } }', '');
    assert.match(problem!, /^oidc\.company: OpenID Connect requires "server\.publicUrl"/);
    assert.deepEqual(others, []);
  });

  it('require https, except on this machine with allowInsecure', () => {
    const provider = (issuer: string, more = '') =>
      problems(`{ company: { issuer: "${issuer}", clientId: a ${more} } }`);
    const allowed = ', allowInsecure: true';
    assert.deepEqual(provider('http://127.0.0.1:8080', allowed), []);
    assert.deepEqual(provider('http://localhost', allowed), []);
    assert.match(provider('http://127.0.0.1:8080')[0]!, /^oidc\.company\.issuer: Use https/);
    assert.match(provider('http://login.example', allowed)[0]!, /^oidc\.company\.issuer: Use https/);
    assert.match(provider('http://127.0.0.1.evil.example', allowed)[0]!, /^oidc\.company\.issuer: Use https/);
    assert.match(provider('https://user:password@login.example')[0]!, /^oidc\.company\.issuer/);
  });

  it('require distinct issuers, names that fit into a URL, and the scope openid', () => {
    const one = '{ issuer: "https://login.example", clientId: a }';
    assert.match(problems(`{ a: ${one}, b: ${one} }`)[0]!, /^oidc\.b\.issuer: .*"a"/);
    assert.match(problems(`{ "A b": ${one} }`)[0]!, /^oidc\.A b: This name is part of URLs/);
    const scopes = '{ a: { issuer: "https://login.example", clientId: a, scopes: [email] } }';
    assert.match(problems(scopes)[0]!, /^oidc\.a\.scopes/);
  });
});
