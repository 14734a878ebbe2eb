import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DONE } from '../agents/model.ts';
import { FILE, GREETING } from '../agents/said.ts';
import { PARTS, PICTURE, startTranslatedModel, type Target, TRANSLATED_TASK } from '../agents/translated-model.ts';
import { assertSpent, costNano, PRICE, startGateway, type TestGateway } from '../support/gateway.ts';
import { removeDirectory } from '../support/local-database.ts';
import { writePng } from '../support/small-png.ts';
import { TOOL_TASK_CLIENTS } from '../support/tool-task-clients.ts';

/** The vendors' SDKs and the AI SDK do a task with several turns on models that only providers of another protocol serve. */

const MODELS = `  on-chat:
    operations: [messages, responses]
    maxOutputTokens: "64000"
    price: ${PRICE}
    routes: [{ provider: chatty, model: upstream-chat, translate: [messages, responses], dialect: { reasoning: thinking, replay: reasoning_content } }]
  on-messages:
    operations: [chat, responses]
    maxOutputTokens: "64000"
    price: ${PRICE}
    routes: [{ provider: messy, model: upstream-messages, translate: [chat, responses], dialect: { thinking: adaptive } }]
`;

describe('a task with tools on a translated model', () => {
  let gateway: TestGateway;
  const directory = mkdtempSync(join(tmpdir(), 'faregate-tool-task-'));
  before(async () => {
    gateway = await startGateway({ models: MODELS });
    for (const [file, content] of Object.entries(PARTS)) writeFileSync(join(directory, file), content);
    writeFileSync(join(directory, PICTURE), writePng({ width: 8, height: 8, pixels: Buffer.alloc(8 * 8 * 3, 0x90) }));
  });
  after(async () => {
    removeDirectory(directory);
    await gateway.stop();
  });

  const targets: readonly Target[] = ['chat', 'messages'];
  for (const client of TOOL_TASK_CLIENTS) {
    for (const target of targets.filter((each) => each !== client.form)) {
      test(`is done by ${client.name} at a provider of ${target}, streamed and whole`, async () => {
        for (const isStream of [true, false]) {
          const account = await gateway.createAccount();
          const needsReasoning = target === 'chat' || client.returnsReasoning;
          const model = startTranslatedModel({ directory, target, needsReasoning });
          gateway.provider.respond = model.respondAs('acme');
          const said = await client.run({
            url: gateway.url,
            key: account.key,
            model: `on-${target}`,
            directory,
            prompt: TRANSLATED_TASK,
            picture: PICTURE,
            isStream,
          });
          assert.equal(said, DONE);
          assert.deepEqual(model.refusals, []);
          assert.deepEqual([...model.seen].sort(), [...Object.keys(PARTS), PICTURE]);
          const { complete, missing } = model.replayed.at(-1)!;
          assert.equal(complete + missing, 3, 'the model reasoned in each turn');
          if (needsReasoning) assert.equal(missing, 0);
          assert.equal(readFileSync(join(directory, FILE), 'utf8'), GREETING);
          const spentNano = model.reported.reduce((sum, usage) => sum + costNano(usage!), 0n);
          await assertSpent(account, spentNano);
        }
      });
    }
  }
});
