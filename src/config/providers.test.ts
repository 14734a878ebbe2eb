import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { CERTIFICATE, CERTIFICATE_KEY } from '../../test/support/certificate.ts';
import { ConfigError, type Environment, parseConfig } from './load.ts';
import { credentialsOf, type OpenedSecrets, secretsUsedBy } from './provider-credentials.ts';
import type { ProviderConfig } from './schema.ts';
import { NOT_SHOWN, showConfig } from './shown.ts';

const text = (fields: string, baseUrl = 'https://api.acme.example/v1', protocol = 'chat'): string =>
  `providers:\n  acme:\n    protocol: ${protocol}\n    baseUrl: ${baseUrl}\n    apiKey: acme-key\n    ${fields}\n`;

function read(fields: string, environment: Environment = {}, baseUrl?: string): ProviderConfig {
  return parseConfig(text(fields, baseUrl), 'f.yaml', environment).providers.acme!;
}

/** The problems of a provider with these fields, without line and path. */
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
  it('are sent as they are, with variables expanded', () => {
    const fields =
      'headers: { HTTP-Referer: "https://shop.example/?a=b", x-org: "${ORG}", X-Count: 3, x-list: "a, b" }';
    assert.deepEqual(read(fields, { ORG: 'org-1' }).headers, {
      'HTTP-Referer': 'https://shop.example/?a=b',
      'x-org': 'org-1',
      'X-Count': '3',
      'x-list': 'a, b',
    });
  });

  it('may set the version, betas and another credential header', () => {
    assert.deepEqual(problems('headers: { anthropic-version: "2023-06-01", anthropic-beta: a, x-api-key: k }'), []);
    assert.deepEqual(problems('headers: { authorization: Bearer k }', 'https://a.example', 'messages'), []);
  });

  it('must not describe the call or the connection', () => {
    const body = 'This header cannot be set. It describes the body, so the gateway sets it.';
    const connection = 'This header cannot be set. It belongs to the connection, which the gateway manages.';
    for (const [name, message] of [
      ['content-type', body],
      ['Content-Length', body],
      ['transfer-encoding', body],
      ['expect', body],
      ['Host', connection],
      ['connection', connection],
      ['upgrade', connection],
      ['accept-encoding', 'This header cannot be set. The gateway sets it to the formats that it can read.'],
      ['proxy-authorization', 'This header cannot be set. It is for the proxy: put the credential into "proxy".'],
      [
        'Idempotency-Key',
        'This header cannot be set. Each call needs a different value; with a fixed one, every call would get the response of the first.',
      ],
      ['Authorization', 'This header carries the credential: set "apiKey" and "auth" instead.'],
    ] as const) {
      assert.deepEqual(problems(`headers: { ${name}: x }`), [`headers.${name}: ${message}`]);
    }
    const key = 'headers.X-Api-Key: This header carries the credential: set "apiKey" and "auth" instead.';
    assert.deepEqual(problems('headers: { X-Api-Key: x }', 'https://a.example', 'messages'), [key]);
    assert.deepEqual(problems('auth: x-api-key\n    headers: { X-Api-Key: x }'), [key]);
  });

  it('have valid names, unique without regard to case', () => {
    const wrong = 'A header name consists of letters, digits and hyphens, without spaces.';
    assert.deepEqual(problems('headers: { "x y": a, "x:": a, "ü": a, "a\\r\\nb": a }'), [
      `headers.x y: ${wrong}`,
      `headers.x:: ${wrong}`,
      `headers.ü: ${wrong}`,
      `headers.a\r\nb: ${wrong}`,
    ]);
    assert.deepEqual(problems('headers: { X-Org: a, x-org: b }'), [
      'headers.x-org: This header is a duplicate of "X-Org".',
    ]);
    assert.deepEqual(problems('headers: { constructor: a, toString: b }'), []);
  });

  it('have valid values; an invalid value is not shown', () => {
    for (const value of [
      '"secret-value\\r\\nx: y"',
      '"secret-value\\n"',
      '" secret-value"',
      '"secret-value ü"',
      '""',
    ]) {
      assert.deepEqual(problems(`headers: { x-org: ${value} }`), [
        'headers.x-org: Expected a header value without line breaks, non-ASCII characters, or leading or trailing spaces; found a value that is not shown here.',
      ]);
    }
    assert.match(problems('headers: { x-org: [a] }')[0]!, /^headers\.x-org: Expected a header value; /);
    assert.match(problems('headers: x')[0]!, /^headers: Expected a section whose keys are header names; /);
  });
});

