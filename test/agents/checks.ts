import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseYuan } from '../../src/lib/yuan.ts';
import type { ReceivedRequest } from '../support/provider.ts';
import type { AgentResult } from './agents.ts';
import { type CallRecord, costNano, MODEL, PLANS, PROVIDER_MODEL, type Tenant, THINKER } from './gateway.ts';
import type { Model } from './model.ts';
import type { Recorded } from './recorder.ts';
import { FILE, GREETING } from './said.ts';
import type { Scenario, Translation } from './scenarios.ts';
import { PARTS, PICTURE, type TranslatedModel } from './translated-model.ts';

/** The observations of a scenario. */
export interface Observed {
  readonly result: AgentResult;
  readonly home: string;
  readonly workDirectory: string;
  /** All requests from the agent to the gateway. */
  readonly requests: readonly Recorded[];
  /** All requests to the providers, in order. */
  readonly received: readonly ReceivedRequest[];
  readonly model: Model;
  readonly tenant: Tenant;
  /** Where else the agent wanted to go. */
  readonly outside: readonly string[];
}

const CALL_PATHS = /\/(?:responses|v1\/messages|chat\/completions)$/;

/** Whether a request is charged. */
export function isCall({ method, path }: Recorded): boolean {
  return method === 'POST' && CALL_PATHS.test(path.split('?')[0]!);
}

export async function check(scenario: Scenario, observed: Observed): Promise<void> {
  checkAgent(scenario, observed);
  if (scenario.translation === undefined) checkRelay(observed);
  else checkTranslation(scenario.translation, observed);
  checkPatience(observed);
  await checkBooks(scenario, observed);
}

/** Asserts what the agent did and how the gateway responded. */
function checkAgent(
  { agent, expected }: Scenario,
  { result, workDirectory, requests, model, outside }: Observed,
): void {
  const {
    exitCode,
    said,
    statuses,
    others = [],
    isFileRight,
    summaries = 0,
    wholeCalls = [],
    sent = '',
    isWarned = true,
    vendors,
  } = expected;
  const calls = requests.filter(isCall);
  const responded = calls.map(({ status }) => status);
  assert.deepEqual(responded, statuses, 'the statuses of the calls');
  assert.deepEqual(
    [
      ...new Set(
        requests.filter((each) => !isCall(each)).map(({ method, path, status }) => `${method} ${path} ${status}`),
      ),
    ],
    others,
    'the other requests',
  );
  assert.equal(result.code, exitCode, `the exit code; the agent said: ${result.said}`);
  assert.ok(result.said.includes(said), `said “${result.said}”, expected “${said}”`);
  const file = join(workDirectory, FILE);
  assert.equal(existsSync(file) ? readFileSync(file, 'utf8') : null, isFileRight ? GREETING : null, 'the file');
  assert.equal(model.summaries, summaries, 'the summaries');
  if (vendors !== undefined) assert.deepEqual(model.vendors, vendors, 'the vendors of the calls');
  const whole = calls.flatMap(({ body }, index) => (JSON.parse(body.toString()).stream === true ? [] : [index]));
  assert.deepEqual(whole, wholeCalls, 'the calls that are no streams');
  for (const { body } of calls) assert.ok(body.includes(sent), `a call without ${sent}`);
  if (agent === 'Codex') assert.equal(result.stdout.includes('Model metadata for'), isWarned, result.stdout);
  for (const { path, responseHeaders, status } of requests) {
    assert.ok(status === 426 || responseHeaders['request-id'], `${path} was responded to without a request id`);
  }
  assert.deepEqual([...new Set(outside)], expected.outside ?? [], 'the agent wanted to go elsewhere');
}

/** A call that was refused with a waiting time is not repeated before that time is over. */
function checkPatience({ requests }: Observed): void {
  const calls = requests.filter(isCall);
  for (const [index, { responseHeaders, startedAtMs }] of calls.entries()) {
    const again = calls[index + 1];
    const seconds = responseHeaders['retry-after'];
    if (seconds === undefined || again === undefined) continue;
    const waitedMs = again.startedAtMs - startedAtMs;
    assert.ok(waitedMs >= Number(seconds) * 1000, `repeated after ${waitedMs} ms, with a retry-after of ${seconds} s`);
  }
}

