import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ConfigError, type ConfigOverrides, type Environment, loadConfig, parseConfig } from './load.ts';

/** The problems of a configuration, without the name of the file. */
function problemsOf(text: string, environment: Environment = {}, overrides: ConfigOverrides = {}): string[] {
  try {
    parseConfig(text, 'f.yaml', environment, overrides);
  } catch (error) {
    assert(error instanceof ConfigError, String(error));
    const [title, ...lines] = error.message.split('\n');
    assert.equal(title, 'The configuration cannot be used:');
    assert.equal(lines.length, error.problems.length);
    return lines.map((line) => line.replace(/^ {2}f\.yaml:? ?/, ''));
  }
  return [];
}

/** A valid configuration, in which tests break a line. */
const VALID = `server:
  host: 127.0.0.1
  port: 8080
billing:
  timezone: Asia/Shanghai
providers:
  acme:
    protocol: chat
    baseUrl: https://api.acme.example/v1
    apiKey: key
    timeouts: { idle: 300s }
models:
  large:
    aliases: [large-latest]
    operations: [chat]
    price:
      input: "4"
      output: "16"
    routes:
      - provider: acme
        model: large-1
      - provider: acme
        model: large-2
plans:
  pro:
    name: Pro
    fiveHourCalls: 600
    weeklyCalls: 5000
    concurrency: 4
    quotaTokens: 1000
    periodDays: 30
    models: [large]
    inputByteLimit: 4MiB
    outputTokenLimit: 100
`;

function spoilt(...changes: readonly (readonly [from: string, to: string])[]): string {
  return changes.reduce((text, [from, to]) => {
    assert(text.includes(from), from);
    return text.replace(from, to);
  }, VALID);
}

describe('a configuration', () => {
  it('without errors has no problems', () => {
    assert.deepEqual(problemsOf(VALID), []);
  });

  it('reports all problems in the order of the file', () => {
    const text = spoilt(
      ['port: 8080', 'port: 80800'],
      ['Asia/Shanghai', 'Asia/Shanghia'],
      ['protocol: chat\n', 'protocol: chat\n    colour: red\n'],
      ['"16"', '"16 yuan"'],
      ['model: large-2', 'modle: large-2'],
      ['[large]', '[lagre]'],
      ['inputByteLimit: 4MiB', 'inputByteLimit: 4 megabytes'],
    );
    assert.deepEqual(problemsOf(text), [
      '3: server.port: Expected a port from 0 to 65535; found "80800".',
      '5: billing.timezone: Expected a time zone such as Asia/Shanghai; found "Asia/Shanghia".',
      '9: providers.acme.colour: Unknown key. Known keys here: protocol, baseUrl, apiKey, apiKeys, vendor, auth, timeouts, connections, queue, sharedState, allows, unknownTools, missingUsage, cacheTokens, traceContext, headers, forwardHeaders, proxy, http2, ca, serves, dialect, parameters, limits, vendorLimits.',
      '19: models.large.price.output: Expected an amount in yuan such as "4" or "0.30", zero or more, with at most 9 decimals; found "16 yuan".',
      '23: models.large.routes.1.model: This key is required. Expected text.',
      '24: models.large.routes.1.modle: Unknown key. Did you mean "model"?',
      '33: plans.pro.models.0: There is no model "lagre". Did you mean "large"?',
      '34: plans.pro.inputByteLimit: Expected a size such as 64MiB, 500KB or 1024, above zero; found "4 megabytes".',
    ]);
  });

  it('has the problems as data too', () => {
    try {
      parseConfig('server: { port: x }\n', 'dir/f.yaml', {});
      assert.fail('not refused');
    } catch (error) {
      assert(error instanceof ConfigError);
      assert.equal(error.file, 'dir/f.yaml');
      assert.deepEqual(error.problems, [
        { line: 1, key: 'server.port', message: 'Expected a port from 0 to 65535; found "x".' },
      ]);
      assert.match(error.message, /^ {2}dir\/f\.yaml:1: server\.port: /m);
    }
  });
});

