import { useEffect, useRef, useState } from 'react';
import { type Answer, type CallRequest, runCall } from '../../parts/calling/run-call.ts';
import type { Said, Turn } from './conversation.ts';

/** The turns of a conversation, which only this page has. Leaving it stops a running call. */
export function useConversation() {
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const abort = useRef<AbortController | null>(null);
  const nextId = useRef(0);
  useEffect(() => () => abort.current?.abort(), []);

  /** Makes a call. Its turn follows the turns `before` it, and replaces those after them. */
  function send(request: CallRequest, said: Said, before: readonly Turn[]): void {
    const id = nextId.current++;
    const controller = new AbortController();
    abort.current = controller;
    const show = (answer: Answer): void => {
      // A conversation that was cleared stays empty.
      if (abort.current === controller) setTurns([...before, { ...said, id, answer }]);
    };
    void runCall(request, controller.signal, show);
  }

  return {
    turns,
    isBusy: turns.at(-1)?.answer.state === 'running',
    send,
    stop: (): void => abort.current?.abort(),
    clear(): void {
      abort.current?.abort();
      abort.current = null;
      setTurns([]);
    },
  };
}
