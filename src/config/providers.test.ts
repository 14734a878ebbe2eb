import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { CERTIFICATE, CERTIFICATE_KEY } from '../../test/support/certificate.ts';
import { ConfigError, type Environment, parseConfig } from './load.ts';
import { credentialsOf } from './provider-credentials.ts';
import type { ProviderConfig } from './schema.ts';

const text = (fields: string, baseUrl = 'https://api.acme.example/v1', protocol = 'chat'): string =>
  `providers:\n  acme:\n    protocol: ${protocol}\n    baseUrl: ${baseUrl}\n    apiKey: acme-key\n    ${fields}\n`;

function read(fields: string, environment: Environment = {}, baseUrl?: string): ProviderConfig {
  return parseConfig(text(fields, baseUrl), 'f.yaml', environment).providers.acme!;
}

/** The messages about a provider with these fields, without line and path. */
function problems(fields: string, baseUrl?: string, protocol?: string): string[] {
  try {
    parseConfig(text(fields, baseUrl, protocol), 'f.yaml', {});
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems.map(({ key, message }) => `${key.replace('providers.acme.', '')}: ${message}`);
  }
}

describe('headers of a provider', () => {
  it('are names and values as they are sent, from the environment too', () => {
    const fields =
      'headers: { HTTP-Referer: "https://shop.example/?a=b", x-org: "${ORG}", X-Count: 3, x-list: "a, b" }';
    assert.deepEqual(read(fields, { ORG: 'org-1' }).headers, {
      'HTTP-Referer': 'https://shop.example/?a=b',
      'x-org': 'org-1',
      'X-Count': '3',
      'x-list': 'a, b',
    });
  });

  it('may set the version and betas, and carry another credential than the provider has', () => {
    assert.deepEqual(problems('headers: { anthropic-version: "2023-06-01", anthropic-beta: a, x-api-key: k }'), []);
    assert.deepEqual(problems('headers: { authorization: Bearer k }', 'https://a.example', 'messages'), []);
  });

  it('may not be those of the call or the connection, and the message says why', () => {
    const body = 'This header cannot be set. It belongs to the body, which the gateway sends.';
    const connection = 'This header cannot be set. It belongs to the connection, which the gateway keeps.';
    for (const [name, message] of [
      ['content-type', body],
      ['Content-Length', body],
      ['transfer-encoding', body],
      ['expect', body],
      ['Host', connection],
      ['connection', connection],
      ['upgrade', connection],
      [
        'accept-encoding',
        'This header cannot be set. The gateway has to be able to read the response, so it says what it takes.',
      ],
      ['proxy-authorization', 'This header cannot be set. It goes to the proxy: put the credential into "proxy".'],
      [
        'Idempotency-Key',
        'This header cannot be set. It must differ from call to call: with one value, every call would get the response of the first.',
      ],
      ['Authorization', 'This header carries the key: set "apiKey" and "auth".'],
    ] as const) {
      assert.deepEqual(problems(`headers: { ${name}: x }`), [`headers.${name}: ${message}`]);
    }
    const key = 'headers.X-Api-Key: This header carries the key: set "apiKey" and "auth".';
    assert.deepEqual(problems('headers: { X-Api-Key: x }', 'https://a.example', 'messages'), [key]);
    assert.deepEqual(problems('auth: x-api-key\n    headers: { X-Api-Key: x }'), [key]);
  });

  it('have names that HTTP allows, each once whatever its case', () => {
    const wrong = 'The name of a header has letters, digits and hyphens, and no spaces.';
    assert.deepEqual(problems('headers: { "x y": a, "x:": a, "ü": a, "a\\r\\nb": a }'), [
      `headers.x y: ${wrong}`,
      `headers.x:: ${wrong}`,
      `headers.ü: ${wrong}`,
      `headers.a\r\nb: ${wrong}`,
    ]);
    assert.deepEqual(problems('headers: { X-Org: a, x-org: b }'), [
      'headers.x-org: This header stands here already, as "X-Org".',
    ]);
    assert.deepEqual(problems('headers: { constructor: a, toString: b }'), []);
  });

  it('have values that fit into a header, and one that does not is not shown', () => {
    for (const value of [
      '"secret-value\\r\\nx: y"',
      '"secret-value\\n"',
      '" secret-value"',
      '"secret-value ü"',
      '""',
    ]) {
      assert.deepEqual(problems(`headers: { x-org: ${value} }`), [
        'headers.x-org: Expected the value of a header, without line breaks, letters beyond ASCII, or spaces at its ends; found a value that is not shown here.',
      ]);
    }
    assert.match(problems('headers: { x-org: [a] }')[0]!, /^headers\.x-org: Expected the value of a header, as text; /);
    assert.match(problems('headers: x')[0]!, /^headers: Expected names of headers with their settings beneath; /);
  });
});