describe('the cost of a route', () => {
  const withCost = (cost: string) => spoilt(['model: large-2', `model: large-2\n        cost: ${cost}`]);

  it('is a price list like the price of a model, with time-of-day prices too', () => {
    assert.deepEqual(problemsOf(withCost('{ input: "1", output: "2" }')), []);
    const peak = '{ hours: ["09:00-21:00"], input: "2", output: "4" }';
    const ofDay = `{ id: day, timezone: Asia/Shanghai, peak: ${peak}, offPeak: { input: "1", output: "2" } }`;
    assert.deepEqual(problemsOf(withCost(`{ input: "1", output: "2", timeOfDay: ${ofDay} }`)), []);
  });

  it('is checked like the price of a model', () => {
    assert.deepEqual(problemsOf(withCost('{ input: "1" }')), [
      '24: models.large.routes.1.cost.output: This key is required: chat is charged by input and output.',
    ]);
    assert.deepEqual(problemsOf(withCost('{ input: "1", output: "2", above: { x: { input: "1", output: "2" } } }')), [
      '24: models.large.routes.1.cost.above.x: Expected a number of tokens such as "200000".',
    ]);
    assert.deepEqual(problemsOf(withCost('{ input: "1", output: "2", offical: {} }')).length, 1);
    assert.deepEqual(problemsOf(withCost('{ input: "-1", output: "2" }')), [
      '24: models.large.routes.1.cost.input: Expected an amount in yuan such as "4" or "0.30", zero or more, with at most 9 decimals; found "-1".',
    ]);
  });
});

describe('unknown keys', () => {
  it('are refused at the top level, with a suggestion', () => {
    assert.deepEqual(problemsOf('sever: {}\n'), ['1: sever: Unknown key. Did you mean "server"?']);
    assert.deepEqual(problemsOf('sever:\n'), ['1: sever: Unknown key. Did you mean "server"?']);
  });

  it('are refused in nested sections', () => {
    assert.deepEqual(problemsOf(spoilt(['{ idle: 300s }', '{ idel: 300s }'])), [
      '11: providers.acme.timeouts.idel: Unknown key. Did you mean "idle"?',
    ]);
    assert.deepEqual(problemsOf('server:\n  protocolNames:\n    chats: compat\n'), [
      '3: server.protocolNames.chats: Unknown key. Did you mean "chat"?',
    ]);
  });

  it('are refused in lists', () => {
    assert.deepEqual(problemsOf(spoilt(['model: large-2', 'model: large-2\n        wieght: 2'])), [
      '24: models.large.routes.1.wieght: Unknown key. Did you mean "weight"?',
    ]);
  });

  it('in one section are reported one by one, each with its line', () => {
    assert.deepEqual(problemsOf('server:\n  hots: a\n  port: 1\n  temperature: 2\n'), [
      '2: server.hots: Unknown key. Did you mean "host"?',
      '4: server.temperature: Unknown key. Known keys here: host, port, publicUrl, metrics, bodyLimit, editBodyLimit, bodyMemory, uploadDisk, protocolNames, messagesContext, cors, callHeaders, sseKeepAlive, keepAlive, drainDelay, shutdownTimeout, uploadIdleTimeout, headerTimeout, clientStallTimeout, connections, connectionsPerAddress, trustedProxies.',
    ]);
  });

  it('that were renamed are refused with the new name', () => {
    assert.deepEqual(problemsOf('refusals: { keepDays: 7 }\nchanges:\n  keepDays: 9\nnotices:\n  keepDays: 8\n'), [
      '1: refusals: keepDays was renamed. Use retention.refusals with a duration such as 30d.',
      '2: changes: keepDays was renamed. Use retention.changes with a duration such as 400d.',
      '5: notices.keepDays: keepDays was renamed. Use retention.notices with a duration such as 30d.',
    ]);
  });

  it('with the name of a JavaScript property are refused', () => {
    assert.match(problemsOf('constructor: {}\n')[0]!, /^1: constructor: Unknown key\./);
    assert.match(problemsOf('toString: {}\n')[0]!, /^1: toString: Unknown key\./);
    assert.deepEqual(problemsOf('models: { __proto__: {} }\n'), ['1: models.__proto__: This name cannot be used.']);
  });
});

