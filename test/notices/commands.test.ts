import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { runCommand } from '../support/command.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../support/gateway.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { until } from '../support/until.ts';

/** `faregate webhook …` as in `docs/notices.md`. */

describe('the commands of webhooks', { timeout: 60_000 }, () => {
  let g: TestGateway;
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
    g = await startGateway({ noticeSettings: 'notices: { allowNetworks: [127.0.0.0/8] }' });
  });
  after(async () => {
    await g.stop();
    await receiver.close();
  });

  const run = (...given: string[]) => runCommand(['--gateway', g.url, ...given], { FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN });

  async function done(...given: string[]): Promise<string> {
    const { code, stdout, stderr } = await run(...given);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  it('create, list, test, disable, enable and delete an endpoint, and redeliver a notice', async () => {
    const made = await done('webhook', 'create', receiver.url, '--events', 'balance.low,route.down');
    const [id] = /whk_[0-9a-z]+/.exec(made)!;
    assert.match(made, /^whsec_/);
    assert.match(await done('webhook', 'list'), /balance\.low,route\.down\s+active/);
    const [noticeId] = /ntc_[0-9a-z]+/.exec(await done('webhook', 'test', id!))!;
    await until(() => receiver.received.length === 1);
    await until(async () => (await done('webhook', 'deliveries', id!)).includes('delivered'));
    await done('webhook', 'redeliver', id!, noticeId!);
    await until(() => receiver.received.length === 2);
    assert.match(await done('webhook', 'disable', id!), /is disabled/);
    const refused = await run('webhook', 'test', id!);
    assert.deepEqual([refused.code, refused.stdout], [4, '']);
    assert.match(refused.stderr, /disabled/);
    assert.match(await done('webhook', 'enable', id!), /is active/);
    await done('webhook', 'delete', id!);
    assert.match(await done('webhook', 'list'), /There are no webhook endpoints/);
  });

  it('create an endpoint of a messenger, whose address is not shown', async () => {
    receiver.respond = (response) => void response.end('{"errcode":0}');
    const url = `${receiver.url}?access_token=robot-path-secret`;
    const made = await done('webhook', 'create', url, '--form', 'dingtalk', '--secret', 'SEC1', '--language', 'zh');
    const [id] = /whk_[0-9a-z]+/.exec(made)!;
    assert.match(made, /^Created whk_/);
    const listed = await done('webhook', 'list');
    assert.match(listed, /dingtalk/);
    assert.doesNotMatch(made + listed, /path-secret|SEC1/);
    receiver.received.length = 0;
    await done('webhook', 'test', id!);
    await until(() => receiver.received.length === 1);
    assert.match(receiver.received[0]!.body.text.content, /测试/);
    assert.match(receiver.received[0]!.path, /&sign=/);
    await done('webhook', 'delete', id!);
  });

  it('report an invalid address, also as JSON', async () => {
    const { code, stdout } = await run('--json', 'webhook', 'create', 'https://10.0.0.1/');
    assert.equal(code, 2);
    assert.equal(JSON.parse(stdout).error.param, 'url');
    assert.equal(JSON.parse(stdout).error.option, '<url>');
  });

  it('show and set the threshold of an account', async () => {
    const { id } = await g.createAccount();
    assert.match(await done('webhook', 'low-balance', id), /threshold\s+default\n.*\n.*no mail server/);
    assert.match(await done('webhook', 'low-balance', id, '50'), /threshold\s+50/);
    assert.match(await done('webhook', 'low-balance', id, 'default'), /threshold\s+default/);
  });
});
