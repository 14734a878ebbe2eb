import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { call } from '../support/client.ts';
import { runCommand } from '../support/command.ts';
import { assertSpent, startGateway } from '../support/gateway.ts';
import { temporaryDirectory } from '../support/process.ts';
import { chatResponse } from '../support/provider.ts';

const EXCERPT = 'test/fixtures/price-files/litellm-excerpt.json';
const directory = temporaryDirectory();
after(() => directory.remove());

const models = (file: string, provider: string, ...options: readonly string[]) =>
  runCommand(['models', 'import', file, '--provider', provider, '--usd-cny', '7.15', ...options], {});

describe('models import', () => {
  it('prices what LiteLLM’s file prices, and lists the rest', async () => {
    const { code, stdout, stderr } = await models(EXCERPT, 'openai', '--margin', '20');
    assert.equal(code, 0, stderr);
    const { models: made } = parse(stdout);
    assert.deepEqual(Object.keys(made), ['gpt-4o', 'gpt-image-1', 'text-embedding-3-small', 'computer-use-preview']);
    assert.deepEqual(made['gpt-4o'].price, {
      input: '21.45',
      cachedInput: '10.725',
      output: '85.8',
      serviceTiers: { priority: '1.7' },
    });
    assert.equal(made['gpt-4o'].routes[0].cost.input, '17.875');
    assert.match(stdout, /# whisper-1: "audio_transcription" is not served/);
    // The file has it with and without the name of its provider.
    assert.equal(stdout.match(/# sora-2: /g)?.length, 1);
    assert.match(stderr, /4 models with prices, 3 left out/);
  });

  it('reports why a model is left out', async () => {
    const { stdout } = await models(EXCERPT, 'dashscope');
    assert.match(stdout, /# qwen-plus-2025-04-28: reasoning tokens have another price than output/);
    assert.match(stdout, /# qwen-plus-latest: reasoning tokens have another price than output/);
  });

  it('has steps for prices by the length of the input', async () => {
    const { price } = parse((await models(EXCERPT, 'dashscope')).stdout).models['qwen3-coder-flash'];
    assert.deepEqual([price.input, price.output], ['2.145', '10.725']);
    assert.deepEqual(Object.keys(price.above), ['32000', '128000', '256000']);
    assert.deepEqual(price.above[256_000], { cachedInput: '2.86', input: '11.44', output: '68.64' });
  });

  it('lists what the address serves, and why the rest is left out', async () => {
    const google = (await models(EXCERPT, 'google')).stdout;
    assert.deepEqual(Object.keys(parse(google).models), ['gemini-2.5-pro', 'gemini-3-pro-image']);
    assert.deepEqual(parse(google).models['gemini-3-pro-image'].operations, ['images.generate']);
    assert.deepEqual(parse(google).models['gemini-3-pro-image'].price, { perImage: { default: '0.9581' } });
    for (const line of [
      '# nano-banana-pro-preview: the address does not serve images.edit',
      '# gemini-omni-1.1-flash: it is only served at /v1beta/interactions',
      '# lyria-3-clip-preview: its output is audio',
      // Another entry of the same name has a price.
      '# gemini-exp-1206: no price of output',
    ]) {
      assert.ok(google.split('\n').includes(line), line);
    }
    const { stdout } = await models(EXCERPT, 'openai');
    assert.deepEqual(parse(stdout).models['computer-use-preview'].operations, ['responses']);
    assert.match(stdout, /# ft:gpt-4o-2024-11-20: a fine-tuned model has a different name/);
    assert.match((await models(EXCERPT, 'dashscope')).stdout, /# qwen-image-2\.0: the address does not serve images/);
  });

  it('has the remarks of the file, and when the vendor retires a model', async () => {
    assert.match((await models(EXCERPT, 'openai')).stdout, /# The vendor retires it on 2026-07-23\.\n {2}computer-use/);
    assert.match((await models(EXCERPT, 'zhipu')).stdout, /# Official API .*converted at 7\.0 CNY.*\n {2}glm-5\.3:/);
    const file = join(directory.path, 'words.json');
    const comment = 'One line.\n  sold: { price: 0 }';
    const entry = { litellm_provider: 'xai', mode: 'chat', input_cost_per_token: 1e-6, metadata: { comment } };
    writeFileSync(file, JSON.stringify({ a: { ...entry, output_cost_per_token: 1e-6 }, 'b\nsold: 0': entry }));
    const { stdout } = await models(file, 'xai');
    assert.deepEqual(Object.keys(parse(stdout).models), ['a']);
    assert.match(stdout, /# One line\.\\u000a {2}sold/);
  });

  it('takes the price of the vendor’s own region if the file has several', async () => {
    const { models: made } = parse((await models(EXCERPT, 'zhipu')).stdout);
    assert.deepEqual(Object.keys(made), ['glm-5.3', 'glm-5']);
    assert.equal(made['glm-5.3'].price.output, '28.6');
  });

  it('reads the list of a provider, with its prices if it has any', async () => {
    const list = join(directory.path, 'list.json');
    const priced = {
      id: 'a/b',
      context_length: 8192,
      pricing: { prompt: '0.000001', completion: '0.000002', request: '0' },
    };
    writeFileSync(list, JSON.stringify({ data: [priced, { id: 'plain', object: 'model' }] }));
    const { stdout } = await models(list, 'openrouter');
    assert.deepEqual(parse(stdout).models['a/b'].price, { input: '7.15', output: '14.3' });
    assert.match(stdout, /# plain: the list has no price/);
  });

  it('keeps every digit of a number, and leaves out models with a price per request', async () => {
    const list = join(directory.path, 'digits.json');
    const digits = '{ "id": "long", "pricing": { "prompt": 2.49999999999999999999e-15, "completion": 2e-6 } }';
    const perRequest = '{ "id": "each", "pricing": { "prompt": "0.1", "completion": "0.1", "request": "0.01" } }';
    writeFileSync(list, `{ "data": [${digits}, ${perRequest}] }`);
    const { stdout } = await models(list, 'openrouter', '--usd-cny', '1');
    // Read as a number it would be 2.5e-15, which is rounded up.
    assert.equal(parse(stdout).models.long.price.input, '0.000000002');
    assert.match(stdout, /# each: it has a price per request in addition to the prices of tokens/);
  });

  it('takes a model that occurs twice only with the same prices', async () => {
    const file = join(directory.path, 'twice.json');
    const entry = (input: number) => ({
      litellm_provider: 'xai',
      mode: 'chat',
      input_cost_per_token: input,
      output_cost_per_token: 4e-6,
    });
    writeFileSync(
      file,
      JSON.stringify({ same: entry(1e-6), 'xai/same': entry(1e-6), other: entry(1e-6), 'xai/other': entry(2e-6) }),
    );
    const { stdout } = await models(file, 'xai');
    assert.deepEqual(Object.keys(parse(stdout).models), ['same']);
    assert.match(stdout, /# other: the file lists the model twice, with different prices/);
  });

  it('writes a file once, and reports invalid arguments', async () => {
    const file = join(directory.path, 'models.yaml');
    assert.equal((await models(EXCERPT, 'anthropic', '--output', file)).code, 0);
    assert.match(readFileSync(file, 'utf8'), /claude-sonnet-4-5/);
    assert.match((await models(EXCERPT, 'anthropic', '--output', file)).stderr, /exists already/);
    assert.equal((await models(EXCERPT, 'openai', '--output', file, '--force')).code, 0);
    assert.match(readFileSync(file, 'utf8'), /gpt-4o/);
    assert.match((await models(EXCERPT, 'antropic')).stderr, /Did you mean "anthropic"\?/);
    assert.match((await models('README.md', 'openai')).stderr, /README\.md is not JSON/);
    assert.match(
      (await models('package.json', 'openai')).stderr,
      /neither LiteLLM’s price file|neither LiteLLM's price file/,
    );
    assert.match(
      (await models(EXCERPT, 'openai', '--only', 'nothing-*')).stderr,
      /has no matching model of OpenAI\.\n/,
    );
    assert.match(
      (await models(EXCERPT, 'vllm')).stderr,
      /has no models of this vendor; the list that the vendor returns/,
    );
  });

  describe('for a provider of the configuration', () => {
    const config = join(directory.path, 'faregate.yaml');
    const provider = (protocol: string, baseUrl: string) =>
      `{ protocol: ${protocol}, baseUrl: ${baseUrl}, apiKey: "\${NOT_SET_HERE}" }`;
    const configured = (name: string, ...options: readonly string[]) =>
      models(EXCERPT, name, '--config', config, ...options);
    before(() =>
      writeFileSync(
        config,
        `providers:
  ours: ${provider('chat', 'https://api.z.ai/api/paas/v4')}
  ours-too: ${provider('chat', 'https://api.z.ai/api/coding/paas/v4')}
  ours-messages: ${provider('messages', 'https://api.z.ai/api/anthropic')}
  relay: ${provider('chat', 'https://relay.example/v1')}
`,
      ),
    );

    it('uses the vendor and the region of its address, and routes to it and its other protocol', async () => {
      const { code, stdout, stderr } = await configured('ours');
      assert.equal(code, 0, stderr);
      const made = parse(stdout).models['glm-5.3'];
      assert.equal(made.price.output, '31.46');
      assert.deepEqual(made.operations, ['chat', 'messages']);
      assert.deepEqual(
        made.routes.map((route: { provider: string }) => route.provider),
        ['ours', 'ours-messages'],
      );
    });

    it('needs --vendor if the address is unknown', async () => {
      const unknown = await configured('relay');
      assert.equal(unknown.code, 1);
      assert.match(unknown.stderr, /^The address of the provider relay is not .* Name the vendor with --vendor/);
      const { models: made } = parse((await configured('relay', '--vendor', 'zai')).stdout);
      assert.deepEqual(made['glm-5'].routes, [{ provider: 'relay', model: 'glm-5' }]);
      assert.match(
        (await configured('relay', '--vendor', 'zia')).stderr,
        /no matching model of zia\. Did you mean zai\?/,
      );
    });

    it('gets a suggestion for a misspelt name, and a known vendor needs no provider', async () => {
      assert.match((await configured('rellay')).stderr, /Did you mean "relay"\? The configuration has ours, ours-too/);
      assert.match((await configured('xai')).stderr, /no matching model of xAI/);
      assert.match((await configured('deepseek')).stdout, /- provider: deepseek\n/);
    });
  });

  it('creates models whose calls are charged at the prices of the file', async () => {
    const { stdout } = await models(EXCERPT, 'deepseek', '--only', 'deepseek-chat');
    const { price } = parse(stdout).models['deepseek-chat'];
    await using gateway = await startGateway({
      models: `  deepseek-chat: { operations: [chat], price: ${JSON.stringify(price)}, routes: [{ provider: chatty, model: deepseek-chat }] }`,
    });
    const account = await gateway.createAccount();
    const usage = { prompt_tokens: 1_000, completion_tokens: 100, prompt_tokens_details: { cached_tokens: 400 } };
    gateway.provider.respond = chatResponse(usage);
    const body = { model: 'deepseek-chat', messages: [{ role: 'user', content: 'Hello' }] };
    assert.equal((await call(`${gateway.url}/v1/chat/completions`, account.key, body)).status, 200);
    // 600 at $0.28, 400 at $0.028 and 100 at $0.42 per million, times 7.15.
    await assertSpent(account, 1_201_200n + 80_080n + 300_300n);
  });
});