describe('values of the wrong kind', () => {
  it('are reported with the expected value', () => {
    const cases: [from: string, to: string, problem: string][] = [
      ['host: 127.0.0.1', 'host: [a, b]', '2: server.host: Expected text; found a list.'],
      ['host: 127.0.0.1', 'host: true', '2: server.host: Expected text; found true.'],
      ['host: 127.0.0.1', 'host: ""', '2: server.host: Expected non-empty text; found "".'],
      ['port: 8080', 'port: { a: 1 }', '3: server.port: Expected a port from 0 to 65535; found a section.'],
      ['protocol: chat', 'protocol: chatty', '8: providers.acme.protocol: Expected chat or messages; found "chatty".'],
      [
        '{ idle: 300s }',
        '{ idle: 300 }',
        '11: providers.acme.timeouts.idle: Expected a duration such as 500ms, 10s, 5m or 2h, above zero and at most 24d; found "300".',
      ],
      [
        '{ idle: 300s }',
        '300s',
        '11: providers.acme.timeouts: Expected a section with keys such as connect, firstByte, idle; found "300s".',
      ],
      [
        '[chat]',
        '[chat, embedings]',
        '15: models.large.operations.1: Expected one of chat, messages, responses, compact, completions, embeddings, rerank, images.generate, images.edit; found "embedings".',
      ],
      ['[chat]', 'chat', '15: models.large.operations: Expected a list of at least one operation; found "chat".'],
      ['[chat]', '[]', '15: models.large.operations: Expected a list of at least one operation; found an empty list.'],
      ['[large-latest]', '[a, ~]', '14: models.large.aliases.1: Expected text; found nothing.'],
      ['600', '600.5', '27: plans.pro.fiveHourCalls: Expected a whole number of at least 0; found "600.5".'],
      ['600', '-1', '27: plans.pro.fiveHourCalls: Expected a whole number of at least 0; found "-1".'],
    ];
    for (const [from, to, problem] of cases) assert.deepEqual(problemsOf(spoilt([from, to])), [problem]);
  });

  it('are reported for the whole file', () => {
    const expected = '1: Expected a section with keys such as server, database, billing';
    assert.deepEqual(problemsOf('- server\n'), [`${expected}; found a list.`]);
    assert.deepEqual(problemsOf('hello\n'), [`${expected}; found "hello".`]);
  });

  it('are reported for sections with names as keys', () => {
    assert.deepEqual(problemsOf('models: [large]\n'), [
      '1: models: Expected a section whose keys are model names; found a list.',
    ]);
    assert.deepEqual(problemsOf('providers:\n  acme: https://acme.example\n'), [
      '2: providers.acme: Expected a section with keys such as protocol, baseUrl, apiKey; found a value that is not shown here.',
    ]);
  });

  it('are reported for a single protocol name and for a list', () => {
    const expected = 'Expected a name of at most 32 lower-case letters, digits and hyphens that begins with a letter';
    assert.deepEqual(problemsOf('server:\n  protocolNames:\n    messages: Alt\n'), [
      `3: server.protocolNames.messages: ${expected}; found "Alt".`,
    ]);
    assert.deepEqual(problemsOf('server:\n  protocolNames:\n    messages:\n      - alt\n      - Alt\n'), [
      `5: server.protocolNames.messages.1: ${expected}; found "Alt".`,
    ]);
  });

  it('are reported for anchors', () => {
    const text = 'models:\n  a:\n    price: &p { input: x, output: "1" }\n  b:\n    price: *p\n';
    const problems = problemsOf(text).filter((problem) => problem.includes('price.input'));
    assert.equal(problems.length, 2);
    assert.match(problems[0]!, /^3: models\.a\.price\.input: Expected an amount/);
    assert.match(problems[1]!, /^3: models\.b\.price\.input: Expected an amount/);
  });

  it('are shortened in the message', () => {
    const [problem] = problemsOf(`server: { port: ${'9'.repeat(500)} }\n`);
    assert.equal(problem, `1: server.port: Expected a port from 0 to 65535; found "${'9'.repeat(80)}…".`);
  });

  it('are not shown if they may be a credential', () => {
    assert.deepEqual(problemsOf(spoilt(['apiKey: key', 'apiKey: sk-secret key'])), [
      '10: providers.acme.apiKey: Expected a credential of ASCII characters without spaces or line breaks; found a value that is not shown here.',
    ]);
    const places = [
      'oidc: { company: { clientSecret: "hunter two" } }',
      'oidc: { company: hunter2 }',
      'oidc: hunter2',
      'providers: { acme: hunter2 }',
      'providers: { acme: { headers: hunter2 } }',
      'providers: { acme: { apiKey: *hunter2 } }',
      'providers: { acme: { apiKey: !hunter2 x } }',
      'providers: { acme: { apiKey: @hunter2 } }',
      'mail: { password: "hunter\\n2" }',
    ];
    for (const place of places) {
      const problems = problemsOf(`${place}\n`);
      assert.ok(problems.length > 0, place);
      assert.doesNotMatch(problems.join('\n'), /hunter/, place);
    }
    assert.deepEqual(problemsOf('database: { url: "mysql://user:password@db/x" }\n'), [
      '1: database.url: Expected a postgres:// address such as postgres://user:password@host:5432/name, with a port from 1 to 65535 and special characters as in %20, or nothing for a local one; found a value that is not shown here.',
    ]);
  });

  it('of partitions are reported with the range', () => {
    assert.equal(parseConfig('database: { partitions: 100 }', 'f.yaml', {}).database.partitions, 100);
    for (const count of ['0', '101', '1.5'])
      assert.deepEqual(problemsOf(`database: { partitions: ${count} }\n`), [
        `1: database.partitions: Expected a whole number from 1 to 100; found "${count}".`,
      ]);
  });
});

