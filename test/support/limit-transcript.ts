import assert from 'node:assert/strict';
import type { Admission, ReservationRequest } from '../../src/accounting/reservations/reservation.ts';
import type { MemoryAccount } from './account-in-memory.ts';

/**
 * Runs a transcript: a table of instants, calls and verdicts, one operation per line. Instants count from the start (`1d05:00:00.001`).
 * They may decrease, as if the clock of another node is behind.
 *
 *   time  operation  call  with  result  state
 *
 * - `asks`: a call, or several in one batch (`a,b`), requests admission. The result is `admitted:` and what is left, or
 *   the refusal and the time at which a retry succeeds.
 * - `counts`, `fails`: a call ends and counts, or does not.
 * - Any other operation is defined by the scene.
 */
export interface TranscriptScene {
  readonly account: MemoryAccount;
  readonly startMs: number;
  /** Creates the call of a line. */
  call(callId: string, parts: ReadonlyMap<string, string>): ReservationRequest;
  /** The contents of the last column. */
  state(account: MemoryAccount): string;
  /** Operations of this scene, by name. */
  readonly operations?: Readonly<Record<string, (parts: ReadonlyMap<string, string>, nowMs: number) => void>>;
}

export function runTranscript(transcript: string, scene: TranscriptScene): void {
  const { account, startMs } = scene;
  const [, ...lines] = transcript.trim().split('\n');
  for (const line of lines) {
    const words = line.trim().split(/\s+/) as [string, string, string, string, string, string];
    assert.equal(words.length, 6, line);
    const [time, operation, calls, withParts, result, state] = words;
    const nowMs = startMs + parseTime(time);
    const parts = new Map(
      withParts === '-' ? [] : withParts.split(',').map((part) => part.split('=') as [string, string]),
    );
    let actual = '-';
    if (operation === 'asks') {
      const requests = calls.split(',').map((callId) => scene.call(callId, parts));
      const verdicts = account.admit(requests, nowMs).map((admission) => verdictText(admission, startMs));
      actual = verdicts.join(',');
    } else if (operation === 'counts' || operation === 'fails') {
      const counts = operation === 'counts';
      const tokens = Number(parts.get('tokens') ?? 0);
      const keyChargeNano = BigInt(parts.get('charge') ?? 0);
      for (const callId of calls.split(','))
        account.end(callId, { counts, tokens, keyChargeNano, rateTokens: tokens }, nowMs);
    } else {
      const own = scene.operations?.[operation];
      assert.ok(own, line);
      own(parts, nowMs);
    }
    assert.equal(actual, result, line);
    assert.equal(scene.state(account), state, line);
  }
}

function verdictText(admission: Admission, startMs: number): string {
  if (admission.isAdmitted) {
    const { remaining } = admission;
    if (remaining === null) return 'admitted:?';
    return `admitted:${'calls' in remaining ? remaining.calls : remaining.availableNano}`;
  }
  const { kind, retryAt } = admission.refusal;
  if (retryAt === null) return kind;
  return `${kind}@${retryAt === 'soon' ? 'soon' : formatTime(retryAt - startMs)}`;
}

function parseTime(text: string): number {
  const [, days, hours, minutes, seconds, ms] = /^(\d+)d(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{3}))?)?$/.exec(text)!;
  const wholeMinutes = (Number(days) * 24 + Number(hours)) * 60 + Number(minutes);
  return (wholeMinutes * 60 + Number(seconds ?? 0)) * 1_000 + Number(ms ?? 0);
}

function formatTime(totalMs: number): string {
  const [days, rest] = [Math.floor(totalMs / 86_400_000), new Date(totalMs).toISOString().slice(11, 23)];
  return `${days}d${rest.replace(/(:00)?\.000$/, '')}`;
}
