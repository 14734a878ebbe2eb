import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentRunnerOptions, createAgentRunner, requestLog } from '../test/agents/agent-runner.ts';
import { type Agent, createAgents } from '../test/agents/agents.ts';
import { check, isCall, type Observed } from '../test/agents/checks.ts';
import { type Gateway, startGateway } from '../test/agents/gateway.ts';
import { installAgents } from '../test/agents/installation.ts';
import { rowsOf, rowsOnPage } from '../test/agents/page.ts';
import { SCENARIOS, type Scenario } from '../test/agents/scenarios.ts';
import { recordSdks } from '../test/agents/sdk-recording.ts';
import { writeTranscript } from '../test/agents/transcripts.ts';
import { removeDirectory } from '../test/support/local-database.ts';
import { startProvider } from '../test/support/provider.ts';

/**
 * Runs published coding agents through the gateway: `npm run agents`, or `npm run agents -- <words>` for scenarios with these words
 * in their names. Only the first installation needs a network. `--record` writes the last request of each client of a translated model
 * into `test/fixtures/translation`; then run `node test/translation/golden.test.ts --update`, and review the difference.
 */
const options = process.argv.slice(2);
const records = options.includes('--record');
const words = options
  .filter((option) => option !== '--record')
  .join(' ')
  .toLowerCase();
const nameOf = ({ agent, event }: Scenario): string => `${agent}: ${event.replaceAll('`', '')}`;
const chosen = SCENARIOS.filter((scenario) => nameOf(scenario).toLowerCase().includes(words));

if (chosen.length === 0) throw new Error(`No scenario has “${words}” in its name.`);

let passed = 0;
let failed = 0;

function report(name: string, problem: unknown, details: readonly string[] = []): void {
  if (problem === null) {
    passed += 1;
    console.log(`✔ ${name}`);
    return;
  }
  failed += 1;
  console.log(`✖ ${name}`);
  const message = problem instanceof Error ? (problem.stack ?? problem.message) : String(problem);
  for (const line of [...message.split('\n'), ...details]) console.log(`    ${line}`);
}

const problemOf = async (work: () => unknown): Promise<unknown> => {
  try {
    await work();
    return null;
  } catch (error) {
    return error;
  }
};

const installation = await installAgents();
const agents = createAgents(installation);
console.log(
  `${Object.values(agents)
    .map(({ name, version }) => `${name} ${version}`)
    .join(', ')}: ${installation.wasThere ? 'already installed' : 'installed now'}`,
);

const folder = mkdtempSync(join(tmpdir(), 'faregate-agents-'));
process.on('exit', () => removeDirectory(folder));
const startProviders = async (): Promise<AgentRunnerOptions['providers']> => ({
  acme: await startProvider(),
  zenith: await startProvider(),
});
const providers = {
  responses: await startProviders(),
  messages: await startProviders(),
  translated: await startProviders(),
};
/** For scenarios without provider calls. The gateway has no route to them. */
const noProviders = await startProviders();
const gateway = await startGateway(join(folder, 'gateway'), providers);
try {
  // Refused agents mostly wait, so they run concurrently with the served ones.
  const isRefused = ({ expected }: Scenario): boolean => expected.provided === 0;
  const isTranslated = ({ translation }: Scenario): boolean => translation !== undefined;
  // They share the providers, so they run one after the other.
  const liveTranslated = async (): Promise<void> => {
    const { claudeCode, codex, qwenCode, opencode } = agents;
    for (const agent of [claudeCode, codex, qwenCode, opencode]) {
      await live(agent, isTranslated, providers.translated, gateway);
    }
  };
  const isServed = (scenario: Scenario): boolean => !isRefused(scenario) && !isTranslated(scenario);
  await Promise.all([
    liveTranslated(),
    live(agents.codex, isServed, providers.responses, gateway),
    live(agents.codex, isRefused, noProviders, gateway),
    live(agents.claudeCode, isServed, providers.messages, gateway),
    live(agents.claudeCode, isRefused, noProviders, gateway),
    live(agents.qwenCode, isRefused, noProviders, gateway),
    live(agents.opencode, isRefused, noProviders, gateway),
    live(agents.cline, isRefused, noProviders, gateway),
    live(agents.continueCli, isRefused, noProviders, gateway),
  ]);
  if (records) await recordSdks(folder, gateway, providers.translated.acme);
  report('the gateway responds to the probes of agents', await problemOf(() => probe(gateway)));
  report(
    'the audit finds no broken invariant',
    await problemOf(async () => assert.deepEqual(await gateway.breaches(), [])),
  );
  report(
    'docs/agents.md matches the observations',
    await problemOf(() => assert.deepEqual(rowsOnPage(), rowsOf(SCENARIOS))),
  );
} finally {
  report('the gateway stops cleanly', await problemOf(() => gateway.stop()));
  const all = [...Object.values(providers), noProviders].flatMap(({ acme, zenith }) => [acme, zenith]);
  await Promise.all(all.map((provider) => provider.close()));
}
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;

async function live(
  agent: Agent,
  isMine: (scenario: Scenario) => boolean,
  own: AgentRunnerOptions['providers'],
  at: Gateway,
): Promise<void> {
  const pool = createAgentRunner({ folder, agent, gateway: at, providers: own });
  for (const scenario of chosen.filter((each) => each.agent === agent.name && isMine(each))) {
    let observed: Observed | null = null;
    const problem = await problemOf(async () => {
      observed = await pool.live(scenario);
      await check(scenario, observed);
      if (records) record(scenario, observed);
    });
    report(nameOf(scenario) + timing(observed), problem, details(observed));
  }
}

/** Records the last request of an agent on a translated model, which has all of the conversation. */
function record({ agent, translation }: Scenario, { requests, workDirectory, home }: Observed): void {
  if (translation === undefined) return;
  const { body, path } = requests.findLast(isCall)!;
  const { version } = Object.values(agents).find(({ name }) => name === agent)!;
  writeTranscript({
    client: `${agent} ${version}`,
    name: `${agent.toLowerCase().replaceAll(' ', '-')}${translation.isKnown ? '-known' : ''}`,
    form: path.includes('/messages') ? 'messages' : path.includes('/responses') ? 'responses' : 'chat',
    target: translation.target,
    body,
    directories: { [workDirectory]: '/work/project', [home]: '/home/user' },
  });
}

function timing(observed: Observed | null): string {
  if (observed === null) return '';
  return ` (${observed.requests.length} requests, ${(observed.result.durationMs / 1000).toFixed(1)} s)`;
}

function details(observed: Observed | null): string[] {
  if (observed === null) return [];
  const { result, requests } = observed;
  return [
    ...requestLog(requests),
    `exit code ${result.code}, standard error: ${result.stderr.slice(-500)}`,
    `standard output: ${result.stdout.slice(-1500)}`,
  ];
}

/**
 * The requests of Claude Code at startup without a proxy and with all traffic allowed (observed with the same version).
 * It accepts any response that arrives quickly.
 */
async function probe({ url }: Gateway): Promise<void> {
  for (const [path, status] of [
    ['/api/hello', 404],
    ['/', 200],
  ] as const) {
    const response = await fetch(url + path, { method: 'HEAD', signal: AbortSignal.timeout(5000) });
    assert.equal(response.status, status, `HEAD ${path}`);
  }
}