describe('the proxy of a provider', () => {
  it('is a URL with or without a credential, or empty', () => {
    assert.equal(read('proxy: http://proxy.example:3128').proxy, 'http://proxy.example:3128/');
    assert.equal(
      read('proxy: "${PROXY:-}"', { PROXY: 'http://u%40x:p%3A@[::1]:1' }).proxy,
      'http://u%40x:p%3A@[::1]:1/',
    );
    assert.equal(read('proxy: "${PROXY:-}"').proxy, '');
    assert.equal(read('').proxy, '');
  });

  it('of another kind is refused without showing the value', () => {
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
  const EXPECTED = 'ca: Expected PEM certificates, or the path of a readable file that contains them; found';

  it('are a switch, and PEM or the path of a PEM file', () => {
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

  it('that are invalid are refused; a private key is not shown', () => {
    assert.deepEqual(problems(`ca: ${JSON.stringify(CERTIFICATE_KEY)}`), [
      `${EXPECTED} a value that is not shown here.`,
    ]);
    const cut = CERTIFICATE.replace('MII', 'MIX');
    assert.deepEqual(problems(`ca: ${JSON.stringify(cut)}`), [`${EXPECTED} a value that is not shown here.`]);
    assert.deepEqual(problems('ca: ""'), [`${EXPECTED} "".`]);
  });

  it('require TLS', () => {
    assert.deepEqual(problems(`http2: true\n    ca: ${JSON.stringify(CERTIFICATE)}`, 'http://127.0.0.1:11434/v1'), [
      'http2: HTTP/2 requires TLS, but "baseUrl" is http://. Use https://, or remove "http2".',
      'ca: Certificates require TLS, but "baseUrl" is http://. Use https://, or remove "ca".',
    ]);
    assert.deepEqual(problems('http2: false', 'http://127.0.0.1:11434/v1'), []);
  });
});

describe('the queue of a provider', () => {
  it('may have a length of zero, but no wait of zero', () => {
    assert.deepEqual(read('queue: { length: 0 }').queue, { length: 0, wait: 10_000 });
    assert.match(problems('queue: { wait: 0s }')[0]!, /^queue\.wait: Expected a duration/);
    assert.match(problems('queue: { length: 100001 }')[0]!, /^queue\.length: Expected a whole number from 0 to 100000/);
  });
});

describe('the credentials of a provider', () => {
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
  const readKeys = (keys: string, environment: Environment = {}, secrets?: OpenedSecrets) =>
    credentialsOf(parseConfig(provider(keys), 'f.yaml', environment, { secrets }).providers.acme!);
  const keyProblems = (keys: string, environment: Environment = {}, secrets?: OpenedSecrets): string[] => {
    try {
      readKeys(keys, environment, secrets);
      return [];
    } catch (error) {
      assert.ok(error instanceof ConfigError);
      assert.doesNotMatch(error.message, /canary/);
      return error.problems.map(({ line, key, message }) => `${line}: ${key}: ${message}`);
    }
  };

  it('come from the text, the environment or a file without surrounding white space', () => {
    const file = written('a', ' file-key-1\r\n\n');
    assert.deepEqual(readKeys('apiKey: text-key-1'), [{ name: 'apiKey', value: 'text-key-1', file: null }]);
    assert.deepEqual(readKeys('apiKey: "${K}"', { K: 'env-key-1' }), [
      { name: 'apiKey', value: 'env-key-1', file: null },
    ]);
    assert.deepEqual(readKeys('apiKey: { file: "${F}" }', { F: file }), [
      { name: 'apiKey', value: 'file-key-1', file },
    ]);
  });

  it('may be several, of every kind', () => {
    const file = written('a', 'file-key-1\n');
    assert.deepEqual(readKeys(`apiKeys: [text-key-1, "\${K}", { file: ${file} }]`, { K: 'env-key-1' }), [
      { name: 'apiKeys.0', value: 'text-key-1', file: null },
      { name: 'apiKeys.1', value: 'env-key-1', file: null },
      { name: 'apiKeys.2', value: 'file-key-1', file },
    ]);
  });

  it('are in apiKey or in apiKeys', () => {
    assert.deepEqual(keyProblems('apiKey: a\n    apiKeys: [b]'), [
      '6: providers.acme.apiKeys: Set either "apiKey" or "apiKeys", not both. Put all credentials into "apiKeys".',
    ]);
    assert.deepEqual(keyProblems('auth: bearer'), [
      '2: providers.acme.apiKey: This key is required. Expected a credential, or { file: … } with the path of a credential file.',
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

  it('that are invalid are reported with line and key, without credential and path', () => {
    const secretMessage =
      'Expected a credential of ASCII characters without spaces or line breaks; found a value that is not shown here.';
    assert.deepEqual(keyProblems('apiKeys:\n      - good\n      - canary key'), [
      `7: providers.acme.apiKeys.1: ${secretMessage}`,
    ]);
    const one = 'The file must contain one credential of ASCII characters without spaces or line breaks.';
    for (const [file, problem] of [
      [written('b', 'canary key'), one],
      [written('c', '\n'), 'The file is empty.'],
      [written('d', 'a'.repeat(16 * 1024 + 1)), 'The credential is larger than 16 KiB.'],
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

  it('need no file for commands that call no provider', () => {
    const config = parseConfig(
      provider('apiKey: { file: /nowhere/at/all }'),
      'f.yaml',
      {},
      { withoutCredentialFiles: true },
    );
    assert.deepEqual(credentialsOf(config.providers.acme!), [{ name: 'apiKey', value: '', file: '/nowhere/at/all' }]);
  });

  const SECRETS: OpenedSecrets = new Map([
    ['acme-1', { value: 'sealed-key-1' }],
    ['lost', { problem: 'The secret is sealed with another key.' }],
  ]);

  it('may be sealed secrets of the database', () => {
    assert.deepEqual(
      readKeys('apiKeys: [{ secret: acme-1 }, { secret: "${S}" }, text-key-1]', { S: 'acme-1' }, SECRETS),
      [
        { name: 'apiKeys.0', value: 'sealed-key-1', file: null },
        { name: 'apiKeys.1', value: 'sealed-key-1', file: null },
        { name: 'apiKeys.2', value: 'text-key-1', file: null },
      ],
    );
  });

  it('that are secrets which are missing or sealed are reported with line and key, without their names', () => {
    assert.deepEqual(
      keyProblems(
        'apiKeys:\n      - { secret: acme-1 }\n      - { secret: canary }\n      - { secret: lost }',
        {},
        SECRETS,
      ),
      [
        '7: providers.acme.apiKeys.1.secret: There is no sealed secret with this name. Set it: faregate secret set NAME',
        '8: providers.acme.apiKeys.2.secret: The secret is sealed with another key.',
      ],
    );
    assert.deepEqual(keyProblems('apiKey: { secret: canary/1 }'), [
      '5: providers.acme.apiKey.secret: Expected the name of a sealed secret: up to 64 letters, digits and . _ -; found a value that is not shown here.',
    ]);
    assert.deepEqual(keyProblems('apiKey: { secret: canary, file: canary }'), [
      '5: providers.acme.apiKey.file: Unknown key. Known keys here: secret, limits.',
    ]);
  });

  it('keep what identifies them if they have limits, and resolve as others', () => {
    const limited = (reference: string): string => `{ ${reference}, limits: { requestsPerMinute: 9 } }`;
    const keys = [limited('secret: acme-1'), limited('value: "${S}"')].join(', ');
    const limits = { requestsPerMinute: 9 };
    assert.deepEqual(readKeys(`apiKeys: [${keys}]`, { S: 'text-key-1' }, SECRETS), [
      { name: 'apiKeys.0', value: 'sealed-key-1', file: null, limited: { id: 'secret:acme-1', limits } },
      { name: 'apiKeys.1', value: 'text-key-1', file: null, limited: { id: 'apiKeys.1', limits } },
    ]);
    const { providers } = parseConfig(provider(`apiKeys: [${keys}]`), 'f.yaml', { S: 'text-key-1' });
    assert.deepEqual([...secretsUsedBy(providers)], [['acme-1', ['acme']]]);
  });

  it('need no secrets for commands that call no provider', () => {
    assert.deepEqual(readKeys('apiKey: { secret: acme-1 }'), [{ name: 'apiKey', value: '', file: null }]);
  });

  it('name their secrets, also in a section that is not valid', () => {
    const { providers } = parseConfig(
      provider('apiKeys: [{ secret: a }, { secret: b }, { secret: a }, text]'),
      'f.yaml',
      {},
    );
    assert.deepEqual(
      [...secretsUsedBy(providers)],
      [
        ['a', ['acme']],
        ['b', ['acme']],
      ],
    );
    const raw = {
      one: { apiKeys: { secret: 'a' } },
      two: { apiKey: { secret: 'a' } },
      three: null,
      four: { apiKey: [7] },
    };
    assert.deepEqual([...secretsUsedBy(raw)], [['a', ['one', 'two']]]);
    for (const other of [undefined, 'text', []]) assert.equal(secretsUsedBy(other).size, 0);
  });
});

describe('headers of clients that a provider gets', () => {
  it('are exact names, in any case', () => {
    const names = [
      'X-OpenCode-Session',
      'x-title',
      'user-agent',
      'anthropic-beta',
      'openai-organization',
      'x-keyboard',
    ];
    assert.deepEqual(read(`forwardHeaders: [${names.join(', ')}]`).forwardHeaders, names);
  });

  for (const [reason, ...names] of [
    ['The gateway itself answers repeats.', 'Idempotency-Key'],
    [
      'It describes the body or the response, so the gateway sets it.',
      'content-type',
      'Accept',
      'accept-encoding',
      'range',
      'if-none-match',
    ],
    [
      'It belongs to the connection of the client.',
      'host',
      'connection',
      'te',
      'transfer-encoding',
      'proxy-authorization',
      'sec-fetch-site',
    ],
    [
      'It carries a credential of the client.',
      'authorization',
      'cookie',
      'x-api-key',
      'api-key',
      'X-Goog-Api-Key',
      'x-amz-security-token',
      'x-auth-request-email',
      'apikey',
    ],
    [
      'It reveals the address of the client.',
      'x-forwarded-for',
      'Forwarded',
      'via',
      'x-real-ip',
      'cf-connecting-ip',
      'true-client-ip',
    ],
    ['It belongs to the gateway.', 'x-faregate-tags', 'x-request-id', 'request-id'],
    ['Set "traceContext: pass" instead.', 'traceparent', 'baggage'],
  ] as const) {
    it(`are never ${names.join(', ')}`, () => {
      for (const name of names) {
        const expected = `forwardHeaders.0: This header cannot be forwarded. ${reason}`;
        assert.deepEqual(problems(`forwardHeaders: [${name}]`), [expected]);
      }
    });
  }

  it('are not repeated, and no patterns', () => {
    const exact = 'Expected the exact name of a header, of letters, digits and hyphens. Patterns are not possible.';
    assert.deepEqual(problems('forwardHeaders: [x-a, X-A, "x-*", "x a", "x-b:"]'), [
      'forwardHeaders.1: This header is already in this list.',
      `forwardHeaders.2: ${exact}`,
      `forwardHeaders.3: ${exact}`,
      `forwardHeaders.4: ${exact}`,
    ]);
  });
});

describe('credentials of commands', () => {
  const COMMAND = 'credentialCommands: { vertex: { run: [print-token, --now], every: 20m } }\n';

  it('name a command of the configuration file, which is never shown', () => {
    const config = parseConfig(`${COMMAND}${text('').replace('acme-key', '{ command: vertex }')}`, 'f.yaml', {});
    const [credential] = credentialsOf(config.providers.acme!);
    const runs = { run: ['print-token', '--now'], every: 1_200_000, renewBefore: 300_000, timeout: 30_000 };
    assert.deepEqual(credential, { name: 'apiKey', value: '', file: null, command: { name: 'vertex', runs } });
    const { providers, credentialCommands } = showConfig(config) as Record<string, Record<string, object>>;
    assert.deepEqual(Object(providers!.acme).apiKey, { command: 'vertex' });
    assert.deepEqual(Object(credentialCommands!.vertex).run, [NOT_SHOWN, NOT_SHOWN]);
  });

  it('are refused if there is no such command, without showing a command', () => {
    const refusal = (file: string): string => {
      try {
        parseConfig(file, 'f.yaml', {});
      } catch (error) {
        return (error as Error).message;
      }
      return 'accepted';
    };
    const unknown = refusal(`${COMMAND}${text('').replace('acme-key', '{ command: canary }')}`);
    assert.match(unknown, /acme\.apiKey\.command: There is no command of this name/);
    assert.doesNotMatch(unknown, /canary/);
    const listed = refusal('credentialCommands: { vertex: { run: canary } }');
    assert.match(listed, /Expected a list of a program and its arguments/);
    assert.doesNotMatch(listed, /canary/);
  });
});

describe('the address of a provider', () => {
  it('may have a query, but no credential in it', () => {
    assert.equal(
      read('', {}, 'https://a.example/v1/?api-version=preview').baseUrl,
      'https://a.example/v1?api-version=preview',
    );
    assert.match(problems('', 'https://a.example/v1?api_key=x').join(), /credentials do not belong in its query/);
    assert.match(problems('', 'https://a.example/v1/chat/completions?a=b').join(), /Remove \/chat\/completions/);
  });
});

describe('parameters of a provider', () => {
  it('are JSON values, exactly as they are written', () => {
    const fields = `parameters:
      set: { temperature: 1.0, seed: 12345678901234567890, a: text, b: '"1"', c: [x, 2], d: { e: true, f: "null" } }
      default: { max_tokens: 4096 }
      remove: [logit_bias, reasoning.summary]
      max: { max_tokens: 8192, top_p: 0.95 }`;
    assert.deepEqual(read(fields).parameters, {
      set: {
        temperature: '1.0',
        seed: '12345678901234567890',
        a: '"text"',
        b: '"1"',
        c: '["x",2]',
        d: '{"e":true,"f":null}',
      },
      default: { max_tokens: '4096' },
      remove: ['logit_bias', 'reasoning.summary'],
      max: { max_tokens: '8192', top_p: '0.95' },
    });
  });

  for (const [parameters, ...expected] of [
    ['set: { model: x }', 'set.model: "model" cannot be changed here. The "model" of the route sets it.'],
    [
      'remove: [Stream_Options]',
      'remove.0: "Stream_Options" cannot be changed here. The gateway sets it, because calls are charged by the reported usage.',
    ],
    [
      'set: { max_tokens: 9 }',
      'set.max_tokens: "max_tokens" cannot be changed here. A limit of the output can only have a "default" and a "max": callers pay for what they asked for at most.',
    ],
    ['default: { max_tokens: many }', 'default.max_tokens: Expected a whole number of tokens above zero.'],
    ['set: { store: yes please }', 'set.store: Expected true or false.'],
    [
      'set: { options: { list: [{ n: 2 }] } }',
      'set.options: "n" cannot be changed here. It decides what the call contains or costs, so only the client can set it.',
    ],
    [
      'set: { options: \'{"tools":[]}\' }',
      'set.options: "tools" cannot be changed here. It decides what the call contains or costs, so only the client can set it.',
    ],
    [
      'default: { previous_response_id: r }',
      'default.previous_response_id: "previous_response_id" cannot be changed here. It can refer to state at the provider, which the gateway checks.',
    ],
    [
      'set: { service_tier: flex }',
      'set.service_tier: "service_tier" cannot be changed here. It decides the price, so it can only be removed.',
    ],
    ['set: { a: 1 }, remove: [A]', 'remove.0: It conflicts with "set" of "a".'],
    ['default: { A: 9 }, max: { a: 8 }', 'max.a: It is less than "default" of the same field.'],
    ['set: { a.b: 1 }, default: { a: 1 }', 'default.a: It conflicts with "set" of "a.b".'],
    [
      'set: { "a b": 1 }',
      'set.a b: Expected the name of a field such as temperature, or a path such as reasoning.effort.',
    ],
    ['set: { a: .5 }', 'set.a: Expected a number in the form of JSON, such as 0.7; found ".5".'],
    [
      'max: { a: high }',
      'max.a: Expected a number of zero or more in the form of JSON, such as 4096 or 0.7; found "high".',
    ],
  ] as const) {
    it(`refuses ${parameters}`, () => {
      const found = problems(`parameters: { ${parameters} }`);
      assert.deepEqual(
        found,
        expected.map((each) => `parameters.${each}`),
      );
    });
  }

  it('are checked at routes, too', () => {
    const models = `models:
  m:
    operations: [chat]
    price: { input: "1", output: "1" }
    routes: [{ provider: acme, model: m, parameters: { set: { n: 1 } } }]`;
    assert.throws(
      () => parseConfig(`${text('')}\n${models}`, 'f.yaml', {}),
      /routes\.0\.parameters\.set\.n: "n" cannot/,
    );
  });
});
