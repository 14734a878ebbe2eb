import { createContext, type ReactNode, useContext, useMemo, useState } from 'react';

/** In which zone instants are shown. Days and months are those of the billing zone, whatever is chosen. */
export const TIMEZONE_CHOICES = ['billing', 'browser', 'utc'] as const;
export type TimezoneName = (typeof TIMEZONE_CHOICES)[number];

const STORED_AS = 'faregate.timezone';
const BROWSER = new Intl.DateTimeFormat().resolvedOptions().timeZone;

interface TimezoneState {
  readonly chosen: TimezoneName;
  /** The zone of each choice, such as `Asia/Shanghai`. */
  readonly zones: Readonly<Record<TimezoneName, string>>;
  choose(name: TimezoneName): void;
}

interface Timezone extends TimezoneState {
  /** In which instants are shown. */
  readonly zone: string;
  /** Whether that is another one than the zone of days and months. */
  readonly differs: boolean;
}

/** Before somebody has signed in the billing zone is not known. */
const Context = createContext<TimezoneState>({
  chosen: 'browser',
  zones: { billing: BROWSER, browser: BROWSER, utc: 'UTC' },
  choose: () => undefined,
});

/** Shows instants below in the chosen zone; in the billing zone if none is chosen. */
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