describe('required keys', () => {
  it('are reported in the section that lacks them', () => {
    assert.deepEqual(problemsOf(spoilt(['    apiKey: key\n', ''])), [
      '7: providers.acme.apiKey: This key is required. Expected a credential, or { file: … } with the path of a credential file.',
    ]);
    assert.deepEqual(problemsOf(spoilt(['      output: "16"\n', ''])), [
      '16: models.large.price.output: This key is required: chat is charged by input and output.',
    ]);
  });

  it('of a price list are required for longer input too', () => {
    const step = (prices: string) =>
      problemsOf(spoilt(['      output: "16"\n', `      output: "16"\n      above: ${prices}\n`]));
    assert.deepEqual(step('{ "200000": { input: "8", output: "24" } }'), []);
    assert.deepEqual(step('{ "200000": { input: "8" } }'), [
      '19: models.large.price.above.200000.output: This key is required here, because the price list contains it.',
    ]);
    assert.deepEqual(step('{ "200000": { input: "8", output: "24", cacheWrite: "9" } }'), [
      '19: models.large.price.above.200000.cacheWrite: This key is not allowed here, because the price list does not contain it.',
    ]);
    assert.deepEqual(step('{ 200k: { input: "8", output: "24" } }'), [
      '19: models.large.price.above.200k: Expected a number of tokens such as "200000".',
    ]);
  });

  it('of a price list are required for reasoning and longer output too', () => {
    const list = (more: string) => problemsOf(spoilt(['      output: "16"\n', `      output: "16"\n      ${more}\n`]));
    const own = '{ input: "8", output: "24" }';
    assert.deepEqual(list(`thinking: ${own}`), []);
    assert.deepEqual(list(`outputAbove: { "200": ${own} }`), []);
    assert.deepEqual(list(`above: { "200000": { input: "8", output: "24", thinking: ${own} } }`), []);
    assert.deepEqual(list('thinking: { output: "24" }'), [
      '19: models.large.price.thinking.input: This key is required here, because the price list contains it.',
    ]);
    assert.deepEqual(list(`outputAbove: { 200k: ${own} }`), [
      '19: models.large.price.outputAbove.200k: Expected a number of tokens such as "200000".',
    ]);
    assert.deepEqual(
      list('above: { "200000": { input: "8", output: "24", outputAbove: { "200": { input: "9" } } } }'),
      [
        '19: models.large.price.above.200000.outputAbove.200.output: This key is required here, because the price list contains it.',
      ],
    );
    assert.deepEqual(list(`thinking: ${own}\n      outputAbove: { "200": ${own} }`), [
      '19: models.large.price.thinking: Set either "thinking" or "outputAbove" in a price list, not both.',
    ]);
  });

  it('without a value count as missing', () => {
    assert.deepEqual(problemsOf(spoilt(['apiKey: key', 'apiKey:'])), [
      '10: providers.acme.apiKey: This key is required. Expected a credential, or { file: … } with the path of a credential file.',
    ]);
    assert.deepEqual(problemsOf('providers:\n  acme:\n'), [
      '2: providers.acme: This key is required. Expected a section with keys such as protocol, baseUrl, apiKey.',
    ]);
  });

  it('are reported in list items', () => {
    assert.deepEqual(problemsOf(spoilt(['      - provider: acme\n        model: large-2', '      - model: large-2'])), [
      '22: models.large.routes.1.provider: This key is required. Expected text.',
    ]);
  });
});

describe('amounts and other numbers', () => {
  it('without quotes are read exactly, without a float', () => {
    for (const [written, nano] of [
      ['0.1', 100_000_000n],
      ['0.30', 300_000_000n],
      ['4', 4_000_000_000n],
      ['0.000000001', 1n],
      ['123456789012345.123456789', 123_456_789_012_345_123_456_789n],
    ] as const) {
      const config = parseConfig(spoilt(['"4"', written]), 'f.yaml', {});
      assert.equal(config.models.large?.price.input, nano, written);
    }
  });

  it('with too many decimals are refused, not rounded', () => {
    assert.deepEqual(problemsOf(spoilt(['"4"', '0.1000000000000000055'])), [
      '17: models.large.price.input: Expected an amount in yuan such as "4" or "0.30", zero or more, with at most 9 decimals; found "0.1000000000000000055".',
    ]);
  });

  it('that YAML would convert stay text', () => {
    const config = parseConfig(
      spoilt(
        ['large:\n    aliases', '4.10:\n    displayName: 007\n    contextLength: 1e6\n    aliases'],
        ['[large]', '[4.10]'],
      ),
      'f.yaml',
      {},
    );
    assert.equal(config.models['4.10']?.displayName, '007');
    assert.equal(config.models['4.10']?.contextLength, '1e6');
    assert.deepEqual(config.plans.pro?.models, ['4.10']);
  });
});

