import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { endpointAliases } from '../../src/api/endpoints/aliases.ts';
import { endpointTable } from '../../src/api/endpoints/table.ts';
import { parseConfig } from '../../src/config/load.ts';
import { addresses, askAddress, askFor, responseAnything, streamed, workOf } from '../conformance/addresses.ts';
import { plansText, subscribe } from '../conformance/plans.ts';
import { ADMIN_TOKEN, startGateway, type TestAccount, type TestGateway, testConfigText } from '../support/gateway.ts';

interface Described {
  readonly operationId: string;
  readonly requestBody?: { readonly content: { readonly [type: string]: { readonly example?: unknown } } };
  readonly responses: { readonly [status: string]: Responded };
}

interface Responded {
  readonly $ref?: string;
  readonly content?: { readonly [type: string]: { readonly schema: object } };
}

interface Document {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Described } };
  readonly components: { readonly responses: { readonly [id: string]: Responded } };
}

describe('the OpenAPI document', () => {
  let server: TestGateway;
  let account: TestAccount;
  let text: string;
  let document: Document;
  let ajv: Ajv2020;

  before(async () => {
    server = await startGateway({ plans: plansText({ starter: {} }) });
    server.provider.respond = responseAnything;
    account = await server.createAccount();
    await subscribe(server, account, 'starter');
    const response = await fetch(`${server.url}/openapi.json`);
    text = await response.text();
    assert.equal(response.status, 200, text);
    document = JSON.parse(text);
    ajv = new Ajv2020({ strict: false, allErrors: true });
    addFormats.default(ajv);
    ajv.addSchema({ $id: 'document', ...document });
  });
  after(() => server?.stop());

  /** The documented schema of a response. */
  function responded(method: string, path: string, status: number, type: string): ValidateFunction {
    const operation = document.paths[path]?.[method.toLowerCase()];
    assert.ok(operation, `${method} ${path} is not documented`);
    const ranged = `${Math.floor(status / 100)}XX`;
    const found = String(status) in operation.responses ? String(status) : ranged;
    const { $ref, content } = operation.responses[found] ?? {};
    const pointer =
      $ref ?? `#/paths/${path.replaceAll('~', '~0').replaceAll('/', '~1')}/${method.toLowerCase()}/responses/${found}`;
    const named = $ref === undefined ? content : document.components.responses[$ref.split('/').at(-1)!]?.content;
    assert.ok(named?.[type], `${status} ${type} of ${method} ${path} is not documented`);
    const escaped = encodeURIComponent(`${pointer.slice(1)}/content/${type.replace('/', '~1')}/schema`);
    return ajv.compile({ $ref: `document#${decodeURIComponent(escaped)}` });
  }

  function assertDocumented(
    method: string,
    path: string,
    received: { status: number; type: string; text: string },
  ): void {
    const type = received.type.split(';')[0]!;
    const validate = responded(method, path, received.status, type);
    const value = type === 'application/json' ? JSON.parse(received.text) : received.text;
    assert.ok(validate(value), `${method} ${path}: ${ajv.errorsText(validate.errors)}\n${received.text.slice(0, 500)}`);
  }

  it('passes all recommended rules of a linter, including examples', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const problems = await lintFromString({ source: text, absoluteRef: '/openapi.json', config });
    // A redirect target for browsers: its only response is a redirect.
    const redirects = ['start', 'callback'].map((page) => `#/paths/~1account~1v1~1oidc~1{id}~1${page}/get/responses`);
    assert.deepEqual(
      problems
        .filter(
          ({ ruleId, location }) =>
            ruleId !== 'operation-2xx-response' || !redirects.includes(location[0]?.pointer ?? ''),
        )
        .map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`),
      [],
    );
  });

  it('contains exactly the served addresses', () => {
    const config = parseConfig(testConfigText(server.provider.url), 'test.yaml', {});
    const table = endpointTable(config);
    const aliases = endpointAliases(table, config.server.protocolNames.messages);
    const aliased = new Set(aliases.map(({ method, path }) => `${method} ${path}`));
    const served = servedRoutes(server.gateway.app.printRoutes({ commonPrefix: false }))
      // An id may contain slashes, so the router matches the rest of the path.
      .map((route) => route.replace(/\/models\*$/, '/models/:model'))
      .filter(
        (route) => !route.startsWith('HEAD ') && !aliased.has(route) && !/^GET \/(?:docs|console|pricing)/.test(route),
      )
      .map((route) => route.replace(/:(\w+)/g, '{$1}'));
    const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    assert.ok(served.includes('POST /admin/v1/accounts') && served.includes('GET /account/v1/account'));
    assert.deepEqual(documented.sort(), served.sort());
  });

  for (const address of addresses) {
    const { method, path } = address;
    it(`documents the response of ${method} ${path}`, async () => {
      const documented = path.replace('{model_id}', '{model}');
      const read = (received: Awaited<ReturnType<typeof askAddress>>) => ({
        status: received.status,
        type: received.headers['content-type']!,
        text: received.text,
      });
      const success = read(await askAddress(server.url, address, account.key));
      assert.equal(success.status, 200, success.text);
      assertDocumented(method, documented, success);
      if (workOf(address).respondStream !== undefined) {
        assertDocumented(
          method,
          documented,
          read(await askAddress(server.url, address, account.key, { body: streamed(address) })),
        );
      }
      if (address.auth === 'none') return;
      const refused = read(await askAddress(server.url, address, 'sk-fg-wrong'));
      assert.equal(refused.status, 401);
      assertDocumented(method, documented, refused);
      if (method === 'GET') return;
      const malformed = read(await askAddress(server.url, address, account.key, { body: '[' }));
      assert.equal(malformed.status, 400);
      assertDocumented(method, documented, malformed);
    });
  }

  it('has valid examples of request bodies', async () => {
    const key = { authorization: `Bearer ${ADMIN_TOKEN}` };
    let tried = 0;
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { requestBody }] of Object.entries(methods)) {
        if (!path.startsWith('/admin/') || requestBody === undefined) continue;
        const example = requestBody.content['application/json']?.example;
        assert.ok(example, path);
        const url = server.url + path.replace('{id}', 'unknown');
        const headers = { ...key, 'content-type': 'application/json' };
        const response = await fetch(url, { method: method.toUpperCase(), headers, body: JSON.stringify(example) });
        const received = await response.text();
        assert.ok(response.status < 500, `${path}: ${received}`);
        // Of names that this configuration has not, the message says that there is none.
        assert.ok(
          response.status !== 400 || /There is no|No configured route|Known:/.test(received),
          `${path}: ${received}`,
        );
        tried += 1;
      }
    }
    assert.ok(tried > 10);
  });

  it('has an ETag, and HEAD matches GET', async () => {
    const first = await fetch(`${server.url}/openapi.json`);
    const etag = first.headers.get('etag')!;
    await first.arrayBuffer();
    const again = await fetch(`${server.url}/openapi.json`, { headers: { 'if-none-match': `"other", W/${etag}` } });
    assert.equal(again.status, 304);
    const head = await fetch(`${server.url}/openapi.json`, { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(head.headers.get('etag'), etag);
    assert.equal(Number(head.headers.get('content-length')), Buffer.byteLength(text));
    const posted = await fetch(`${server.url}/openapi.json`, { method: 'POST' });
    assert.equal(posted.status, 405);
    assert.equal(posted.headers.get('allow'), 'GET, HEAD');
  });

  it('reveals nothing of the configuration but addresses', () => {
    for (const secret of ['upstream-chat', 'provider-secret-key-1', server.provider.url, 'test-admin-token']) {
      assert.ok(!text.includes(secret), secret);
    }
  });

  describe('and its page', () => {
    const read = async (path: string) => {
      const response = await fetch(server.url + path);
      return { response, text: await response.text() };
    };

    it('loads only its own files, without inline scripts', async () => {
      const { response, text: page } = await read('/docs');
      assert.equal(response.status, 200);
      assert.match(response.headers.get('content-type')!, /^text\/html/);
      assert.equal(
        response.headers.get('content-security-policy'),
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      assert.doesNotMatch(page, /<script>|<style|\sstyle=|\son\w+=/);
      const named = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!);
      assert.deepEqual(named, [
        '/docs/favicon-32x32.png',
        '/docs/swagger-ui.css',
        '/openapi.json',
        '/docs/swagger-ui-bundle.js',
        '/docs/start.js',
      ]);
      for (const path of named) {
        const { response: file, text: content } = await read(path);
        assert.equal(file.status, 200, path);
        assert.ok(content.length > 100, path);
        assert.equal(file.headers.get('x-content-type-options'), 'nosniff');
        assert.match(file.headers.get('content-type')!, TYPES[path.split('.').at(-1)!]!);
        const again = await fetch(server.url + path, { headers: { 'if-none-match': file.headers.get('etag')! } });
        assert.equal(again.status, 304, path);
      }
    });

    it('has a viewer that works with its content security policy', async () => {
      const { text: script } = await read('/docs/swagger-ui-bundle.js');
      assert.match(script, /SwaggerUIBundle/);
      // Browsers would block inline styles and code from strings.
      assert.doesNotMatch(script, /createElement\("style"\)|setAttribute\("style"|insertRule|[^.\w]eval\(/);
      const { text: style } = await read('/docs/swagger-ui.css');
      assert.doesNotMatch(style, /@import|url\((?!["']?data:)/);
    });

    it('serves no other file', async () => {
      const paths = ['/docs/index.html', '/docs/package.json', '/docs/../package.json', '/docs/%2e%2e/package.json'];
      for (const path of [...paths, '/docs/..%2fpackage.json', '/docs/swagger-ui.css.map', '/docs/swagger-ui.js']) {
        assert.equal((await askFor(server.url, path)).status, 404, path);
      }
    });
  });
});

const TYPES: Readonly<Record<string, RegExp>> = {
  png: /^image\/png$/,
  css: /^text\/css/,
  js: /^text\/javascript/,
  json: /^application\/json/,
};

/** The routes in Fastify's printed tree, such as `GET /healthz`. */
function servedRoutes(tree: string): string[] {
  const parents: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, indent, path, methods] = /^([│ ]*)[├└]── (\S+)(?: \(([A-Z, ]+)\))?/.exec(line) ?? [];
    if (indent === undefined) return [];
    const depth = indent.length / 4;
    parents.length = depth;
    parents.push(path!);
    const whole = parents.join('').replace(/^\/\//, '/');
    return methods === undefined ? [] : methods.split(', ').map((method) => `${method} ${whole}`);
  });
}
