import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ReceivedRequest, ScriptedProvider } from '../support/provider.ts';
import { writePng } from '../support/small-png.ts';
import type { Agent, AgentRun } from './agents.ts';
import type { Observed } from './checks.ts';
import { type Gateway, MODEL, providerOf, type Tenant, VENDORS, type Vendor } from './gateway.ts';
import { type Fault, startModel, TASK } from './model.ts';
import { startOutside } from './outside.ts';
import { baseAddress } from './page.ts';
import { type Recorded, startRecorder } from './recorder.ts';
import type { Scenario } from './scenarios.ts';
import { PARTS, PICTURE, startTranslatedModel, TRANSLATED_TASK } from './translated-model.ts';

/** After this time an agent is killed, which is a failure unless it is expected. It is shorter than any `retry-after`. */
const LIMIT_MS = 60_000;

export interface AgentRunnerOptions {
  /** The folder for homes and working directories. */
  readonly folder: string;
  readonly agent: Agent;
  readonly gateway: Gateway;
  /** Providers that only this agent calls. */
  readonly providers: Readonly<Record<Vendor, ScriptedProvider>>;
}

/** Lets one agent live through scenarios, one after the other. */
export interface AgentRunner {
  live(scenario: Scenario): Promise<Observed>;
}

export function createAgentRunner({ folder, agent, gateway, providers }: AgentRunnerOptions): AgentRunner {
  return {
    async live(scenario) {
      const {
        context,
        plan,
        balanceYuan,
        isKeyRevoked = false,
        isBusy = false,
        fault: met = () => null,
        files: fileCount = 0,
        signing,
        isContinued = false,
        change,
        prompt = scenario.translation === undefined ? TASK : TRANSLATED_TASK,
        translation,
      } = scenario;
      const tenant: Tenant = await gateway.createTenant({
        ...(balanceYuan === undefined ? {} : { balanceYuan }),
        ...(plan === undefined ? {} : { plan }),
      });
      if (isKeyRevoked) await tenant.revokeKey();

      const home = mkdtempSync(join(folder, 'home-'));
      const workDirectory = mkdtempSync(join(folder, 'work-'));
      if (translation !== undefined) writeTranslatedFiles(workDirectory);
      const files = Array.from({ length: fileCount }, (_, index) => `part-${index}.txt`);
      for (const file of files) writeFileSync(join(workDirectory, file), `A line of ${file}.\n`.repeat(1050));
      const recorder = await startRecorder(gateway.url);
      const outside = await startOutside();
      const freed = recorder.responded(429);
      const fault = (call: number): Fault | null => (isBusy && call === 0 ? { kind: 'wait', until: freed } : met(call));
      const model =
        translation === undefined
          ? startModel({ directory: workDirectory, fault, files, signing })
          : startTranslatedModel({ directory: workDirectory, ...translation });
      const received: ReceivedRequest[] = [];
      let drained: Vendor | null = null;
      const drain = async (vendor: Vendor | null): Promise<void> => {
        if (vendor === drained) return;
        if (drained !== null) await gateway.setDrained(providerOf(drained, agent.name), false);
        if (vendor !== null) await gateway.setDrained(providerOf(vendor, agent.name), true);
        drained = vendor;
      };
      for (const vendor of VENDORS) {
        providers[vendor].respond = async (request, response) => {
          received.push(request);
          if (signing !== undefined) await drain(signing.drained(received.length));
          return model.respondAs(vendor)(request, response);
        };
      }
      const receivedBefore = providers.acme.requests.length;
      try {
        if (signing !== undefined) await drain(signing.drained(0));
        const other = isBusy ? callOfAnotherProgram(baseAddress(agent.name, context, recorder.url), tenant.key) : null;
        if (isBusy) await providers.acme.received(receivedBefore + 1);
        const given: AgentRun = {
          origin: recorder.url,
          context,
          key: tenant.key,
          outsideUrl: outside.url,
          home,
          workDirectory,
          prompt,
          isContinued: false,
          limitMs: scenario.limitMs ?? LIMIT_MS,
          ...(change === undefined ? {} : { change }),
        };
        const first = await agent.run(given);
        const goesOn = isContinued && first.code === 0;
        const result = goesOn ? await agent.run({ ...given, isContinued }) : first;
        if (other !== null) await (await other).text();
        return {
          result,
          home,
          workDirectory,
          requests: recorder.requests,
          received,
          model,
          tenant,
          outside: outside.asked,
        };
      } finally {
        await drain(null);
        await recorder.close();
        await outside.close();
      }
    },
  };
}

/** Two texts and a picture. */
export function writeTranslatedFiles(directory: string): void {
  for (const [file, content] of Object.entries(PARTS)) writeFileSync(join(directory, file), content);
  writeFileSync(join(directory, PICTURE), writePng({ width: 64, height: 64, pixels: Buffer.alloc(64 * 64 * 3, 0x90) }));
}

/** A call in the agent's format from another program. */
function callOfAnotherProgram(address: string, key: string): Promise<Response> {
  const isChatStyle = address.includes('/v1');
  return fetch(address + (isChatStyle ? '/responses' : '/v1/messages'), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'somebody-else-2026-11-20',
    },
    body: JSON.stringify({
      model: MODEL,
      ...(isChatStyle
        ? {
            input: [{ type: 'message', role: 'user', content: TASK }],
            tools: [{ type: 'function', name: 'exec_command' }],
          }
        : { messages: [{ role: 'user', content: TASK }], max_tokens: 100, tools: [{ name: 'Write' }] }),
    }),
  });
}

/** The requests of an agent, one line each, for reports of failures. */
export function requestLog(requests: readonly Recorded[]): string[] {
  return requests.map(({ startedAtMs, method, path, status, end, body, response }) => {
    const error = status >= 300 ? ` ${response.slice(0, 300)}` : '';
    return `${(startedAtMs / 1000).toFixed(2)} s  ${method} ${path} (${body.length} bytes): ${status}, ${end}${error}`;
  });
}
