import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertUntouched, balanceAddresses, type CallAddress, requestTo } from '../conformance/calls.ts';
import {
  BOUNDARY,
  EDITS,
  editParts,
  file,
  form,
  formType,
  GENERATIONS,
  imagesBody,
  PRICED_BY_IMAGE,
  partBytes,
  png,
  startImageGateway,
  text,
} from '../conformance/images.ts';
import { type ClientResponse, call } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json } from '../support/provider.ts';

/**
 * The gateway and the provider read requests alike: a request that two parsers understand differently is refused and costs nothing.
 * Otherwise a cheap interpretation could be paid for, and an expensive one served.
 */

/** Members that a parser which ignores case, underscores or text after a NUL treats as ones that affect the cost. */
const lookalikes: readonly [json: string, param: string][] = [
  ['"Model":"x"', 'model'],
  ['"MODEL":"x"', 'model'],
  ['"mod\\u0065l\\u0000":"x"', 'model'],
  ['"Stream":true', 'stream'],
  ['"\u017ftream":true', 'stream'],
  ['"\\u017ftream":true', 'stream'],
  ['"max_to\u212aens":100000', 'max_tokens'],
  ['"maxTokens":100000', 'max_tokens'],
  ['"Max_Completion_Tokens":100000', 'max_completion_tokens'],
  ['"MAX_OUTPUT_TOKENS":100000', 'max_output_tokens'],
  ['"N":50', 'n'],
  ['"Best_Of":50', 'best_of'],
  ['"Service_Tier":"priority"', 'service_tier'],
  ['"Inference_Geo":"us"', 'inference_geo'],
  ['"Quality":"high"', 'quality'],
  ['"\u017fize":"4096x4096"', 'size'],
  ['"Tools":[]', 'tools'],
];

describe('unambiguous JSON', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway();
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());

  const withMember = (address: CallAddress, json: string, isFirst: boolean): string => {
    const members = JSON.stringify(requestTo(address)).slice(1, -1);
    return isFirst ? `{${json},${members}}` : `{${members},${json}}`;
  };

  function assertRefused(response: ClientResponse, family: 'chat' | 'messages', param: string): void {
    assert.equal(response.status, 400, response.text);
    assert.equal(response.json.error.type, 'invalid_request_error');
    if (family === 'chat') assert.equal(response.json.error.param, param);
    assert.match(response.json.error.message, new RegExp(`"${param}"`));
  }

  const addresses = balanceAddresses.filter(({ path }) => path !== '/v1/images/edits');
  for (const address of addresses) {
    test(`${address.path} refuses another spelling of members that affect the cost, before and after the member`, async () => {
      for (const [json, param] of lookalikes) {
        await assertUntouched(gateway, account, async () => {
          for (const isFirst of [true, false]) {
            const response = await call(gateway.url + address.path, account.key, withMember(address, json, isFirst));
            assertRefused(response, address.family, param);
          }
        });
      }
    });
  }

  test('/v1/chat/completions refuses another spelling of the request for usage', async () => {
    const body = {
      model: 'test-chat',
      messages: [],
      stream: true,
      stream_options: { include_usage: true, Include_Usage: false },
    };
    await assertUntouched(gateway, account, async () => {
      const response = await call(`${gateway.url}/v1/chat/completions`, account.key, body);
      assertRefused(response, 'chat', 'stream_options.include_usage');
    });
  });

  for (const type of [
    "application/json; charset*=UTF-8''utf-16",
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; charset*0=utf-16',
  ]) {
    test(`content type ${type} is refused`, async () => {
      const [address] = addresses;
      await assertUntouched(gateway, account, async () => {
        const response = await call(gateway.url + address!.path, account.key, requestTo(address!), {
          headers: { 'content-type': type },
        });
        assert.equal(response.status, 415);
      });
    });
  }
});

