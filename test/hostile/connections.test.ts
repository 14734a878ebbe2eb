import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertBrokenOff, assertEstimated, begunStream, families, modesOf, requestOf } from '../support/families.ts';
import {
  type Behaviour,
  type End,
  type HostileProvider,
  STAGES,
  startHostileProvider,
} from '../support/hostile-provider.ts';
import {
  assertFailed,
  BROKEN,
  callOf,
  type Ended,
  type HostileScene,
  modelOf,
  providerPair,
  setScene,
  tooLate,
} from './scene.ts';

/** A provider that resets, closes or stops using its connection, at each stage of a call. */

describe('failing connections to a provider', () => {
  let scene: HostileScene;
  /** The tests wait for silent providers concurrently, so each stage has a provider of its own. */
  let silent: HostileProvider[];
  before(async () => {
    silent = await Promise.all(STAGES.map(() => startHostileProvider()));
    scene = await setScene({
      providers: silent
        .map(({ url }, i) =>
          providerPair(`silent-${i}`, url, `timeouts: { ${STAGES[i]!.hasHead ? 'idle' : 'firstByte'}: 60ms }`),
        )
        .join(''),
      models: silent.map((_, i) => modelOf(`silent-${i}`)).join(''),
    });
  });
  after(async () => {
    try {
      await scene?.close();
    } finally {
      await Promise.all(silent.map((provider) => provider.close()));
    }
  });

  for (const family of families) {
    for (const { kind, isStream } of modesOf(family)) {
      const contentType = isStream ? 'text/event-stream' : 'application/json';
      const begun = begunStream(family).join('');
      const part = isStream ? begun : JSON.stringify(family.whole()).slice(0, 40);
      const recordAt = (stage: number, record: End): Behaviour => STAGES[stage]!.behaviour(record, contentType, part);

      async function assertEnd(stage: number, ended: Ended, expected: typeof BROKEN | ReturnType<typeof tooLate>) {
        if (!isStream || !STAGES[stage]!.hasBody) {
          await assertFailed(ended, family, expected);
          return;
        }
        const type = expected.status === 504 ? family.timeoutType : 'api_error';
        assertBrokenOff(ended.response, family, begun, expected.code, type);
        const input = family.inputTokens(requestOf(true, ended.record.model));
        await assertEstimated(ended.account, { input, output: 2 }, { status: 'aborted', errorCode: expected.code });
        assert.equal(ended.reported, expected.reported);
      }
      const outcome = (stage: number, status: number): string =>
        isStream && STAGES[stage]!.hasBody
          ? 'the stream ends with an error event, and what came is charged'
          : `a ${status} that must not be retried and costs nothing`;

      describe(`${family.name}, ${kind}`, () => {
        for (const [what, record] of [
          ['resets', 'reset'],
          ['closes', 'fin'],
        ] as const) {
          test(`a provider that ${what} the connection as soon as it is open: a 502 that costs nothing`, async () => {
            const { response, ...rest } = await scene.send(callOf(family, isStream, recordAt(0, record)));
            // The advice about a retry depends on whether the call had been sent, which is random here.
            const retry = response.headers['x-should-retry'] === 'true' ? 'true' : 'false';
            await assertFailed({ response, ...rest }, family, { ...BROKEN, retry });
          });

          for (const [stage, { name }] of STAGES.entries()) {
            if (stage === 0) continue;
            test(`a provider that ${what} the connection ${name}: ${outcome(stage, 502)}`, async () => {
              await assertEnd(stage, await scene.send(callOf(family, isStream, recordAt(stage, record))), BROKEN);
            });
          }
        }
      });

      describe(`${family.name}, ${kind}, silence`, { concurrency: true }, () => {
        for (const [stage, { name }] of STAGES.entries()) {
          test(`a provider that stops responding ${name}: ${outcome(stage, 504)}`, async () => {
            const call = callOf(family, isStream, recordAt(stage, 'stall'), `silent-${stage}`);
            await assertEnd(stage, await scene.send({ ...call, at: silent[stage]! }), tooLate(family));
          });
        }
      });
    }
  }
});
