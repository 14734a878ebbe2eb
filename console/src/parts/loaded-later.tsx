import { type FunctionComponent, useEffect, useState } from 'react';
import { unreachable } from '../api/client.ts';
import { LIVE_MS } from '../api/queries.ts';
import { ErrorNotice, Loading } from './notices.tsx';

/** A component whose code is loaded on first use. */
export interface LoadedLater<Props> {
  /**
   * Renders a placeholder until the code is loaded. While the gateway is down, it says so and retries. Throws on render if the gateway
   * responds but the code cannot be loaded.
   */
  readonly Component: FunctionComponent<Props>;
  /** Starts loading before the component is rendered. */
  preload(): void;
}

/** `lazy` and `Suspense` would delay content by up to 300 ms after a placeholder, and show the placeholder even if the code is loaded. */
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
      // The component retries and reports the error.
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
 * Returns if the gateway responds with the same version. After downtime or a new version, reloads the page instead: other files, such as
 * styles, may have failed to load, and another version has other file names.
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

/** Whether the gateway serves the running version of the console; `null` if it serves none. */
async function isSameVersion(): Promise<boolean | null> {
  const page = await fetch('/console', { cache: 'no-store' }).catch(() => null);
  if (page === null || !page.ok) return null;
  const script = document.querySelector('script[src]')?.getAttribute('src') ?? '';
  return (await page.text()).includes(script);
}