describe('names', () => {
  it('of unknown providers are refused', () => {
    assert.deepEqual(problemsOf(spoilt(['- provider: acme', '- provider: amce'])), [
      '20: models.large.routes.0.provider: There is no provider "amce". Did you mean "acme"?',
    ]);
    assert.deepEqual(problemsOf(spoilt(['- provider: acme', '- provider: somebody'])), [
      '20: models.large.routes.0.provider: There is no provider "somebody". Known: acme.',
    ]);
  });

  it('of unknown models are refused', () => {
    assert.deepEqual(problemsOf(spoilt(['[large]', '[large, nothing]'])), [
      '32: plans.pro.models.1: There is no model "nothing". Known: large.',
    ]);
    const plan = VALID.slice(VALID.indexOf('plans:'));
    assert.deepEqual(problemsOf(plan), ['9: plans.pro.models.0: There is no model "large". No model is configured.']);
  });

  it('of unknown models and aliases are refused in rate limits, and so is a limit of 0', () => {
    const limits = 'limits: { requestsPerMinute: 0, models: { nothing: {}, large-latest: {} } }';
    assert.deepEqual(
      problemsOf(`${VALID.trimEnd()}\n${limits}\n`).map((problem) => problem.replace(/^\d+: /, '')),
      [
        'limits.requestsPerMinute: Expected a whole number from 1 to 1000000000; found "0".',
        'limits.models.nothing: There is no model "nothing". Known: large.',
        'limits.models.large-latest: "large-latest" is an alias. Use the model id: "large".',
      ],
    );
  });

  it('of JavaScript properties are refused', () => {
    assert.match(problemsOf(spoilt(['- provider: acme', '- provider: constructor']))[0]!, /no provider "constructor"/);
  });

  it('in a plan are model ids, not aliases', () => {
    assert.deepEqual(problemsOf(spoilt(['[large]', '[large-latest]'])), [
      '32: plans.pro.models.0: "large-latest" is an alias. Use the model id: "large".',
    ]);
  });

  it('that two models use are refused, in either order', () => {
    const model = '{ operations: [chat], price: { input: 1, output: 1 }, routes: [{ provider: acme, model: x }]';
    assert.deepEqual(problemsOf(spoilt(['plans:', `  small: ${model}, aliases: [small-1, large-latest] }\nplans:`])), [
      '24: models.small.aliases.1: "large-latest" already names the model large.',
    ]);
    assert.deepEqual(problemsOf(spoilt(['models:', `models:\n  small: ${model}, aliases: [large] }`])), [
      '13: models.small.aliases.0: "large" already names the model large.',
    ]);
  });

  it('that one model uses twice are refused', () => {
    assert.deepEqual(problemsOf(spoilt(['[large-latest]', '[large, a, a]'])), [
      '14: models.large.aliases.0: "large" already names the model large.',
      '14: models.large.aliases.2: "a" already names the model large.',
    ]);
  });

  it('with terminal control characters are refused and shown escaped', () => {
    assert.deepEqual(
      problemsOf(
        spoilt(
          ['  acme:', '  "ac\\eme":'],
          ['  large:', '  "large\\n":'],
          ['[large-latest]', '["a\\u202eb"]'],
          ['model: large-1', 'model: "m\\u009b"'],
          ['  pro:', '  "p\\tro":'],
          ['name: Pro', 'name: "P\\rro"'],
        ),
      ).map((line) => line.replace(/ (Expected text without control characters|There is no).*/, '')),
      [
        '7: providers.ac\\u001bme: The name contains a control character or a bidirectional mark.',
        '13: models.large\\u000a: The name contains a control character or a bidirectional mark.',
        '14: models.large\\u000a.aliases.0:',
        '20: models.large\\u000a.routes.0.provider:',
        '21: models.large\\u000a.routes.0.model:',
        '22: models.large\\u000a.routes.1.provider:',
        '25: plans.p\\u0009ro: The name contains a control character or a bidirectional mark.',
        '26: plans.p\\u0009ro.name:',
        '32: plans.p\\u0009ro.models.0:',
      ],
    );
  });

  it('of protocols that are duplicates or reserved are refused', () => {
    assert.deepEqual(problemsOf('server:\n  protocolNames: { messages: [alt, alt] }\n'), [
      '2: server.protocolNames.messages.1: "alt" is already in this list.',
    ]);
    assert.deepEqual(problemsOf('server:\n  protocolNames: { messages: admin }\n'), [
      '2: server.protocolNames.messages: The path prefix /admin is reserved.',
    ]);
  });
});