/** What reached a provider is what the agent sent, byte for byte, but for the model's name. Another provider may be sent it again. */
function checkRelay({ requests, received, tenant }: Observed): void {
  const sent = requests.filter(isCall);
  let next = 0;
  for (const [index, { body, headers }] of received.entries()) {
    while (next < sent.length && !inProvidersWords(sent[next]!.body).equals(body)) next += 1;
    const original = sent[next];
    assert.ok(original !== undefined, `call ${index} of the provider is not from the agent`);
    if (original.path.includes('/messages')) {
      for (const name of ['anthropic-version', 'anthropic-beta']) {
        assert.ok(original.headers[name], `the agent sent no ${name}`);
        assert.equal(headers[name], original.headers[name], `${name} at the provider`);
      }
    }
    assert.ok(!JSON.stringify(headers).includes(tenant.key), `the tenant's key reached the provider`);
  }
}

/** A strict provider refused nothing, got all content, and the headers name what it did not get. */
function checkTranslation(translation: Translation, { requests, model }: Observed): void {
  const { refusals, seen, replayed } = model as TranslatedModel;
  assert.deepEqual(refusals, [], 'the refusals of the provider');
  assert.deepEqual([...seen].sort(), [...Object.keys(PARTS), PICTURE], 'the contents that arrived');
  const last = replayed.at(-1)!;
  if (translation.needsReasoning) assert.deepEqual(last, { complete: 3, missing: 0 }, 'turns with their reasoning');
  const calls = requests.filter(isCall);
  for (const { responseHeaders } of calls) assert.equal(responseHeaders['x-faregate-translated'], translation.target);
  const namesIn = (header: string): readonly string[] => [
    ...new Set(calls.flatMap(({ responseHeaders }) => responseHeaders[header]?.toString().split(',') ?? [])),
  ];
  assert.deepEqual(namesIn('x-faregate-left-out'), translation.leftOut, 'what was left out');
  assert.deepEqual(namesIn('x-faregate-added'), translation.added, 'what was added');
}

function inProvidersWords(body: Buffer): Buffer {
  return Buffer.from(body.toString('latin1').replace(`"model":"${MODEL}"`, `"model":"${PROVIDER_MODEL}"`), 'latin1');
}

/**
 * Each call of the agent that reached a provider has one record with the reported usage. Charges are usage times price, and nothing is
 * held.
 */
async function checkBooks(
  { context, plan, balanceYuan = '0', fault, signing, translation, expected }: Scenario,
  { received, model, tenant }: Observed,
): Promise<void> {
  assert.equal(received.length, expected.provided, 'the calls that reached the provider');
  const records = await tenant.calls();
  let call = -1;
  let spentNano = 0n;
  let placesTaken = 0;
  for (const record of records) {
    call += 1 + record.failedRoutes.length;
    assert.equal(record.context, context);
    assert.equal(record.model, translation?.model ?? (signing === undefined ? MODEL : THINKER));
    const met = fault?.(call) ?? null;
    assert.equal(record.status, met === null ? 'succeeded' : met.kind === 'break' ? 'aborted' : 'failed');
    const chargedNano = record.chargeYuan === null ? 0n : parseYuan(record.chargeYuan)!;
    spentNano += chargedNano;
    if (met?.kind === 'refuse') {
      assert.equal(record.httpStatus, met.status);
      assert.equal(record.usage, null, 'a refused call has no usage');
    } else {
      placesTaken += 1;
      const counted = countedIn(record);
      if (met === null) assert.deepEqual(counted, model.reported[call], `the usage of call ${call}`);
      assert.equal(record.usage?.source, met === null ? 'observed' : 'estimated');
      assert.equal(chargedNano, context === 'balance' ? costNano(counted) : 0n, `the charge of call ${call}`);
    }
  }
  assert.equal(call + 1, received.length, 'the calls of the records');
  assert.deepEqual(await tenant.money(), { balanceNano: parseYuan(balanceYuan)! - spentNano, heldNano: 0n });
  if (plan !== undefined) {
    assert.equal(await tenant.remainingCalls(), PLANS[plan].fiveHourCalls - placesTaken, 'the calls left in the plan');
  }
}

function countedIn({ usage }: CallRecord): { input: number; cached: number; output: number } {
  assert.ok(usage !== null, 'a call without usage');
  assert.equal(usage.cacheWriteTokens, 0);
  return { input: usage.inputTokens, cached: usage.cachedInputTokens, output: usage.outputTokens };
}