describe('the proxy of a provider', () => {
  it('is an address with or without a credential, or nothing', () => {
    assert.equal(read('proxy: http://proxy.example:3128').proxy, 'http://proxy.example:3128/');
    assert.equal(
      read('proxy: "${PROXY:-}"', { PROXY: 'http://u%40x:p%3A@[::1]:1' }).proxy,
      'http://u%40x:p%3A@[::1]:1/',
    );
    assert.equal(read('proxy: "${PROXY:-}"').proxy, '');
    assert.equal(read('').proxy, '');
  });

  it('of another kind is refused, and the value is not shown', () => {
    for (const value of [
      'https://p.example',
      'socks5://p.example',
      'p.example:3128',
      'http://p.example/x',
      'http://u:%zz@p.example',
    ]) {
      assert.deepEqual(problems(`proxy: "${value}"`), [
        'proxy: Expected the address of an HTTP proxy such as http://user:password@proxy.example:3128; found a value that is not shown here.',
      ]);
    }
  });
});

describe('HTTP/2 and certificates of a provider', () => {
  const EXPECTED = 'ca: Expected certificates as PEM, or the path of a file that can be read and holds them; found';

  it('are a switch, and PEM or the path of a file with it', () => {
    assert.equal(read('http2: true').http2, true);
    const pem = CERTIFICATE.trim();
    assert.equal(read(`ca: ${JSON.stringify(CERTIFICATE)}`).ca, pem);
    const file = join(tmpdir(), `faregate-ca-${process.pid}.pem`);
    writeFileSync(file, `# Ours\n${CERTIFICATE}${CERTIFICATE}`);
    try {
      assert.equal(read(`ca: ${file}`).ca, `${pem}\n${pem}`);
    } finally {
      rmSync(file);
    }
    assert.deepEqual(problems(`ca: ${file}`), [`${EXPECTED} "${file}".`]);
  });

  it('that are none are refused, and a key that was put there is not shown', () => {
    assert.deepEqual(problems(`ca: ${JSON.stringify(CERTIFICATE_KEY)}`), [
      `${EXPECTED} a value that is not shown here.`,
    ]);
    const cut = CERTIFICATE.replace('MII', 'MIX');
    assert.deepEqual(problems(`ca: ${JSON.stringify(cut)}`), [`${EXPECTED} a value that is not shown here.`]);
    assert.deepEqual(problems('ca: ""'), [`${EXPECTED} "".`]);
  });

  it('are of no use without TLS', () => {
    assert.deepEqual(problems(`http2: true\n    ca: ${JSON.stringify(CERTIFICATE)}`, 'http://127.0.0.1:11434/v1'), [
      'http2: HTTP/2 is agreed on in the TLS handshake, and "baseUrl" is http://. Leave it out.',
      'ca: There is no certificate to check: "baseUrl" is http://. Leave it out.',
    ]);
    assert.deepEqual(problems('http2: false', 'http://127.0.0.1:11434/v1'), []);
  });
});

describe('the queue of a provider', () => {
  it('has a length, which may be zero, and a wait, which may not', () => {
    assert.deepEqual(read('queue: { length: 0 }').queue, { length: 0, wait: 10_000 });
    assert.match(problems('queue: { wait: 0s }')[0]!, /^queue\.wait: Expected a duration/);
    assert.match(problems('queue: { length: 100001 }')[0]!, /^queue\.length: Expected a whole number from 0 to 100000/);
  });
});

