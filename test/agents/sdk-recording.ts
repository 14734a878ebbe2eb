import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { ScriptedProvider } from '../support/provider.ts';
import { TOOL_TASK_CLIENTS } from '../support/tool-task-clients.ts';
import { writeTranslatedFiles } from './agent-runner.ts';
import { isCall } from './checks.ts';
import { type Gateway, TRANSLATED } from './gateway.ts';
import { startRecorder } from './recorder.ts';
import { writeTranscript } from './transcripts.ts';
import { PICTURE, startTranslatedModel, TRANSLATED_TASK } from './translated-model.ts';

/** Runs the vendors' SDKs and the AI SDK on translated models, and records their last requests. */
export async function recordSdks(folder: string, gateway: Gateway, provider: ScriptedProvider): Promise<void> {
  for (const client of TOOL_TASK_CLIENTS) {
    for (const target of (['chat', 'messages'] as const).filter((each) => each !== client.form)) {
      const directory = mkdtempSync(join(folder, 'sdk-'));
      writeTranslatedFiles(directory);
      const { key } = await gateway.createTenant({ balanceYuan: '100' });
      const recorder = await startRecorder(gateway.url);
      try {
        provider.respond = startTranslatedModel({ directory, target, needsReasoning: false }).respondAs('acme');
        const { model } = TRANSLATED[target];
        const [prompt, picture, url] = [TRANSLATED_TASK, PICTURE, recorder.url];
        await client.run({ url, key, model, directory, prompt, picture, isStream: true });
        writeTranscript({
          client: client.name,
          name: client.name,
          form: client.form,
          target,
          body: recorder.requests.findLast(isCall)!.body,
          directories: { [directory]: '/work/project' },
        });
      } finally {
        await recorder.close();
      }
    }
  }
}
