import { type FunctionComponent, useEffect, useState } from 'react';
import { Loading } from './notices.tsx';

/** A component whose code is loaded when it is first wanted. */
export interface LoadedLater<Props> {
  /** Shows that it is being loaded, and then it. @throws at drawing, if the code cannot be loaded. */
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
    const [state, setState] = useState<State<Props>>(() => ({ Code: loaded, error: null }));
    const { Code, error } = state;
    useEffect(() => {
      if (Code !== null) return;
      let isHere = true;
      begin().then(
        (Code) => isHere && setState({ Code, error: null }),
        (error: Error) => isHere && setState({ Code: null, error }),
      );
      return () => {
        isHere = false;
      };
    }, [Code]);
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
