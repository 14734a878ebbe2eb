import { createContext, type ReactNode, useContext, useMemo, useState } from 'react';

/** The display time zone of instants. Days and months always use the billing time zone. */
export const TIMEZONE_CHOICES = ['billing', 'browser', 'utc'] as const;
export type TimezoneName = (typeof TIMEZONE_CHOICES)[number];

const STORED_AS = 'faregate.timezone';
const BROWSER = new Intl.DateTimeFormat().resolvedOptions().timeZone;

interface TimezoneState {
  readonly chosen: TimezoneName;
  /** Such as `Asia/Shanghai`. */
  readonly zones: Readonly<Record<TimezoneName, string>>;
  choose(name: TimezoneName): void;
}

interface Timezone extends TimezoneState {
  readonly zone: string;
  /** Whether it differs from the billing time zone. */
  readonly differs: boolean;
}

/** The billing time zone is unknown before sign-in. */
const Context = createContext<TimezoneState>({
  chosen: 'browser',
  zones: { billing: BROWSER, browser: BROWSER, utc: 'UTC' },
  choose: () => undefined,
});

/** Provides the display time zone; by default the billing time zone. */
export function TimezoneProvider({ billing, children }: { readonly billing: string; readonly children: ReactNode }) {
  const [chosen, setChosen] = useState(storedChoice);
  const state = useMemo(
    () => ({
      chosen,
      zones: { billing, browser: BROWSER, utc: 'UTC' },
      choose(name: TimezoneName) {
        localStorage.setItem(STORED_AS, name);
        setChosen(name);
      },
    }),
    [billing, chosen],
  );
  return <Context value={state}>{children}</Context>;
}

export function useTimezone(): Timezone {
  const state = useContext(Context);
  const zone = state.zones[state.chosen];
  return { ...state, zone, differs: zone !== state.zones.billing };
}

function storedChoice(): TimezoneName {
  const stored = localStorage.getItem(STORED_AS);
  return TIMEZONE_CHOICES.find((name) => name === stored) ?? 'billing';
}
