import { type Replacement, replaceOnLoad } from './replace-on-load.ts';

/**
 * Loaded into a gateway before its own code (`node --import`), together with a meter. Removes parts of a call's path, so that their cost
 * is the difference (`ablation.ts`, `call-path.ts --ablation`). A removed part returns its result for the first call, so only identical
 * calls can be measured. Balances are wrong afterwards.
 */

/** The parts to remove, separated by commas. */
export const ABLATED = 'FAREGATE_BENCH_ABLATED';
/** The module that measures, in place of `meter.ts`. */
export const ABLATED_METER = 'FAREGATE_BENCH_ABLATED_METER';

const PREPARED = ['catalog', 'model', 'routes', 'inner', 'pricing', 'hasSeveralMakers'];

/** By part: the code that it replaces. The start fails if the source no longer contains it. */
export const PARTS: Readonly<Record<string, readonly Replacement[]>> = {
  request: [
    {
      file: 'calls/request-workers.ts',
      code: 'return { facts: operation.read(body), body };',
      by: 'return { facts: (globalThis.readFacts ??= operation.read(body)), body };',
    },
  ],
  preparation: [
    {
      file: 'calls/preparation.ts',
      code: 'call.catalog = settings.catalog.of(principal.groupId);',
      by: `const first = globalThis.preparedCall;
    if (first !== undefined) {
      call.startedAtMs = this.#dependencies.clock.nowMs();
      call.report.callId = call.callId;
      ${PREPARED.map((name) => `call.${name} = first.${name};`).join(' ')}
      return;
    }
    globalThis.preparedCall = call;
    call.catalog = settings.catalog.of(principal.groupId);`,
    },
  ],
  admission: [
    {
      file: 'calls/admission.ts',
      code: 'const request = reservationRequest(call);',
      by: `if (globalThis.admission !== undefined) return call.admitted(globalThis.admission, databaseClock.nowMs());
    const request = reservationRequest(call);`,
    },
    {
      file: 'calls/admission.ts',
      code: 'call.admitted(admission, nowMs);',
      by: 'call.admitted(globalThis.admission = admission, nowMs);',
    },
  ],
  settlement: [
    {
      file: 'calls/call.ts',
      code: 'const record = settlementRecord(this, end, endedAtMs);',
      by: 'const record = (globalThis.settlementRecord ??= settlementRecord(this, end, endedAtMs));',
    },
    {
      file: 'calls/call.ts',
      code: 'await settlement.end(record);',
      by: '(globalThis.balanceAfterEnd ??= await settlement.end(record));',
    },
  ],
  response: [
    {
      file: 'calls/relay/relay-json.ts',
      code: 'this.#capture.push(received);',
      by: 'if (globalThis.capture === undefined) this.#capture.push(received);',
    },
    {
      file: 'calls/relay/relay-json.ts',
      code: 'this.#capture.end();',
      by: 'if (globalThis.capture !== undefined) return globalThis.capture;\n      this.#capture.end();',
    },
    {
      file: 'calls/relay/relay-json.ts',
      code: 'return this.#capture;',
      by: 'return (globalThis.capture = this.#capture);',
    },
    {
      file: 'calls/relay/relay-json.ts',
      code: 'await this.#usage(response);',
      by: '(globalThis.usage ??= await this.#usage(response));',
    },
  ],
  headers: [
    {
      file: 'calls/relay/upstream-request.ts',
      code: 'headers: upstreamHeaders(',
      by: 'headers: globalThis.upstreamHeaders ??= upstreamHeaders(',
    },
    {
      file: 'calls/relay/relay-json.ts',
      code: 'return relayedHeaders(',
      by: 'return globalThis.relayedHeaders ??= relayedHeaders(',
    },
    {
      file: 'calls/call.ts',
      code: 'return shownHeaders(this, {',
      by: 'return globalThis.callHeaders ??= shownHeaders(this, {',
    },
  ],
  observers: [{ file: 'app/gateway.ts', code: 'observers: requestObservers,', by: 'observers: [],' }],
  timers: [
    {
      file: 'providers/upstream/exchange.ts',
      code: 'this.#setTimer(checkAtMs, nowMs);',
      by: 'this.#firesAtMs = checkAtMs;',
    },
  ],
};

const ablated = process.env[ABLATED];
if (ablated !== undefined && ablated !== '') {
  replaceOnLoad(ablated.split(',').flatMap((part) => PARTS[part]!));
}
await import(process.env[ABLATED_METER] ?? './meter.ts');
