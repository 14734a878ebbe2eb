import { useSyncExternalStore } from 'react';
import { ApiError, send } from '../api/client.ts';
import type { Audit } from '../api/types.ts';

/** How far an audit is. */
export interface AuditProgress {
  readonly accounts: number;
  readonly accountsTotal: number;
  readonly entries: number;
  readonly calls: number;
}

/** An audit, which goes on while other pages are looked at, and its result, kept until the page is loaded anew. */
export interface AuditRun {
  /** Who began it. What it found is shown to nobody else who signs in later. */
  readonly userId: string | null;
  readonly state: 'none' | 'running' | 'stopped' | 'failed' | 'ended';
  readonly beganAt: string | null;
  readonly endedAt: string | null;
  readonly progress: AuditProgress | null;
  readonly result: Audit | null;
  readonly error: Error | null;
}

const NONE: AuditRun = {
  userId: null,
  state: 'none',
  beganAt: null,
  endedAt: null,
  progress: null,
  result: null,
  error: null,
};

let run = NONE;
let stopper: AbortController | null = null;
const listeners = new Set<() => void>();

function become(changed: Partial<AuditRun>): void {
  run = { ...run, ...changed };
  for (const listener of listeners) listener();
}

/** The audit that a person has begun here. */
export function useAuditRun(userId: string): AuditRun {
  const current = useSyncExternalStore(subscribe, () => run);
  return current.userId === userId ? current : NONE;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Ends the audit: the gateway stops if nobody reads its lines. */
export function stopAudit(): void {
  stopper?.abort();
}

/** Begins an audit. One that goes on still is ended. */
export async function startAudit(userId: string): Promise<void> {
  stopAudit();
  const own = new AbortController();
  stopper = own;
  become({ ...NONE, userId, state: 'running', beganAt: new Date().toISOString() });
  const end = (changed: Partial<AuditRun>): void => {
    if (stopper === own) become({ ...changed, endedAt: new Date().toISOString() });
  };
  try {
    for await (const line of auditLines(own.signal)) {
      if (stopper !== own) return;
      if ('progress' in line) become({ progress: line.progress });
      else end({ state: 'ended', result: line.result });
    }
    if (run.state === 'running') {
      throw new ApiError(0, 'cut', 'The audit ended without a result. The log of the gateway says why.');
    }
  } catch (error) {
    end(own.signal.aborted ? { state: 'stopped' } : { state: 'failed', error: error as Error });
  }
}

type AuditLine = { readonly progress: AuditProgress } | { readonly result: Audit };

async function* auditLines(signal: AbortSignal): AsyncGenerator<AuditLine> {
  const response = await send('POST /admin/v1/audit', { query: { progress: 'true' } }, { signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split('\n');
    rest = lines.pop()!;
    for (const line of lines) yield JSON.parse(line) as AuditLine;
  }
  if (rest !== '') yield JSON.parse(rest) as AuditLine;
}