describe('unambiguous forms', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startImageGateway();
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());

  const cheap = [text('model', PRICED_BY_IMAGE), text('quality', 'low'), text('n', '1'), ...editParts];
  const dear = form([text('model', 'dall-e-2'), text('quality', 'high'), text('n', '10'), ...editParts], 'c');
  const hidden = (lineEnd: string) =>
    `x${lineEnd}--${BOUNDARY}${lineEnd}Content-Disposition: form-data; name="quality"`;
  const rawPart = (disposition: string, content: string) =>
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`);
  const withRaw = (...raw: readonly Buffer[]) => Buffer.concat([...raw, form(cheap)]);

  const forms: readonly [what: string, body: Buffer, status: 400 | 415, type?: string][] = [
    ['a second boundary', Buffer.concat([form(cheap), dear]), 415, `${formType()}; boundary*=UTF-8''c`],
    ['a boundary in several parts', Buffer.concat([form(cheap), dear]), 415, `${formType()}; boundary*0=c`],
    ['a second form after the first', Buffer.concat([form(cheap), form(cheap)]), 400],
    ['a part after a bare LF', form([...cheap, text('note', hidden('\n'))]), 400],
    ['a part after a bare CR', form([...cheap, text('note', hidden('\r'))]), 400],
    ['a part in the middle of a line', form([...cheap, text('note', `x ${hidden('').slice(1)}`)]), 400],
    ['a quality in a file part', form([...cheap.slice(2), file('quality', Buffer.from('low'))]), 400],
    ['another spelling of the quality', form([...cheap, text('Quality', 'high')]), 400],
    ['a list of sizes', form([...cheap, text('size[]', '4096x4096')]), 400],
    ['a name with a backslash', withRaw(rawPart('name="qua\\\\lity"', 'high')), 400],
    ['a second name', withRaw(rawPart('name="x"; name*=UTF-8\'\'quality', 'high')), 400],
    ['a name after the file name', withRaw(rawPart('name="x"; filename="\\\\"; y="; name=quality; z="', 'high')), 400],
    ['a nested form', form([...cheap, { ...file('x', dear), type: 'multipart/mixed; boundary=c' }]), 400],
    ['spaces after a boundary', Buffer.concat([padded(text('size', '1024x1024')), form(cheap)]), 400],
  ];
  for (const [what, body, status, type = formType()] of forms) {
    test(`${what} is refused with ${status}`, async () => {
      await assertUntouched(gateway, account, async () => {
        const response = await call(gateway.url + EDITS, account.key, body, { headers: { 'content-type': type } });
        assert.equal(response.status, status, response.text);
      });
    });
  }

  for (const [alias, own] of [
    ['image_size', 'size'],
    ['num_images', 'n'],
    ['image_quality', 'quality'],
  ] as const) {
    test(`${alias} is refused for image generation and editing, with the supported name in the error`, async () => {
      await assertUntouched(gateway, account, async () => {
        const json = { model: PRICED_BY_IMAGE, prompt: 'A boat', [alias]: 'x' };
        const body = form([...cheap, text(alias, 'x')]);
        for (const response of [
          await call(gateway.url + GENERATIONS, account.key, json),
          await call(gateway.url + EDITS, account.key, body, { headers: { 'content-type': formType() } }),
        ]) {
          assert.equal(response.status, 400, response.text);
          assert.equal(response.json.error.param, alias);
          assert.match(response.json.error.message, new RegExp(`Use "${own}"`));
        }
      });
    });
  }

  test('file names are forwarded unchanged', async () => {
    gateway.provider.respond = json(200, imagesBody());
    for (const filename of ['C:\\dir\\a.png', 'a%22b;name=x.png', '图.png', "it's = (1).png"]) {
      const body = form([...cheap.slice(0, 3), file('image', png(), filename), text('prompt', 'Add a boat')]);
      const response = await call(gateway.url + EDITS, account.key, body, { headers: { 'content-type': formType() } });
      assert.equal(response.status, 200, response.text);
      assert.ok(gateway.provider.requests.at(-1)!.body.equals(body), filename);
    }
  });
});

/** A part whose boundary is followed by spaces before the end of its line. */
function padded(part: Parameters<typeof partBytes>[0]): Buffer {
  return Buffer.from(partBytes(part).toString('latin1').replace('\r\n', '  \r\n'), 'latin1');
}