describe('base URLs of providers', () => {
  it('that end with the appended path are refused', () => {
    assert.deepEqual(problemsOf(spoilt(['example/v1', 'example/v1/chat/completions'])), [
      '9: providers.acme.baseUrl: Remove /chat/completions from the end: /chat/completions is appended automatically.',
    ]);
    const messages: [string, string] = ['protocol: chat', 'protocol: messages'];
    assert.deepEqual(problemsOf(spoilt(messages)), [
      '9: providers.acme.baseUrl: Remove /v1 from the end: /v1/messages is appended automatically.',
    ]);
    assert.deepEqual(problemsOf(spoilt(messages, ['example/v1', 'example/v1/messages/'])), [
      '9: providers.acme.baseUrl: Remove /v1/messages from the end: /v1/messages is appended automatically.',
    ]);
    assert.deepEqual(problemsOf(spoilt(messages, ['example/v1', 'example/api'])), []);
  });

  it('that are no URL are refused', () => {
    assert.deepEqual(problemsOf(spoilt(['https://api', 'api'])), [
      '9: providers.acme.baseUrl: Expected an http:// or https:// address without credentials or fragment; credentials do not belong in its query; found "api.acme.example/v1".',
    ]);
  });
});

describe('variables', () => {
  const withKey = (value: string): string => spoilt(['apiKey: key', `apiKey: ${value}`]);
  const keyOf = (text: string, environment: Environment) =>
    parseConfig(text, 'f.yaml', environment).providers.acme?.apiKey;

  it('are expanded in values, anywhere and several times', () => {
    assert.equal(keyOf(withKey('${A}'), { A: 'x' }), 'x');
    assert.equal(keyOf(withKey('pre-${A}${B}-"${A}"'), { A: 'x', B: 'y' }), 'pre-xy-"x"');
    assert.equal(keyOf(withKey('"${A}"'), { A: 'x' }), 'x');
  });

  it('that are not set are all reported, together with other problems', () => {
    assert.deepEqual(
      problemsOf(
        spoilt(['apiKey: key', 'apiKey: ${A_KEY}'], ['model: large-2', 'model: ${B}-${C}'], ['port: 8080', 'port: x']),
      ),
      [
        '3: server.port: Expected a port from 0 to 65535; found "x".',
        '10: providers.acme.apiKey: The environment variable A_KEY is not set. Set it, or give a default: ${A_KEY:-value}.',
        '23: models.large.routes.1.model: The environment variable B is not set. Set it, or give a default: ${B:-value}.',
        '23: models.large.routes.1.model: The environment variable C is not set. Set it, or give a default: ${C:-value}.',
      ],
    );
  });

  it('may have a default, which replaces an empty value too', () => {
    assert.equal(keyOf(withKey('${A:-fallback}'), {}), 'fallback');
    assert.equal(keyOf(withKey('${A:-fallback}'), { A: '' }), 'fallback');
    assert.equal(keyOf(withKey('${A:-fallback}'), { A: 'x' }), 'x');
    assert.equal(parseConfig('database: { url: "${D:-}" }', 'f.yaml', {}).database.url, '');
  });

  it('can be numbers, durations and booleans', () => {
    const text = spoilt(
      ['8080', '${PORT}'],
      ['300s', '"${IDLE}"'],
      ['operations:', 'listed: ${LISTED}\n    operations:'],
    );
    const config = parseConfig(text, 'f.yaml', { PORT: '81', IDLE: '5m', LISTED: 'false' });
    assert.equal(config.server.port, 81);
    assert.equal(config.providers.acme?.timeouts.idle, 300_000);
    assert.equal(config.models.large?.listed, false);
  });

  it('are not parsed as YAML, and not expanded again', () => {
    for (const value of ['[a,b]', '{a:1}', '*anchor', '"x', '#x', 'a:b', '${B}', '!tag', '|', '~', 'null']) {
      assert.equal(keyOf(withKey('${A}'), { A: value, B: 'other' }), value);
    }
    const config = parseConfig(spoilt(['host: 127.0.0.1', 'host: ${A}']), 'f.yaml', { A: 'x\n  port: 1\nmodels: {}' });
    assert.equal(config.server.host, 'x\n  port: 1\nmodels: {}');
    assert.equal(config.server.port, 8080);
  });

  it('with an invalid value are named, without the value, which may be secret', () => {
    assert.deepEqual(problemsOf(spoilt(['8080', '${PORT}']), { PORT: 'hunter2' }), [
      '3: server.port: Expected a port from 0 to 65535; found the value of ${PORT}.',
    ]);
    assert.deepEqual(problemsOf(withKey('${A}'), { A: 'key\n' }), [
      '10: providers.acme.apiKey: Expected a credential of ASCII characters without spaces or line breaks; found the value of ${A}.',
    ]);
    assert.deepEqual(problemsOf(withKey('${A}'), { A: '' }), [
      '10: providers.acme.apiKey: Expected a credential of ASCII characters without spaces or line breaks; found the empty value of ${A}.',
    ]);
  });

  it('inside braces and brackets need quotes', () => {
    assert.deepEqual(problemsOf(spoilt(['{ idle: 300s }', '{ idle: ${IDLE}, connect: 1s }']), { IDLE: '1s' }), [
      '11: providers.acme.timeouts.idle: Inside { } and [ ], put variables in quotes: "${IDLE}".',
    ]);
    assert.deepEqual(problemsOf(spoilt(['[large-latest]', '[a, ${ALIAS:-b}]'])), [
      '14: models.large.aliases: Inside { } and [ ], put variables in quotes: "${ALIAS:-b}".',
    ]);
  });

  it('with wrong syntax are refused', () => {
    for (const value of ['${A KEY}', '${}', '${A', '${1A}', '${A-x}', '${A:x}']) {
      assert.deepEqual(problemsOf(withKey(value), { A: 'x' }), [
        '10: providers.acme.apiKey: Write a variable as ${NAME} or ${NAME:-default}.',
      ]);
    }
    assert.match(problemsOf(withKey('${A:-${B}}'))[0]!, /apiKey: A default cannot contain a variable\./);
  });

  it('are not expanded in keys', () => {
    assert.deepEqual(
      problemsOf('server:\n  ${A}: 1\n', { A: 'port' })[0],
      '2: server.${A}: Variables are allowed in values, not in keys.',
    );
  });

  it('are not inherited properties of the environment object', () => {
    assert.match(problemsOf(withKey('${constructor}'))[0]!, /The environment variable constructor is not set\./);
  });
});

