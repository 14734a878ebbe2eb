import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { plansText, subscribe } from '../../conformance/plans.ts';
import { openConsole } from '../../support/browser.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { startGateway, type TestAccount, type TestGateway } from '../../support/gateway.ts';
import { createPerson, type TestPerson } from '../../support/people.ts';
import { chatResponse, chatStream, chatUsage, json, liveResponse, messagesResponse } from '../../support/provider.ts';
import { writePng } from '../../support/small-png.ts';

/** Conversations in the playground, by a key that the page creates. Its turns and their charges are in `owner-day.test.ts`. */

const PNG = writePng({ width: 1, height: 1, pixels: Buffer.from([255, 0, 0]) });

describe('the playground', { skip: withoutBrowser }, () => {
  let server: TestGateway;
  before(async () => {
    server = await startGateway({ plans: plansText({ starter: {} }) });
  });
  after(async () => {
    await server?.stop();
  });

  async function ownerOf(account: TestAccount): Promise<TestPerson> {
    return createPerson(server, { name: 'Ada', memberships: [{ accountId: account.id, role: 'owner' }] });
  }

  async function makeKey(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Create a trial key' }).click();
    await page.getByText('A trial key is in use').waitFor();
  }

  async function say(page: Page, message: string): Promise<void> {
    await page.getByLabel('Your message').fill(message);
    await page.keyboard.press('Enter');
  }

  /** The body of the last request that the provider received. */
  const sent = () => JSON.parse(server.provider.requests.at(-1)!.body.toString());

  it('sends an image that was attached or pasted, in the form of the protocol', async () => {
    server.provider.respond = messagesResponse();
    const account = await server.createAccount();
    await using console = await openConsole(server, {
      person: await ownerOf(account),
      at: '#/playground?model=test-both',
    });
    const { page } = console;
    assert.ok(await page.getByRole('button', { name: 'Send' }).isDisabled());
    await makeKey(page);
    await page.getByText('Messages', { exact: true }).click();
    const input = page.locator('input[type=file]');
    await input.setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('text') });
    await page.getByRole('alert').getByText('notes.txt: only PNG').waitFor();
    await input.setInputFiles({ name: 'red.png', mimeType: 'image/png', buffer: PNG });
    await page.getByRole('img', { name: 'red.png' }).waitFor();
    // A text, because these tests have no types of browsers.
    await page.getByLabel('Your message').focus();
    await page.evaluate(`{
      const bytes = Uint8Array.from(atob('${PNG.toString('base64')}'), (character) => character.charCodeAt(0));
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([bytes], 'pasted.png', { type: 'image/png' }));
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    }`);
    await page.getByRole('img', { name: 'pasted.png' }).waitFor();
    await page.getByRole('button', { name: 'Remove red.png' }).click();
    await say(page, 'What is this?');
    await page.getByText('Hello there').waitFor();
    await account.endedCall(1);
    assert.deepEqual(sent().messages, [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG.toString('base64') } },
          { type: 'text', text: 'What is this?' },
        ],
      },
    ]);
    await page.getByText('12 tokens in, 8 out').waitFor();
    await console.assertAccessible();
  });

  it('stops a response, whose part stays and is charged, and sends the message again', async () => {
    const live = liveResponse();
    server.provider.respond = live.respond;
    const account = await server.createAccount();
    await using console = await openConsole(server, {
      person: await ownerOf(account),
      at: '#/playground?model=test-chat',
    });
    const { page } = console;
    await makeKey(page);
    await say(page, 'Count');
    await live.opened;
    await live.write(chatStream(['One ', 'two ']).slice(0, 3).join(''));
    const answer = page.getByRole('group', { name: 'Response' });
    await answer.getByText('One two').waitFor();
    assert.equal(await answer.getAttribute('aria-busy'), 'true');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped. Usage until then is charged.').waitFor();
    await live.closed;
    const { chargeYuan, usageSource } = await account.endedCall(1);
    await page.getByText(`: ¥${chargeYuan}`).waitFor();
    assert.notEqual(chargeYuan, '0', usageSource);
    server.provider.respond = chatResponse(chatUsage);
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('Hello there').waitFor();
    assert.deepEqual(sent().messages, [{ role: 'user', content: 'Count' }]);
    assert.equal(await page.getByText('One two').count(), 0);
  });

  it('says what to do if the balance does not suffice, and if the provider fails', async () => {
    const account = await server.createAccount({ balanceYuan: '0' });
    await using console = await openConsole(server, {
      person: await ownerOf(account),
      at: '#/playground?model=test-chat',
      widthPx: 390,
      theme: 'dark',
    });
    const { page } = console;
    await makeKey(page);
    await say(page, 'Hello');
    const alert = page.getByRole('alert');
    await alert.getByText('The balance does not cover what this call could cost').waitFor();
    assert.equal(await alert.getByRole('link').getAttribute('href'), '#/vouchers');
    await console.assertAccessible();
    await server.admin('POST', `/accounts/${account.id}/top-ups`, { amountYuan: '10' }, { 'idempotency-key': 'more' });
    server.provider.respond = json(500, { error: { message: 'The engine is overloaded', type: 'server_error' } });
    await page.getByRole('button', { name: 'Send again' }).click();
    await alert.getByText('The engine is overloaded').waitFor();
    await alert.getByText('The provider of this model has a problem').waitFor();
  });

  it('is in Chinese, too, and calls on the Coding Plan', async () => {
    server.provider.respond = chatResponse();
    const account = await server.createAccount({ balanceYuan: '0' });
    await subscribe(server, account, 'starter');
    await using console = await openConsole(server, {
      person: await ownerOf(account),
      at: '#/playground',
      language: 'zh',
    });
    const { page } = console;
    await page.getByRole('button', { name: '创建试用密钥' }).click();
    await page.getByText('正在使用试用密钥').waitFor();
    await page.getByText('编码套餐', { exact: true }).last().click();
    await page.getByLabel('您的消息').fill('你好');
    await page.keyboard.press('Enter');
    await page.getByText('计入编码套餐').waitFor();
    await console.assertAccessible();
    assert.equal((await account.endedCall(1)).context, 'coding');
  });
});