describe('the keys of a provider', () => {
  let directory = '';
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'faregate-keys-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const written = (name: string, content: string): string => {
    const path = join(directory, name);
    writeFileSync(path, content);
    return path;
  };
  const provider = (keys: string): string =>
    `providers:\n  acme:\n    protocol: chat\n    baseUrl: https://api.acme.example/v1\n    ${keys}\n`;
  const readKeys = (keys: string, environment: Environment = {}) =>
    credentialsOf(parseConfig(provider(keys), 'f.yaml', environment).providers.acme!);
  const keyProblems = (keys: string, environment: Environment = {}): string[] => {
    try {
      readKeys(keys, environment);
      return [];
    } catch (error) {
      assert.ok(error instanceof ConfigError);
      assert.doesNotMatch(error.message, /canary/);
      return error.problems.map(({ line, key, message }) => `${line}: ${key}: ${message}`);
    }
  };

  it('are one, from the text, the environment or a file, whose white space at the ends is no part of it', () => {
    const file = written('a', ' file-key-1\r\n\n');
    assert.deepEqual(readKeys('apiKey: text-key-1'), [{ name: 'apiKey', value: 'text-key-1', file: null }]);
    assert.deepEqual(readKeys('apiKey: "${K}"', { K: 'env-key-1' }), [
      { name: 'apiKey', value: 'env-key-1', file: null },
    ]);
    assert.deepEqual(readKeys('apiKey: { file: "${F}" }', { F: file }), [
      { name: 'apiKey', value: 'file-key-1', file },
    ]);
  });

  it('are several, of every kind', () => {
    const file = written('a', 'file-key-1\n');
    assert.deepEqual(readKeys(`apiKeys: [text-key-1, "\${K}", { file: ${file} }]`, { K: 'env-key-1' }), [
      { name: 'apiKeys.0', value: 'text-key-1', file: null },
      { name: 'apiKeys.1', value: 'env-key-1', file: null },
      { name: 'apiKeys.2', value: 'file-key-1', file },
    ]);
  });

  it('stand in one place', () => {
    assert.deepEqual(keyProblems('apiKey: a\n    apiKeys: [b]'), [
      '6: providers.acme.apiKeys: A provider has either "apiKey" or "apiKeys". Put all keys into the list.',
    ]);
    assert.deepEqual(keyProblems('auth: bearer'), [
      '2: providers.acme.apiKey: This key is required. Expected a credential, or { file: … } with the path of a file that holds it.',
    ]);
    assert.match(
      keyProblems(`apiKeys: [${'k, '.repeat(101)}]`)[0]!,
      /apiKeys: Expected a list of at most 100 credentials/,
    );
    assert.match(
      keyProblems('apiKeys: []')[0]!,
      /^5: providers\.acme\.apiKeys: Expected a list of at least one credential/,
    );
  });

  it('that cannot be used are reported with line and key, and neither they nor their files are shown', () => {
    const secretMessage =
      'Expected a credential without spaces, line breaks or letters beyond ASCII; found a value that is not shown here.';
    assert.deepEqual(keyProblems('apiKeys:\n      - good\n      - canary key'), [
      `7: providers.acme.apiKeys.1: ${secretMessage}`,
    ]);
    const one = 'The file has to hold one credential, without spaces, line breaks or letters beyond ASCII.';
    for (const [file, problem] of [
      [written('b', 'canary key'), one],
      [written('c', '\n'), 'The file is empty.'],
      [written('d', 'a'.repeat(16 * 1024 + 1)), 'The file is larger than a credential, 16 KiB.'],
      ['sk-canary', 'There is no such file.'],
      ['canary'.repeat(100), 'The file cannot be read.'],
      [directory, 'This is a directory, not a file.'],
      ['[canary]', 'Expected the path of a file; found a list.'],
    ] as const) {
      assert.deepEqual(keyProblems(`apiKey: { file: ${file} }`), [`5: providers.acme.apiKey.file: ${problem}`]);
    }
    assert.deepEqual(keyProblems('apiKey: { fiel: canary }'), [
      '5: providers.acme.apiKey.file: This key is required. Expected the path of a file.',
      '5: providers.acme.apiKey.fiel: Unknown key. Did you mean "file"?',
    ]);
    assert.deepEqual(keyProblems('apiKey: [canary]'), [
      '5: providers.acme.apiKey: Expected a credential; found a list.',
    ]);
  });

  it('need no file for a program that calls no provider', () => {
    const config = parseConfig(
      provider('apiKey: { file: /nowhere/at/all }'),
      'f.yaml',
      {},
      { withoutCredentialFiles: true },
    );
    assert.deepEqual(credentialsOf(config.providers.acme!), [{ name: 'apiKey', value: '', file: '/nowhere/at/all' }]);
  });
});
