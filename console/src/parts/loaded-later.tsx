import { type FunctionComponent, useEffect, useState } from 'react';
import { unreachable } from '../api/client.ts';
import { LIVE_MS } from '../api/queries.ts';
import { ErrorNotice, Loading } from './notices.tsx';

/** A component whose code is loaded when it is first wanted. */
export interface LoadedLater<Props> {
  /**
   * Shows that it is being loaded, and then it. While the gateway is away it says so and goes on trying.
   *
   * @throws at drawing, if the gateway is there and the code cannot be loaded.
   */
  readonly Component: FunctionComponent<Props>;
  /** Begins to load the code, so that it is there when the component is drawn. */
  preload(): void;
}

/**
 * Not `lazy` and `Suspense`: these keep back for up to 300 ms what is loaded soon after a sign of waiting was drawn, and they draw one
 * even if the code is there.
 */
export function loadedLater<Props extends object>(load: () => Promise<FunctionComponent<Props>>): LoadedLater<Props> {
  let loaded: FunctionComponent<Props> | null = null;

  async function begin(): Promise<FunctionComponent<Props>> {
    loaded ??= await load();
    return loaded;
  }

  function Component(props: Props) {
    const [{ Code, error }, setState] = useState<State<Props>>(() => ({ Code: loaded, error: null }));
    useEffect(() => {
      if (Code !== null) return;
      const shown = new AbortController();
      const sayAway = (): void => setState({ Code: null, error: AWAY });
      begin()
        .catch(() => waitForGateway(shown.signal, sayAway).then(begin))
        .then(
          (Code) => shown.signal.aborted || setState({ Code, error: null }),
          (error: Error) => shown.signal.aborted || setState({ Code: null, error }),
        );
      return () => shown.abort();
    }, [Code]);
    if (error === AWAY) return <ErrorNotice error={error} />;
    if (error !== null) throw error;
    return Code === null ? <Loading /> : <Code {...props} />;
  }

  return {
    Component,
    preload() {
      // The component tries again, and says so if that fails too.
      begin().catch(() => undefined);
    },
  };
}

interface State<Props> {
  readonly Code: FunctionComponent<Props> | null;
  readonly error: Error | null;
}

const AWAY = unreachable();

/**
 * Returns if the gateway is there. If it was away, or is another version now, the page is loaded anew as soon as it is there: what else
 * belongs to the code, such as styles, may have failed too, and another version has other files.
 */
async function waitForGateway(shown: AbortSignal, sayAway: () => void): Promise<void> {
  let wasAway = false;
  while (!shown.aborted) {
    const isSame = await isSameVersion();
    if (isSame === true && !wasAway) return;
    if (isSame !== null) {
      if (!shown.aborted) window.location.reload();
      return new Promise(() => undefined);
    }
    wasAway = true;
    if (!shown.aborted) sayAway();
    await new Promise((resolve) => setTimeout(resolve, LIVE_MS));
  }
}

/** Whether the console that is served is the one that runs here; `null`: none is served now. */
async function isSameVersion(): Promise<boolean | null> {
  const page = await fetch('/console', { cache: 'no-store' }).catch(() => null);
  if (page === null || !page.ok) return null;
  const script = document.querySelector('script[src]')?.getAttribute('src') ?? '';
  return (await page.text()).includes(script);
}