describe('invalid YAML', () => {
  const cases: [rule: string, text: string, problem: string][] = [
    [
      'a duplicate key',
      'server:\n  host: a\n  port: 1\n  host: b\n',
      '4: server.host: Duplicate key; first used on line 2.',
    ],
    [
      'a missing colon',
      'server:\n  host a\n  port: 1\n',
      '2: server: Not valid YAML: a key needs a colon and a space after it. Check this line and the next.',
    ],
    [
      'an extra colon',
      'server:\n  host: a: b\n',
      '2: server.host: Not valid YAML: a key cannot have both a value and nested keys. Check the indentation; put text with ": " in quotes.',
    ],
    [
      'uneven indentation',
      'server:\n  host: a\n port: 1\n',
      '3: server.host: Not valid YAML: All mapping items must start at the same column.',
    ],
    ['a tab', 'server:\n\thost: a\n', '2: server: Not valid YAML: tabs are not allowed as indentation. Use spaces.'],
    [
      'an open quote',
      'server:\n  host: "a\n  port: 1\nbilling: {}\n',
      '2: server.host: Not valid YAML: unclosed quote.',
    ],
    [
      'an open brace',
      'server: { host: a\nbilling: {}\n',
      '2: server.host: Not valid YAML: an earlier { has no }, or its content is not indented.',
    ],
    [
      'an open bracket',
      'plans:\n  pro:\n    models: [a, b\n    name: x\n',
      '4: plans.pro.models: Not valid YAML: an earlier [ has no ], or its content is not indented.',
    ],
    [
      'a reserved character',
      'server:\n  host: @home\n',
      '2: server.host: Not valid YAML: Plain value cannot start with reserved character @. Put the value in quotes.',
    ],
    [
      'a tag',
      'server:\n  host: !env HOST\n',
      '2: server.host: Not valid YAML: unknown tag. Put text that begins with ! in quotes.',
    ],
    [
      'a second document',
      'server: {}\n---\nserver: {}\n',
      '2: The file contains more than one YAML document. Remove the line "---" between them.',
    ],
    [
      'an unknown anchor',
      'server:\n  host: *home\n',
      '2: server.host: Unknown anchor. Put text that begins with * in quotes.',
    ],
    ['an empty key', 'models:\n  "": {}\n', '1: models: A key must be non-empty text.'],
    ['a list as key', 'models:\n  ? [a, b]\n  : {}\n', '1: models: A key must be non-empty text.'],
  ];
  for (const [rule, text, problem] of cases) {
    it(`is reported with line and key: ${rule}`, () => assert.deepEqual(problemsOf(text), [problem]));
  }

  it('with excessive aliases is refused', () => {
    const levels = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
    for (const [name, of] of ['ba', 'cb', 'dc', 'ed'] as const)
      levels.push(`${name}: &${name} [${`*${of}, `.repeat(10)}]`);
    assert.match(problemsOf(levels.join('\n'))[0]!, /Not usable YAML: Excessive alias count/);
  });
});

