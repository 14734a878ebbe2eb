import { useSyncExternalStore } from 'react';
import { ApiError, send } from '../api/client.ts';
import type { Audit } from '../api/types.ts';

export interface AuditProgress {
  readonly accounts: number;
  readonly accountsTotal: number;
  readonly entries: number;
  readonly calls: number;
}

/** An audit and its result. It continues while other pages are shown, and is lost on reload. */
export interface AuditRun {
  /** Who started the audit. Its result is not shown to other users who sign in later. */
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

/** The audit that the user started on this page load. */
export function useAuditRun(userId: string): AuditRun {
  const current = useSyncExternalStore(subscribe, () => run);
  return current.userId === userId ? current : NONE;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Aborts the request, which stops the audit in the gateway. */
export function stopAudit(): void {
  stopper?.abort();
}

/** Starts an audit and stops a running one. */
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
