import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './main.css';
import { Anchor, Badge, type CSSVariablesResolver, createTheme, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { type ReactNode, StrictMode, useMemo } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from './api/client.ts';
import { isOutcomeUnknown } from './api/queries.ts';
import { App } from './app/app.tsx';
import { commonTexts } from './parts/texts.ts';
import { SESSION_KEY } from './session/session.tsx';
import { LanguageProvider, useTexts } from './text/language.tsx';

const theme = createTheme({
  primaryColor: 'cyan',
  // Contrast of white text: 5.6 to 1.
  primaryShade: 9,
  defaultRadius: 'md',
  respectReducedMotion: true,
  components: {
    Anchor: Anchor.extend({ defaultProps: { inherit: true } }),
    Badge: Badge.extend({ defaultProps: { tt: 'none', variant: 'light' } }),
    // A second `header` element would add a second banner landmark.
    ModalHeader: { defaultProps: { component: 'div' } },
  },
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Microsoft YaHei", "Noto Sans SC", sans-serif',
});

/** Darkens filled buttons on hover, to keep the contrast of white text. */
function filledUnderPointer(color: string): Record<string, string> {
  return { '--mantine-color-cyan-filled-hover': `color-mix(in srgb, ${color} 85%, black)` };
}

/** Contrast of dimmed text: at least 4.5 to 1, also on cards and coloured backgrounds. */
const legibleColors: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    ...filledUnderPointer(colors.cyan[9]),
    '--mantine-color-dimmed': colors.gray[7],
    '--mantine-color-placeholder': colors.gray[7],
    '--mantine-color-error': colors.red[9],
    // Text on a light background of the same colour, as in badges and alerts.
    '--mantine-color-cyan-light-color': '#0a5a68',
    '--mantine-color-teal-light-color': '#065f46',
    '--mantine-color-red-light-color': '#9b1c1c',
    '--mantine-color-blue-light-color': '#0f4c81',
    '--mantine-color-gray-light-color': colors.gray[9],
    '--mantine-color-yellow-light-color': '#7a4d00',
    '--mantine-color-orange-light-color': '#8a4200',
  },
  dark: {
    ...filledUnderPointer(colors.cyan[9]),
    '--mantine-color-dimmed': colors.dark[1],
    '--mantine-color-placeholder': colors.dark[2],
    '--mantine-color-error': colors.red[5],
  },
});

// The Content-Security-Policy admits only styles with this nonce.
const styleNonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')!.content;
Object.assign(window, { __webpack_nonce__: styleNonce });

/** A 401 response leads to the sign-in page. */
function noteSessionEnd(error: Error): void {
  if (error instanceof ApiError && error.status === 401) void queries.invalidateQueries({ queryKey: SESSION_KEY });
}

const queries = new QueryClient({
  queryCache: new QueryCache({ onError: noteSessionEnd }),
  mutationCache: new MutationCache({ onError: noteSessionEnd }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // Refusals would only repeat, so only requests with an unknown outcome are retried.
      retry: (failures, error) => failures < 2 && isOutcomeUnknown(error),
    },
  },
});

/** The theme, with translated labels of the close buttons of dialogs and notifications. */
function Themed({ children }: { readonly children: ReactNode }) {
  const { close } = useTexts(commonTexts);
  const worded = useMemo(() => {
    const Notification = { defaultProps: { closeButtonProps: { 'aria-label': close } } };
    const ModalCloseButton = { defaultProps: { 'aria-label': close } };
    return { ...theme, components: { ...theme.components, ModalCloseButton, Notification } };
  }, [close]);
  return (
    <MantineProvider
      theme={worded}
      cssVariablesResolver={legibleColors}
      defaultColorScheme="auto"
      getStyleNonce={() => styleNonce}
    >
      {children}
    </MantineProvider>
  );
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <LanguageProvider>
      <Themed>
        <QueryClientProvider client={queries}>
          <Notifications position="top-right" />
          <App />
        </QueryClientProvider>
      </Themed>
    </LanguageProvider>
  </StrictMode>,
);
