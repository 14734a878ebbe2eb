import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
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
    assert.deepEqual(Object.keys(made), ['gpt-4o', 'gpt-image-1', 'text-embedding-3-small']);
    assert.deepEqual(made['gpt-4o'].price, {
      input: '21.45',
      cachedInput: '10.725',
      output: '85.8',
      serviceTiers: { priority: '1.7' },
    });
    assert.equal(made['gpt-4o'].routes[0].cost.input, '17.875');
    assert.match(stdout, /# whisper-1: "audio_transcription" is not served/);
    assert.match(stderr, /3 models with prices, 1 left out/);
  });

  it('says for whom a model is not priced', async () => {
    const { stdout } = await models(EXCERPT, 'dashscope');
    assert.deepEqual(parse(stdout).models, {});
    assert.match(stdout, /# qwen-flash: no price of output/);
    assert.match(stdout, /# qwen-plus-2025-04-28: tokens of reasoning have another price than output/);
  });

  it('reads the list of a provider, with prices where it has them', async () => {
    const list = join(directory.path, 'list.json');
    const priced = {
      id: 'a/b',
      context_length: 8192,
      pricing: { prompt: '0.000001', completion: '0.000002', request: '0' },
    };
    writeFileSync(list, JSON.stringify({ data: [priced, { id: 'plain', object: 'model' }] }));
    const { stdout } = await models(list, 'openrouter');
    assert.deepEqual(parse(stdout).models['a/b'].price, { input: '7.15', output: '14.3' });
    assert.match(stdout, /# plain: the list has no price of it/);
  });

  it('has every digit of a number, and no model whose requests have a price of their own', async () => {
    const list = join(directory.path, 'digits.json');
    const digits = '{ "id": "long", "pricing": { "prompt": 2.49999999999999999999e-15, "completion": 2e-6 } }';
    const perRequest = '{ "id": "each", "pricing": { "prompt": "0.1", "completion": "0.1", "request": "0.01" } }';
    writeFileSync(list, `{ "data": [${digits}, ${perRequest}] }`);
    const { stdout } = await models(list, 'openrouter', '--usd-cny', '1');
    // As a number it would be 2.5e-15, which is rounded up.
    assert.equal(parse(stdout).models.long.price.input, '0.000000002');
    assert.match(stdout, /# each: each request has a price beside its tokens/);
  });

  it('takes a model that stands there twice only with the same prices', async () => {
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
    assert.match(stdout, /# other: it stands there twice, with other prices/);
  });

  it('writes a file once, and says what is wrong with what it was given', async () => {
    const file = join(directory.path, 'models.yaml');
    assert.equal((await models(EXCERPT, 'anthropic', '--output', file)).code, 0);
    assert.match(readFileSync(file, 'utf8'), /claude-sonnet-4-5/);
    assert.match((await models(EXCERPT, 'anthropic', '--output', file)).stderr, /exists already/);
    assert.equal((await models(EXCERPT, 'openai', '--output', file, '--force')).code, 0);
    assert.match(readFileSync(file, 'utf8'), /gpt-4o/);
    assert.match((await models(EXCERPT, 'antropic')).stderr, /Did you mean anthropic\?/);
    assert.match((await models('README.md', 'openai')).stderr, /README\.md is not JSON/);
    assert.match(
      (await models('package.json', 'openai')).stderr,
      /neither LiteLLM’s price file|neither LiteLLM's price file/,
    );
    assert.match((await models(EXCERPT, 'openai', '--only', 'nothing-*')).stderr, /has no such model of OpenAI/);
  });

  it('makes models whose calls are charged as the file says', async () => {
    const { stdout } = await models(EXCERPT, 'deepseek', '--only', 'deepseek-chat');
    const { price } = parse(stdout).models['deepseek-chat'];
    const gateway = await startGateway({
      models: `  deepseek-chat: { operations: [chat], price: ${JSON.stringify(price)}, routes: [{ provider: chatty, model: deepseek-chat }] }`,
    });
    try {
      const account = await gateway.createAccount();
      const usage = { prompt_tokens: 1_000, completion_tokens: 100, prompt_tokens_details: { cached_tokens: 400 } };
      gateway.provider.respond = chatResponse(usage);
      const body = { model: 'deepseek-chat', messages: [{ role: 'user', content: 'Hello' }] };
      assert.equal((await call(`${gateway.url}/v1/chat/completions`, account.key, body)).status, 200);
      // 600 at $0.28, 400 at $0.028 and 100 at $0.42 a million, by 7.15.
      await assertSpent(account, 1_201_200n + 80_080n + 300_300n);
    } finally {
      await gateway.stop();
    }
  });
});