describe('values from flags and the environment', () => {
  it('override the file', () => {
    const config = parseConfig(
      VALID,
      'f.yaml',
      {},
      { host: '::1', port: 0, databaseUrl: 'postgres://h/d', dataDir: '/d' },
    );
    assert.equal(config.server.host, '::1');
    assert.equal(config.server.port, 0);
    assert.deepEqual(config.database, { url: 'postgres://h/d', dataDir: '/d', partitions: 1 });
  });

  it('are validated, and reported without a line', () => {
    assert.deepEqual(problemsOf(VALID, {}, { databaseUrl: 'mysql://user:password@h/d', port: 99_999 }), [
      'server.port: Expected a port from 0 to 65535; found "99999", set by a flag or the environment.',
      'database.url: Expected a postgres:// address such as postgres://user:password@host:5432/name, with a port from 1 to 65535 and special characters as in %20, or nothing for a local one; found a value that is not shown here, set by a flag or the environment.',
    ]);
  });

  it('replace a wrong value of the file', () => {
    assert.equal(parseConfig('server: { port: x }', 'f.yaml', {}, { port: 1 }).server.port, 1);
  });

  it('do not hide an invalid section', () => {
    assert.match(problemsOf('server: x\n', {}, { port: 1 })[0]!, /^1: server: Expected a section/);
  });
});

describe('loadConfig', () => {
  let directory = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'faregate-load-'));
  });
  after(() => rmSync(directory, { recursive: true }));

  it('reads a file', () => {
    const file = join(directory, 'good.yaml');
    writeFileSync(file, `\uFEFF${VALID}`);
    assert.deepEqual(loadConfig(file, {}), parseConfig(VALID, file, {}));
  });

  it('reports why a file cannot be read', () => {
    const file = join(directory, 'latin1.yaml');
    writeFileSync(file, Buffer.from('# caf\xe9\n', 'latin1'));
    const missing = join(directory, 'missing.yaml');
    const large = join(directory, 'large.yaml');
    writeFileSync(large, `# ${'x'.repeat(16 * 2 ** 20)}`);
    const pipe = join(directory, 'pipe.yaml');
    execFileSync('mkfifo', [pipe]);
    const behindLink = join(directory, 'link.yaml');
    symlinkSync(pipe, behindLink);
    for (const [path, message] of [
      [missing, 'There is no such file.'],
      [directory, 'This is a directory, not a file.'],
      [file, 'The file is not UTF-8 text.'],
      [large, 'The file is larger than 16 MiB.'],
      [pipe, 'This is a pipe, not a regular file.'],
      [behindLink, 'This is a pipe, not a regular file.'],
      ['/dev/zero', 'This is a device, not a regular file.'],
    ] as const) {
      assert.throws(() => loadConfig(path, {}), {
        name: 'ConfigError',
        message: `The configuration cannot be used:\n  ${path}: ${message}`,
      });
    }
  });
});

describe('the shared budget for bodies', () => {
  it('has capacity for a body of the maximum size', () => {
    const server = (text: string) => `server: { ${text} }\n`;
    assert.deepEqual(problemsOf(server('bodyMemory: 200MiB')), [
      '1: server.bodyMemory: This must be at least 4 times "bodyLimit".',
    ]);
    assert.deepEqual(problemsOf(server('uploadDisk: 31MiB, editBodyLimit: 16MiB')), [
      '1: server.uploadDisk: This must be at least 2 times "editBodyLimit".',
    ]);
    const fits = 'bodyLimit: 1MiB, bodyMemory: 4MiB, editBodyLimit: 16MiB, uploadDisk: 32MiB';
    assert.deepEqual(problemsOf(server(fits)), []);
  });
});
